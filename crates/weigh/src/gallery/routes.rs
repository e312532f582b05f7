//! Addresses to answers.
//!
//! [`router`] is the table. Handlers only take a request apart; what they answer is made by [`Gallery`] on a thread
//! that may wait for the disk. Every answer passes the `guard`, and every error is a page that says what to do next.

use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Form, Path, Query, Request, State};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::{get, post};
use weigh_results::report::html;

use super::gallery::Gallery;
use super::guard::{self, Refusal};
use super::trouble::Trouble;

/// Names and values, in order: a query or a form.
type Pairs = Vec<(String, String)>;
/// A query; one that cannot be taken apart asks for nothing.
type Asked = Result<Query<Pairs>, QueryRejection>;
/// A form; one that cannot be taken apart carries no token and so does nothing.
type Sent = Result<Form<Pairs>, FormRejection>;

/// What is answered to one request.
pub(super) enum Answer {
    /// A page.
    Page(String),
    /// A file: its media type, the name it is saved by (shown in place if none), its text.
    File {
        /// The media type.
        media_type: &'static str,
        /// The name it is saved by; none: it is shown in place.
        save_as: Option<String>,
        /// The text.
        text: String,
    },
    /// Another address, after something was changed.
    See(String),
}

/// All addresses.
pub(super) fn router(gallery: Arc<Gallery>) -> Router {
    Router::new()
        .route("/", get(list))
        .route("/runs/{name}", get(run))
        .route("/runs/{name}/chart/{file}", get(chart))
        .route("/runs/{name}/delete", get(ask).post(delete_one))
        .route("/compare", get(compare))
        .route(html::DELETE_PATH, post(delete))
        // Browsers ask for it unasked; the pages carry their own.
        .route("/favicon.ico", get(async || StatusCode::NO_CONTENT))
        .fallback(async || respond(Err(Trouble::no_such_page())))
        .method_not_allowed_fallback(async || respond(Err(Trouble::no_such_page())))
        .layer(from_fn_with_state(Arc::clone(&gallery), guarded))
        .with_state(gallery)
}

/// Refuses what is not ours to answer, and hardens whatever is answered.
async fn guarded(State(gallery): State<Arc<Gallery>>, request: Request, next: Next) -> Response {
    let guard = gallery.guard();
    let mut response = match guard.refusal(request.method(), request.uri(), request.headers()) {
        Some(Refusal::Host) => respond(Err(Trouble::wrong_host(guard.port()))),
        Some(Refusal::Origin) => respond(Err(Trouble::not_from_here())),
        None => next.run(request).await,
    };
    guard::harden(response.headers_mut());
    response
}

async fn list(State(gallery): State<Arc<Gallery>>, query: Asked) -> Response {
    let query = query.map_or_else(|_| Pairs::new(), |Query(pairs)| pairs);
    answer(move || gallery.list(&query)).await
}

async fn run(State(gallery): State<Arc<Gallery>>, Path(name): Path<String>) -> Response {
    answer(move || gallery.run(&name)).await
}

async fn chart(State(gallery): State<Arc<Gallery>>, Path((name, file)): Path<(String, String)>) -> Response {
    answer(move || gallery.chart(&name, &file)).await
}

async fn compare(State(gallery): State<Arc<Gallery>>, query: Asked) -> Response {
    let query = query.map_or_else(|_| Pairs::new(), |Query(pairs)| pairs);
    answer(move || gallery.compare(&values(query, "run"))).await
}

async fn ask(State(gallery): State<Arc<Gallery>>, Path(name): Path<String>) -> Response {
    answer(move || gallery.ask(&[name])).await
}

async fn delete_one(State(gallery): State<Arc<Gallery>>, Path(name): Path<String>, form: Sent) -> Response {
    let mut form = form.map_or_else(|_| Pairs::new(), |Form(pairs)| pairs);
    form.retain(|(key, _)| key != "run");
    form.push(("run".into(), name));
    change(gallery, form).await
}

async fn delete(State(gallery): State<Arc<Gallery>>, form: Sent) -> Response {
    change(gallery, form.map_or_else(|_| Pairs::new(), |Form(pairs)| pairs)).await
}

/// Deletes what a form of our own pages names, or asks first if nobody has.
async fn change(gallery: Arc<Gallery>, form: Pairs) -> Response {
    let field = |name: &str| form.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value);
    if !gallery.guard().holds_token(field("token")) {
        return respond(Err(Trouble::old_form()));
    }
    let confirmed = field("confirmed") == "yes";
    let runs = values(form, "run");
    answer(move || if confirmed { gallery.delete(&runs) } else { gallery.ask(&runs) }).await
}

/// The values of one field, each once, in order.
fn values(pairs: Pairs, name: &str) -> Vec<String> {
    let mut values = Vec::new();
    for (key, value) in pairs {
        if key == name && !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

/// Works the answer out where waiting for the disk holds up nobody.
async fn answer(work: impl FnOnce() -> Result<Answer, Trouble> + Send + 'static) -> Response {
    respond(tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| Err(Trouble::our_mistake())))
}

fn respond(answer: Result<Answer, Trouble>) -> Response {
    match answer {
        Ok(Answer::Page(text)) => page(StatusCode::OK, text),
        Ok(Answer::See(address)) => Redirect::to(&address).into_response(),
        Ok(Answer::File { media_type, save_as, text }) => file(media_type, save_as.as_deref(), text),
        Err(trouble) => page(trouble.status, html::message(&trouble.message)),
    }
}

fn page(status: StatusCode, text: String) -> Response {
    (status, [(CONTENT_TYPE, "text/html; charset=utf-8")], text).into_response()
}

fn file(media_type: &'static str, save_as: Option<&str>, text: String) -> Response {
    let mut response = ([(CONTENT_TYPE, media_type)], text).into_response();
    let disposition = save_as.map(|name| format!("attachment; filename=\"{name}\""));
    // A name that no header can hold (the reader renamed the directory) is left to the browser.
    if let Some(value) = disposition.and_then(|text| HeaderValue::try_from(text).ok()) {
        response.headers_mut().insert(CONTENT_DISPOSITION, value);
    }
    response
}
