//! The table that is redrawn in place on a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use weigh_results::report::live::{self, Live, Moment};

use crate::screen::Screen;

/// Redraws the table. Its size is asked for at every drawing: windows are resized while a run goes on.
pub(super) struct LiveTable<'a> {
    screen: &'a Screen,
    region: ProgressBar,
}

impl<'a> LiveTable<'a> {
    pub(super) fn new(screen: &'a Screen) -> LiveTable<'a> {
        LiveTable { screen, region: live_region() }
    }

    pub(super) fn draw(&mut self, live: &Live, moment: &Moment) {
        let (style, height) = self.screen.below();
        self.region.set_message(live::lines(live, moment, &style, height).join("\n"));
    }

    pub(super) fn clear(self) {
        self.region.finish_and_clear();
    }
}

/// One bar whose message is all there is; drawn when told to and never by itself.
pub(crate) fn live_region() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    bar.with_style(ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_spinner()))
}
