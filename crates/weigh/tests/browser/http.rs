//! `weigh open` without a browser: whom it answers, what it changes, how it ends.

use std::time::Instant;

use weigh_results::store::RunStore;

use super::runs::{CLOSED, OPEN, awkward, put, runs};
use super::served::{Reply, Served};
use crate::builder::{Recipe, durability};
use crate::home::Home;

fn two_runs() -> Home {
    let home = Home::new();
    put(&home, CLOSED);
    put(&home, OPEN);
    home
}

fn token(page: &str) -> String {
    let at = page.find("name=\"token\"").expect("no token in the page");
    let value = page[at..].find("value=\"").unwrap() + at + 7;
    page[value..value + 32].to_owned()
}

/// The form of the page that asks, confirmed.
fn confirmed(served: &Served, run_id: &str) -> String {
    let asked = served.get(&format!("/runs/{run_id}/delete"));
    assert_eq!(asked.status, 200);
    assert!(asked.body.contains("Delete this run?") && asked.body.contains(run_id));
    format!("run={run_id}&token={}&confirmed=yes", token(&asked.body))
}

#[test]
fn every_address_answers() {
    let home = two_runs();
    let served = Served::start(&home, &[]);
    assert_eq!(served.address, format!("{}/", served.root()));
    let list = served.get("/");
    assert_eq!(list.status, 200);
    assert!(list.body.contains(CLOSED) && list.body.contains(OPEN));
    let page = served.get(&format!("/runs/{CLOSED}"));
    assert_eq!(page.status, 200);
    assert!(page.body.contains("What does durability cost in an embedded database?"));

    let json = served.get(&format!("/runs/{CLOSED}.json"));
    assert_eq!(json.body, home.run(&["show", CLOSED, "--json"]).ok());
    assert!(json.head.contains("content-type: application/json"));
    assert!(json.head.contains(&format!("filename=\"{CLOSED}.json\"")));
    let csv = served.get(&format!("/runs/{CLOSED}.csv"));
    assert_eq!(csv.body.lines().count(), 57, "a heading and 56 trials");
    let svg = served.get(&format!("/runs/{CLOSED}/chart/forest.svg"));
    assert!(svg.head.contains("content-type: image/svg+xml") && svg.body.contains("</svg>"));

    let both = served.get(&format!("/compare?run={CLOSED}&run={OPEN}"));
    assert_eq!(both.status, 200);
    for question in [
        "What does durability cost in an embedded database?",
        "What does synchronous_commit cost at a fixed rate?",
    ] {
        assert!(both.body.contains(question));
    }
    let begins_with = Served::start(&home, &["last"]);
    assert_eq!(begins_with.address, format!("{}/runs/{OPEN}", begins_with.root()));
}

#[test]
fn what_is_not_there_is_said_in_a_page() {
    let home = two_runs();
    let served = Served::start(&home, &[]);
    for (path, status) in [
        ("/runs/none", 404),
        ("/runs/none.json", 404),
        ("/runs/..%2F..%2Fsecret", 404),
        ("/runs/%2Fetc%2Fpasswd", 404),
        ("/runs/..", 404),
        ("/nothing/here", 404),
        (&format!("/runs/{CLOSED}/chart/none.svg"), 404),
        (&format!("/runs/{CLOSED}/chart/forest.png"), 404),
        (&format!("/runs/{CLOSED}/../../../etc/passwd"), 404),
        ("/compare", 400),
        (&format!("/compare?run={CLOSED}"), 400),
        (&format!("/compare?run={CLOSED}&run={CLOSED}"), 400),
        (&format!("/compare?run={CLOSED}&run=none"), 404),
        ("/delete", 404),
    ] {
        let reply = served.get(path);
        assert_eq!(reply.status, status, "{path}");
        assert!(reply.body.contains("<h1") && reply.body.contains("</html>"), "{path}: {}", reply.body);
    }
}

#[test]
fn a_run_that_cannot_be_read_is_shown_as_such() {
    let home = two_runs();
    let damaged = runs(&home).join("damaged");
    std::fs::create_dir(&damaged).unwrap();
    std::fs::write(damaged.join("events.jsonl"), "{\"event\":\"started\"}\n").unwrap();
    let served = Served::start(&home, &[]);
    let list = served.get("/");
    assert_eq!(list.status, 200);
    assert!(list.body.contains("damaged: line 1 of") && list.body.contains(CLOSED));
    let page = served.get("/runs/damaged");
    assert_eq!(page.status, 422);
    assert!(page.body.contains("cannot be read") && page.body.contains("/runs/damaged/delete"));
    assert_eq!(served.get("/runs/damaged.json").status, 422);
    let form = confirmed(&served, "damaged");
    assert_eq!(served.post("/delete", &form).status, 303);
    assert!(!damaged.exists());
}

#[test]
fn only_requests_to_loopback_by_name_and_port_are_answered() {
    let home = two_runs();
    let served = Served::start(&home, &[]);
    let with_host = |host: &str| served.raw(&format!("GET / HTTP/1.1\r\nHost: {host}\r\n"), "");
    assert_eq!(with_host(&format!("localhost:{}", served.port)).status, 200);
    for host in [
        "evil.example".to_owned(),
        format!("evil.example:{}", served.port),
        "127.0.0.1".into(),
        "localhost:1".into(),
    ] {
        let refused = with_host(&host);
        assert_eq!(refused.status, 403, "{host}");
        assert!(!refused.body.contains(CLOSED) && refused.body.contains("ssh -L"), "{host}");
    }
    let absolute = format!("GET http://evil.example/ HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n", served.port);
    assert_eq!(served.raw(&absolute, "").status, 403);
    // Bound to 127.0.0.1 and nothing else.
    let listens = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let ours = format!(":{:04X} 00000000:0000 0A", served.port);
    let bound: Vec<&str> = listens.lines().filter(|line| line.contains(&ours)).collect();
    assert!(bound.len() == 1 && bound[0].contains(&format!("0100007F{ours}")), "{bound:?}");
}

#[test]
fn every_answer_carries_the_headers_that_keep_others_out() {
    let home = two_runs();
    let served = Served::start(&home, &[]);
    let refused = served.raw("GET / HTTP/1.1\r\nHost: evil.example\r\n", "");
    let page = format!("/runs/{CLOSED}");
    let replies: Vec<Reply> = ["/", &page, "/runs/none", "/favicon.ico"]
        .map(|path| served.get(path))
        .into_iter()
        .chain([refused])
        .collect();
    for reply in replies {
        for header in [
            "content-security-policy: default-src 'none';",
            "x-content-type-options: nosniff",
            "referrer-policy: same-origin",
            "cache-control: no-store",
            "x-frame-options: deny",
            "cross-origin-resource-policy: same-origin",
        ] {
            assert!(reply.head.contains(header), "{header} is not in {}", reply.head);
        }
    }
}

#[test]
fn deleting_needs_our_page_our_token_and_a_yes() {
    let home = two_runs();
    let served = Served::start(&home, &[]);
    let dir = runs(&home).join(CLOSED);
    let form = confirmed(&served, CLOSED);
    let host = format!("127.0.0.1:{}", served.port);
    let forged = |headers: &str, form: &str| {
        let kind = "Content-Type: application/x-www-form-urlencoded\r\n";
        served.raw(&format!("POST /delete HTTP/1.1\r\nHost: {host}\r\n{kind}{headers}"), form).status
    };
    assert_eq!(forged("", &form), 403);
    assert_eq!(forged("Origin: http://evil.example\r\n", &form), 403);
    assert_eq!(forged("Origin: null\r\n", &form), 403);
    assert_eq!(forged("Sec-Fetch-Site: cross-site\r\n", &form), 403);
    let wrong = format!("run={CLOSED}&token={}&confirmed=yes", "0".repeat(32));
    assert_eq!(served.post("/delete", &wrong).status, 403);
    assert_eq!(served.post("/delete", &format!("run={CLOSED}&confirmed=yes")).status, 403);
    let other = Served::start(&home, &[]);
    assert_eq!(other.post("/delete", &form).status, 403, "the token of another process");
    let get = served.get(&format!("/delete?{form}"));
    assert_eq!(get.status, 404);
    // Without a yes it asks again.
    let unconfirmed = served.post("/delete", form.trim_end_matches("&confirmed=yes"));
    assert!(unconfirmed.status == 200 && unconfirmed.body.contains("Delete this run?"));
    // One that is not there: none is deleted.
    let second = form.replacen("run=", "run=none&run=", 1);
    assert_eq!(served.post("/delete", &second).status, 404);
    assert!(dir.is_dir());

    let done = served.post("/delete", &form);
    assert_eq!(done.status, 303);
    assert!(done.head.contains("location: /"));
    assert!(!dir.exists() && runs(&home).join(OPEN).is_dir());
    assert!(!served.get("/").body.contains(CLOSED));
}

#[test]
fn a_run_that_is_being_recorded_is_not_deleted() {
    let home = two_runs();
    let dir = runs(&home).join(CLOSED);
    let served = Served::start(&home, &[]);
    let form = confirmed(&served, CLOSED);
    let (recorder, _) = RunStore::at(runs(&home)).reopen(&dir).unwrap();
    assert_eq!(served.get(&format!("/runs/{CLOSED}/delete")).status, 409);
    let refused = served.post("/delete", &form);
    assert_eq!(refused.status, 409);
    assert!(refused.body.contains("in use: another weigh is recording to it"));
    assert!(dir.is_dir());
    drop(recorder);
    assert_eq!(served.post("/delete", &form).status, 303);
    assert!(!dir.exists());
}

#[test]
fn several_are_deleted_at_once() {
    let home = two_runs();
    let served = Served::start(&home, &[]);
    let token = token(&served.get("/").body);
    let form = format!("run={CLOSED}&run={OPEN}&token={token}");
    let asked = served.post("/delete", &form);
    assert!(asked.body.contains("Delete these 2 runs?"));
    assert_eq!(served.post("/delete", &format!("{form}&confirmed=yes")).status, 303);
    assert_eq!(std::fs::read_dir(runs(&home)).unwrap().count(), 0);
    assert!(served.get("/").body.contains("weigh run"), "says how to make the first");
}

#[test]
fn the_list_is_searched_and_filtered() {
    let home = two_runs();
    home.keep(&awkward());
    let served = Served::start(&home, &[]);
    let shown = |query: &str| -> Vec<bool> {
        let page = served.get(&format!("/?{query}"));
        assert_eq!(page.status, 200, "{query}");
        [CLOSED, OPEN, awkward().run_id]
            .iter()
            .map(|id| page.body.contains(&format!("/runs/{id}\"")))
            .collect()
    };
    assert_eq!(shown("search=DURABILITY+embedded"), [true, false, false]);
    assert_eq!(shown("search=journal"), [false, false, false]);
    assert_eq!(shown("search=wal"), [true, false, false], "a variant's name");
    assert_eq!(shown("system=postgres"), [false, true, false]);
    assert_eq!(shown("system=none"), [false, false, false]);
    assert_eq!(shown("search=cost&system=sqlite&verdict="), [true, false, false]);
    assert_eq!(shown("verdict=different"), [true, false, true]);
    assert_eq!(shown("verdict=none"), [false, true, false], "interrupted too early");
    assert_eq!(shown("verdict=same"), [false, false, false]);
    assert_eq!(shown("verdict=nonsense&other=1&%ff=%00"), [true, true, true]);
}

#[test]
fn signals_end_it_in_order() {
    let home = two_runs();
    for signal in ["-INT", "-TERM", "-HUP"] {
        let served = Served::start(&home, &[]);
        assert_eq!(served.get("/").status, 200);
        assert_eq!(served.end(signal), 0, "{signal}");
    }
}

#[test]
fn a_port_in_use_is_an_error_that_says_so() {
    let home = two_runs();
    let served = Served::start(&home, &[]);
    let port = served.port.to_string();
    let said = home.run(&["open", "--no-browser", "--port", &port]).fails(1);
    assert!(said.contains(&format!("cannot listen on port {port} of 127.0.0.1")), "{said}");
    assert!(said.contains("weigh open --port 0"), "{said}");
    let said = home.run(&["open", "--no-browser", "nonsense"]).fails(2);
    assert!(said.contains("no run matches `nonsense`"), "{said}");
}

/// Two hundred runs: analysed once. The second look costs next to nothing.
#[test]
fn a_list_of_two_hundred_runs_is_quick() {
    let home = Home::new();
    let first = home.keep(&Recipe { rounds: 40, ..durability() });
    let text = std::fs::read_to_string(first.join("events.jsonl")).unwrap();
    for number in 1..200 {
        let run_id = format!("20261121-214425-copy-{number:04}");
        let dir = runs(&home).join(&run_id);
        std::fs::create_dir(&dir).unwrap();
        std::fs::write(dir.join("events.jsonl"), text.replacen(durability().run_id, &run_id, 1)).unwrap();
    }
    let served = Served::start(&home, &[]);
    let timed = || {
        let begun = Instant::now();
        let page = served.get("/");
        assert!(page.status == 200 && page.body.matches("<tr data-words").count() == 200);
        begun.elapsed()
    };
    let (cold, warm) = (timed(), timed());
    println!("200 runs of {} trials: first list {cold:.0?}, then {warm:.0?}", 40 * 5);
    assert!(warm < cold / 2, "first {cold:?}, then {warm:?}");
}
