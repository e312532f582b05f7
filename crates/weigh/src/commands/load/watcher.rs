//! What is seen while a load goes on, on standard error.
//!
//! On a terminal one line is redrawn every second; elsewhere there is a line every second; with `--quiet` there is
//! nothing. It draws in the call, between two looks at the engine: there is no ticking thread.

use indicatif::ProgressBar;
use weigh_lab::load::CapacityEvent;
use weigh_results::model::load::LoadInterval;
use weigh_results::report::load::{capacity, live};
use weigh_results::report::units;

use crate::progress::live_region;
use crate::screen::Screen;

/// Shows a load while it goes on.
pub(super) struct Watcher<'a> {
    screen: &'a Screen,
    mode: Mode,
    /// What stands before an interval's line.
    title: String,
}

enum Mode {
    Live(ProgressBar),
    Plain,
    Quiet,
}

impl<'a> Watcher<'a> {
    pub(super) fn new(screen: &'a Screen, quiet: bool) -> Watcher<'a> {
        let mode = match (quiet, screen.live) {
            (true, _) => Mode::Quiet,
            (false, true) => Mode::Live(live_region()),
            (false, false) => Mode::Plain,
        };
        Watcher { screen, mode, title: String::new() }
    }

    /// Something that takes a while begins.
    pub(super) fn step(&self, text: &str) {
        self.draw(text);
    }

    /// A second has passed.
    pub(super) fn interval(&self, interval: &LoadInterval, planned_s: f64) {
        self.draw(&format!("{}{}", self.title, live::line(interval, planned_s)));
    }

    /// Something of a search.
    pub(super) fn capacity(&mut self, event: CapacityEvent<'_>) {
        match event {
            CapacityEvent::Begins(None) => self.title = "closed loop: ".to_owned(),
            CapacityEvent::Begins(Some(rate_per_s)) => {
                self.title = format!("{}/s: ", units::figure(rate_per_s));
            }
            CapacityEvent::Interval(interval, planned_s) => {
                // Steps are many and short: elsewhere than on a terminal their ends are enough.
                if matches!(self.mode, Mode::Live(_)) {
                    self.interval(interval, planned_s);
                }
            }
            CapacityEvent::Estimated(per_s) => {
                self.keep(&format!("a closed loop does {}/s", units::figure(per_s)));
            }
            CapacityEvent::Step(number, step) => self.keep(&capacity::step_line(number, step)),
        }
    }

    /// Clears what is redrawn in place.
    pub(super) fn end(self) {
        if let Mode::Live(bar) = self.mode {
            bar.finish_and_clear();
        }
    }

    /// A line that is soon out of date.
    fn draw(&self, line: &str) {
        match &self.mode {
            Mode::Live(bar) => bar.set_message(line.to_owned()),
            Mode::Plain => self.screen.note(line),
            Mode::Quiet => {}
        }
    }

    /// A line that stays.
    fn keep(&self, line: &str) {
        match &self.mode {
            Mode::Live(bar) => bar.suspend(|| self.screen.note(line)),
            Mode::Plain => self.screen.note(line),
            Mode::Quiet => {}
        }
    }
}
