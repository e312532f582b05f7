//! The report of a run as GitHub-flavoured Markdown, for a pull request.
//!
//! - [`run`]: the question, the verdict in bold, the table, the reasons, the A/A check; doubts and how to do it again
//!   folded below. [`several`]: the same for each of several runs, with the doubt that comes with more than one.
//!
//! Sentences and figures are those of every other report. Names of variants are often shell commands or SQL: nothing in
//! them is taken for markup, neither for Markdown nor for HTML, and no name ends a row of a table.

use super::layout::{Cell, Table};
use super::{table, terminal, words};
use crate::analysis::Analysis;
use crate::model::{Plan, Run};

/// Room for names that are never cut: a reader of Markdown scrolls.
const WIDE: usize = 10_000;

/// One run.
pub fn run(run: &Run, analysis: &Analysis) -> String {
    section(run, analysis, false)
}

/// Several runs, one after the other, each against the baseline of its own.
pub fn several(runs: &[(&Run, &Analysis)]) -> String {
    let sections: Vec<String> =
        runs.iter().map(|(one, analysis)| section(one, analysis, runs.len() > 1)).collect();
    let mut page = sections.join("\n");
    if runs.len() > 1 {
        page.push_str(
            "\n> Ratios across runs are not verdicts, because their trials were not taken in turn. ",
        );
        page.push_str("What compares is each variant against the baseline of its own run.\n");
    }
    page
}

fn section(run: &Run, analysis: &Analysis, named: bool) -> String {
    let mut page = format!("### {}\n\n", text(&run.header.plan.question));
    if named {
        page.push_str(&format!("{}\n\n", code(&run.header.run_id)));
    }
    for sentence in words::verdicts(run, analysis) {
        page.push_str(&format!("**{}**\\\n", sentence_of(&run.header.plan, &sentence)));
    }
    page.push_str(&format!("{}\n\n", text(&terminal::facts(run, analysis).join(" · "))));
    page.push_str(&the_table(run, analysis));
    page.push_str(&reasons(run, analysis));
    page.push_str(&findings(run, analysis));
    page.push_str(&checks(run, analysis));
    page.push_str(&doubts(run, analysis));
    page.push_str(&again(run));
    page
}

fn the_table(run: &Run, analysis: &Analysis) -> String {
    let Table { columns } = table::of(run, analysis, WIDE);
    let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut out = row(columns.iter().map(|column| cell(&column.heading)).collect());
    let rules = columns.iter().map(|column| if column.left { ":--" } else { "--:" }.to_owned());
    out.push_str(&row(rules.collect()));
    for variant in 0..run.header.plan.variants.len() {
        let mut cells: Vec<String> = columns
            .iter()
            .map(|column| cell(&column.cells.get(variant).unwrap_or(&Cell::default()).text))
            .collect();
        if let Some(first) = cells.first_mut() {
            *first = code_in_table(words::variant_name(&run.header.plan, variant));
            if variant == run.header.plan.baseline {
                first.push_str(" (baseline)");
            }
        }
        out.push_str(&row(cells));
    }
    out + "\n"
}

fn reasons(run: &Run, analysis: &Analysis) -> String {
    let variants = 0..run.header.plan.variants.len();
    let told: Vec<String> = variants
        .filter_map(|variant| words::because(run, analysis, variant))
        .map(|sentence| format!("- {}\n", sentence_of(&run.header.plan, &sentence)))
        .collect();
    if told.is_empty() { String::new() } else { format!("Because\n\n{}\n", told.concat()) }
}

/// Sweeps, factors, first calls, and what was reported back.
fn findings(run: &Run, analysis: &Analysis) -> String {
    let plan = &run.header.plan;
    let mut out = String::new();
    let lists = [
        ("Growth", super::growth::sentences(run, analysis)),
        ("Factors", super::factors::sentences(run, analysis)),
    ];
    for (title, sentences) in lists.into_iter().filter(|(_, sentences)| !sentences.is_empty()) {
        let items: String =
            sentences.iter().map(|sentence| format!("- {}\n", sentence_of(plan, sentence))).collect();
        out.push_str(&format!("{title}\n\n{items}\n"));
    }
    let (headings, rows) = super::first_calls::table(run, analysis);
    if !rows.is_empty() {
        out.push_str(&folded("What the first calls of a trial took", &rows_of(&headings, &rows)));
    }
    let reported = super::reported::all(analysis);
    if !reported.is_empty() {
        let headings = ["variant", "reported back", "how often"].map(str::to_owned);
        let row = |one: &super::reported::Reported<'_>| {
            vec![
                words::variant_name(plan, one.variant).to_owned(),
                one.message.to_owned(),
                one.how_many(plan),
            ]
        };
        out.push_str(&format!("{}\n", rows_of(&headings, &reported.iter().map(row).collect::<Vec<_>>())));
    }
    out
}

/// A table whose first column are names.
fn rows_of(headings: &[String], rows: &[Vec<String>]) -> String {
    let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut out = row(headings.iter().map(|heading| cell(heading)).collect());
    out.push_str(&row(headings.iter().map(|_| ":--".to_owned()).collect()));
    for cells in rows {
        let shown = cells.iter().enumerate();
        let shown = shown.map(|(place, text)| if place == 0 { code_in_table(text) } else { cell(text) });
        out.push_str(&row(shown.collect()));
    }
    out
}

fn checks(run: &Run, analysis: &Analysis) -> String {
    let checks = analysis
        .aa
        .iter()
        .map(|check| format!("A/A check {}", sentence_of(&run.header.plan, &words::aa(run, check))));
    let checks: Vec<String> = checks.collect();
    format!("{}\n\n", checks.join("\\\n"))
}

fn doubts(run: &Run, analysis: &Analysis) -> String {
    if analysis.doubts.is_empty() {
        return "No doubts.\n\n".into();
    }
    let told = analysis.doubts.iter().map(|doubt| {
        let (what, advice) = words::doubt(&run.header.plan, doubt);
        format!("- **{}** {}\n", sentence_of(&run.header.plan, &what), text(&advice))
    });
    let many = u32::try_from(analysis.doubts.len()).unwrap_or(u32::MAX);
    folded(&words::plural(many, "doubt"), &told.collect::<String>())
}

/// How to do it again: the file with everything in it and the seed, and what was typed.
fn again(run: &Run) -> String {
    let header = &run.header;
    let mut body = String::new();
    if !header.experiment_toml.is_empty() {
        body.push_str("Save the experiment as `experiment.toml`; with the seed, orders and data are the same again.\n\n");
        body.push_str(&block("sh", &format!("weigh run experiment.toml --seed {}", header.plan.seed)));
        body.push_str(&block("toml", header.experiment_toml.trim_end()));
    }
    if !header.command_line.is_empty() {
        body.push_str("What was typed:\n\n");
        body.push_str(&block("sh", &shell_words::join(&header.command_line)));
    }
    let host = &header.host;
    let machine = [&host.cpu_model, &host.os, &host.kernel, &host.work_file_system];
    let machine: Vec<&str> =
        machine.into_iter().map(String::as_str).filter(|fact| !fact.is_empty()).collect();
    body.push_str(&format!(
        "{} CPUs · {}\\\nrun {} of weigh {}, {}\n",
        host.cpus,
        text(&machine.join(" · ")),
        code(&header.run_id),
        text(&header.weigh_version),
        text(&header.started_at),
    ));
    folded("How to do it again", &body)
}

/// Markdown inside needs the empty lines.
fn folded(summary: &str, body: &str) -> String {
    format!("<details><summary>{summary}</summary>\n\n{}\n\n</details>\n\n", body.trim_end())
}

/// A block of code that nothing inside can end.
fn block(language: &str, body: &str) -> String {
    let fence = "`".repeat(longest_run(body).max(2) + 1);
    format!("{fence}{language}\n{body}\n{fence}\n\n")
}

/// Backticks in a row, at most.
fn longest_run(body: &str) -> usize {
    body.split(|letter| letter != '`').map(str::len).max().unwrap_or(0)
}

/// A name as a piece of code, whatever is in it.
fn code(name: &str) -> String {
    let name = one_line(name);
    let fence = "`".repeat(longest_run(&name) + 1);
    // The one space inside is taken off again, and keeps a backtick of the name from the fence.
    let pad = if name.starts_with('`') || name.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{name}{pad}{fence}")
}

/// The same in a table, where even code must not hold a bare pipe.
fn code_in_table(name: &str) -> String {
    code(name).replace('|', "\\|")
}

fn cell(content: &str) -> String {
    text(content)
}

/// A sentence that may quote variants whose names have backticks of their own: those are code as a whole.
fn sentence_of(plan: &Plan, sentence: &str) -> String {
    // Letters of the private use area stand for such names until the rest is escaped.
    let stands_for =
        |variant: usize| u32::try_from(variant).ok().and_then(|place| char::from_u32(0xe000 + place));
    let own = (0..plan.variants.len()).filter(|variant| words::variant_name(plan, *variant).contains('`'));
    let own: Vec<(usize, char)> = own.filter_map(|variant| Some((variant, stands_for(variant)?))).collect();
    let mut kept = sentence.to_owned();
    for (variant, letter) in &own {
        kept = kept.replace(&words::quoted(plan, *variant), &letter.to_string());
    }
    let mut shown = text(&kept);
    for (variant, letter) in &own {
        shown = shown.replace(*letter, &code_in_table(words::variant_name(plan, *variant)));
    }
    shown
}

/// A sentence as text. Pieces between backticks, as the sentences quote commands, stay code; a name with backticks of
/// its own makes that ambiguous, and then everything is text.
fn text(sentence: &str) -> String {
    let sentence = one_line(sentence);
    let pieces: Vec<&str> = sentence.split('`').collect();
    let paired =
        pieces.len() % 2 == 1 && pieces.iter().skip(1).step_by(2).all(|piece| !piece.trim().is_empty());
    if !paired {
        return escaped(&sentence);
    }
    let show =
        |(place, piece): (usize, &&str)| if place % 2 == 1 { code_in_table(piece) } else { escaped(piece) };
    pieces.iter().enumerate().map(show).collect()
}

/// Letters that mean something to Markdown or HTML, made to mean themselves.
fn escaped(plain: &str) -> String {
    let mut out = String::with_capacity(plain.len());
    for letter in plain.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '$' => {
                out.push('\\');
                out.push(letter);
            }
            other => out.push(other),
        }
    }
    out
}

/// Line breaks and other control characters become spaces.
fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_name_is_taken_for_markup() {
        assert_eq!(code("gzip -1 <f | wc"), "`gzip -1 <f | wc`");
        assert_eq!(code_in_table("a | b"), "`a \\| b`");
        assert_eq!(code("echo `date`"), "`` echo `date` ``");
        assert_eq!(code("SELECT 1;\nSELECT 2"), "`SELECT 1; SELECT 2`");
        assert_eq!(
            text("`gzip -1 <f` is 2 % faster than <b>*x*</b>|"),
            "`gzip -1 <f` is 2 % faster than &lt;b&gt;\\*x\\*&lt;/b&gt;\\|"
        );
        let ambiguous = text("`echo `date`` is <i>slow</i>");
        assert!(ambiguous.contains("&lt;i&gt;") && ambiguous.contains("\\`"), "{ambiguous}");
    }

    #[test]
    fn a_block_is_not_ended_by_what_is_in_it() {
        assert_eq!(block("sh", "echo ```"), "````sh\necho ```\n````\n\n");
    }
}
