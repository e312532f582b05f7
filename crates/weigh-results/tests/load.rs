//! The report of one load, as a reader sees it, from fixed records.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use weigh_results::doubt::DoubtKind;
use weigh_results::model::histogram::encode;
use weigh_results::model::load::{
    ArrivalsAsked, CapacityRecord, CapacityStep, LoadAsked, LoadInterval, LoadRecord, OperationAsked,
    OperationRecord, ScheduleAsked, ScheduleRecord, StepFailure,
};
use weigh_results::model::{ClientCost, Interference};
use weigh_results::report::Style;
use weigh_results::report::load::summary::LoadSummary;
use weigh_results::report::load::{capacity, doubts, hlog, json, live, page};

fn style(width: usize) -> Style {
    Style { width, colour: false, unicode: true }
}

fn histogram(values: impl IntoIterator<Item = (u64, u64)>) -> Histogram<u64> {
    let mut histogram = Histogram::new_with_bounds(100, 3_600_000_000_000, 3).unwrap();
    for (ns, count) in values {
        histogram.record_n(ns, count).unwrap();
    }
    histogram
}

/// A body around `scale_ns` with a tail: about `count` values.
fn skewed(scale_ns: u64, count: u64) -> Histogram<u64> {
    histogram((0..1_000_u64).map(|rank| {
        let quantile = (rank as f64 + 0.5) / 1_000.0;
        let ns = scale_ns as f64 * (0.7 + 0.4 * quantile + 0.02 / (1.000_2 - quantile));
        (ns as u64, count / 1_000)
    }))
}

fn asked() -> LoadAsked {
    LoadAsked {
        url: "http://127.0.0.1:8080/".into(),
        system: "http".into(),
        operations: vec![OperationAsked { name: "GET /".into(), weight: 1, text: "GET /".into() }],
        clients: 50,
        threads: 1,
        pipeline: 1,
        settle_s: 1.0,
        measure_s: 10.0,
        operations_limit: None,
        schedule: ScheduleAsked::Closed,
        timeout_s: 30.0,
        seed: 7,
        pin: false,
    }
}

fn interval(second: u64, scale_ns: u64) -> LoadInterval {
    LoadInterval {
        begin_s: second as f64,
        end_s: second as f64 + 1.0,
        settling: second == 0,
        operations: 47_000,
        errors: 0,
        commonest_error: None,
        reconnects: 0,
        backlog: 0,
        client_cpu_s: 0.55,
        response: (second > 0).then(|| encode(&skewed(scale_ns, 47_000)).unwrap()),
    }
}

fn closed() -> LoadRecord {
    LoadRecord {
        weigh_version: "0.1.0".into(),
        started_at: "2026-01-02T03:04:05.678Z".into(),
        asked: asked(),
        signal: None,
        settled_s: 1.0,
        measured_s: 10.0,
        operations_measured: 470_000,
        operations_total: 517_050,
        errors: BTreeMap::new(),
        misses: 0,
        item_errors: BTreeMap::new(),
        reconnects: 0,
        response: encode(&skewed(1_000_000, 470_000)).unwrap(),
        service: None,
        schedule: None,
        operations: vec![OperationRecord {
            name: "GET /".into(),
            operations_measured: 470_000,
            response: encode(&skewed(1_000_000, 470_000)).unwrap(),
            service: None,
        }],
        intervals: (0..11).map(|second| interval(second, 950_000 + 10_000 * second)).collect(),
        completed_per_100ms: vec![4_700; 110],
        client: ClientCost { user_s: 0.6, system_s: 4.1, busiest_thread: 0.47 },
        client_wait_s: 0.1,
        interference: Interference::default(),
        host_cpus: 2,
    }
}

/// Two operations at a rate, a stall, failures of every kind.
fn open() -> LoadRecord {
    let operation = |name: &str, measured, scale_ns| OperationRecord {
        name: name.into(),
        operations_measured: measured,
        response: encode(&skewed(scale_ns, measured)).unwrap(),
        service: Some(encode(&skewed(scale_ns / 2, measured)).unwrap()),
    };
    let mut response = skewed(800_000, 9_000);
    response.add(histogram((0..900).map(|n| (1_000_000 * (100 + n), 1)))).unwrap();
    LoadRecord {
        asked: LoadAsked {
            url: "redis://127.0.0.1".into(),
            system: "redis".into(),
            operations: vec![
                OperationAsked { name: "GET k:$1".into(), weight: 9, text: "GET k:$1".into() },
                OperationAsked { name: "SET k:$1 $2".into(), weight: 1, text: "SET k:$1 $2".into() },
            ],
            pipeline: 4,
            schedule: ScheduleAsked::Open { rate_per_s: 1_000.0, arrivals: ArrivalsAsked::Poisson },
            ..asked()
        },
        operations_measured: 9_400,
        operations_total: 10_400,
        errors: BTreeMap::from([
            ("LOADING Redis is loading the dataset in memory".into(), 90),
            ("connection closed by the server".into(), 8),
        ]),
        misses: 1_200,
        item_errors: BTreeMap::from([("duplicate key".into(), 3)]),
        reconnects: 8,
        response: encode(&response).unwrap(),
        service: Some(encode(&skewed(400_000, 9_900)).unwrap()),
        schedule: Some(ScheduleRecord {
            due: 10_000,
            sent: 9_960,
            never_sent: 40,
            never_answered: 8,
            lag: encode(&histogram([(20_000, 9_000), (500_000_000, 960)])).unwrap(),
            client_lag: encode(&histogram([(15_000, 9_950), (90_000, 10)])).unwrap(),
            late_starts: 960,
            backlog_max: 950,
        }),
        operations: vec![operation("GET k:$1", 8_500, 800_000), operation("SET k:$1 $2", 900, 900_000)],
        intervals: Vec::new(),
        client: ClientCost { user_s: 0.05, system_s: 0.2, busiest_thread: 0.82 },
        client_wait_s: 0.9,
        ..closed()
    }
}

fn rendered(record: &LoadRecord, style: &Style) -> String {
    page::render(record, &LoadSummary::of(record).unwrap(), style)
}

fn kinds(record: &LoadRecord) -> Vec<DoubtKind> {
    doubts::of(record, &LoadSummary::of(record).unwrap()).into_iter().map(|doubt| doubt.kind).collect()
}

#[test]
fn a_closed_loop() {
    insta::assert_snapshot!("load_closed_80", rendered(&closed(), &style(80)));
    insta::assert_snapshot!("load_closed_140", rendered(&closed(), &style(140)));
    let ascii = rendered(&closed(), &Style { unicode: false, ..style(80) });
    assert!(ascii.is_ascii(), "{ascii}");
    let coloured = rendered(&closed(), &Style { colour: true, ..style(80) });
    assert!(coloured.contains('\u{1b}') && !rendered(&closed(), &style(80)).contains('\u{1b}'));
}

#[test]
fn an_open_loop_with_everything_that_can_go_wrong() {
    insta::assert_snapshot!("load_open_80", rendered(&open(), &style(80)));
    insta::assert_snapshot!("load_open_140", rendered(&open(), &style(140)));
}

#[test]
fn lines_stay_within_the_width() {
    for record in [closed(), open()] {
        for width in [60, 80, 100, 140] {
            for line in rendered(&record, &style(width)).lines() {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
        }
    }
}

#[test]
fn nothing_measured_is_a_page_without_invented_figures() {
    let empty = encode(&histogram([])).unwrap();
    let record = LoadRecord {
        operations_measured: 0,
        operations_total: 0,
        errors: BTreeMap::from([("status 503 Service Unavailable".into(), 900)]),
        response: empty.clone(),
        operations: vec![OperationRecord {
            name: "GET /".into(),
            response: empty,
            ..OperationRecord::default()
        }],
        intervals: Vec::new(),
        ..closed()
    };
    let text = rendered(&record, &style(80));
    insta::assert_snapshot!("load_nothing_80", text);
    let value = json::render(&record, &LoadSummary::of(&record).unwrap());
    assert!(value["response"]["percentiles"][0]["value_s"].is_null());
    assert!(value["response"]["max_s"].is_null());
}

#[test]
fn doubts_have_evidence_and_none_is_there_without() {
    assert_eq!(kinds(&closed()), []);
    assert_eq!(
        kinds(&open()),
        [
            DoubtKind::Errors,
            DoubtKind::ClientSaturated,
            DoubtKind::RateAboveCapacity,
            DoubtKind::RunQueueWait,
        ]
    );
    let late = LoadRecord {
        schedule: Some(ScheduleRecord {
            client_lag: encode(&histogram([(50_000, 9_000), (80_000_000, 960)])).unwrap(),
            ..open().schedule.unwrap()
        }),
        ..open()
    };
    assert!(kinds(&late).contains(&DoubtKind::ScheduleNotKept));
    let short = LoadRecord { response: encode(&skewed(1_000_000, 1_000)).unwrap(), ..closed() };
    assert!(!kinds(&short).contains(&DoubtKind::TooFewOperations));
    let shorter = LoadRecord { response: encode(&histogram([(1_000, 999)])).unwrap(), ..closed() };
    assert!(kinds(&shorter).contains(&DoubtKind::TooFewOperations));
    let cut = LoadRecord { signal: Some(2), measured_s: 3.2, ..closed() };
    assert_eq!(kinds(&cut), [DoubtKind::CutShort]);
}

#[test]
fn json_has_units_in_its_names_and_every_histogram() {
    let record = open();
    let value = json::render(&record, &LoadSummary::of(&record).unwrap());
    assert_eq!((&value["report"], &value["report_version"]), (&"load".into(), &1.into()));
    assert_eq!(value["throughput_per_s"], 940.0);
    assert_eq!(value["schedule"]["never_sent"], 40);
    assert_eq!(value["asked"]["schedule"]["rate_per_s"], 1_000.0);
    let p99 = &value["response"]["percentiles"][3];
    assert_eq!((&p99["name"], &p99["operations_beyond"]), (&"p99".into(), &99.into()));
    assert_eq!(value["response"]["unanswered"], 48);
    assert_eq!(value["response"]["percentiles"][4]["unknown_because"], "too_few_operations");
    let text = value["response"]["hdr_v2_ns"].as_str().unwrap();
    assert_eq!(weigh_results::model::histogram::decode(text).unwrap().len(), 9_900);
    let keys: Vec<&String> = value.as_object().unwrap().keys().collect();
    insta::assert_debug_snapshot!("load_json_keys", keys);
}

/// A tenth of the operations without an answer: p99 is not a figure, and is not made one.
#[test]
fn a_percentile_among_the_unanswered_says_so() {
    let record = LoadRecord {
        schedule: Some(ScheduleRecord { never_sent: 1_000, due: 10_900, ..open().schedule.unwrap() }),
        ..open()
    };
    let text = rendered(&record, &style(100));
    let line = text.lines().find(|line| line.starts_with("p99 ")).unwrap();
    assert!(line.contains("no answer"), "{line}");
    let value = json::render(&record, &LoadSummary::of(&record).unwrap());
    assert_eq!(value["response"]["percentiles"][3]["unknown_because"], "unanswered");
}

#[test]
fn an_hdr_log_is_read_back() {
    let bytes = hlog::render(&closed()).unwrap();
    let mut seen = Vec::new();
    for entry in IntervalLogIterator::new(&bytes) {
        if let LogEntry::Interval(found) = entry.unwrap() {
            let histogram = weigh_results::model::histogram::decode(found.encoded_histogram()).unwrap();
            seen.push((found.start_timestamp(), found.duration(), histogram.len()));
            assert!((found.max() - histogram.max() as f64 / 1e6).abs() < 0.001);
        }
    }
    assert_eq!(seen.len(), 10, "the warm-up has no interval");
    assert_eq!(seen[0], (Duration::from_secs(1), Duration::from_secs(1), 47_000));
    let text = String::from_utf8(bytes).unwrap();
    assert!(text.contains("[StartTime: 1767323045.678"), "{}", &text[..200]);
}

#[test]
fn while_it_goes_on_there_is_a_line_a_second() {
    assert_eq!(
        live::line(&interval(0, 1), 11.0),
        "1.0 s of 11 s, warming up: 47,000/s · client 55 % of a core"
    );
    let busy = LoadInterval {
        errors: 3,
        commonest_error: Some("timed out".into()),
        backlog: 120,
        reconnects: 2,
        ..interval(4, 1_000_000)
    };
    insta::assert_snapshot!(
        live::line(&busy, 11.0),
        @"5.0 s of 11 s: 47,000/s · p50 940 µs, p99 2.97 ms · 3 errors, most `timed out` · 2 connections made again · 120 wait to be sent · client 55 % of a core"
    );
}

fn step(rate_per_s: f64, p99_s: Option<f64>, failure: Option<StepFailure>) -> CapacityStep {
    CapacityStep {
        rate_per_s,
        measured_s: 3.0,
        due: (3.0 * rate_per_s) as u64,
        achieved_per_s: rate_per_s.min(2_000.0),
        p99_s,
        client_lag_p99_s: 0.000_08,
        busiest_thread: 0.2,
        client_wait: 0.01,
        unanswered: 0,
        errors: 0,
        failure,
    }
}

fn searched() -> CapacityRecord {
    CapacityRecord {
        weigh_version: "0.1.0".into(),
        started_at: "2026-01-02T03:04:05Z".into(),
        asked: asked(),
        p99_limit_s: 0.01,
        max_rate_per_s: None,
        closed_loop_per_s: 2_010.0,
        steps: vec![
            step(1_608.0, Some(0.002_1), None),
            step(2_251.0, None, Some(StepFailure::Backlog)),
            step(1_902.0, Some(0.004_4), None),
            step(1_989.0, Some(0.013), Some(StepFailure::TooSlow)),
            step(1_902.0, Some(0.004_9), None),
            step(1_989.0, Some(0.012), Some(StepFailure::TooSlow)),
        ],
        highest_pass_per_s: Some(1_902.0),
        lowest_fail_per_s: Some(1_989.0),
        confirmed: true,
        limited_by: Some(StepFailure::TooSlow),
        signal: None,
    }
}

#[test]
fn a_search_for_the_capacity() {
    insta::assert_snapshot!("capacity_80", capacity::render(&searched(), &style(80)));
    insta::assert_snapshot!("capacity_140", capacity::render(&searched(), &style(140)));
    assert_eq!(capacity::step_line(1, &searched().steps[0]), "step 1: 1,610/s: p99 2.10 ms: kept");
    assert_eq!(
        capacity::step_line(2, &searched().steps[1]),
        "step 2: 2,250/s: p99 unknown: not kept: 2,000/s were done"
    );
    let value = capacity::json(&searched());
    assert_eq!(value["steps"][1]["failure"], "backlog");
    assert_eq!((&value["known"], &value["limited_by"]), (&true.into(), &"too_slow".into()));
}

#[test]
fn a_search_never_says_more_than_it_knows() {
    let by_client = CapacityRecord { limited_by: Some(StepFailure::Client), ..searched() };
    assert!(!capacity::is_known(&by_client));
    assert!(capacity::finding(&by_client).contains("is not known"), "{}", capacity::finding(&by_client));
    assert_eq!(capacity::doubts(&searched()), []);
    let mut busy = searched();
    busy.steps.iter_mut().for_each(|step| (step.busiest_thread, step.client_wait) = (0.8, 0.2));
    let kinds: Vec<DoubtKind> = capacity::doubts(&busy).into_iter().map(|doubt| doubt.kind).collect();
    assert_eq!(kinds, [DoubtKind::ClientSaturated, DoubtKind::RunQueueWait]);
    assert!(capacity::render(&busy, &style(80)).contains("doubt    the client was near its limit"));
    let open_end = CapacityRecord { lowest_fail_per_s: None, limited_by: None, ..searched() };
    assert!(capacity::finding(&open_end).contains("is above it"));
    let never = CapacityRecord { highest_pass_per_s: None, ..searched() };
    assert!(capacity::finding(&never).contains("does not stay within 10.0 ms at any rate"));
    assert!(!capacity::is_known(&never));
    let unsure = CapacityRecord { confirmed: false, ..searched() };
    assert!(capacity::finding(&unsure).contains("measure again"));
    let cut = CapacityRecord { signal: Some(2), ..searched() };
    assert!(capacity::finding(&cut).starts_with("interrupted after 6 steps; so far kept at 1,900/s"));
}
