//! What the client says happened is what the server did.

use std::slice;
use std::sync::Arc;

use weigh_drivers::CommandOperation;
use weigh_drivers::mongodb::MongodbConfig;
use weigh_load::generator::GeneratorSpec;
use weigh_load::{LoadReport, start};

use crate::support::ferretdb::{Server, number, servers, shared};
use crate::support::keyvalue::{Call, call, commands, load_spec, uniform};
use crate::support::load::{chain, ms, sequence};

const DUPLICATE: &str = "11000 E11000 duplicate key error collection: ";

/// A short load that does not depend on how fast the machine is.
fn run(config: MongodbConfig, clients: usize, pipeline: usize, calls: &[Call]) -> LoadReport {
    run_operations(config, (clients, pipeline), 120, calls)
}

/// So many operations.
fn run_operations(
    config: MongodbConfig,
    (clients, pipeline): (usize, usize),
    operations: u64,
    calls: &[Call],
) -> LoadReport {
    let driver = MongodbConfig { operations: commands(calls), ..config }.build().unwrap();
    let mut spec = load_spec(clients, pipeline, calls);
    (spec.settle, spec.measure, spec.operations_limit) = (ms(0), ms(20_000), Some(operations));
    start(&spec, Arc::new(driver)).unwrap().finish().unwrap()
}

fn bulk(name: &str, command: &str, parameters: Vec<GeneratorSpec>, rows: u32) -> Call {
    let call = call(name, command, parameters);
    Call { command: CommandOperation { rows, ..call.command }, ..call }
}

/// Documents with `_id` 1 to `count`.
fn fill(server: &Server, database: &str, count: u32) {
    let mut session = server.session(database);
    session.ask(r#"{"dropDatabase": 1}"#).unwrap();
    let documents: Vec<String> = (1..=count).map(|id| format!(r#"{{"_id": {id}, "n": 0}}"#)).collect();
    session.ask(&format!(r#"{{"insert": "c", "documents": [{}]}}"#, documents.join(", "))).unwrap();
}

#[test]
fn every_acknowledged_insert_is_there_once() {
    for server in servers() {
        for (clients, pipeline) in [(1, 1), (4, 1), (3, 4)] {
            server.session("inserts").ask(r#"{"dropDatabase": 1}"#).unwrap();
            let insert = call(
                "insert",
                r#"{"insert": "log", "documents": [{"at": "$1", "note": "$2"}]}"#,
                vec![sequence(), GeneratorSpec::String { size: 40 }],
            );
            let report = run(server.config("inserts"), clients, pipeline, &[insert]);
            assert!(report.errors.is_empty(), "{:?}", report.errors);
            assert!(report.operations_measured > 5, "{report:?}");
            assert_eq!(
                report.operations_total,
                server.count("inserts", "log", "{}"),
                "{clients} x {pipeline}"
            );
        }
    }
}

#[test]
fn what_is_not_found_is_a_miss_and_no_error() {
    for server in servers() {
        fill(server, "misses", 50);
        let find =
            call("find", r#"{"find": "c", "filter": {"_id": "$1"}, "limit": 1}"#, vec![uniform(1, 100)]);
        let modify = call(
            "modify",
            r#"{"findAndModify": "c", "query": {"_id": "$1"}, "update": {"$inc": {"n": 1}}}"#,
            vec![uniform(1, 100)],
        );
        for call in [find, modify] {
            let report = run(server.config("misses"), 2, 1, &[call]);
            assert!(report.errors.is_empty() && report.operations_total > 20, "{report:?}");
            let share = report.misses as f64 / report.operations_total as f64;
            assert!((0.2..0.8).contains(&share), "{share}");
        }
        let all = call("all", r#"{"find": "c", "filter": {"_id": "$1"}}"#, vec![uniform(1, 50)]);
        assert_eq!(run(server.config("misses"), 2, 1, &[all]).misses, 0);
    }
}

#[test]
fn updates_and_upserts_are_all_done() {
    for server in servers() {
        fill(server, "updates", 10);
        let update = call(
            "update",
            r#"{"update": "c", "updates": [{"q": {"_id": "$1"}, "u": {"$inc": {"n": 1}}}]}"#,
            vec![uniform(1, 10)],
        );
        let report = run(server.config("updates"), 1, 1, &[update.expecting(r#"{"n": 1, "nModified": 1}"#)]);
        assert!(report.errors.is_empty() && report.operations_total > 5, "{:?}", report.errors);
        let sum = r#"{"aggregate": "c", "pipeline": [{"$group": {"_id": null, "sum": {"$sum": "$n"}}}]}"#;
        assert_eq!(number(&server.session("updates").ask(sum).unwrap(), "sum"), report.operations_total);

        let upsert = call(
            "upsert",
            r#"{"update": "u", "updates": [{"q": {"_id": "$1"}, "u": {"$set": {"x": "$2"}}, "upsert": true}]}"#,
            vec![uniform(1, 20), GeneratorSpec::String { size: 5 }],
        );
        let report = run_operations(server.config("updates"), (1, 1), 300, &[upsert]);
        assert!(report.errors.is_empty() && report.operations_total >= 300, "{:?}", report.errors);
        assert_eq!(server.count("updates", "u", "{}"), 20);
    }
}

#[test]
fn any_command_is_an_operation() {
    for server in servers() {
        fill(server, "any", 20);
        let calls = [
            call("ping", r#"{"ping": 1}"#, vec![]),
            call("count", r#"{"count": "c", "query": {"_id": {"$lte": 5}}}"#, vec![])
                .expecting(r#"{"n": 5}"#),
            call("distinct", r#"{"distinct": "c", "key": "n"}"#, vec![]),
            call(
                "aggregate",
                r#"{"aggregate": "c", "pipeline": [{"$match": {"_id": {"$gt": "$1"}}}, {"$count": "k"}]}"#,
                vec![uniform(0, 10)],
            ),
            call(
                "delete",
                r#"{"delete": "c", "deletes": [{"q": {"_id": "$1"}, "limit": 1}]}"#,
                vec![uniform(100, 200)],
            )
            .expecting(r#"{"n": 0}"#),
            call("status", r#"{"serverStatus": 1, "$db": "admin"}"#, vec![]),
        ];
        let report = run(server.config("any"), 2, 1, &calls);
        assert!(report.errors.is_empty(), "{:?}", report.errors);
        assert!(report.operations.iter().all(|operation| !operation.latency.is_empty()), "{report:?}");
    }
}

#[test]
fn failed_items_of_a_bulk_are_counted_one_by_one() {
    for server in servers() {
        for ordered in [false, true] {
            fill(server, "bulk", 300);
            let command =
                format!(r#"{{"insert": "c", "documents": [{{"_id": "$1"}}], "ordered": {ordered}}}"#);
            let insert = bulk("bulk", &command, vec![uniform(1, 3000)], 10);
            let report = run_operations(server.config("bulk"), (1, 1), 60, &[insert]);
            let duplicate =
                report.item_errors.iter().find(|(message, _)| message.starts_with(DUPLICATE)).unwrap();
            assert!(*duplicate.1 > 10, "{:?}", report.item_errors);
            assert!(
                duplicate.0.starts_with("11000 E11000 duplicate key error collection: bulk.c"),
                "{duplicate:?}"
            );
            let left = report.item_errors.get("not attempted: an ordered bulk stops at its first error");
            assert_eq!(left.is_some(), ordered, "{:?}", report.item_errors);
            assert!(
                report.errors.keys().all(|message| message.starts_with(DUPLICATE)),
                "{:?}",
                report.errors
            );
            let failed: u64 = report.item_errors.values().sum();
            let inserted = server.count("bulk", "c", "{}") - 300;
            assert_eq!(inserted, 10 * report.operations_total - failed, "{:?}", report.item_errors);
        }
    }
}

/// Every duplicate is reported once, and what was not attempted besides: as many as are not there afterwards.
#[test]
fn one_duplicate_in_so_many_is_reported_once() {
    for server in servers() {
        for (ordered, rows) in [(true, 1), (true, 1000), (false, 1000), (true, 100), (false, 100_000)] {
            let name = format!("duplicates-{ordered}-{rows}");
            server.session(&name).ask(r#"{"dropDatabase": 1}"#).unwrap();
            let command =
                format!(r#"{{"insert": "c", "documents": [{{"_id": "$1"}}], "ordered": {ordered}}}"#);
            let (documents, every) = if rows == 100_000 { (100_000, 100_000) } else { (4000, 1000) };
            let insert = bulk("bulk", &command, vec![GeneratorSpec::Repeats { start: 0, every }], rows);
            let operations = u64::from(documents / rows);
            let report = run_operations(server.config(&name), (1, 1), operations, &[insert]);
            let failed: u64 = report.item_errors.values().chain(report.errors.values()).sum();
            let is_there = server.count(&name, "c", "{}");
            assert_eq!(is_there + failed, u64::from(documents), "{name}: {report:?}");
            let duplicates: u64 = report
                .item_errors
                .iter()
                .chain(&report.errors)
                .filter_map(|(message, count)| message.starts_with(DUPLICATE).then_some(*count))
                .sum();
            assert_eq!(duplicates, u64::from(documents / every), "{name}: {:?}", report.item_errors);
            // The last document of a batch of a thousand is the duplicate: nothing is behind it.
            assert_eq!(failed, duplicates, "{name}: {:?}", report.item_errors);
        }
    }
}

#[test]
fn a_bulk_without_duplicates_is_all_there() {
    for server in servers() {
        server.session("large").ask(r#"{"dropDatabase": 1}"#).unwrap();
        let insert = bulk(
            "bulk",
            r#"{"insert": "c", "documents": [{"_id": "$1", "text": "$2"}]}"#,
            vec![sequence(), GeneratorSpec::String { size: 200 }],
            1000,
        );
        let report = run_operations(server.config("large"), (1, 1), 5, &[insert.expecting(r#"{"n": 1000}"#)]);
        assert!(report.errors.is_empty() && report.item_errors.is_empty(), "{report:?}");
        assert_eq!(server.count("large", "c", "{}"), 1000 * report.operations_total);
    }
}

#[test]
fn error_replies_are_counted_by_message_and_not_timed() {
    for server in servers() {
        fill(server, "errors", 10);
        let insert = call("insert", r#"{"insert": "c", "documents": [{"_id": "$1"}]}"#, vec![uniform(1, 60)]);
        let report = run(server.config("errors"), 2, 2, &[insert]);
        let messages: Vec<_> = report.errors.keys().collect();
        assert!(messages.len() == 1 && messages[0].starts_with(DUPLICATE), "{messages:?}");
        assert_eq!(report.operations_total + 10, server.count("errors", "c", "{}"));
        assert_eq!(report.latency.len(), report.operations_measured);
        assert_eq!(report.reconnects, 0);

        let nope = call("nope", r#"{"nope": 1}"#, vec![]);
        let report = run(server.config("errors"), 1, 1, &[nope]);
        let (message, count) = report.errors.first_key_value().unwrap();
        assert!(message.starts_with("59 CommandNotFound no such command: 'nope'") && *count > 5, "{message}");
        assert_eq!((report.operations_total, report.errors.len()), (0, 1));

        let words = GeneratorSpec::Choice { values: (0..50).map(|n| format!("x{n}")).collect() };
        let sort = call("sort", r#"{"find": "c", "sort": {"n": "$1"}}"#, vec![words]);
        let report = run(server.config("errors"), 1, 1, &[sort]);
        assert_eq!((report.operations_total, report.errors.len()), (0, 1), "{:?}", report.errors);
    }
}

#[test]
fn a_wrong_count_is_an_error() {
    fill(shared(), "expect", 10);
    let update = call(
        "update",
        r#"{"update": "c", "updates": [{"q": {"_id": "$1"}, "u": {"$inc": {"n": 1}}}]}"#,
        vec![uniform(11, 20)],
    );
    let report = run(shared().config("expect"), 1, 1, &[update.expecting(r#"{"n": 1}"#)]);
    assert_eq!(report.errors.keys().collect::<Vec<_>>(), ["`n` is not 1"]);
    assert_eq!(report.operations_total, 0);
}

#[test]
fn a_cursor_is_read_to_its_end_within_the_operation() {
    for server in servers() {
        fill(server, "cursors", 95);
        let commands = |server: &Server| {
            let status = server.session("cursors").ask(r#"{"serverStatus": 1}"#).unwrap();
            let at = status.find("\"getMore\":").unwrap_or(status.len());
            if at == status.len() { 0 } else { number(&status[at..], "total") }
        };
        for (command, batches) in [
            (r#"{"find": "c", "batchSize": 10}"#, 9),
            (r#"{"aggregate": "c", "pipeline": [{"$match": {}}], "cursor": {"batchSize": 30}}"#, 3),
            (r#"{"find": "c", "batchSize": 10, "limit": 25}"#, 2),
            (r#"{"find": "c", "batchSize": 10, "singleBatch": true}"#, 0),
            (r#"{"find": "c"}"#, 0),
        ] {
            let before = commands(server);
            let report =
                run_operations(server.config("cursors"), (1, 1), 10, &[call("all", command, vec![])]);
            assert!(report.errors.is_empty() && report.misses == 0, "{:?}", report.errors);
            assert_eq!(commands(server) - before, batches * report.operations_total, "{command}");
        }
    }
}

#[test]
fn a_cursor_and_a_pipeline_do_not_go_together() {
    fill(shared(), "pipelined", 50);
    let find = call("find", r#"{"find": "c", "batchSize": 10}"#, vec![]);
    let config =
        MongodbConfig { operations: commands(slice::from_ref(&find)), ..shared().config("pipelined") };
    let load = start(&load_spec(1, 8, slice::from_ref(&find)), Arc::new(config.build().unwrap())).unwrap();
    let report = load.finish().unwrap();
    assert!(
        report.errors.keys().any(|m| m.contains("pipeline of 1 or a larger `batchSize`")),
        "{:?}",
        report.errors
    );
}

#[test]
fn an_enormous_reply_is_passed_over() {
    let server = shared();
    server.session("huge").ask(r#"{"dropDatabase": 1}"#).unwrap();
    let insert = bulk(
        "fill",
        r#"{"insert": "c", "documents": [{"_id": "$1", "text": "$2"}]}"#,
        vec![sequence(), GeneratorSpec::String { size: 100_000 }],
        50,
    );
    let report = run_operations(server.config("huge"), (1, 1), 4, &[insert]);
    assert!(report.errors.is_empty() && report.operations_total >= 4, "{report:?}");
    let documents = server.count("huge", "c", "{}");
    assert!(documents >= 200);
    // FerretDB answers with 20 MB at once; `mongod` would with batches of 16.
    let find = call("find", r#"{"find": "c", "batchSize": 1000}"#, vec![]);
    let report = run_operations(server.config("huge"), (1, 1), 2, &[find]);
    assert!(report.errors.is_empty() && report.misses == 0 && report.operations_total >= 2, "{report:?}");
}

#[test]
fn values_of_every_type_arrive() {
    for server in servers() {
        server.session("types").ask(r#"{"dropDatabase": 1}"#).unwrap();
        let insert = call(
            "types",
            r#"{"insert": "c", "documents": [{
                "small": "$1", "large": "$2", "long": {"$numberLong": "$1"}, "double": {"$numberDouble": "$1"},
                "date": {"$date": "$3"}, "text": "$4", "mixed": "id:$1", "bytes": "$5", "document": "$6",
                "nested": {"list": ["$1", {"$oid": "0102030405060708090a0b0c"}, null, 0.5]}
            }]}"#,
            vec![
                uniform(7, 7),
                uniform(1 << 40, 1 << 40),
                GeneratorSpec::Time {},
                GeneratorSpec::String { size: 12 },
                GeneratorSpec::Bytes { size: 30 },
                GeneratorSpec::Json { size: 200 },
            ],
        );
        let report = run_operations(server.config("types"), (1, 1), 5, &[insert]);
        assert!(report.errors.is_empty(), "{:?}", report.errors);
        let has =
            |query: &str| assert_eq!(server.count("types", "c", query), report.operations_total, "{query}");
        has(r#"{"small": {"$type": "int"}}"#);
        has(r#"{"large": {"$type": "long"}}"#);
        has(r#"{"long": {"$type": "long"}}"#);
        has(r#"{"double": {"$type": "double"}}"#);
        has(r#"{"date": {"$type": "date"}}"#);
        has(r#"{"text": {"$type": "string"}}"#);
        has(r#"{"mixed": "id:7"}"#);
        has(r#"{"bytes": {"$type": "binData"}}"#);
        has(r#"{"document.address.zip": {"$type": "int"}}"#);
        has(r#"{"_id": {"$type": "objectId"}}"#);
        has(r#"{"nested.list.0": 7, "nested.list.3": 0.5}"#);
        let recent = r#"{"date": {"$gt": {"$date": "2024-01-01T00:00:00Z"}, "$lt": {"$date": "2124-01-01T00:00:00Z"}}}"#;
        has(recent);
    }
}

#[test]
fn ferretdb_does_not_honour_unacknowledged_writes() {
    let insert =
        [call("insert", r#"{"insert": "w", "documents": [{"a": 1}], "writeConcern": {"w": 0}}"#, vec![])];
    let config = MongodbConfig { operations: commands(&insert), ..shared().config("unacknowledged") };
    let load = start(&load_spec(1, 1, &insert), Arc::new(config.build().unwrap()));
    assert_eq!(
        chain(&load.err().unwrap()),
        "none of 1 clients could connect: the server answers unacknowledged writes: it does not honour `w: 0`, so they \
         cannot be weighed"
    );
}

#[test]
fn a_session_runs_commands_and_names_what_failed() {
    let mut session = shared().session("session");
    session.ask(r#"{"dropDatabase": 1}"#).unwrap();
    let reply =
        session.ask(r#"{"insert": "c", "documents": [{"_id": 1, "b": {"$numberLong": "5"}}]}"#).unwrap();
    assert_eq!(number(&reply, "n"), 1);
    let reply = session.ask(r#"{"find": "c"}"#).unwrap();
    assert!(reply.contains(r#""firstBatch":[{"_id":1,"b":5}]"#), "{reply}");
    let error = session.ask(r#"{"insert": "c", "documents": [{"_id": 1}]}"#).unwrap_err().to_string();
    assert_eq!(error, "E11000 duplicate key error collection: session.c (11000)");
    let error = session.ask(r#"{"nope": 1}"#).unwrap_err().to_string();
    assert_eq!(error, "no such command: 'nope' (59 CommandNotFound)");
    assert!(session.ask("{").unwrap_err().to_string().contains("not a JSON document"));
    assert!(session.ask(r#"{"ping": 1}"#).is_ok());
}

#[test]
fn a_fill_makes_the_same_documents_every_time() {
    for server in servers() {
        let mut session = server.session("fill");
        let fill = r#"{"insert": "c", "documents": [{"_id": "u$1", "k": "$1", "text": "$2"}], "$times": 1234,
            "$parameters": [{"kind": "sequence"}, {"kind": "string", "size": 50}]}"#;
        let ask = r#"{"find": "c", "filter": {"_id": "u777"}}"#;
        let mut found = Vec::new();
        for _ in 0..2 {
            session.ask(r#"{"dropDatabase": 1}"#).unwrap();
            session.execute(fill, &|| false).unwrap();
            assert_eq!(server.count("fill", "c", "{}"), 1234);
            found.push(session.ask(ask).unwrap());
        }
        assert!(found[0] == found[1] && found[0].contains("\"k\":777"), "{found:?}");
        let twice = session.execute(fill, &|| false).unwrap_err().to_string();
        assert!(twice.contains("E11000 duplicate key"), "{twice}");
        session.ask(r#"{"dropDatabase": 1}"#).unwrap();
        assert_eq!(session.execute(fill, &|| true).unwrap_err().to_string(), "interrupted");
    }
}
