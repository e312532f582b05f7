//! Every change to the host, and its undo.
//!
//! Nothing outside this room starts a process, makes a directory or a cgroup. Each change is
//! registered before it is made, and undone on success, error, panic, Ctrl-C and SIGTERM; after
//! `kill -9` of weigh the guard process does it, and the next run clears whatever is still left.
