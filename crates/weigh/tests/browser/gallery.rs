//! `weigh open` in the browser.

use super::checks::{charts_are_drawn, has_text, suits_everybody, wait_until_drawn};
use super::runs::{CLOSED, OPEN, awkward, put, runs};
use super::served::Served;
use super::tab::{Colours, Size, Tab};
use crate::home::Home;

fn three_runs() -> (Home, Served) {
    let home = Home::new();
    put(&home, CLOSED);
    put(&home, OPEN);
    home.keep(&awkward());
    let served = Served::start(&home, &[]);
    (home, served)
}

/// Names of the runs that can be seen.
fn seen(tab: &Tab) -> Vec<String> {
    tab.js("[...document.querySelectorAll('tr[data-words]')].filter(row => row.getClientRects().length) \
         .map(row => row.querySelector('input[name=run]').value)")
}

#[test]
fn search_and_filter_follow_while_somebody_types() {
    let (_home, served) = three_runs();
    let tab = Tab::open(&served.address, Size::Desktop, Colours::Light);
    assert_eq!(seen(&tab), [OPEN, CLOSED, awkward().run_id], "newest first");
    tab.click("input[name=search]");
    tab.type_text("embedded");
    assert_eq!(seen(&tab), [CLOSED]);
    has_text(&tab, "1 of 3 runs");
    // Enter asks the server, which says the same.
    tab.follow(|tab| tab.key("Enter"));
    assert_eq!(seen(&tab), [CLOSED]);
    assert!(tab.js::<String>("location.search").contains("search=embedded"));
    assert_eq!(tab.js::<String>("document.querySelector('input[name=search]').value"), "embedded");

    tab.go(&served.address);
    let choose = |name: &str, value: &str| {
        tab.js::<bool>(&format!(
            "(() => {{ const select = document.querySelector('select[name={name}]'); select.value = '{value}'; \
             return select.value === '{value}' && (select.dispatchEvent(new Event('input', {{ bubbles: true }})), true); }})()"
        ))
    };
    assert!(choose("system", "postgres"));
    assert_eq!(seen(&tab), [OPEN]);
    assert!(choose("system", "") && choose("verdict", "same"));
    assert_eq!(seen(&tab), Vec::<String>::new());
    has_text(&tab, "0 of 3 runs");
    tab.is_silent(&served.root());
}

#[test]
fn runs_are_opened_and_put_side_by_side() {
    let (_home, served) = three_runs();
    let tab = Tab::open(&served.address, Size::Desktop, Colours::Light);
    tab.follow(|tab| tab.click(&format!("a[href='/runs/{CLOSED}']")));
    wait_until_drawn(&tab);
    charts_are_drawn(&tab);
    has_text(&tab, "What does durability cost in an embedded database?");
    tab.follow(|tab| tab.click("header a"));
    assert_eq!(seen(&tab).len(), 3);

    let button = "button[data-needs='2']";
    let disabled = |tab: &Tab| tab.js::<bool>(&format!("document.querySelector(\"{button}\").disabled"));
    assert!(disabled(&tab));
    tab.click(&format!("input[value='{CLOSED}']"));
    assert!(disabled(&tab), "one alone is nothing to compare");
    tab.click(&format!("input[value='{OPEN}']"));
    assert!(!disabled(&tab));
    tab.follow(|tab| tab.click(button));
    let search: String = tab.js("location.pathname + location.search");
    assert_eq!(search, format!("/compare?run={OPEN}&run={CLOSED}"), "and no token in the address");
    wait_until_drawn(&tab);
    charts_are_drawn(&tab);
    has_text(&tab, "What does durability cost in an embedded database?");
    has_text(&tab, "What does synchronous_commit cost at a fixed rate?");
    tab.is_silent(&served.root());
}

#[test]
fn deleting_asks_first() {
    let (home, served) = three_runs();
    let dir = runs(&home).join(CLOSED);
    let tab = Tab::open(&served.address, Size::Desktop, Colours::Light);
    tab.follow(|tab| tab.click(&format!("a[href='/runs/{CLOSED}/delete']")));
    has_text(&tab, "Delete this run?");
    has_text(&tab, "What does durability cost in an embedded database?");
    // No is the way back to the run.
    tab.follow(|tab| tab.click("main a"));
    assert_eq!(tab.js::<String>("location.pathname"), format!("/runs/{CLOSED}"));
    assert!(dir.is_dir());

    tab.go(&format!("{}/runs/{CLOSED}/delete", served.root()));
    tab.follow(|tab| tab.click("main form button"));
    assert_eq!(tab.js::<String>("location.pathname"), "/");
    assert!(!dir.exists());
    assert_eq!(seen(&tab), [OPEN, awkward().run_id]);

    // Several, chosen in the list.
    tab.click(&format!("input[value='{OPEN}']"));
    tab.click(&format!("input[value='{}']", awkward().run_id));
    tab.follow(|tab| tab.click("button[data-needs='1']"));
    has_text(&tab, "Delete these 2 runs?");
    assert!(runs(&home).join(OPEN).is_dir());
    tab.follow(|tab| tab.click("main form button"));
    assert_eq!(std::fs::read_dir(runs(&home)).unwrap().count(), 0);
    has_text(&tab, "weigh run sqlite/durability");
    tab.is_silent(&served.root());
}

#[test]
fn every_page_of_the_gallery_suits_everybody() {
    let (home, served) = three_runs();
    std::fs::create_dir(runs(&home).join("damaged")).unwrap();
    std::fs::write(runs(&home).join("damaged/events.jsonl"), "{}\n").unwrap();
    let tab = Tab::open(&served.address, Size::Phone, Colours::Light);
    for path in [
        "/".to_owned(),
        "/?search=nothing+like+it".into(),
        format!("/runs/{CLOSED}/delete"),
        "/runs/none".into(),
    ] {
        tab.go(&format!("{}{path}", served.root()));
        suits_everybody(&tab);
    }
}
