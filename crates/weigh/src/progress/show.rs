//! From events of the runner to a screen of one of three kinds.

use weigh_lab::events::{LabEvent, Progress as Doing};
use weigh_results::model::{Event, Run};
use weigh_results::report::live::{self, Live, Moment};

use super::plain::PlainLines;
use super::table::LiveTable;
use crate::screen::Screen;

/// Shows a run while it goes on.
pub(crate) struct Progress<'a> {
    mode: Mode<'a>,
    live: Live,
    moment: Moment,
}

enum Mode<'a> {
    Table(LiveTable<'a>),
    Plain(PlainLines<'a>),
    Quiet,
}

impl<'a> Progress<'a> {
    /// Shows a new run, or one that goes on.
    pub(crate) fn new(screen: &'a Screen, run: Run, quiet: bool) -> Progress<'a> {
        let mode = match (quiet, screen.live) {
            (true, _) => Mode::Quiet,
            (false, true) => Mode::Table(LiveTable::new(screen)),
            (false, false) => Mode::Plain(PlainLines::new(screen)),
        };
        let budget_s = run.header.plan.judge.budget_s;
        let moment = Moment { doing: live::Doing::Step(String::new()), elapsed_s: 0.0, budget_s };
        // What nobody sees needs no judging.
        let live = Live::new(if quiet { Run::new(run.header) } else { run });
        Progress { mode, live, moment }
    }

    /// Takes one event of the runner.
    pub(crate) fn show(&mut self, event: &LabEvent) {
        if matches!(self.mode, Mode::Quiet) {
            return;
        }
        match event {
            LabEvent::Progress(Doing::Step(step)) => {
                self.moment.doing = live::Doing::Step(step.clone());
                self.say(step);
                self.draw();
            }
            LabEvent::Progress(Doing::Trial { round, slot, elapsed_s, budget_s }) => {
                self.moment = Moment {
                    doing: live::Doing::Trial { round: *round, slot: *slot },
                    elapsed_s: *elapsed_s,
                    budget_s: *budget_s,
                };
                self.draw();
            }
            LabEvent::Recorded(recorded) => self.recorded(recorded),
        }
    }

    /// Clears what is redrawn in place.
    pub(crate) fn end(self) {
        if let Mode::Table(table) = self.mode {
            table.clear();
        }
    }

    fn recorded(&mut self, event: &Event) {
        let raised = self.live.apply(event);
        if let Mode::Plain(lines) = &mut self.mode {
            lines.recorded(event, &raised, &self.live, &self.moment);
        }
    }

    /// A step that takes a while is always told.
    fn say(&self, step: &str) {
        if let Mode::Plain(lines) = &self.mode {
            lines.say(step);
        }
    }

    /// Drawn when something begins, and at no other time: what follows is a trial or a step.
    fn draw(&mut self) {
        if let Mode::Table(table) = &mut self.mode {
            table.draw(&self.live, &self.moment);
        }
    }
}
