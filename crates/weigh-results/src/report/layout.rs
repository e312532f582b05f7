//! Lines, paragraphs and tables of a given width.

use anstyle::{AnsiColor, Effects};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr};

/// What the reader's terminal can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns.
    pub width: usize,
    /// Whether escape sequences for colour may be written.
    pub colour: bool,
    /// Whether letters beyond ASCII may be written.
    pub unicode: bool,
}

/// How a piece of text stands out. It never says anything that the words do not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ink {
    /// As it is.
    #[default]
    Plain,
    /// Headings and names.
    Strong,
    /// Less important.
    Faint,
    /// Better than the baseline, or a check that passed.
    Good,
    /// Worse than the baseline, or a check that failed.
    Bad,
    /// A doubt.
    Warning,
}

impl Ink {
    fn style(self) -> anstyle::Style {
        match self {
            Ink::Plain => anstyle::Style::new(),
            Ink::Strong => anstyle::Style::new().effects(Effects::BOLD),
            Ink::Faint => anstyle::Style::new().effects(Effects::DIMMED),
            Ink::Good => AnsiColor::Green.on_default(),
            Ink::Bad => AnsiColor::Red.on_default(),
            Ink::Warning => AnsiColor::Yellow.on_default(),
        }
    }
}

impl Style {
    /// The text in letters the terminal has. Control characters, which names of variants may hold, are none of them;
    /// line breaks stay.
    pub(crate) fn letters(&self, text: &str) -> String {
        let text = &text.replace(|letter: char| letter.is_control() && letter != '\n', " ");
        if self.unicode {
            return text.to_owned();
        }
        let mut ascii = String::with_capacity(text.len());
        for letter in text.chars() {
            match letter {
                'µ' => ascii.push('u'),
                '–' | '−' => ascii.push('-'),
                '…' => ascii.push_str(".."),
                '·' => ascii.push(','),
                '×' => ascii.push('x'),
                '≤' => ascii.push_str("<="),
                '≥' => ascii.push_str(">="),
                '±' => ascii.push_str("+-"),
                '→' => ascii.push_str("->"),
                other => ascii.push(other),
            }
        }
        ascii
    }

    /// The text in the ink, if there is colour.
    pub(crate) fn paint(&self, ink: Ink, text: &str) -> String {
        if !self.colour || ink == Ink::Plain || text.is_empty() {
            return text.to_owned();
        }
        let style = ink.style();
        format!("{style}{text}{style:#}")
    }

    /// A labelled paragraph: the label in a column of its own, the text wrapped beside it.
    pub(crate) fn paragraph(&self, label: &str, ink: Ink, text: &str) -> String {
        const LABEL: usize = 9;
        let mut out = String::new();
        let room = self.width.saturating_sub(LABEL).max(20);
        for (number, line) in wrap(&self.letters(text), room).iter().enumerate() {
            let label = if number == 0 { label } else { "" };
            let gap = " ".repeat(LABEL.saturating_sub(label.width()));
            out.push_str(&self.paint(ink, label));
            out.push_str(if line.is_empty() { "" } else { &gap });
            out.push_str(line);
            out.push('\n');
        }
        out
    }

    /// Two texts at the two ends of a line; below each other, wrapped, when they do not fit.
    pub(crate) fn both_ends(&self, left: &str, right: &str) -> String {
        let (left, right) = (self.letters(left), self.letters(right));
        let used = left.width() + right.width();
        if used + 2 <= self.width {
            let gap = " ".repeat(self.width - used);
            return format!("{}{gap}{}\n", self.paint(Ink::Strong, &left), self.paint(Ink::Faint, &right));
        }
        let lines = |text: &str, ink| -> String {
            wrap(text, self.width).iter().map(|line| format!("{}\n", self.paint(ink, line))).collect()
        };
        lines(&left, Ink::Strong) + &lines(&right, Ink::Faint)
    }
}

/// A space that no line is broken at.
const FIRM: char = '\u{a0}';
/// The text with firm spaces inside `quoted pieces` that fit on a line: they are there to be copied.
fn firm(text: &str, width: usize) -> String {
    let keep = |(place, piece): (usize, &str)| {
        let quoted = place % 2 == 1 && piece.width() + 3 <= width;
        if quoted { piece.replace(' ', &FIRM.to_string()) } else { piece.to_owned() }
    };
    let quoted = text.split('`').enumerate().map(keep).collect::<Vec<_>>().join("`");
    with_its_unit(&quoted)
}

/// The text with a firm space between a figure and its unit.
fn with_its_unit(text: &str) -> String {
    const UNITS: [&str; 12] = ["%", "ns", "µs", "us", "ms", "s", "B", "kB", "MB", "GB", "times", "rounds"];
    let mut firm = String::with_capacity(text.len());
    for word in text.split(' ') {
        let bare = word.trim_end_matches(['.', ',', ';', ':', ')']);
        let after_figure = firm.ends_with(|letter: char| letter.is_ascii_digit());
        if !firm.is_empty() {
            firm.push(if after_figure && UNITS.contains(&bare) { FIRM } else { ' ' });
        }
        firm.push_str(word);
    }
    firm
}

/// Breaks text at spaces, but not inside short `quoted pieces`, so that no line is wider than `width`; a
/// longer word stands alone.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for part in firm(text, width).lines() {
        let mut line = String::new();
        for word in part.split(' ') {
            if !line.is_empty() && line.width() + 1 + word.width() > width {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.push(line);
    }
    lines.into_iter().map(|line| line.replace(FIRM, " ")).collect()
}

/// A text cut in the middle, so that its ends can still be told apart.
pub(crate) fn cut(text: &str, width: usize) -> String {
    let letters: Vec<char> = text.chars().collect();
    if letters.len() <= width || width < 5 {
        return text.to_owned();
    }
    let head = (width - 1) / 2;
    let tail = width - 1 - head;
    let ends = (
        letters[..head].iter().collect::<String>(),
        letters[letters.len() - tail..].iter().collect::<String>(),
    );
    format!("{}…{}", ends.0, ends.1)
}

/// The beginning of a painted line, so that it takes at most `width` columns; escape sequences take none.
pub(crate) fn clip(line: &str, width: usize) -> String {
    let (mut kept, mut used, mut in_escape, mut painted) = (String::new(), 0, false, false);
    for letter in line.chars() {
        if letter == '\u{1b}' {
            (in_escape, painted) = (true, true);
        }
        if in_escape {
            kept.push(letter);
            in_escape = letter != 'm';
            continue;
        }
        used += letter.width().unwrap_or(0);
        if used > width {
            // The ink ends with the line.
            let end = if painted { anstyle::Reset.render().to_string() } else { String::new() };
            return kept + &end;
        }
        kept.push(letter);
    }
    kept
}

/// One cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) ink: Ink,
}

impl Cell {
    pub(crate) fn new(text: impl Into<String>) -> Cell {
        Cell { text: text.into(), ink: Ink::Plain }
    }

    pub(crate) fn inked(text: impl Into<String>, ink: Ink) -> Cell {
        Cell { text: text.into(), ink }
    }
}

/// One column: what it says, and how soon it goes when there is no room.
#[derive(Clone, Debug)]
pub(crate) struct TableColumn {
    pub(crate) heading: String,
    pub(crate) cells: Vec<Cell>,
    /// Text is flush left, figures are flush right.
    pub(crate) left: bool,
    /// `None` is never dropped; the lowest goes first.
    pub(crate) priority: Option<u8>,
}

/// A table that drops whole columns, least important first, until it fits.
pub(crate) struct Table {
    pub(crate) columns: Vec<TableColumn>,
}

/// Spaces between columns.
pub(crate) const GAP: usize = 2;

impl Table {
    /// The table and the headings of the columns that had no room.
    pub(crate) fn render(mut self, style: &Style) -> (String, Vec<String>) {
        for column in &mut self.columns {
            let of_a_cell = |text: &str| style.letters(text).replace('\n', " ");
            column.heading = of_a_cell(&column.heading);
            column.cells.iter_mut().for_each(|cell| cell.text = of_a_cell(&cell.text));
        }
        let mut dropped = Vec::new();
        while self.width() > style.width {
            let last = (0..self.columns.len())
                .filter_map(|at| Some((self.columns[at].priority?, at)))
                .min_by_key(|(priority, at)| (*priority, std::cmp::Reverse(*at)));
            let Some((_, at)) = last else { break };
            dropped.push(self.columns.remove(at).heading);
        }
        dropped.reverse();
        (self.lines(style), dropped)
    }

    fn widths(&self) -> Vec<usize> {
        let of = |column: &TableColumn| {
            column
                .cells
                .iter()
                .map(|cell| cell.text.width())
                .chain([column.heading.width()])
                .max()
                .unwrap_or(0)
        };
        self.columns.iter().map(of).collect()
    }

    /// Columns of the terminal that it takes, gaps included.
    pub(crate) fn width(&self) -> usize {
        self.widths().iter().sum::<usize>() + GAP * self.columns.len().saturating_sub(1)
    }

    fn lines(&self, style: &Style) -> String {
        let widths = self.widths();
        let rows = self.columns.iter().map(|column| column.cells.len()).max().unwrap_or(0);
        let mut out = String::new();
        let mut line = |cell_of: &dyn Fn(&TableColumn) -> Cell| {
            let mut text = String::new();
            for (column, width) in self.columns.iter().zip(&widths) {
                let cell = cell_of(column);
                let gap = " ".repeat(width.saturating_sub(cell.text.width()));
                let painted = style.paint(cell.ink, &cell.text);
                text.push_str(&if column.left { painted + &gap } else { gap + &painted });
                text.push_str(&" ".repeat(GAP));
            }
            out.push_str(text.trim_end());
            out.push('\n');
        };
        line(&|column| Cell::inked(column.heading.clone(), Ink::Strong));
        for row in 0..rows {
            line(&|column| column.cells.get(row).cloned().unwrap_or_default());
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn style(width: usize) -> Style {
        Style { width, colour: false, unicode: true }
    }

    fn table() -> Table {
        let column = |heading: &str, left, priority, cells: &[&str]| TableColumn {
            heading: heading.into(),
            cells: cells.iter().map(|text| Cell::new(*text)).collect(),
            left,
            priority,
        };
        Table {
            columns: vec![
                column("variant", true, None, &["on", "off"]),
                column("p50", false, Some(9), &["1.21 ms", "61 µs"]),
                column("debt", false, Some(1), &["0 s", "0.1 s"]),
            ],
        }
    }

    #[test]
    fn the_least_important_column_goes_first_and_is_named() {
        let (all, dropped) = table().render(&style(40));
        assert_eq!(all, "variant      p50   debt\non       1.21 ms    0 s\noff        61 µs  0.1 s\n");
        assert!(dropped.is_empty());
        let (fewer, dropped) = table().render(&style(20));
        assert_eq!(fewer, "variant      p50\non       1.21 ms\noff        61 µs\n");
        assert_eq!(dropped, ["debt"]);
        let (least, dropped) = table().render(&style(3));
        assert_eq!(least, "variant\non\noff\n", "the first column is never dropped");
        assert_eq!(dropped, ["p50", "debt"]);
    }

    #[test]
    fn ascii_letters_keep_the_columns_straight() {
        let plain = Style { unicode: false, ..style(40) };
        let (text, _) = table().render(&plain);
        assert!(text.is_ascii(), "{text}");
        assert!(text.contains("    61 us"), "{text}");
    }

    #[test]
    fn colour_adds_nothing_but_escapes() {
        let coloured = Style { colour: true, ..style(40) };
        let text = coloured.paragraph("verdict", Ink::Good, "one two three");
        assert!(text.contains('\u{1b}'));
        let (plain, _) = (style(40).paragraph("verdict", Ink::Good, "one two three"), ());
        assert_eq!(text.replace("\u{1b}[32m", "").replace("\u{1b}[0m", ""), plain);
    }

    #[test]
    fn clipped_lines_end_their_ink() {
        assert_eq!(clip("abc", 3), "abc");
        assert_eq!(clip("abcdef", 3), "abc");
        assert_eq!(clip("\u{1b}[32mabc\u{1b}[0m", 3), "\u{1b}[32mabc\u{1b}[0m");
        assert_eq!(clip("\u{1b}[32mabcdef\u{1b}[0m", 3), "\u{1b}[32mabc\u{1b}[0m");
        assert_eq!(clip("日本語", 3), "日", "letters of two columns");
    }

    #[test]
    fn control_characters_of_a_name_reach_no_terminal() {
        assert_eq!(style(40).letters("a\u{1b}[2Jb\tc\rd"), "a [2Jb c d");
        let cell = TableColumn {
            heading: "variant".into(),
            cells: vec![Cell::new("SELECT 1;\nSELECT 2")],
            left: true,
            priority: None,
        };
        assert_eq!(Table { columns: vec![cell] }.render(&style(40)).0, "variant\nSELECT 1; SELECT 2\n");
    }

    #[test]
    fn paragraphs_wrap_beside_their_label() {
        let text = style(30).paragraph("verdict", Ink::Plain, "one two three four five six seven");
        assert_eq!(text, "verdict  one two three four\n         five six seven\n");
        assert_eq!(wrap("averyveryverylongword b", 5), ["averyveryverylongword", "b"]);
        assert_eq!(wrap("go on with `weigh resume x` now", 18), ["go on with", "`weigh resume x`", "now"]);
        assert_eq!(wrap("within 2 %; or so", 9), ["within", "2 %; or", "so"]);
        assert_eq!(cut("gzip -1 <one", 20), "gzip -1 <one");
        assert_eq!(cut("gzip -1 <a-long-name", 11), "gzip …-name");
    }
}
