//! What is redrawn in place while a run goes on.

use unicode_width::UnicodeWidthStr as _;

use super::super::layout::{Cell, GAP, Ink, Style, Table, TableColumn, clip, cut};
use super::super::{units, words};
use super::fold::Live;
use super::rows::{self, Row};
use crate::model::Slot;

/// Below this width a ratio stands without its interval.
const ROOM_FOR_INTERVALS: usize = 64;
/// From this width on a state says more than a word.
const ROOM_FOR_MORE: usize = 110;
/// Bars are no narrower than this, and no wider.
const BAR: std::ops::RangeInclusive<usize> = 12..=44;
/// Doubts that are shown; the page has them all.
const DOUBTS: usize = 3;

/// What is going on at the moment of drawing.
#[derive(Clone, Debug, PartialEq)]
pub struct Moment {
    /// What is being done.
    pub doing: Doing,
    /// Time since the run began, seconds; 0 before its first trial.
    pub elapsed_s: f64,
    /// Time for the whole run, seconds.
    pub budget_s: f64,
}

/// What is being done.
#[derive(Clone, Debug, PartialEq)]
pub enum Doing {
    /// Something that takes a while, in the runner's words.
    Step(String),
    /// A trial.
    Trial {
        /// Its round, from 0.
        round: u32,
        /// What runs.
        slot: Slot,
    },
}

/// The lines, no more than `height` of them and none wider than the style's width. Without any line break.
pub fn lines(live: &Live, moment: &Moment, style: &Style, height: usize) -> Vec<String> {
    let mut lines = head(live, moment, style);
    lines.push(doing(live, moment, style));
    // One for the heading of the table, one for the cursor.
    let room = height.saturating_sub(lines.len() + 2);
    let began = live.run().trials.len() > 1 || !live.run().rounds.is_empty();
    if room >= 2 && began {
        let wanted = rows::rows(live).len() + rows::checks(live).len();
        let told = doubt_lines(live, room.saturating_sub(wanted).clamp(1, DOUBTS), style);
        lines.extend(table(live, style, room - told.len()));
        lines.extend(told);
    }
    lines.truncate(height.saturating_sub(1).max(1));
    lines.into_iter().map(|line| clip(&line.replace('\n', " "), style.width)).collect()
}

/// The question, and how far the run has come, on one line if they fit.
fn head(live: &Live, moment: &Moment, style: &Style) -> Vec<String> {
    let question = style.letters(&live.run().header.plan.question).replace('\n', " ");
    let question = style.letters(&cut(&question, style.width));
    if moment.elapsed_s <= 0.0 {
        return vec![style.paint(Ink::Strong, &question)];
    }
    let (elapsed, budget) = (units::elapsed(moment.elapsed_s), units::elapsed(moment.budget_s));
    let left = live.ahead().text(moment.elapsed_s, moment.budget_s);
    let progress = format!("{elapsed} of {budget}, {left}");
    // Where both do not fit on the line, the bound is in the likely time's shadow.
    let progress = if progress.len() > style.width {
        progress.replace(" left, at most ", " left, ≤ ")
    } else {
        progress
    };
    style.both_ends(&question, &progress).lines().map(str::to_owned).collect()
}

/// `round 9 of at most 34, trial 3 of 5: off`, or the step; what matters least is left out where there is no room.
fn doing(live: &Live, moment: &Moment, style: &Style) -> String {
    let text = |wordy| match &moment.doing {
        Doing::Step(step) => step.clone(),
        Doing::Trial { round, slot } => trial(live, *round, *slot, wordy),
    };
    let fits = |text: &String| text.width() <= style.width;
    let text = Some(text(true)).filter(fits).unwrap_or_else(|| text(false));
    shortened(&style.letters(&text).replace('\n', " "), style.width, style)
}

fn trial(live: &Live, round: u32, slot: Slot, wordy: bool) -> String {
    let run = live.run();
    let plan = &run.header.plan;
    let out = (0..plan.variants.len()).filter(|variant| live.dropped_out(*variant).is_some()).count();
    let trials = plan.variants.len() + 1 - out;
    let place = usize::try_from(live.in_round()).unwrap_or(0) + 1;
    let copy = match slot.copy {
        0 => "",
        _ if wordy => " (second copy, for the A/A check)",
        _ => " (A/A)",
    };
    let (_, set_aside) = live.rounds();
    let horizon = run.horizon.filter(|_| wordy);
    let most = horizon.map(|(_, units, per_unit)| format!(" of at most {}", units * per_unit + set_aside));
    let aside = match set_aside {
        some if some > 0 && wordy => format!(" · {} set aside", words::plural(some, "round")),
        _ => String::new(),
    };
    let name = cut(&words::quoted(plan, slot.variant), 40);
    let most = most.unwrap_or_default();
    format!("round {}{most}, trial {place} of {}: {name}{copy}{aside}", round + 1, trials.max(place))
}

/// The table in at most `room` lines below its heading.
fn table(live: &Live, style: &Style, room: usize) -> Vec<String> {
    let (mut rows, hidden) = fitting(rows::rows(live), rows::checks(live), room);
    let more = hidden_line(&hidden);
    let several = live.run().header.plan.judge.decide.len() > 1;
    let columns = columns(live, &mut rows, several, style);
    let text = Table { columns }.render(style).0;
    text.lines().map(str::to_owned).chain(more.map(|line| style.paint(Ink::Faint, &line))).collect()
}

/// The rows that there is room for, what is open before what is decided, and the rest.
fn fitting(rows: Vec<Row>, checks: Vec<Row>, room: usize) -> (Vec<Row>, Vec<Row>) {
    if rows.len() + checks.len() <= room {
        return (rows.into_iter().chain(checks).collect(), Vec::new());
    }
    // The A/A check gives way before a comparison does, and one line says what is missing.
    let mut left = room.saturating_sub(1);
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|place| std::cmp::Reverse(rows[*place].weight));
    let kept: Vec<usize> = order.into_iter().take(left).collect();
    left = left.saturating_sub(kept.len());
    let (mut shown, mut hidden) = (Vec::new(), Vec::new());
    for (place, row) in rows.into_iter().enumerate() {
        if kept.contains(&place) { shown.push(row) } else { hidden.push(row) }
    }
    shown.extend(checks.into_iter().take(left));
    (shown, hidden)
}

/// `and 12 more: 9 different, 3 same`
fn hidden_line(hidden: &[Row]) -> Option<String> {
    if hidden.is_empty() {
        return None;
    }
    let mut states: Vec<(&str, usize)> = Vec::new();
    for row in hidden {
        match states.iter_mut().find(|(state, _)| *state == row.state) {
            Some((_, times)) => *times += 1,
            None => states.push((row.state, 1)),
        }
    }
    let told: Vec<String> = states.iter().map(|(state, times)| format!("{times} {state}")).collect();
    Some(format!("and {} more: {}", hidden.len(), told.join(", ")))
}

fn columns(live: &Live, rows: &mut [Row], several: bool, style: &Style) -> Vec<TableColumn> {
    let plan = &live.run().header.plan;
    shorten(rows, style);
    let column = |heading: &str, left, priority, cells: Vec<Cell>| TableColumn {
        heading: heading.into(),
        cells,
        left,
        priority,
    };
    let mut columns =
        vec![column("variant", true, None, cells(rows, |row| Cell::inked(row.name.clone(), Ink::Strong)))];
    let single = plan.judge.decide.first().filter(|_| !several);
    if several {
        let by = cells(rows, |row| Cell::new(words::heading_in(plan, row.metric)));
        columns.push(column("by", true, Some(3), by));
    }
    let median = |row: &Row| {
        let blank = if row.name == AA_NAME { "" } else { "–" };
        Cell::new(row.median.map_or_else(|| blank.into(), |value| words::value(row.metric, value)))
    };
    let heading = single.map_or("so far".into(), |metric| words::heading_in(plan, *metric));
    columns.push(column(&heading, false, Some(1), cells(rows, median)));
    let against = format!("against {}", cut(words::variant_name(plan, plan.baseline), 16));
    columns.push(column(&against, true, None, cells(rows, |row| ratio(row, style))));
    columns.push(column("", true, None, cells(rows, |row| state(row, style))));
    for cell in columns.iter_mut().flat_map(|column| &mut column.cells) {
        cell.text = style.letters(&cell.text);
    }
    insert_bars(live, rows, &mut columns, style);
    columns
}

/// What the A/A check's row is called.
const AA_NAME: &str = "A/A check";

/// Names that take no more room than they need to be told apart.
fn shorten(rows: &mut [Row], style: &Style) {
    for width in [style.width / 6, style.width / 4, style.width / 2] {
        let short = |row: &Row| (cut(&row.name, width.max(10)), row.metric);
        let distinct: std::collections::BTreeSet<_> = rows.iter().map(short).collect();
        if distinct.len() == rows.len() || width == style.width / 2 {
            rows.iter_mut().for_each(|row| row.name = short(row).0);
            return;
        }
    }
}

fn cells(rows: &[Row], of: impl Fn(&Row) -> Cell) -> Vec<Cell> {
    rows.iter().map(of).collect()
}

fn ratio(row: &Row, style: &Style) -> Cell {
    let told = if style.width < ROOM_FOR_INTERVALS { units::ratio_alone } else { units::ratio };
    Cell::new(row.interval.as_ref().map(told).unwrap_or_default())
}

fn state(row: &Row, style: &Style) -> Cell {
    let more = if style.width < ROOM_FOR_MORE || row.more.is_empty() {
        String::new()
    } else {
        format!(", {}", row.more)
    };
    Cell::inked(format!("{}{more}", row.state), row.ink)
}

/// Bars in what room is left, before the state. Only once there is an interval.
fn insert_bars(live: &Live, rows: &[Row], columns: &mut Vec<TableColumn>, style: &Style) {
    let Some(reach) = live.reach() else { return };
    let used = Table { columns: columns.clone() }.width() + GAP;
    let width = style.width.saturating_sub(used).min(*BAR.end());
    if width < *BAR.start() {
        return;
    }
    let bar = |row: &Row| Cell::inked(reach.bar(row.interval.as_ref(), width, style), row.ink);
    let bars =
        TableColumn { heading: reach.heading(width), cells: cells(rows, bar), left: true, priority: Some(2) };
    columns.insert(columns.len() - 1, bars);
}

/// The latest doubts, one line each, at most `most` lines; the first says how many there are that have no room.
fn doubt_lines(live: &Live, most: usize, style: &Style) -> Vec<String> {
    let (plan, doubts) = (&live.run().header.plan, live.doubts());
    let shown = if doubts.len() > most { most - 1 } else { doubts.len() };
    let earlier = u32::try_from(doubts.len() - shown).unwrap_or(u32::MAX);
    let line = |label: &str, ink, text: &str| {
        let text = shortened(&style.letters(text).replace('\n', " "), style.width.saturating_sub(7), style);
        format!("{}  {text}", style.paint(ink, label))
    };
    let before = (earlier > 0).then(|| line("doubt", Ink::Faint, &format!("and {earlier} more")));
    let told = doubts[doubts.len() - shown..].iter();
    before
        .into_iter()
        .chain(told.map(|doubt| line("doubt", Ink::Warning, &words::doubt(plan, doubt).0)))
        .collect()
}

/// The text, its end cut off where there is no room for it.
fn shortened(text: &str, width: usize, style: &Style) -> String {
    let mark = style.letters("…");
    let kept = clip(text, width);
    if kept == text { kept } else { clip(text, width.saturating_sub(mark.chars().count())) + &mark }
}
