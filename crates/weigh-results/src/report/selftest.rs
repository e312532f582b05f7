//! The report of a self-test, as text and as JSON: what was measured and what a right answer is, check by check.
//!
//! [`render`] is the page, [`json`] everything for programs (described in `docs/selftest.md`). Both are functions of
//! the record alone; which outcome a figure has was decided by the model's rule, not here.

use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr as _;

use super::layout::{Cell, Ink, Style, Table, TableColumn};
use super::units;
use crate::model::selftest::{
    CheckKind, CheckRecord, Disturbance, Figure, FigureUnit, Outcome, Right, SelftestHost, SelftestRecord,
};

/// Version of the JSON report.
pub const REPORT_VERSION: u32 = 1;

/// Indentation of what belongs to a check.
const INDENT: &str = "  ";

/// What a check shows when it passes.
#[must_use]
pub fn claim(check: CheckKind) -> &'static str {
    match check {
        CheckKind::Clock => "the clock is fine, cheap to read, never goes back, and timers wake on time",
        CheckKind::Percentiles => "percentiles are the order statistics of what was timed",
        CheckKind::KnownDelays => "a service time that is known is what is measured",
        CheckKind::Arrivals => "an open loop sends when it should, and leaves nothing out",
        CheckKind::FrozenServer => "a server that stands still is charged for everyone who would have waited",
        CheckKind::Counts => "operations are counted exactly as the server counts them",
        CheckKind::ClientCost => "the client's own cost is small and is told as the kernel sees it",
    }
}

/// The word of an outcome.
#[must_use]
pub fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "passed",
        Outcome::Failed => "failed",
        Outcome::NotJudged => "unjudged",
    }
}

/// The page. Ends with a newline.
pub fn render(record: &SelftestRecord, style: &Style) -> String {
    let mut page = style.both_ends("Does weigh measure right on this machine?", &machine(record));
    let width = record.checks.iter().flat_map(|check| &check.figures).map(|figure| figure.what.width()).max();
    for check in &record.checks {
        page.push('\n');
        page.push_str(&the_check(check, width.unwrap_or(0), style));
    }
    page.push('\n');
    page.push_str(&style.paragraph("verdict", ink(record.outcome()), &verdict(record)));
    page
}

/// The sentence at the end.
#[must_use]
pub fn verdict(record: &SelftestRecord) -> String {
    let of = |outcome: Outcome| {
        let names = record.checks.iter().filter(|check| check.outcome() == outcome);
        names.map(|check| format!("`{}`", check.check.key())).collect::<Vec<_>>().join(", ")
    };
    let unjudged = of(Outcome::NotJudged);
    let busy = || format!("the machine was too busy to judge {unjudged}: try again when it is quiet.");
    match record.outcome() {
        Outcome::Passed => "every figure is right: what weigh says on this machine can be trusted.".into(),
        Outcome::NotJudged => format!("nothing is wrong, but {}", busy()),
        Outcome::Failed => {
            let more = if unjudged.is_empty() { String::new() } else { format!(" And {}", busy()) };
            format!(
                "{} failed: times measured on this machine are not to be trusted until it is known why.{more}",
                of(Outcome::Failed)
            )
        }
    }
}

fn machine(record: &SelftestRecord) -> String {
    let SelftestHost { kernel, cpu_model, cpus, clock_source, virtualisation, .. } = &record.host;
    let cpus = super::words::plural(*cpus, "CPU");
    let mut facts = vec![cpu_model.clone(), cpus, format!("Linux {kernel}"), clock_source.clone()];
    facts.extend(virtualisation.clone());
    facts.push(units::elapsed(record.elapsed_s));
    facts.retain(|fact| !fact.is_empty());
    facts.join(" · ")
}

fn ink(outcome: Outcome) -> Ink {
    match outcome {
        Outcome::Passed => Ink::Good,
        Outcome::Failed => Ink::Bad,
        Outcome::NotJudged => Ink::Warning,
    }
}

fn the_check(check: &CheckRecord, width: usize, style: &Style) -> String {
    let outcome = check.outcome();
    let heading = format!("{}: {}", check.check.key(), claim(check.check));
    let mut text = style.paragraph(word(outcome), ink(outcome), &heading);
    let mut line = |ink: Ink, words: &str| {
        for line in super::layout::wrap(&style.letters(words), style.width.saturating_sub(INDENT.len())) {
            text.push_str(INDENT);
            text.push_str(&style.paint(ink, &line));
            text.push('\n');
        }
    };
    if !check.setup.is_empty() {
        line(Ink::Faint, &check.setup);
    }
    if let Some(error) = &check.error {
        line(Ink::Bad, &format!("could not be made: {error}"));
    }
    for table_line in figures(check, width, style).lines() {
        text.push_str(INDENT);
        text.push_str(table_line);
        text.push('\n');
    }
    text + &notes(check, style)
}

fn figures(check: &CheckRecord, width: usize, style: &Style) -> String {
    if check.figures.is_empty() {
        return String::new();
    }
    let disturbed = check.disturbance.is_disturbed();
    let column =
        |heading: &str, left, priority, cells| TableColumn { heading: heading.into(), cells, left, priority };
    let cells = |of: &dyn Fn(&Figure) -> Cell| check.figures.iter().map(of).collect::<Vec<_>>();
    let outcome = |figure: &Figure| match figure.outcome(disturbed) {
        None => Cell::default(),
        Some(Outcome::Passed) => Cell::inked("ok", Ink::Good),
        Some(Outcome::Failed) => Cell::inked("OFF", Ink::Bad),
        Some(Outcome::NotJudged) => Cell::inked("unjudged", Ink::Warning),
    };
    // The same width in every check, so that columns stand below each other.
    let padded = |figure: &Figure| format!("{:<width$}", figure.what);
    let columns = vec![
        column("", true, None, cells(&|figure| Cell::new(padded(figure)))),
        column("   measured", false, None, cells(&|figure| Cell::new(show(figure.value, figure.unit)))),
        column("a right answer", true, Some(9), cells(&|figure| Cell::new(right(figure)))),
        column("", true, None, cells(&outcome)),
    ];
    let inner = Style { width: style.width.saturating_sub(INDENT.len()), ..*style };
    Table { columns }.render(&inner).0
}

/// Why the figures that are not right would have to be, and what disturbed the check.
fn notes(check: &CheckRecord, style: &Style) -> String {
    let disturbed = check.disturbance.is_disturbed();
    let mut notes: Vec<(Ink, String)> = check
        .figures
        .iter()
        .filter(|figure| figure.outcome(disturbed) == Some(Outcome::Failed))
        .map(|figure| (Ink::Bad, wrong(figure)))
        .collect();
    if check.figures.iter().any(|figure| figure.outcome(disturbed) == Some(Outcome::NotJudged)) {
        notes.push((Ink::Warning, disturbance(&check.disturbance, check.attempts)));
    }
    let mut text = String::new();
    for (ink, note) in notes {
        for line in super::layout::wrap(&style.letters(&note), style.width.saturating_sub(INDENT.len())) {
            text.push_str(INDENT);
            text.push_str(&style.paint(ink, &line));
            text.push('\n');
        }
    }
    text
}

/// `1 client: operations: 590, and right would be exactly 591: the server's count`
fn wrong(figure: &Figure) -> String {
    let Figure { what, value, unit, why, .. } = figure;
    format!("{what}: {}, and right would be {}: {why}", show(*value, *unit), right(figure))
}

fn disturbance(found: &Disturbance, attempts: u32) -> String {
    format!(
        "busy machine: a thread of the check stood ready without a CPU for {} of the time, steal was {}, and at {} of \
         the moments nobody could have been on time (limit {}); {}",
        units::percent(found.wait_share),
        units::percent(found.steal_share),
        units::percent(found.stall_share),
        units::planned_percent(Disturbance::LIMIT),
        super::words::plural(attempts, "attempt")
    )
}

/// A figure with four significant digits: the tolerances are that fine.
fn show(value: f64, unit: FigureUnit) -> String {
    const DIGITS: i32 = 4;
    match unit {
        FigureUnit::Count if value.fract() == 0.0 => units::significant(value, exact_digits(value)),
        FigureUnit::Count => units::significant(value, DIGITS),
        FigureUnit::PerSecond => format!("{}/s", units::significant(value, DIGITS)),
        FigureUnit::Share => units::percent(value),
        FigureUnit::Number => units::significant(value, DIGITS),
        FigureUnit::Seconds => {
            let (scale, name) = match value.abs() {
                0.0 => return "0 s".into(),
                size if size < 0.999_95e-6 => (1e9, "ns"),
                size if size < 0.999_95e-3 => (1e6, "µs"),
                size if size < 0.999_95 => (1e3, "ms"),
                _ => (1.0, "s"),
            };
            format!("{} {name}", units::significant(value * scale, DIGITS))
        }
    }
}

/// Digits of a whole number: counts are exact.
fn exact_digits(value: f64) -> i32 {
    let digits = format!("{:.0}", value.abs()).len();
    i32::try_from(digits).unwrap_or(i32::MAX)
}

fn right(figure: &Figure) -> String {
    let show = |value| show(value, figure.unit);
    match figure.right {
        Right::Exactly(truth) => format!("exactly {}", show(truth)),
        Right::Near { truth, tolerance } => format!("{} ± {}", show(truth), show(tolerance)),
        Right::Between { low, high } => format!("{} to {}", show(low), show(high)),
        Right::AtMost(limit) => format!("at most {}", show(limit)),
        Right::Shown => String::new(),
    }
}

/// Everything, for programs.
#[must_use]
pub fn json(record: &SelftestRecord) -> Value {
    json!({
        "report": "selftest",
        "report_version": REPORT_VERSION,
        "outcome": record.outcome(),
        "verdict": verdict(record),
        "weigh_version": record.weigh_version,
        "started_at": record.started_at,
        "elapsed_s": record.elapsed_s,
        "host": record.host,
        "checks": record.checks.iter().map(check_json).collect::<Vec<_>>(),
    })
}

fn check_json(check: &CheckRecord) -> Value {
    let disturbed = check.disturbance.is_disturbed();
    let figure = |figure: &Figure| {
        json!({
            "what": figure.what,
            "value": figure.value,
            "unit": figure.unit,
            "right": figure.right,
            "why": figure.why,
            "timed": figure.timed,
            "outcome": figure.outcome(disturbed),
        })
    };
    json!({
        "check": check.check,
        "claim": claim(check.check),
        "outcome": check.outcome(),
        "setup": check.setup,
        "error": check.error,
        "figures": check.figures.iter().map(figure).collect::<Vec<_>>(),
        "disturbance": check.disturbance,
        "disturbance_limit": Disturbance::LIMIT,
        "attempts": check.attempts,
        "elapsed_s": check.elapsed_s,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> SelftestRecord {
        let quiet = Disturbance { window_s: 1.0, wait_share: 0.0004, known: true, ..Disturbance::default() };
        let check = |check, figures, disturbance| CheckRecord {
            check,
            setup: "the built-in server, one client".into(),
            figures,
            error: None,
            disturbance,
            attempts: 1,
            elapsed_s: 1.2,
        };
        let seconds = FigureUnit::Seconds;
        let near = Right::Near { truth: 0.001, tolerance: 5e-6 };
        let between = Right::Between { low: 0.001_055, high: 0.001_08 };
        let delays = vec![
            Figure::shown("1 ms: the way there and back, p50", 73.148e-6, seconds),
            Figure::timed(
                "1 ms: p50 less the way",
                0.001_001_03,
                seconds,
                near,
                "the service time is 1.000 ms",
            ),
            Figure::always("1 ms: p50", 0.001_074_175, seconds, between, "the bounds"),
        ];
        let counts = |answered| {
            let right = Right::Exactly(answered);
            vec![Figure::always(
                "1 client: operations",
                590.0,
                FigureUnit::Count,
                right,
                "the server's count",
            )]
        };
        let clock = vec![Figure::timed(
            "one reading",
            30e-9,
            seconds,
            Right::AtMost(200e-9),
            "without a system call",
        )];
        let busy = Disturbance { wait_share: 0.035, ..quiet };
        SelftestRecord {
            weigh_version: "0.1.0".into(),
            started_at: "2026-11-22T02:00:00Z".into(),
            host: SelftestHost {
                hostname: "rack7".into(),
                kernel: "6.18.0".into(),
                cpu_model: "AMD EPYC".into(),
                cpus: 2,
                clock_source: "tsc".into(),
                virtualisation: Some("KVM".into()),
            },
            checks: vec![
                check(CheckKind::KnownDelays, delays, quiet),
                check(CheckKind::Counts, counts(591.0), busy),
                CheckRecord { attempts: 3, ..check(CheckKind::Clock, clock, busy) },
                CheckRecord {
                    error: Some("no server is installed; install `redis-server`".into()),
                    setup: String::new(),
                    ..check(CheckKind::FrozenServer, Vec::new(), Disturbance::default())
                },
            ],
            elapsed_s: 23.4,
        }
    }

    #[test]
    fn the_page_says_what_was_measured_and_what_is_right() {
        let style = Style { width: 100, colour: false, unicode: true };
        insta::assert_snapshot!("selftest_100", render(&record(), &style));
        insta::assert_snapshot!("selftest_60", render(&record(), &Style { width: 60, ..style }));
        let plain = render(&record(), &Style { unicode: false, ..style });
        assert!(plain.is_ascii(), "{plain}");
    }

    #[test]
    fn the_verdict_names_what_failed_and_what_could_not_be_judged() {
        let mut record = record();
        assert!(verdict(&record).starts_with("`counts`, `frozen_server` failed"), "{}", verdict(&record));
        record.checks.truncate(1);
        assert_eq!(record.outcome(), Outcome::Passed);
        record.checks[0].disturbance.wait_share = 0.5;
        assert!(verdict(&record).starts_with("nothing is wrong, but the machine was too busy"));
    }

    #[test]
    fn the_json_carries_every_outcome() {
        let value = json(&record());
        assert_eq!((&value["report"], &value["outcome"]), (&json!("selftest"), &json!("failed")));
        let outcomes: Vec<&Value> =
            value["checks"].as_array().unwrap().iter().map(|c| &c["outcome"]).collect();
        assert_eq!(outcomes, ["passed", "failed", "not_judged", "failed"]);
        assert_eq!(value["checks"][0]["figures"][0]["outcome"], Value::Null);
        assert_eq!(value["checks"][0]["figures"][1]["right"]["near"]["truth"], 0.001);
    }
}
