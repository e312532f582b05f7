//! Pages as a browser takes them apart: text, escaping, size, ids and links, data inside.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use scraper::{ElementRef, Html, Selector};
use sha2::{Digest as _, Sha256};
use weigh_results::analysis::{Analysis, analyse};
use weigh_results::doubt::{Doubt, DoubtKind};
use weigh_results::model::{FinishReason, Run};
use weigh_results::report::html::{
    GalleryFilter, GalleryPage, GalleryRun, Links, Message, MessageForm, MessageLink, VerdictClass, gallery,
    message, run, several,
};
use weigh_results::report::{Style, compare, csv};
use weigh_results::store::{RunState, RunSummary};

use crate::builder::{Recipe, commands, durability};

/// What must never be more than text.
const HOSTILE: &str = "</script><script>alert(1)</script><!--\"'&<img src=x onerror=alert(2)>";

fn analysed(recipe: &Recipe) -> (Run, Analysis) {
    let run = recipe.run();
    let analysis = analyse(&run);
    (run, analysis)
}

fn page(recipe: &Recipe) -> String {
    let (stored, analysis) = analysed(recipe);
    run(&stored, &analysis, &Links::default())
}

fn all<'a>(document: &'a Html, selector: &str) -> Vec<ElementRef<'a>> {
    document.select(&Selector::parse(selector).unwrap()).collect()
}

fn text(element: ElementRef<'_>) -> String {
    element.text().collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The page as somebody hears it read out: headings, sentences, rows.
fn skeleton(page: &str) -> String {
    let document = Html::parse_document(page);
    let mut lines = Vec::new();
    for element in all(
        &document,
        "main h1, main h2, main h3, main h4, main p, main li, main dt, main summary, main tr, main label, main figure, main button, main pre",
    ) {
        let line = match element.value().name() {
            "tr" => {
                let cells = element.child_elements().map(text).collect::<Vec<_>>();
                format!("  | {}", cells.join(" | "))
            }
            "figure" => format!("[chart {}]", element.attr("data-chart").unwrap_or("?")),
            "dt" => {
                let value = element.next_siblings().find_map(ElementRef::wrap).map(text).unwrap_or_default();
                format!("  {}: {value}", text(element))
            }
            "button" => format!("({})", text(element)),
            "h1" | "h2" => format!("\n{} {}", element.value().name(), text(element)),
            name @ ("h3" | "h4") => format!("{name} {}", text(element)),
            _ => text(element),
        };
        lines.push(line);
    }
    lines.join("\n")
}

#[test]
fn a_page_reads_well() {
    insta::assert_snapshot!("page_durability", skeleton(&page(&durability())));
    insta::assert_snapshot!("page_commands", skeleton(&page(&commands())));
}

#[test]
fn a_withheld_verdict_is_shown_as_such() {
    let page = page(&Recipe { aa: 1.08, ..durability() });
    let document = Html::parse_document(&page);
    let told = text(all(&document, ".hero .verdict")[0]);
    assert!(told.starts_with("withheld Withheld, because the A/A check failed"), "{told}");
    assert!(!told.contains("faster"), "{told}");
    assert!(text(all(&document, "#doubts .doubt")[0]).contains("withholds the verdict"));
}

#[test]
fn a_run_that_says_nothing_yet_is_a_page() {
    for rounds in [0, 1, 3] {
        let page = page(&Recipe { rounds, finish: Some(FinishReason::Interrupted), ..durability() });
        let document = Html::parse_document(&page);
        let told = text(all(&document, ".hero .verdict")[0]);
        assert!(told.starts_with("no verdict Nothing can be said yet"), "{told}");
        assert!(page.contains("weigh resume"), "a reader must learn how to go on");
        sound(&page);
    }
}

#[test]
fn the_same_run_gives_the_same_page() {
    assert_eq!(page(&durability()), page(&durability()));
}

fn hostile() -> Run {
    let mut recipe = durability();
    recipe.natures[0].name = HOSTILE;
    recipe.natures[1].failures = 3;
    let mut run = recipe.run();
    let header = &mut run.header;
    for text in [
        &mut header.plan.question,
        &mut header.plan.experiment,
        &mut header.plan.load_summary,
        &mut header.plan.columns[0].heading,
        &mut header.experiment_toml,
        &mut header.host.hostname,
        &mut header.host.os,
        &mut header.host.cpu_model,
        &mut header.weigh_version,
        &mut header.run_id,
        &mut header.started_at,
    ] {
        HOSTILE.clone_into(text);
    }
    header.plan.unit = Some(HOSTILE.into());
    header.plan.field_figures = BTreeMap::from([("off".to_owned(), HOSTILE.to_owned())]);
    header.command_line = vec![HOSTILE.into()];
    header.host.governor = Some(HOSTILE.into());
    header.host.extra = BTreeMap::from([(HOSTILE.to_owned(), HOSTILE.to_owned())]);
    header.plan.variants[1].levels = BTreeMap::from([(HOSTILE.to_owned(), HOSTILE.to_owned())]);
    run.instances[0].version = HOSTILE.into();
    run.instances[0].settings = BTreeMap::from([(HOSTILE.to_owned(), HOSTILE.to_owned())]);
    run.doubts.push(Doubt { kind: DoubtKind::Errors, evidence: HOSTILE.into(), variants: vec![0] });
    run.trials[3].contaminated = Some(HOSTILE.into());
    run.finish.as_mut().unwrap().reason = FinishReason::Failed(HOSTILE.into());
    run
}

fn gallery_page(run: &Run) -> GalleryPage {
    let plan = &run.header.plan;
    let summary = RunSummary {
        run_id: run.header.run_id.clone(),
        started_at: run.header.started_at.clone(),
        experiment: plan.experiment.clone(),
        question: plan.question.clone(),
        system: plan.system.clone(),
        variants: plan.variants.iter().map(|variant| variant.name.clone()).collect(),
        baseline: plan.variants[0].name.clone(),
        state: RunState::Decided,
        rounds: 44,
        elapsed_s: Some(252.0),
        path: "/r".into(),
    };
    GalleryPage {
        runs: vec![GalleryRun { summary, verdict: HOSTILE.into(), class: VerdictClass::Different }],
        total: 3,
        systems: vec![HOSTILE.into(), "postgres".into()],
        filter: GalleryFilter {
            search: HOSTILE.into(),
            system: Some("postgres".into()),
            verdict: Some(VerdictClass::Different),
        },
        token: "k7-token".into(),
        place: HOSTILE.into(),
        unreadable: vec![HOSTILE.into()],
    }
}

#[test]
fn nothing_a_run_says_is_ever_markup() {
    let run_ = hostile();
    let analysis = analyse(&run_);
    let asks = Message {
        title: HOSTILE.into(),
        paragraphs: vec![HOSTILE.into()],
        form: Some(MessageForm {
            action: "/delete".into(),
            fields: vec![(HOSTILE.into(), HOSTILE.into())],
            button: HOSTILE.into(),
            destroys: true,
        }),
        links: vec![MessageLink { href: "/".into(), text: HOSTILE.into() }],
    };
    let pages = [
        run(&run_, &analysis, &Links::default()),
        several(&[(&run_, &analysis), (&run_, &analysis)], &Links { gallery: Some("/".into()) }),
        gallery(&gallery_page(&run_)),
        message(&asks),
    ];
    for page in &pages {
        let document = Html::parse_document(page);
        let code = all(&document, "script:not([type])");
        assert_eq!(code.len(), 1, "one script, ours");
        assert!(!text(code[0]).contains("alert(1)"));
        assert!(all(&document, "img").is_empty(), "a name became an element");
        for element in all(&document, "*") {
            assert!(
                element.value().attrs().all(|(name, _)| !name.starts_with("on")),
                "{:?}",
                element.value()
            );
        }
        assert!(document.root_element().text().collect::<String>().contains("<img src=x onerror=alert(2)>"));
        sound(page);
    }
}

/// What has to hold of any page.
fn sound(page: &str) {
    let document = Html::parse_document(page);
    let mut ids = BTreeSet::new();
    for element in all(&document, "[id]") {
        let id = element.attr("id").unwrap();
        assert!(ids.insert(id.to_owned()), "id `{id}` is there twice");
    }
    for attribute in ["aria-labelledby", "aria-describedby", "for", "form"] {
        for element in all(&document, &format!("[{attribute}]")) {
            for id in element.attr(attribute).unwrap().split_whitespace() {
                assert!(ids.contains(id), "{attribute} of {:?} leads nowhere", element.value());
            }
        }
    }
    for link in all(&document, "a[href], use[href]") {
        let href = link.attr("href").unwrap();
        assert!(href.starts_with(['#', '/']), "`{href}` leads out of the page");
        assert!(href.strip_prefix('#').is_none_or(|id| ids.contains(id)), "`{href}` leads nowhere");
    }
    assert!(all(&document, "[src], link[rel=stylesheet], iframe, object").is_empty(), "something is fetched");
    headings_in_order(&document);
    for element in all(&document, "th") {
        assert!(element.attr("scope").is_some(), "{:?}", element.value());
    }
    the_policy_names_the_script(&document);
}

fn headings_in_order(document: &Html) {
    let mut before = 0;
    for heading in all(document, "h1, h2, h3, h4, h5") {
        let level: u32 = heading.value().name()[1..].parse().unwrap();
        assert!(level <= before + 1, "{} after h{before}", heading.html());
        before = level;
    }
    assert_eq!(all(document, "h1").len(), 1);
}

fn the_policy_names_the_script(document: &Html) {
    let policy =
        all(document, "meta[http-equiv='Content-Security-Policy']")[0].attr("content").unwrap().to_owned();
    let script = all(document, "script:not([type])")[0].text().collect::<String>();
    let hash = STANDARD.encode(Sha256::digest(script.as_bytes()));
    assert!(policy.contains(&format!("script-src 'sha256-{hash}'")), "{policy}");
    assert!(policy.starts_with("default-src 'none'"), "{policy}");
}

#[test]
fn ids_are_there_once_and_links_lead_somewhere() {
    let (first, first_analysis) = analysed(&durability());
    let other = Recipe { run_id: "20261122-080000-postgres-durability-zzzz", slower: 1.7, ..durability() };
    let (second, second_analysis) = analysed(&other);
    sound(&run(&first, &first_analysis, &Links { gallery: Some("/".into()) }));
    sound(&page(&commands()));
    let runs = [(&first, &first_analysis), (&second, &second_analysis), (&first, &first_analysis)];
    sound(&several(&runs, &Links::default()));
    sound(&gallery(&gallery_page(&first)));
}

fn unpacked(element: ElementRef<'_>) -> Vec<u8> {
    let held = element.text().collect::<String>();
    if element.attr("data-packed").is_none() {
        return held.into_bytes();
    }
    let packed = STANDARD.decode(held.trim()).unwrap();
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(packed.as_slice()).read_to_end(&mut bytes).unwrap();
    bytes
}

#[test]
fn data_inside_the_page_is_read_back() {
    let (stored, analysis) = analysed(&durability());
    let document = Html::parse_document(&run(&stored, &analysis, &Links::default()));
    let held = |id: &str| unpacked(all(&document, &format!("[id='{id}']"))[0]);
    assert_eq!(String::from_utf8(held("raw-trials")).unwrap(), csv::trials(&stored));
    assert_eq!(String::from_utf8(held("raw-summary")).unwrap(), csv::summary(&stored, &analysis));
    let report: serde_json::Value = serde_json::from_slice(&held("raw-report")).unwrap();
    assert_eq!(report["run_id"], stored.header.run_id);
    let palette: serde_json::Value = serde_json::from_slice(&held("palette")).unwrap();
    let inks = palette.as_array().unwrap().len();
    let mut charts = 0;
    for figure in all(&document, "figure.chart") {
        let Some(node) = all(&document, &format!("[id='{}-data']", figure.attr("id").unwrap())).pop() else {
            continue;
        };
        charts += 1;
        let chart: serde_json::Value = serde_json::from_slice(&unpacked(node)).unwrap();
        for series in chart["series"].as_array().unwrap() {
            let length = |key: &str| series[key].as_array().unwrap().len();
            assert_eq!(length("x"), length("y"));
            assert_eq!(length("x"), length("note"));
            assert!(series["ink"].as_u64().is_none_or(|ink| (ink as usize) < inks));
        }
    }
    assert!(charts >= 3, "quantiles, shares and trials are drawn: {charts}");
    let names: Vec<_> =
        all(&document, "[data-download]").iter().map(|button| button.attr("data-file").unwrap()).collect();
    assert!(names.contains(&"20261121-214425-postgres-durability-k3f9-trials.csv"), "{names:?}");
}

/// Figures grow with the number of trials, the page must stay one that can be sent.
#[test]
fn a_page_of_5000_trials_is_below_a_megabyte_and_a_half() {
    let recipe = Recipe { rounds: 1_000, horizon: 1_000, ..durability() };
    let (stored, analysis) = analysed(&recipe);
    assert_eq!(stored.trials.len(), 5_000);
    let page = run(&stored, &analysis, &Links::default());
    assert!(page.len() < 1_500_000, "{} bytes", page.len());
    let document = Html::parse_document(&page);
    let chart = all(&document, "#chart-trials-throughput-data")[0];
    let chart: serde_json::Value = serde_json::from_slice(&unpacked(chart)).unwrap();
    let points: usize =
        chart["series"].as_array().unwrap().iter().map(|series| series["x"].as_array().unwrap().len()).sum();
    assert_eq!(points, 5_000, "every trial is drawn");
}

#[test]
fn service_time_can_be_chosen_only_where_it_was_kept() {
    let closed = Html::parse_document(&page(&durability()));
    assert!(all(&closed, "input[name=clock]").is_empty());
    let mut stored = durability().run();
    for trial in &mut stored.trials {
        trial.service = trial.latency.clone();
    }
    let analysis = analyse(&stored);
    let open = Html::parse_document(&run(&stored, &analysis, &Links::default()));
    let names: Vec<String> = all(&open, ".switch label").into_iter().map(text).collect();
    assert!(names.starts_with(&["Response time".into(), "Service time".into()]), "{names:?}");
    assert_eq!(all(&open, "[data-choice='1'] figure[data-chart='quantiles-service']").len(), 1);
}

#[test]
fn the_gallery_works_as_a_plain_form() {
    let (stored, _) = analysed(&durability());
    let document = Html::parse_document(&gallery(&gallery_page(&stored)));
    let form = all(&document, "form[role=search]")[0];
    assert_eq!((form.attr("method"), form.attr("action")), (Some("get"), Some("/")));
    let chosen: Vec<String> = all(&document, "option[selected]").into_iter().map(text).collect();
    assert_eq!(chosen, ["postgres", "different"]);
    assert_eq!(all(&document, "input[type=search]")[0].attr("value"), Some(HOSTILE));
    let row = all(&document, "tbody tr")[0];
    assert_eq!(row.attr("data-verdict"), Some("different"));
    // The token goes with the button that deletes, and is in no field that a comparison would send.
    let token = all(&document, "[name=token]");
    assert_eq!(token.len(), 1);
    assert_eq!((token[0].value().name(), token[0].attr("formmethod")), ("button", Some("post")));
    let empty = GalleryPage { place: "/runs".into(), ..GalleryPage::default() };
    assert!(gallery(&empty).contains("weigh run sqlite/durability"));
}

#[test]
fn classes_of_verdicts() {
    let class = |recipe: &Recipe| VerdictClass::of(&analysed(recipe).1);
    assert_eq!(class(&durability()), VerdictClass::Different);
    assert_eq!(class(&Recipe { aa: 1.08, ..durability() }), VerdictClass::Withheld);
    assert_eq!(class(&Recipe { rounds: 3, ..durability() }), VerdictClass::None);
    let mut same = durability();
    same.natures = vec![same.natures[0].clone(), same.natures[2].clone()];
    assert_eq!(class(&same), VerdictClass::Same);
    assert_eq!(class(&Recipe { noise: 0.3, rounds: 40, ..same }), VerdictClass::Undecided);
}

#[test]
fn three_runs_side_by_side() {
    let (first, first_analysis) = analysed(&durability());
    let other = |run_id, hostname, slower| analysed(&Recipe { run_id, hostname, slower, ..durability() });
    let (second, second_analysis) = other("20261122-080000-postgres-durability-zzzz", "rack8", 1.7);
    let (third, third_analysis) = other("20261123-080000-postgres-durability-yyyy", "rack9", 0.8);
    let runs = [(&first, &first_analysis), (&second, &second_analysis), (&third, &third_analysis)];
    insta::assert_snapshot!("page_several", skeleton(&several(&runs, &Links::default())));
    let compared = compare::compare(&runs).unwrap();
    let style = Style { width: 100, colour: false, unicode: true };
    insta::assert_snapshot!("compare_three_100", compare::render(&compared, &style));
    let value = compare::json(&compared);
    assert_eq!(value["runs"].as_array().unwrap().len(), 3);
    assert_eq!(value["second"]["run_id"], second.header.run_id);
    assert_eq!(value["variants"][0]["values"].as_array().unwrap().len(), 3);
    assert!(value["effects"][0]["changes"][0].is_null(), "the first is what the others are compared with");
}
