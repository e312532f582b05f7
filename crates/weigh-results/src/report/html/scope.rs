//! Where a piece of a page stands: its ids, the depth of its headings, what room is left for pictures.

use std::cell::Cell;

use maud::{Markup, html};

/// Pictures beside live charts may take this much of a page, bytes: they are for print and for readers without
/// script, and a page must stay small enough to be sent.
const STILLS_BYTES: usize = 400_000;

/// A place on a page. Two runs on one page have different prefixes, so that no id is there twice.
pub(super) struct Scope {
    prefix: String,
    level: u8,
    /// Whether charts of lines and points are drawn by the script.
    pub(super) live: bool,
    stills_left_bytes: Cell<usize>,
}

/// A part of a page with a heading.
pub(super) struct Section {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) body: Markup,
}

impl Scope {
    /// The page itself: sections have headings of the second level.
    pub(super) fn page() -> Scope {
        Scope { prefix: String::new(), level: 2, live: true, stills_left_bytes: Cell::new(STILLS_BYTES) }
    }

    /// The run of that place on a page of several.
    pub(super) fn of_run(place: usize) -> Scope {
        Scope {
            prefix: format!("run{}-", place + 1),
            level: 3,
            live: false,
            stills_left_bytes: Cell::new(STILLS_BYTES),
        }
    }

    /// An id that is there once.
    pub(super) fn id(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// What every id begins with.
    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// A heading `below` levels under that of a section.
    pub(super) fn heading(&self, below: u8, id: Option<&str>, text: &Markup) -> Markup {
        match self.level + below {
            2 => html! { h2 id=[id] { (text) } },
            3 => html! { h3 id=[id] { (text) } },
            4 => html! { h4 id=[id] { (text) } },
            _ => html! { h5 id=[id] { (text) } },
        }
    }

    /// A section under a name.
    pub(super) fn section(&self, name: &str, title: impl Into<String>, body: Markup) -> Section {
        Section { id: self.id(name), title: title.into(), body }
    }

    /// The section as it stands on the page.
    pub(super) fn show(&self, section: &Section) -> Markup {
        let heading = format!("{}-heading", section.id);
        html! {
            section id=(section.id) aria-labelledby=(heading) {
                (self.heading(0, Some(&heading), &html! { (section.title) }))
                (section.body)
            }
        }
    }

    /// Whether there is room for a picture beside a live chart; takes it, if there is.
    pub(super) fn takes_still(&self, bytes: usize) -> bool {
        let left = self.stills_left_bytes.get();
        if bytes > left {
            return false;
        }
        self.stills_left_bytes.set(left - bytes);
        true
    }
}
