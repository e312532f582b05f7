//! What is seen while a run goes on, on standard error.
//!
//! On a terminal a few lines are redrawn in place; elsewhere there is a line now and then; with `--quiet`
//! nothing. [`Progress`] folds the events it is shown into a run of its own and judges it as the report will.
//! Everything happens in the call, which is between two trials: there is no ticking thread that would take
//! CPU time from a server under load.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use weigh_lab::events::{LabEvent, Progress as Doing};
use weigh_results::model::{Event, Run, RunHeader};
use weigh_results::report::live::{self, Standing};
use weigh_results::report::{units, words};

use crate::screen::Screen;

/// Without a terminal: at most one line per round in this time.
const PLAIN_EVERY: Duration = Duration::from_secs(10);

/// Shows a run while it goes on.
pub(crate) struct Progress<'a> {
    screen: &'a Screen,
    mode: Mode,
    run: Run,
    now: Now,
}

enum Mode {
    Live(ProgressBar),
    Plain { last: Option<Instant> },
    Quiet,
}

/// What is known about the present moment.
#[derive(Default)]
struct Now {
    step: String,
    elapsed_s: f64,
    budget_s: f64,
    standings: Vec<Standing>,
}

impl<'a> Progress<'a> {
    /// Shows a new run, or one that goes on.
    pub(crate) fn new(screen: &'a Screen, run: Run, quiet: bool) -> Progress<'a> {
        let mode = match (quiet, screen.live) {
            (true, _) => Mode::Quiet,
            (false, true) => Mode::Live(live_region()),
            (false, false) => Mode::Plain { last: None },
        };
        let budget_s = run.header.plan.judge.budget_s;
        Progress { screen, mode, run, now: Now { budget_s, ..Now::default() } }
    }

    /// Takes one event of the runner.
    pub(crate) fn show(&mut self, event: &LabEvent) {
        if matches!(self.mode, Mode::Quiet) {
            return;
        }
        match event {
            LabEvent::Progress(Doing::Step(step)) => {
                self.now.step.clone_from(step);
                self.step();
            }
            LabEvent::Progress(Doing::Trial { round, slot, elapsed_s, budget_s }) => {
                self.now.elapsed_s = *elapsed_s;
                self.now.budget_s = *budget_s;
                let name = words::quoted(&self.run.header.plan, slot.variant);
                self.now.step = format!("round {}: {name}", round + 1);
                self.draw();
            }
            LabEvent::Recorded(recorded) => self.recorded(recorded),
        }
    }

    /// Clears what is redrawn in place.
    pub(crate) fn end(self) {
        if let Mode::Live(bar) = self.mode {
            bar.finish_and_clear();
        }
    }

    fn recorded(&mut self, event: &Event) {
        self.run.apply(event.clone());
        match event {
            Event::Round { .. } => {
                self.now.standings = live::standings(&self.run);
                self.round();
            }
            Event::Decided { variant, rounds, .. } => {
                let name = words::quoted(&self.run.header.plan, *variant);
                let lines = self.now.standings.iter().filter(|standing| standing.variant == name);
                let lines: Vec<String> = lines.map(Standing::line).collect();
                self.plain(&format!("final after {}: {}", words::plural(*rounds, "round"), lines.join("; ")));
            }
            Event::Sequence(record) if record.sequence > 0 => {
                self.now.standings.clear();
                let settle = units::seconds(record.settle_s);
                self.plain(&format!("starting over with a longer warm-up ({settle})"));
            }
            Event::Doubt(doubt) => {
                self.plain(&format!("doubt: {}: {}", doubt.kind.text().title, doubt.evidence))
            }
            _ => {}
        }
    }

    /// A step that takes a while: always told.
    fn step(&mut self) {
        let step = self.now.step.clone();
        self.plain(&step);
        self.draw();
    }

    fn round(&mut self) {
        if let Mode::Plain { last } = &mut self.mode
            && last.is_none_or(|last| last.elapsed() >= PLAIN_EVERY)
        {
            *last = Some(Instant::now());
            let text = plain_line(&self.run.header, rounds(&self.run), &self.now);
            self.plain(&text);
        }
        self.draw();
    }

    fn plain(&self, line: &str) {
        if matches!(self.mode, Mode::Plain { .. }) {
            self.screen.note(line);
        }
    }

    fn draw(&self) {
        if let Mode::Live(bar) = &self.mode {
            bar.set_message(live_text(&self.now));
        }
    }
}

/// One bar whose message is all there is; drawn when told to and never by itself.
pub(crate) fn live_region() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    bar.with_style(ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_spinner()))
}

/// Complete rounds of the sequence that counts.
fn rounds(run: &Run) -> usize {
    let sequence = run.current_sequence().map_or(0, |record| record.sequence);
    run.rounds.iter().filter(|(of, _, _)| *of == sequence).count()
}

/// `round 8, 34 s of 5m00s: off 11.6x (11.2–12.0) different; local not looked at yet`
fn plain_line(header: &RunHeader, rounds: usize, now: &Now) -> String {
    let so_far =
        format!("round {rounds}, {} of {}", units::elapsed(now.elapsed_s), units::elapsed(now.budget_s));
    let looked: Vec<String> =
        now.standings.iter().filter(|standing| standing.ratio.is_some()).map(Standing::line).collect();
    if looked.is_empty() {
        return so_far;
    }
    format!("{so_far}; against {}: {}", words::quoted(&header.plan, header.plan.baseline), looked.join("; "))
}

/// The lines that are redrawn in place.
fn live_text(now: &Now) -> String {
    let left = (now.budget_s - now.elapsed_s).max(0.0);
    let mut text = now.step.clone();
    if now.elapsed_s > 0.0 {
        text.push_str(&format!(" · {} of {}", units::elapsed(now.elapsed_s), units::elapsed(now.budget_s)));
        text.push_str(&format!(", at most {} left", units::elapsed(left)));
    }
    for standing in &now.standings {
        text.push_str("\n  ");
        text.push_str(&standing.line());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_live_region_says_what_is_going_on_and_how_it_stands() {
        let mut now = Now { step: "starting postgres 15.18".into(), budget_s: 300.0, ..Now::default() };
        assert_eq!(live_text(&now), "starting postgres 15.18");
        now.step = "round 9: off".into();
        now.elapsed_s = 34.0;
        now.standings.push(Standing {
            variant: "off".into(),
            metric: weigh_results::model::Metric::Throughput,
            ratio: Some("11.6x (11.2–12.0)".into()),
            state: "different",
        });
        assert_eq!(
            live_text(&now),
            "round 9: off · 34 s of 5m00s, at most 4m26s left\n  off 11.6x (11.2–12.0) different"
        );
    }
}
