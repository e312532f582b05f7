//! Replies cut anywhere, replies that are wrong, and bytes that are no replies.

use bson::{Bson, Document, doc};
use proptest::prelude::*;
use weigh_load::{Decoded, Outcome};

use super::command::{Miss, Shape};
use super::reply::{Batches, ReplyDecoder};

fn shape() -> Shape {
    Shape {
        acknowledged: true,
        miss: Miss::Never,
        items: 0,
        ordered: true,
        counts_done: false,
        expect: vec![],
        batch_size: None,
        text: String::new(),
    }
}

fn message(request: i32, flags: u32, document: &Document) -> Vec<u8> {
    let body = document.to_vec().unwrap();
    let tail: &[u8] = if flags & 1 == 0 { b"" } else { b"crc!" };
    let length = i32::try_from(21 + body.len() + tail.len()).unwrap();
    let mut out = Vec::new();
    for integer in [length, 99, request, 2013, flags.cast_signed()] {
        out.extend_from_slice(&integer.to_le_bytes());
    }
    out.push(0);
    out.extend_from_slice(&body);
    out.extend_from_slice(tail);
    out
}

fn decoder(shape: Shape) -> ReplyDecoder {
    let mut decoder = ReplyDecoder::new(vec![shape], Batches::All);
    decoder.expect(1, 0);
    decoder
}

/// What the engine does: shows bytes as they come, and what was not consumed again.
fn feed(decoder: &mut ReplyDecoder, bytes: &[u8], cuts: &[usize]) -> Vec<Outcome> {
    let (mut outcomes, mut pending) = (Vec::new(), Vec::new());
    let mut from = 0;
    for to in cuts.iter().copied().chain([bytes.len()]) {
        pending.extend_from_slice(&bytes[from..to.max(from)]);
        from = to.max(from);
        loop {
            let Decoded { consumed, finished } = decoder.decode(&pending);
            assert!(consumed <= pending.len());
            pending.drain(..consumed);
            match finished {
                Some(Outcome::Broken(message)) => {
                    outcomes.push(Outcome::Broken(message));
                    return outcomes;
                }
                Some(outcome) => outcomes.push(outcome),
                None => break,
            }
            if pending.is_empty() {
                break;
            }
        }
    }
    outcomes
}

fn outcome_of(shape: Shape, reply: &Document) -> Outcome {
    let bytes = message(1, 0, reply);
    let whole = feed(&mut decoder(shape.clone()), &bytes, &[]);
    let single: Vec<usize> = (0..bytes.len()).collect();
    assert_eq!(feed(&mut decoder(shape), &bytes, &single), whole, "{reply}");
    let [outcome] = whole.as_slice() else { panic!("{whole:?} of {reply}") };
    outcome.clone()
}

fn error_of(shape: Shape, reply: &Document) -> String {
    match outcome_of(shape, reply) {
        Outcome::Error(message) | Outcome::Broken(message) => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_find_has_found_something_or_not() {
    let find = || Shape { miss: Miss::NoDocument, ..shape() };
    let reply =
        |batch: Vec<Document>| doc! {"cursor": {"firstBatch": batch, "id": 0_i64, "ns": "t.c"}, "ok": 1.0};
    assert_eq!(outcome_of(find(), &reply(vec![doc! {"_id": 1, "x": "y".repeat(5000)}])), Outcome::Success);
    assert_eq!(outcome_of(find(), &reply(vec![])), Outcome::Miss);
    assert_eq!(outcome_of(shape(), &reply(vec![])), Outcome::Success);
    let modify = || Shape { miss: Miss::NullValue, ..shape() };
    assert_eq!(outcome_of(modify(), &doc! {"value": null, "ok": 1}), Outcome::Miss);
    assert_eq!(outcome_of(modify(), &doc! {"value": {"_id": 1}, "ok": 1}), Outcome::Success);
}

#[test]
fn refusals_are_errors_in_the_servers_words() {
    let reply =
        doc! {"ok": 0.0, "errmsg": "no such command: 'nope'", "code": 59, "codeName": "CommandNotFound"};
    let nope = Shape { text: r#"{"nope": 1}"#.into(), ..shape() };
    assert_eq!(error_of(nope, &reply), "59 CommandNotFound no such command: 'nope'");
    assert_eq!(error_of(shape(), &doc! {"n": 1}), "the server sent a reply without `ok`");
    let concern = doc! {"n": 1, "writeConcernError": {"code": 64, "codeName": "WriteConcernFailed", "errmsg": "waiting"}, "ok": 1};
    assert_eq!(error_of(shape(), &concern), "write concern: 64 WriteConcernFailed waiting");
}

fn duplicates(indices: &[i32]) -> Document {
    let errors: Vec<Document> = indices
        .iter()
        .map(|index| {
            let errmsg =
                format!("E11000 duplicate key error collection: t.c index: _id_ dup key: {{ _id: {index} }}");
            doc! {"index": index, "code": 11000, "errmsg": errmsg}
        })
        .collect();
    doc! {"n": 0, "writeErrors": errors, "ok": 1.0}
}

#[test]
fn items_that_failed_are_counted_together() {
    let duplicate = "11000 E11000 duplicate key error collection: t.c index: _id_".to_owned();
    let bulk = |items, ordered| Shape { items, ordered, ..shape() };
    assert_eq!(
        outcome_of(bulk(10, false), &duplicates(&[1, 4, 9])),
        Outcome::Partial(vec![(duplicate.clone(), 3)])
    );
    let not_attempted = "not attempted: an ordered bulk stops at its first error".to_owned();
    assert_eq!(
        outcome_of(bulk(10, true), &duplicates(&[4])),
        Outcome::Partial(vec![(duplicate.clone(), 1), (not_attempted, 5)])
    );
    assert_eq!(outcome_of(bulk(10, true), &duplicates(&[9])), Outcome::Partial(vec![(duplicate.clone(), 1)]));
    assert_eq!(outcome_of(bulk(10, true), &duplicates(&[0])), Outcome::Error(duplicate.clone()));
    assert_eq!(outcome_of(bulk(2, false), &duplicates(&[0, 1])), Outcome::Error(duplicate.clone()));
    assert_eq!(outcome_of(bulk(1, true), &duplicates(&[0])), Outcome::Error(duplicate));
}

#[test]
fn what_an_insert_says_it_did_counts() {
    let insert = || Shape { items: 1000, counts_done: true, ..shape() };
    let errors = |n: i32, indices: &[i32]| {
        let mut reply = duplicates(indices);
        reply.insert("n", n);
        reply
    };
    let parts = |failed: u64, left: u64| {
        let left = ("not attempted: an ordered bulk stops at its first error".to_owned(), left);
        let duplicate = "11000 E11000 duplicate key error collection: t.c index: _id_".to_owned();
        Outcome::Partial([(duplicate, failed), left].into_iter().filter(|(_, count)| *count > 0).collect())
    };
    assert_eq!(outcome_of(insert(), &errors(50, &[50])), parts(1, 949));
    // Of FerretDB 1.24.2: it inserts the hundred after the hundred with the error before it stops.
    assert_eq!(outcome_of(insert(), &errors(150, &[50])), parts(1, 849));
    let every_hundred: Vec<i32> = (0..10).map(|hundred| 100 * hundred + 7).collect();
    assert_eq!(outcome_of(insert(), &errors(70, &every_hundred)), parts(10, 920));
    let unordered = || Shape { ordered: false, ..insert() };
    assert_eq!(outcome_of(unordered(), &errors(999, &[50])), parts(1, 0));
    assert_eq!(outcome_of(unordered(), &errors(990, &every_hundred)), parts(10, 0));
}

#[test]
fn numbers_that_were_asked_for_must_be_there() {
    let expecting = || Shape { expect: vec![("n".into(), 1.0), ("nModified".into(), 0.0)], ..shape() };
    assert_eq!(outcome_of(expecting(), &doc! {"n": 1, "nModified": 0_i64, "ok": 1}), Outcome::Success);
    assert_eq!(error_of(expecting(), &doc! {"n": 2, "nModified": 0, "ok": 1}), "`n` is not 1");
    assert_eq!(error_of(expecting(), &doc! {"n": 1.0, "ok": 1}), "`nModified` is not 0");
}

#[test]
fn a_cursor_is_read_to_its_end() {
    let batch = |name: &str, id: i64, items: Vec<i32>| doc! {"cursor": {name: items, "id": id, "ns": "t.c.d"}, "ok": 1.0};
    let mut decoder = decoder(Shape { miss: Miss::NoDocument, batch_size: Some(2), ..shape() });
    assert_eq!(feed(&mut decoder, &message(1, 0, &batch("firstBatch", 77, vec![1, 2])), &[30, 60]), []);
    assert_eq!(decoder.next_batch(2), Some((77, "t.c.d", Some(2))));
    assert_eq!(decoder.next_batch(3), None);
    assert_eq!(feed(&mut decoder, &message(2, 0, &batch("nextBatch", 77, vec![3])), &[]), []);
    assert_eq!(decoder.next_batch(3), Some((77, "t.c.d", Some(2))));
    // Something was found before, though the last batch is empty.
    assert_eq!(feed(&mut decoder, &message(3, 0, &batch("nextBatch", 0, vec![])), &[]), [Outcome::Success]);
    decoder.expect(4, 0);
    assert_eq!(feed(&mut decoder, &message(4, 0, &batch("firstBatch", 0, vec![])), &[]), [Outcome::Miss]);
    let mut one = ReplyDecoder::new(vec![shape()], Batches::One);
    one.expect(1, 0);
    let outcomes = feed(&mut one, &message(1, 0, &batch("firstBatch", 77, vec![1])), &[]);
    assert!(
        matches!(&outcomes[..], [Outcome::Broken(message)] if message.contains("inside TLS")),
        "{outcomes:?}"
    );
}

#[test]
fn a_write_without_a_reply_is_finished_by_nothing() {
    let silent = Shape { acknowledged: false, ..shape() };
    let mut decoder = ReplyDecoder::new(vec![silent, shape()], Batches::All);
    decoder.expect(1, 0);
    assert!(decoder.is_unacknowledged());
    assert_eq!(decoder.decode(b""), Decoded::finished(0, Outcome::Success));
    decoder.expect(2, 0);
    decoder.expect(3, 1);
    let reply = message(3, 0, &doc! {"ok": 1});
    assert_eq!(feed(&mut decoder, &reply, &[]), [Outcome::Success, Outcome::Success]);
    decoder.expect(4, 0);
    let outcomes = feed(&mut decoder, &message(4, 0, &doc! {"ok": 1}), &[]);
    assert!(
        matches!(&outcomes[..], [Outcome::Broken(m)] if m.contains("does not honour `w: 0`")),
        "{outcomes:?}"
    );
}

#[test]
fn checksums_are_passed_over_and_other_frames_refused() {
    let ok = doc! {"ok": 1};
    assert_eq!(feed(&mut decoder(shape()), &message(1, 1, &ok), &[10, 30]), [Outcome::Success]);
    let refused = |bytes: &[u8], expected: &str| {
        let outcomes = feed(&mut decoder(shape()), bytes, &[]);
        let [Outcome::Broken(text)] = outcomes.as_slice() else { panic!("{outcomes:?}") };
        assert!(text.contains(expected), "{text}");
    };
    refused(&message(1, 2, &ok), "flags 0x2");
    refused(&message(9, 0, &ok), "answered request 9");
    refused(b"HTTP/1.1 400 Bad Request\r\n\r\n", "kind");
    let mut long = message(1, 0, &ok);
    long[..4].copy_from_slice(&i32::MAX.to_le_bytes());
    refused(&long, "2147483647 bytes");
    let mut section = message(1, 0, &ok);
    section[20] = 1;
    refused(&section, "not one document");
    let mut element = message(1, 0, &doc! {"a": "text", "ok": 1});
    element[28] = 200;
    refused(&element, "beyond its document");
    let mut kind = message(1, 0, &ok);
    kind[25] = 0x55;
    refused(&kind, "unknown type");
    let mut early = message(1, 0, &ok);
    early[25] = 0;
    refused(&early, "ends before its end");
    let mut decoder = ReplyDecoder::new(vec![shape()], Batches::All);
    assert!(matches!(decoder.decode(&message(1, 0, &ok)).finished, Some(Outcome::Broken(_))));
}

fn value() -> impl Strategy<Value = Bson> {
    let leaf = prop_oneof![
        any::<i32>().prop_map(Bson::from),
        any::<i64>().prop_map(Bson::from),
        any::<f64>().prop_map(Bson::from),
        any::<bool>().prop_map(Bson::from),
        "[a-z]{0,40}".prop_map(Bson::from),
        Just(Bson::Null),
    ];
    leaf.prop_recursive(3, 20, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Bson::Array),
            prop::collection::vec(("[a-z]{1,5}", inner), 0..5)
                .prop_map(|m| Bson::Document(m.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_reply_means_the_same_however_it_is_cut(
        extra in prop::collection::vec(("x[a-z]{0,6}", value()), 0..6),
        batch in prop::collection::vec(value(), 0..6),
        errors in prop::collection::vec(0..20_i32, 0..4),
        cuts in prop::collection::vec(0..2000_usize, 0..12),
    ) {
        let mut reply = doc! {"cursor": {"firstBatch": batch, "id": 0_i64, "ns": "t.c"}};
        reply.extend(extra.into_iter().collect::<Document>());
        if !errors.is_empty() {
            reply.extend(duplicates(&errors));
        }
        reply.insert("ok", 1.0);
        let bytes = [message(1, 0, &reply), message(2, 1, &reply)].concat();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.sort_unstable();
        let run = |cuts: &[usize]| {
            let mut decoder = decoder(Shape { miss: Miss::NoDocument, items: 20, ordered: false, ..shape() });
            decoder.expect(2, 0);
            feed(&mut decoder, &bytes, cuts)
        };
        let whole = run(&[]);
        prop_assert_eq!(whole.len(), 2);
        prop_assert_eq!(whole.clone(), run(&cuts));
    }

    #[test]
    fn arbitrary_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..300), at in 0..300_usize) {
        feed(&mut decoder(shape()), &bytes, &[at.min(bytes.len())]);
    }

    #[test]
    fn a_reply_with_bytes_changed_does_no_harm(
        changes in prop::collection::vec((0..400_usize, any::<u8>()), 1..4),
        at in 0..400_usize,
    ) {
        let mut reply = duplicates(&[1, 2]);
        reply.insert("cursor", doc! {"firstBatch": [{"_id": 1}], "id": 5_i64, "ns": "t.c"});
        let mut bytes = message(1, 0, &reply);
        for (place, byte) in changes {
            let place = place % bytes.len();
            bytes[place] = byte;
        }
        let at = at.min(bytes.len());
        feed(&mut decoder(shape()), &bytes, &[at]);
    }
}
