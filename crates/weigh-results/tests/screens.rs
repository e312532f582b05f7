//! What a terminal shows while a run goes on and after it, and the forms for pull requests and spreadsheets.

use std::collections::BTreeMap;

use unicode_width::UnicodeWidthStr;
use weigh_results::analysis::{Analysis, analyse};
use weigh_results::doubt::{Doubt, DoubtKind};
use weigh_results::model::{Event, FinishReason, Metric, Run, Slot};
use weigh_results::report::live::{self, Doing, Live, Moment};
use weigh_results::report::{Style, csv, markdown, terminal};

use crate::builder::{Nature, Recipe, commands, durability};

/// Escape sequences made visible: a snapshot is read by people.
fn visible(text: &str) -> String {
    text.replace('\u{1b}', "␛")
}

fn style(width: usize) -> Style {
    Style { width, colour: false, unicode: true }
}

/// A run after that many complete rounds, one trial into the next, and when that was.
fn after(recipe: &Recipe, rounds: u32) -> (Live, Moment) {
    let mut live = Live::new(Run::new(recipe.header()));
    let (mut complete, mut begun, mut elapsed_s) = (0, 0, 0.0);
    for event in &recipe.events()[1..] {
        if let Event::Trial(trial) = event {
            if complete == rounds {
                begun += 1;
            }
            if begun > 1 {
                break;
            }
            elapsed_s = trial.started_s + trial.whole.seconds;
        }
        complete += u32::from(matches!(event, Event::Round { .. }));
        live.apply(event);
    }
    let doing = Doing::Trial { round: rounds, slot: Slot { variant: 1, copy: 0 } };
    (live, Moment { doing, elapsed_s, budget_s: 600.0 })
}

fn drawn(recipe: &Recipe, rounds: u32, style: &Style, height: usize) -> String {
    let (live, moment) = after(recipe, rounds);
    let lines = live::lines(&live, &moment, style, height);
    assert!(lines.len() < height.max(2), "{} lines on {height}", lines.len());
    for line in &lines {
        let bare = line.split('\u{1b}').map(|piece| piece.split_once('m').map_or(piece, |(_, rest)| rest));
        let bare: String = if style.colour { bare.collect() } else { line.clone() };
        assert!(bare.width() <= style.width, "wider than {}: `{line}`", style.width);
    }
    lines.join("\n")
}

/// Noisy enough that intervals are seen to narrow.
fn noisy() -> Recipe {
    let mut recipe = Recipe { noise: 0.06, rounds: 60, horizon: 60, finish: None, ..durability() };
    recipe.natures[1].latency_s = 0.9e-3;
    recipe
}

#[test]
fn the_live_table_before_the_first_trial() {
    let live = Live::new(Run::new(durability().header()));
    let moment =
        Moment { doing: Doing::Step("starting postgres 15.18".into()), elapsed_s: 0.0, budget_s: 600.0 };
    let lines = live::lines(&live, &moment, &style(80), 24);
    assert_eq!(lines, ["What does durability cost?", "starting postgres 15.18"]);
}

#[test]
fn the_live_table_at_every_width() {
    for width in [40, 80, 140] {
        insta::assert_snapshot!(format!("live_{width}"), drawn(&noisy(), 12, &style(width), 24));
    }
    let ascii = Style { unicode: false, ..style(80) };
    let text = drawn(&noisy(), 12, &ascii, 24);
    assert!(text.is_ascii(), "{text}");
    insta::assert_snapshot!("live_80_ascii", text);
    let colour = Style { colour: true, ..style(80) };
    insta::assert_snapshot!("live_80_colour", visible(&drawn(&noisy(), 12, &colour, 24)));
}

#[test]
fn intervals_are_seen_to_narrow() {
    let mut pages = Vec::new();
    for rounds in [2, 8, 16, 45] {
        pages.push(format!("after {rounds} rounds\n{}", drawn(&noisy(), rounds, &style(100), 24)));
    }
    insta::assert_snapshot!("live_100_narrowing", pages.join("\n\n"));
}

#[test]
fn the_live_table_is_never_higher_than_the_terminal() {
    let natures: Vec<Nature> = durability().natures.iter().cycle().take(24).cloned().collect();
    const NAMES: [&str; 24] = [
        "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t",
        "u", "v", "w", "x",
    ];
    let natures = natures.into_iter().zip(NAMES).map(|(nature, name)| Nature { name, ..nature }).collect();
    let recipe = Recipe { natures, rounds: 12, measure_s: 0.5, finish: None, ..durability() };
    for height in 1..40 {
        drawn(&recipe, 10, &style(80), height);
    }
    insta::assert_snapshot!("live_80_low", drawn(&recipe, 10, &style(80), 12));
}

#[test]
fn names_of_variants_do_not_break_the_live_table() {
    let mut recipe = noisy();
    recipe.natures[1].name = "SELECT 1;\nSELECT '\u{1b}[2J|<b>'";
    recipe.natures[2].name =
        "an extremely long name of a variant that leaves no room for anything else at all";
    for width in [20, 40, 60, 80, 140] {
        let text = drawn(&recipe, 12, &style(width), 24);
        assert!(!text.contains('\u{1b}'), "{text}");
    }
}

#[test]
fn doubts_are_told_once_and_the_latest_are_shown() {
    let (mut live, moment) = after(&noisy(), 9);
    let kinds = [DoubtKind::DiskLow, DoubtKind::MemoryLow, DoubtKind::Steal, DoubtKind::ClockSource];
    for kind in kinds {
        let doubt = Doubt { kind, evidence: "it was seen".into(), variants: vec![1] };
        assert_eq!(live.apply(&Event::Doubt(doubt.clone())).len(), 1);
        assert!(live.apply(&Event::Doubt(doubt)).is_empty(), "told twice");
    }
    let text = live::lines(&live, &moment, &style(80), 24).join("\n");
    assert!(text.contains("doubt  and 2 more"), "{text}");
    assert!(text.contains(DoubtKind::ClockSource.text().title), "{text}");
    assert!(!text.contains(DoubtKind::DiskLow.text().title), "{text}");
}

#[test]
fn a_new_sequence_forgets_what_no_longer_counts() {
    let (mut live, moment) = after(&noisy(), 12);
    let Some(mut record) = live.run().current_sequence().copied() else { panic!("no sequence") };
    record.sequence = 1;
    live.apply(&Event::Sequence(record));
    let text = live::lines(&live, &moment, &style(80), 24).join("\n");
    assert!(text.contains("not looked at yet") && !text.contains("undecided"), "{text}");
}

#[test]
fn a_run_that_goes_on_is_shown_as_one_that_never_stopped() {
    let (live, moment) = after(&noisy(), 12);
    let again = Live::new(live.run().clone());
    let text = |live: &Live| live::lines(live, &moment, &style(64), 24);
    // Without bars, whose axis remembers the widest interval. The trial that had begun is run again, so the place within the round is its first.
    assert_eq!(text(&again)[2..], text(&live)[2..]);
    assert!(text(&again)[1].contains("trial 1 of 5"), "{:?}", text(&again)[1]);
}

#[test]
fn lines_for_a_log() {
    let (live, moment) = after(&noisy(), 12);
    let line = live::plain_line(&live, moment.elapsed_s, moment.budget_s);
    insta::assert_snapshot!("live_plain_line", line);
    let decided = live::decided_line(&live, 1, 12);
    assert!(decided.starts_with("final after 12 rounds: off "), "{decided}");
}

fn page(recipe: &Recipe, style: &Style) -> String {
    let run = recipe.run();
    terminal::render(&run, &analyse(&run), style)
}

#[test]
fn distributions_fit_every_width() {
    for width in [40, 80, 140, 160] {
        for recipe in [durability(), commands()] {
            let page = page(&recipe, &style(width));
            let plot = page.trim_end().rsplit("\n\n").next().unwrap();
            assert!(plot.contains("logarithmic"), "{page}");
            for line in plot.lines() {
                assert!(line.width() <= width, "wider than {width}: `{line}`");
            }
        }
    }
}

/// Latencies of 0.1 ms and of 1.2 ms on one axis: the fast one's mark is far left of the others'.
#[test]
fn marks_stand_where_the_percentiles_are() {
    let page = page(&durability(), &style(100));
    let plot: Vec<&str> = page.trim_end().rsplit("\n\n").next().unwrap().lines().collect();
    let mark = |name: &str, letter: char| {
        let line = plot.iter().find(|line| line.starts_with(&format!("{name} "))).unwrap();
        line.chars().position(|found| found == letter).unwrap()
    };
    assert!(mark("off", '┃') + 30 < mark("on", '┃'), "{page}");
    assert!(mark("on", '┃') < mark("on", '╎'), "{page}");
    assert!(mark("on", '┃').abs_diff(mark("local", '┃')) <= 1, "{page}");
}

#[test]
fn nothing_timed_has_no_distribution() {
    let recipe = Recipe { rounds: 0, finish: Some(FinishReason::Interrupted), ..durability() };
    assert!(!page(&recipe, &style(80)).contains("logarithmic"));
}

fn analysed(recipe: &Recipe) -> (Run, Analysis) {
    let run = recipe.run();
    let analysis = analyse(&run);
    (run, analysis)
}

/// Two commands whose text is full of markup, and a run with doubts.
fn awkward() -> Recipe {
    let mut recipe = Recipe { finish: Some(FinishReason::Interrupted), ..commands() };
    recipe.natures[0].name = "grep -c 'a|b' <f | wc -l";
    recipe.natures[1].name = "echo `date` \"<b>*x*</b>\" &\ntrue";
    recipe
}

#[test]
fn markdown_for_a_pull_request() {
    let (mut run, analysis) = analysed(&durability());
    run.header.command_line =
        ["weigh", "run", "postgres/durability", "--set", "a b=on,off"].map(String::from).into();
    run.header.experiment_toml = "question = \"What does durability cost?\"\n".into();
    insta::assert_snapshot!("markdown", markdown::run(&run, &analysis));
    let (run, analysis) = analysed(&awkward());
    let text = markdown::run(&run, &analysis);
    insta::assert_snapshot!("markdown_awkward", text);
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
    assert_eq!(rows.len(), 4, "a heading, a rule and a row per variant: {rows:?}");
    let bars = |row: &str| row.replace("\\|", "").matches('|').count();
    assert!(rows.iter().all(|row| bars(row) == bars(rows[0])), "{rows:?}");
}

#[test]
fn markdown_of_several_runs_carries_the_doubt() {
    let ((one, its), (other, others)) = (analysed(&durability()), analysed(&commands()));
    let text = markdown::several(&[(&one, &its), (&other, &others)]);
    assert!(text.contains("Ratios across runs are not verdicts"), "{text}");
    assert!(text.contains(&one.header.run_id) && text.contains(&other.header.run_id));
    assert_eq!(markdown::several(&[(&one, &its)]), markdown::run(&one, &its));
}

/// A table read back: (column, cell) per row.
fn read(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let heading = reader.headers().unwrap().clone();
    let row = |row: ::csv::StringRecord| {
        heading.iter().zip(row.iter()).map(|(name, cell)| (name.to_owned(), cell.to_owned())).collect()
    };
    reader.records().map(|record| row(record.unwrap())).collect()
}

#[test]
fn every_trial_is_a_row_that_is_read_back() {
    let mut run = durability().run();
    run.trials[3].contaminated = Some("steal above 5 %, \"quoted\"\nand more".into());
    run.trials[3].debt_s = None;
    let rows = read(&csv::trials(&run));
    assert_eq!(rows.len(), run.trials.len());
    for (row, trial) in rows.iter().zip(&run.trials) {
        assert_eq!(row["variant"], run.header.plan.variants[trial.slot.variant].name);
        assert_eq!(row["started_s"].parse::<f64>().unwrap(), trial.started_s, "not one digit is lost");
        assert_eq!(
            row["postgres.wal_syncs"].parse::<f64>().unwrap(),
            trial.whole.counters["postgres.wal_syncs"]
        );
        let p50: f64 = row["latency_p50_s"].parse().unwrap();
        let throughput: f64 = row["throughput_per_s"].parse().unwrap();
        assert!((p50 * throughput - 1.0).abs() < 0.2, "one client: {p50} {throughput}");
        assert_eq!(row["service_p50_s"], "", "a closed loop has no service times of its own");
    }
    assert_eq!(rows[3]["set_aside"], "steal above 5 %, \"quoted\"\nand more");
    assert_eq!((rows[3]["counts"].as_str(), rows[3]["debt_s"].as_str()), ("false", ""));
    // All of its round is set aside with it.
    assert_eq!(rows.iter().filter(|row| row["counts"] == "false").count(), 5);
    // A trial of 1,600 operations does not know its p99.9.
    assert!(rows.iter().filter(|row| row["variant"] == "on").all(|row| row["latency_p999_s"].is_empty()));
    assert!(rows.iter().filter(|row| row["variant"] == "off").all(|row| !row["latency_p999_s"].is_empty()));
}

#[test]
fn the_summary_says_what_the_report_says() {
    let (run, analysis) = analysed(&durability());
    let rows = read(&csv::summary(&run, &analysis));
    let find = |variant: &str, metric: &str| {
        rows.iter().find(|row| row["variant"] == variant && row["metric"] == metric).unwrap()
    };
    let off = find("off", "throughput");
    assert_eq!((off["decision"].as_str(), off["decides"].as_str()), ("different", "true"));
    let interval = analysis.comparisons[0].interval.unwrap();
    assert_eq!(off["ratio"].parse::<f64>().unwrap(), interval.ratio().0);
    assert_eq!(find("on", "throughput")["ratio"], "");
    assert_eq!(find("on", "throughput")["is_baseline"], "true");
    let informed = find("off", Metric::LatencyP50.name());
    assert_eq!((informed["decision"].as_str(), informed["unit"].as_str()), ("", "s"));
    assert!(informed["ratio_high"].parse::<f64>().unwrap() < 0.2, "{informed:?}");
    let (run, analysis) = analysed(&Recipe { aa: 1.08, ..durability() });
    let rows = read(&csv::summary(&run, &analysis));
    assert!(
        rows.iter().all(|row| ["", "withheld"].contains(&row["decision"].as_str())),
        "no verdict sneaks out"
    );
}

#[test]
fn commands_and_names_with_line_breaks_are_csv_too() {
    let run = awkward().run();
    let rows = read(&csv::trials(&run));
    assert_eq!(rows.len(), run.trials.len());
    assert!(rows.iter().any(|row| row["variant"] == "echo `date` \"<b>*x*</b>\" &\ntrue"));
    assert_eq!(csv::trials(&Run::new(run.header)).lines().count(), 1, "a heading, and no rows");
}
