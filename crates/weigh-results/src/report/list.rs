//! The list of stored runs as text.

use super::layout::{Cell, Ink, Style, Table, TableColumn, cut};
use super::units;
use crate::store::{RunState, RunSummary};

/// One line per run, in the order given.
pub fn render(runs: &[RunSummary], style: &Style) -> String {
    let column = |heading: &str, left, priority, cells: Vec<Cell>| TableColumn {
        heading: heading.into(),
        cells,
        left,
        priority,
    };
    let cells =
        |of: &dyn Fn(&RunSummary) -> String| runs.iter().map(|run| Cell::new(of(run))).collect::<Vec<_>>();
    let ink = |state| match state {
        RunState::Decided => Ink::Good,
        RunState::Failed | RunState::Killed | RunState::Interrupted => Ink::Warning,
        RunState::Budget | RunState::Running => Ink::Plain,
    };
    let states = runs.iter().map(|run| Cell::inked(run.state.word(), ink(run.state))).collect();
    let started = |run: &RunSummary| run.started_at.replace('T', " ").chars().take(16).collect();
    let columns = vec![
        column("run", true, None, cells(&|run| run.run_id.clone())),
        column("started (UTC)", true, Some(1), cells(&started)),
        column("state", true, None, states),
        column("rounds", false, Some(5), cells(&|run| units::count(run.rounds.into()))),
        column(
            "took",
            false,
            Some(4),
            cells(&|run| run.elapsed_s.map_or_else(|| "–".into(), units::elapsed)),
        ),
        column(
            "question",
            true,
            Some(3),
            cells(&|run| cut(&run.question, style.width.saturating_sub(74).max(20))),
        ),
        column("variants", true, Some(2), cells(&|run| cut(&run.variants.join(", "), 36))),
    ];
    Table { columns }.render(style).0
}
