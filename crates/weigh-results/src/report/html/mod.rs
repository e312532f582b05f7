//! The report as one HTML file that needs nothing else.
//!
//! - [`run`]: the page of one run; [`several`]: of two and more, side by side.
//! - [`gallery`]: the stored runs as a table, for `weigh open`; [`message`]: a question or an error of it.
//! - [`Links`]: where a page leads to when it is served; by default it stands alone.
//!
//! A page fetches nothing, and its policy says so: style, script, charts and raw data are inside. It must never
//! decide anything ([`crate::analysis`] did) and never show a name that is not escaped: variants are often SQL or
//! shell commands.

mod conditions;
mod doubts;
mod figure;
mod findings;
mod frame;
mod gallery;
mod head;
mod live;
mod message;
mod page;
mod reasons;
mod reproduce;
mod scope;
mod several;
mod still;
mod switch;
mod variants;

pub use gallery::{
    DELETE_PATH, GalleryFilter, GalleryPage, GalleryRun, VerdictClass, delete_path, gallery, run_path,
    side_by_side_path,
};
pub use message::{Message, MessageForm, MessageLink, message};
pub use page::{Links, run};
pub use several::several;
