//! A page that says one thing: a question before something is deleted, or what went wrong.

use maud::html;

use super::frame::Frame;

/// What it says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// Its heading, without a full stop (`Delete this run?`, `no such run`).
    pub title: String,
    /// Paragraphs, plain text.
    pub paragraphs: Vec<String>,
    /// A button that does something.
    pub form: Option<MessageForm>,
    /// Where a reader can go from here.
    pub links: Vec<MessageLink>,
}

/// A button that sends a form with `POST`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageForm {
    /// Where it is sent to.
    pub action: String,
    /// Hidden fields: names and values.
    pub fields: Vec<(String, String)>,
    /// What the button says.
    pub button: String,
    /// Whether it cannot be taken back.
    pub destroys: bool,
}

/// A way on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageLink {
    /// Its address.
    pub href: String,
    /// What it says.
    pub text: String,
}

/// The page.
#[must_use]
pub fn message(message: &Message) -> String {
    let body = html! {
        article.message {
            h1 { (message.title) }
            @for paragraph in &message.paragraphs { p { (paragraph) } }
            @if let Some(form) = &message.form {
                form method="post" action=(form.action) {
                    @for (name, value) in &form.fields { input type="hidden" name=(name) value=(value); }
                    button.danger[form.destroys] type="submit" { (form.button) }
                }
            }
            @if !message.links.is_empty() {
                ul.ways { @for link in &message.links { li { a href=(link.href) { (link.text) } } } }
            }
        }
    };
    Frame { title: &message.title, gallery: Some("/"), footer: None, forms: "'self'" }.page(&body)
}
