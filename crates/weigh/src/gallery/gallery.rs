//! What each address shows and does.
//!
//! [`Gallery`] is shared by all requests: the catalogue, the guard, and one method per address that takes plain values
//! and gives an [`Answer`] or a [`Trouble`]. Names of runs are looked up in the store's listing and never become part
//! of a path; pages are made by `weigh_results::report::html`.

use std::path::PathBuf;

use axum::http::StatusCode;
use weigh_results::analysis::Analysis;
use weigh_results::model::Run;
use weigh_results::report::chart::svg::{self, SvgStyle};
use weigh_results::report::chart::{self, ChartKind, Theme};
use weigh_results::report::html::{
    self, GalleryFilter, GalleryPage, Links, Message, MessageForm, MessageLink, VerdictClass,
};
use weigh_results::report::{csv, json, words};
use weigh_results::store::RunState;

use super::catalogue::{Catalogue, passes};
use super::guard::Guard;
use super::routes::Answer;
use super::trouble::Trouble;

/// More columns than this nobody can read.
const MOST_SIDE_BY_SIDE: usize = 6;
/// Width of a chart that is asked for alone, pixels.
const CHART_WIDTH_PX: u32 = 960;

/// Everything that requests share.
pub(super) struct Gallery {
    catalogue: Catalogue,
    guard: Guard,
}

impl Gallery {
    /// Of a catalogue.
    pub(super) fn new(catalogue: Catalogue, guard: Guard) -> Gallery {
        Gallery { catalogue, guard }
    }

    /// Who is answered.
    pub(super) fn guard(&self) -> &Guard {
        &self.guard
    }

    /// The list, filtered.
    pub(super) fn list(&self, query: &[(String, String)]) -> Result<Answer, Trouble> {
        let listing = self.catalogue.listing()?;
        let filter = filter(query);
        let mut systems: Vec<String> = listing.runs.iter().map(|run| run.summary.system.clone()).collect();
        systems.sort();
        systems.dedup();
        let page = GalleryPage {
            total: listing.runs.len(),
            systems,
            runs: listing.runs.into_iter().filter(|run| passes(run, &filter)).collect(),
            filter,
            token: self.guard.token().into(),
            place: self.catalogue.store().root().display().to_string(),
            unreadable: listing.unreadable,
        };
        Ok(Answer::Page(html::gallery(&page)))
    }

    /// A run's page, or its data when the name ends in `.json` or `.csv`.
    pub(super) fn run(&self, name: &str) -> Result<Answer, Trouble> {
        // A directory may be called anything: its own name comes first.
        if self.catalogue.find(name)?.is_some() {
            let (run, analysis) = self.load(name)?;
            return Ok(Answer::Page(html::run(&run, &analysis, &links())));
        }
        let (of, kind) = name.rsplit_once('.').ok_or_else(|| Trouble::no_such_run(name))?;
        match kind {
            "json" => {
                let (run, analysis) = self.load(of)?;
                Ok(file("application/json", name, format!("{:#}\n", json::render(&run, &analysis))))
            }
            "csv" => Ok(file("text/csv; charset=utf-8", name, csv::trials(&self.load(of)?.0))),
            _ => Err(Trouble::no_such_run(name)),
        }
    }

    /// One chart of a run, as a picture; `file` is its name and `.svg`.
    pub(super) fn chart(&self, name: &str, file: &str) -> Result<Answer, Trouble> {
        let (run, analysis) = self.load(name)?;
        let by = run.header.plan.judge.decide.first().copied();
        let (kind, theme) = chart_name(file).ok_or_else(Trouble::no_such_page)?;
        let drawn = by
            .and_then(|by| ChartKind::from_name(kind, by))
            .and_then(|kind| chart::of(kind, &run, &analysis))
            .ok_or_else(|| no_such_chart(kind, &run, &analysis))?;
        let text = svg::render(&drawn, SvgStyle { width_px: CHART_WIDTH_PX, theme });
        Ok(Answer::File { media_type: "image/svg+xml", save_as: None, text })
    }

    /// Several runs on one page.
    pub(super) fn compare(&self, names: &[String]) -> Result<Answer, Trouble> {
        if names.len() < 2 || names.len() > MOST_SIDE_BY_SIDE {
            let text = format!("Choose from two to {MOST_SIDE_BY_SIDE} runs in the list.");
            return Err(Trouble::new(StatusCode::BAD_REQUEST, "Which runs?", &[&text]));
        }
        let loaded = names.iter().map(|name| self.load(name)).collect::<Result<Vec<_>, _>>()?;
        let pairs: Vec<(&Run, &Analysis)> = loaded.iter().map(|(run, analysis)| (run, analysis)).collect();
        Ok(Answer::Page(html::several(&pairs, &links())))
    }

    /// The question before anything is deleted.
    pub(super) fn ask(&self, names: &[String]) -> Result<Answer, Trouble> {
        let found = self.find_all(names)?;
        let mut paragraphs: Vec<String> = names
            .iter()
            .zip(&found)
            .map(|(name, dir)| self.described(name, dir))
            .collect::<Result<_, _>>()?;
        paragraphs.push("This cannot be taken back.".into());
        let many = found.len() > 1;
        let mut fields: Vec<_> = names.iter().map(|name| ("run".to_owned(), name.clone())).collect();
        fields.push(("token".into(), self.guard.token().into()));
        fields.push(("confirmed".into(), "yes".into()));
        let question =
            if many { format!("Delete these {} runs?", found.len()) } else { "Delete this run?".into() };
        let button = if many { format!("Delete {} runs", found.len()) } else { "Delete it".into() };
        let back = if many { "/".into() } else { html::run_path(&names[0]) };
        Ok(Answer::Page(html::message(&Message {
            title: question,
            paragraphs,
            form: Some(MessageForm { action: html::DELETE_PATH.into(), fields, button, destroys: true }),
            links: vec![MessageLink { href: back, text: "Keep".into() }],
        })))
    }

    /// Deletes runs. All are looked up before the first goes.
    pub(super) fn delete(&self, names: &[String]) -> Result<Answer, Trouble> {
        for dir in self.find_all(names)? {
            self.catalogue.store().delete(&dir)?;
        }
        Ok(Answer::See("/".into()))
    }

    /// One run for the question: what it asked, when, how far it got. One that is being recorded is refused.
    fn described(&self, name: &str, dir: &std::path::Path) -> Result<String, Trouble> {
        let Ok(run) = self.catalogue.store().summary(dir) else {
            return Ok(format!("{name}: cannot be read"));
        };
        if run.state == RunState::Running {
            let text = format!("Run `{name}` is going on. It can be deleted when it has ended.");
            return Err(Trouble::new(StatusCode::CONFLICT, "This run is being recorded", &[&text]));
        }
        let rounds = words::plural(run.rounds, "round");
        Ok(format!("{name}: {} ({}, {rounds}, {})", run.question, run.system, run.state.word()))
    }

    fn find_all(&self, names: &[String]) -> Result<Vec<PathBuf>, Trouble> {
        if names.is_empty() {
            let text = "Choose one run or more in the list.";
            return Err(Trouble::new(StatusCode::BAD_REQUEST, "Which runs?", &[text]));
        }
        let find = |name: &String| self.catalogue.find(name)?.ok_or_else(|| Trouble::no_such_run(name));
        names.iter().map(find).collect()
    }

    fn load(&self, name: &str) -> Result<(Run, Analysis), Trouble> {
        let dir = self.catalogue.find(name)?.ok_or_else(|| Trouble::no_such_run(name))?;
        self.catalogue.load(&dir).map_err(|error| Trouble::unreadable(name, &error))
    }
}

/// A served page leads back to the list.
fn links() -> Links {
    Links { gallery: Some("/".into()) }
}

fn file(media_type: &'static str, name: &str, text: String) -> Answer {
    Answer::File { media_type, save_as: Some(name.into()), text }
}

/// `forest.svg`, `forest.dark.svg`, `forest.light.svg`.
fn chart_name(file: &str) -> Option<(&str, Option<Theme>)> {
    let name = file.strip_suffix(".svg")?;
    Some(match name.rsplit_once('.') {
        Some((name, "dark")) => (name, Some(Theme::Dark)),
        Some((name, "light")) => (name, Some(Theme::Light)),
        _ => (name, None),
    })
}

fn no_such_chart(asked: &str, run: &Run, analysis: &Analysis) -> Trouble {
    let names: Vec<String> = chart::all(run, analysis).into_iter().map(|chart| chart.kind).collect();
    let text = format!("This run has no chart `{asked}`; it has {}.", names.join(", "));
    Trouble::new(StatusCode::NOT_FOUND, "No such chart", &[&text])
}

/// A word that is no verdict filters nothing.
fn filter(query: &[(String, String)]) -> GalleryFilter {
    let field = |name: &str| {
        query
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.trim())
            .filter(|value| !value.is_empty())
    };
    GalleryFilter {
        search: field("search").unwrap_or_default().into(),
        system: field("system").map(str::to_owned),
        verdict: field("verdict").and_then(VerdictClass::from_word),
    }
}
