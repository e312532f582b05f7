//! Lines for a log: where nothing can be redrawn.

use std::time::{Duration, Instant};

use weigh_results::doubt::Doubt;
use weigh_results::model::Event;
use weigh_results::report::live::{Live, Moment, decided_line, doubt_line, plain_line};
use weigh_results::report::units;

use crate::screen::Screen;

/// At most one line per round in this time.
const EVERY: Duration = Duration::from_secs(10);

/// Writes a line when there is something to say.
pub(super) struct PlainLines<'a> {
    screen: &'a Screen,
    last: Option<Instant>,
}

impl<'a> PlainLines<'a> {
    pub(super) fn new(screen: &'a Screen) -> PlainLines<'a> {
        PlainLines { screen, last: None }
    }

    pub(super) fn say(&self, line: &str) {
        self.screen.note(line);
    }

    /// What an event has changed. `raised` are the doubts that nobody has heard of.
    pub(super) fn recorded(&mut self, event: &Event, raised: &[Doubt], live: &Live, moment: &Moment) {
        match event {
            Event::Round { .. } if self.last.is_none_or(|last| last.elapsed() >= EVERY) => {
                self.last = Some(Instant::now());
                self.say(&plain_line(live, moment.elapsed_s, moment.budget_s));
            }
            Event::Decided { variant, rounds, .. } => self.say(&decided_line(live, *variant, *rounds)),
            Event::Sequence(record) if record.sequence > 0 => {
                let settle = units::seconds(record.settle_s);
                self.say(&format!("starting over with a longer warm-up ({settle})"));
            }
            _ => {}
        }
        for doubt in raised {
            self.say(&doubt_line(&live.run().header.plan, doubt));
        }
    }
}
