//! What went wrong, as a page.
//!
//! A [`Trouble`] is an HTTP status and a message that says what was wrong and what to do next. A run that cannot be
//! read is the run's trouble, never a failure of the server.

use axum::http::StatusCode;
use weigh_results::report::html::{Message, MessageLink};
use weigh_results::store::StoreError;

use crate::exit;
use crate::failure::Failure;

/// An answer that is not what was asked for.
#[derive(Debug)]
pub(super) struct Trouble {
    /// For programs.
    pub(super) status: StatusCode,
    /// For the reader.
    pub(super) message: Box<Message>,
}

impl Trouble {
    /// With a way back to the list.
    pub(super) fn new(status: StatusCode, title: impl Into<String>, paragraphs: &[&str]) -> Trouble {
        let back = MessageLink { href: "/".into(), text: "All runs".into() };
        let message = Box::new(Message {
            title: title.into(),
            paragraphs: paragraphs.iter().map(|text| (*text).to_owned()).collect(),
            form: None,
            links: vec![back],
        });
        Trouble { status, message }
    }

    /// No such address.
    pub(super) fn no_such_page() -> Trouble {
        Trouble::new(StatusCode::NOT_FOUND, "No such page", &["Nothing is served at this address."])
    }

    /// No run of that name.
    pub(super) fn no_such_run(name: &str) -> Trouble {
        let text =
            format!("There is no run `{name}`. It may have been deleted or renamed since the page was made.");
        Trouble::new(StatusCode::NOT_FOUND, "No such run", &[&text])
    }

    /// A run that is there and cannot be read.
    pub(super) fn unreadable(name: &str, error: &StoreError) -> Trouble {
        let text = format!(
            "Run `{name}` is stored, but cannot be read: {}.",
            Failure::of(exit::FAILED, error).one_line()
        );
        let next =
            "Nothing was changed. A newer weigh may be able to read it; a damaged run can only be deleted.";
        let mut trouble =
            Trouble::new(StatusCode::UNPROCESSABLE_ENTITY, "This run cannot be read", &[&text, next]);
        let delete = MessageLink { href: format!("/runs/{name}/delete"), text: "Delete it".into() };
        trouble.message.links.push(delete);
        trouble
    }

    /// The request went to another name than ours.
    pub(super) fn wrong_host(port: u16) -> Trouble {
        let text = format!(
            "This gallery answers to http://127.0.0.1:{port}/ and http://localhost:{port}/ only. To look at it from \
             another machine, forward the same port: ssh -L {port}:127.0.0.1:{port} HOST"
        );
        let mut trouble = Trouble::new(StatusCode::FORBIDDEN, "Not by this address", &[&text]);
        trouble.message.links.clear();
        trouble
    }

    /// A request that would change something and was not sent by a page of ours.
    pub(super) fn not_from_here() -> Trouble {
        let text =
            "Runs are deleted from the gallery's own pages, or with `weigh delete RUN`. Nothing was changed.";
        Trouble::new(StatusCode::FORBIDDEN, "Not from here", &[text])
    }

    /// A form of a gallery that has ended.
    pub(super) fn old_form() -> Trouble {
        let text = "The page is of a `weigh open` that has ended. Nothing was changed; go back to the list and try again.";
        Trouble::new(StatusCode::FORBIDDEN, "This page is too old", &[text])
    }

    /// Work that came to no end.
    pub(super) fn our_mistake() -> Trouble {
        let text = "weigh made a mistake while it worked out this page; the terminal it runs in says more.";
        Trouble::new(StatusCode::INTERNAL_SERVER_ERROR, "This page could not be made", &[text])
    }
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Trouble {
        let (status, title) = match error {
            StoreError::Locked { .. } => (StatusCode::CONFLICT, "This run is being recorded"),
            StoreError::NotARun { .. } => (StatusCode::CONFLICT, "This is not a run"),
            _ => (StatusCode::INTERNAL_SERVER_ERROR, "The store said no"),
        };
        Trouble::new(status, title, &[&format!("{}.", Failure::of(exit::FAILED, &error).one_line())])
    }
}
