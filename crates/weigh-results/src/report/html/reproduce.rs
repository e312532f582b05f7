//! How to do it again, and the raw data to look into.

use maud::{Markup, html};

use super::super::{csv, json, units};
use super::frame;
use crate::analysis::Analysis;
use crate::model::Run;

/// The command, the experiment as a file, the seed.
pub(super) fn reproduce(run: &Run) -> Markup {
    let header = &run.header;
    let seed = header.plan.seed;
    let file = format!("{}.toml", file_stem(&header.plan.experiment));
    let typed = header.command_line.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    html! {
        @if !header.experiment_toml.is_empty() {
            p { "The whole experiment is in the file below, flags included. With it and the seed, the plan, the orders and the generated data are the same again:" }
            (frame::command(&format!("weigh run {file} --seed {seed}")))
            details {
                summary { code { (file) } }
                pre tabindex="0" { code { (header.experiment_toml) } }
            }
            (downloads(&[Download { name: "toml", label: &format!("Download {file}"), file: file.clone(), mime: "application/toml", bytes: header.experiment_toml.as_bytes() }]))
        }
        @if !typed.is_empty() {
            p { "What was typed:" }
            (frame::command(&typed))
        }
        p { "The same report from the stored run, on the terminal:" }
        (frame::command(&format!("weigh show {}", header.run_id)))
        dl.pairs {
            div { dt { "seed" } dd { (seed) } }
            div { dt { "run" } dd { (header.run_id) } }
        }
    }
}

/// The raw data inside the page.
pub(super) fn raw(run: &Run, analysis: &Analysis) -> Markup {
    let id = &run.header.run_id;
    let report = json::render(run, analysis).to_string();
    let (trials_csv, summary_csv) = (csv::trials(run), csv::summary(run, analysis));
    let of = |name, label, file: String, mime, text| Download {
        name,
        label,
        file,
        mime,
        bytes: str::as_bytes(text),
    };
    let files = [
        of("trials", "Trials (CSV)", format!("{id}-trials.csv"), "text/csv", &trials_csv),
        of("summary", "Summary (CSV)", format!("{id}-summary.csv"), "text/csv", &summary_csv),
        of("report", "Report (JSON)", format!("{id}.json"), "application/json", &report),
    ];
    let trials = units::count(u64::try_from(run.trials.len()).unwrap_or(u64::MAX));
    html! {
        p { "Inside this page, compressed: every trial with all its figures and counters (" (trials) " rows), a summary, and the whole report for programs." }
        (downloads(&files))
        p.note data-download-problem="" role="status" {}
        noscript { p.note { "Without script: " code { "weigh show " (id) " --csv" } " and " code { "weigh show " (id) " --json" } "." } }
    }
}

/// What can be taken out of the page.
struct Download<'a> {
    name: &'a str,
    label: &'a str,
    file: String,
    mime: &'a str,
    bytes: &'a [u8],
}

/// Buttons, then the packed bytes they hand out.
fn downloads(all: &[Download<'_>]) -> Markup {
    html! {
        p.buttons {
            @for one in all {
                button type="button" hidden data-download={ "raw-" (one.name) } data-file=(one.file) data-mime=(one.mime) {
                    (one.label) " " span.faint { (size(one.bytes.len())) }
                }
            }
        }
        @for one in all {
            script type="text/plain" id={ "raw-" (one.name) } data-packed="gzip" { (frame::packed(one.bytes)) }
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "sizes are far below 2^52 bytes")]
fn size(bytes: usize) -> String {
    units::bytes(bytes as f64)
}

/// The last part of an experiment's name, if it can be a file's.
fn file_stem(experiment: &str) -> String {
    let last = experiment.rsplit('/').next().unwrap_or(experiment);
    let kept: String = last
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() || "-_.".contains(letter) { letter } else { '-' })
        .collect();
    if kept.trim_matches(['-', '.']).is_empty() { "experiment".into() } else { kept }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=,@%+".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_can_be_pasted() {
        assert_eq!(quoted("postgres/durability"), "postgres/durability");
        assert_eq!(quoted("gzip -1 <f"), "'gzip -1 <f'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
        assert_eq!(file_stem("postgres/durability"), "durability");
        assert_eq!(file_stem("../x y"), "x-y");
        assert_eq!(file_stem(".."), "experiment");
    }
}
