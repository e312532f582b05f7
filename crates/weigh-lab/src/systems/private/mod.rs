//! Private servers of one process each: Redis, Valkey, memcached, and whatever is as simple to start.
//!
//! What differs between such servers is a [`Kind`] (what to execute, with which files and arguments, which settings mean
//! the same) and a [`Session`] (version, counters, settings in force, live changes). Everything else is the same and
//! lives here: which instance serves which slot ([`Layout`]), templates, epochs, freezing, cgroups, ports, undo, and what
//! is said when a server does not start or dies. To add one:
//!
//! 1. `describe`: find the program ([`find_program`]) and list its settings with the moment a change comes into force.
//!    `Session` and `Reload` are live here: [`Session::apply`] changes them on the running server.
//! 2. A [`Kind`]: [`Kind::launch`] writes what the server reads and says what to execute; [`Kind::url`] is how drivers
//!    reach it; [`Kind::last_words`] finds in its log why it gave up.
//! 3. A [`Session`]: its [`Admin`](super::remote::Admin) is what a server at a URL has too.
//! 4. `build`: [`PrivateServers::build`] with a function from a variant's [`ServerPlan`](crate::plan::ServerPlan) to the kind.
//!
//! A kind never starts a process, makes a directory outside its [`Home`], or changes the host in another way.

mod home;
mod instance;
mod kind;
mod layout;
mod programs;
mod server;
mod template;

pub(in crate::systems) use home::{Address, Home, Listens, Shop, socket_dir};
pub(in crate::systems) use instance::{Instance, Order};
pub(in crate::systems) use kind::{Kind, Launch, Purpose, Session, Settings};
pub(in crate::systems) use programs::find_program;
pub(in crate::systems) use server::PrivateServers;
