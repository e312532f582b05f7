//! Counter keys → words: `postgres.wal_bytes` → `WAL`, in bytes per operation.

use super::units::Unit;
use crate::model::Plan;

/// Words for keys whose own words are not clear.
const WORDS: [(&str, &str); 64] = [
    ("server.cpu_us", "server CPU"),
    ("server.wait_us", "server waiting for a CPU"),
    ("server.minor_faults", "minor page faults"),
    ("server.major_faults", "major page faults"),
    ("server.voluntary_switches", "voluntary context switches"),
    ("server.involuntary_switches", "involuntary context switches"),
    ("server.dirtied_bytes", "pages dirtied"),
    ("server.cpu_user_us", "server user CPU"),
    ("server.cpu_system_us", "server system CPU"),
    ("server.read_chars_bytes", "read by calls"),
    ("server.write_chars_bytes", "written by calls"),
    ("server.read_bytes", "read from storage"),
    ("server.write_bytes", "written to storage"),
    ("server.read_calls", "read calls"),
    ("server.write_calls", "write calls"),
    ("command.cpu_us", "CPU"),
    ("command.cpu_user_us", "user CPU"),
    ("command.cpu_system_us", "system CPU"),
    ("command.minor_faults", "minor page faults"),
    ("command.major_faults", "major page faults"),
    ("command.voluntary_switches", "voluntary context switches"),
    ("command.involuntary_switches", "involuntary context switches"),
    ("disk.read_bytes", "read from the disk"),
    ("disk.write_bytes", "written to the disk"),
    ("disk.reads", "disk reads"),
    ("disk.writes", "disk writes"),
    ("disk.flushes", "disk flushes"),
    ("disk.discards", "disk discards"),
    ("disk.discard_bytes", "discarded on the disk"),
    ("disk.merged_reads", "merged disk reads"),
    ("disk.merged_writes", "merged disk writes"),
    ("disk.read_us", "time in disk reads"),
    ("disk.write_us", "time in disk writes"),
    ("disk.flush_us", "time in disk flushes"),
    ("disk.io_us", "time the disk was busy"),
    ("disk.queue_us", "time in the disk's queue"),
    ("postgres.wal_bytes", "WAL"),
    ("postgres.wal_records", "WAL records"),
    ("postgres.wal_full_page_images", "full-page images"),
    ("postgres.wal_writes", "WAL writes"),
    ("postgres.wal_syncs", "WAL syncs"),
    ("postgres.wal_write_us", "time in WAL writes"),
    ("postgres.wal_sync_us", "time in WAL syncs"),
    ("postgres.wal_buffers_full", "WAL buffers full"),
    ("postgres.commits", "commits"),
    ("postgres.block_read_us", "time in block reads"),
    ("postgres.checkpoint_sync_us", "time in checkpoint syncs"),
    ("postgres.checkpoint_write_us", "time in checkpoint writes"),
    ("postgres.checkpoint_buffers", "buffers written by checkpoints"),
    ("postgres.background_buffers", "buffers written by the background writer"),
    ("postgres.backend_buffers", "buffers written by backends"),
    ("postgres.temp_bytes", "temporary files"),
    ("redis.net_in_bytes", "received by the server"),
    ("redis.net_out_bytes", "sent by the server"),
    ("redis.reads", "reads of sockets"),
    ("redis.writes", "writes to sockets"),
    ("memcached.net_in_bytes", "received by the server"),
    ("memcached.net_out_bytes", "sent by the server"),
    ("memcached.sets", "items set"),
    ("memcached.gets", "keys asked for"),
    ("mongodb.network_in_bytes", "received by the server"),
    ("mongodb.network_out_bytes", "sent by the server"),
    ("mongodb.journal_bytes", "journal"),
    ("mongodb.journal_syncs", "journal syncs"),
];

/// What a counter counts, in words, without its unit.
pub(crate) fn words(plan: &Plan, key: &str) -> String {
    if let Some((_, words)) = WORDS.iter().find(|(known, _)| *known == key) {
        return (*words).to_owned();
    }
    // `postgres.wait.LWLock.WALWrite_samples`: how often a backend was seen waiting for it.
    if let Some((_, event)) = key.split_once(".wait.") {
        return format!("seen waiting for {}", event.trim_end_matches("_samples").replacen('.', "/", 1));
    }
    if let Some(column) = plan.columns.iter().find(|column| column.counter == key) {
        return column.heading.clone();
    }
    let name = key.split_once('.').map_or(key, |(_, name)| name);
    let name = match Unit::of_counter(key) {
        Unit::Microseconds => name.trim_end_matches("_us"),
        Unit::Seconds => name.trim_end_matches("_s"),
        Unit::Bytes => name.trim_end_matches("_bytes"),
        Unit::Count => name,
    };
    name.replace(['_', '.'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::units::Unit;

    #[test]
    fn keys_become_words() {
        let plan: Plan = serde_json::from_value(serde_json::json!({
            "experiment": "e", "question": "q", "system": "s", "seed": 1, "variants": [], "baseline": 0,
            "judge": {"decide": [], "difference": 0.02, "alpha": 0.05, "goal": "size", "budget_s": 1.0},
            "measure_s": 1.0, "settle_s": 0.1, "drain": true, "load_summary": "",
            "columns": [{"heading": "syncs", "counter": "some.odd_syncs"}],
        }))
        .unwrap();
        assert_eq!(words(&plan, "server.cpu_us"), "server CPU");
        assert_eq!(words(&plan, "some.odd_syncs"), "syncs");
        assert_eq!(words(&plan, "postgres.wait.LWLock.WALWrite_samples"), "seen waiting for LWLock/WALWrite");
        assert_eq!(words(&plan, "sqlite.page_cache_spill_bytes"), "page cache spill");
        assert_eq!(Unit::of_counter("sqlite.page_cache_spill_bytes"), Unit::Bytes);
    }
}
