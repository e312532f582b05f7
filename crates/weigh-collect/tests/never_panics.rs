//! No parser panics, whatever the bytes: arbitrary ones, and real files with random damage.

use std::hint::black_box;

use proptest::collection::vec;
use proptest::prelude::*;
use weigh_collect::cgroup::parse as cgroup;
use weigh_collect::facts::parse as facts;
use weigh_collect::host::parse as host;
use weigh_collect::host::pressure::pressure;
use weigh_collect::mounts;
use weigh_collect::process::parse as process;

use crate::fixture;

/// Every parser there is. What they make of it does not matter here.
fn parse_as_everything(bytes: &[u8]) {
    drop(black_box((
        process::pid_stat(bytes),
        process::pid_io(bytes),
        process::schedstat(bytes),
        process::switches(bytes),
        process::pss_bytes(bytes),
        process::pids(bytes),
    )));
    drop(black_box((
        host::stat(bytes).map(|stat| (stat.cpu.total(), stat.cpu.since(&stat.cpu))),
        host::vmstat(bytes),
        host::meminfo(bytes),
        host::loadavg(bytes),
        host::disk_stat(bytes),
        host::diskstats(bytes),
        pressure(bytes),
    )));
    drop(black_box((
        cgroup::cpu_stat(bytes),
        cgroup::io_stat(bytes),
        cgroup::memory_events(bytes),
        cgroup::cpu_max(bytes).map(cgroup::CpuMax::cpus),
        cgroup::memberships(bytes),
    )));
    drop(black_box((
        mounts::parse(bytes).iter().filter_map(|mount| mount.super_option("upperdir")).count(),
        facts::os_release(bytes, "PRETTY_NAME"),
        facts::cpu_model(bytes),
        facts::has_hypervisor_flag(bytes),
        facts::config_hz(bytes),
        facts::chosen(bytes),
        facts::container_of_cgroup(bytes),
    )));
}

const REAL: &[&str] = &[
    "linux-6.18/postgres-15/postmaster.stat",
    "linux-6.18/postgres-15/postmaster.io",
    "linux-6.18/postgres-15/postmaster.status",
    "linux-6.18/postgres-15/postmaster.schedstat",
    "linux-6.18/postgres-15/postmaster.smaps_rollup",
    "linux-6.18/pid-stat-newline",
    "linux-6.18/stat",
    "linux-6.18/vmstat",
    "linux-6.18/meminfo",
    "linux-6.18/loadavg",
    "linux-6.18/diskstats",
    "linux-6.18/pressure-io",
    "linux-6.18/mountinfo-hybrid",
    "linux-6.18/cgroup-cpu.stat",
    "linux-6.18/cpuinfo",
    "linux-6.1/io.stat",
    "linux-6.1/memory.events",
    "linux-4.9/self-cgroup",
    "linux-4.9/diskstats",
    "linux-2.6.9/stat",
];

/// One damage: at a place (as a share of the length), these bytes instead of so many old ones.
type Damage = (f64, usize, Vec<u8>);

fn damages() -> impl Strategy<Value = Vec<Damage>> {
    let telling = prop_oneof![
        Just(b"(".to_vec()),
        Just(b")".to_vec()),
        Just(b"\n".to_vec()),
        Just(b" ".to_vec()),
        Just(b":".to_vec()),
        Just(b"/".to_vec()),
        Just(b"\\".to_vec()),
        Just(b"=".to_vec()),
        Just(b"-1".to_vec()),
        Just(b"18446744073709551615".to_vec()),
        Just(b"99999999999999999999999".to_vec()),
        vec(any::<u8>(), 0..12),
    ];
    vec((0.0..1.0f64, 0usize..20, telling), 1..8)
}

fn damaged(mut bytes: Vec<u8>, damages: &[Damage]) -> Vec<u8> {
    for (place, length, new) in damages {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let from = (bytes.len() as f64 * place) as usize;
        let to = (from + length).min(bytes.len());
        bytes.splice(from..to, new.iter().copied());
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes(bytes in vec(any::<u8>(), 0..600)) {
        parse_as_everything(&bytes);
    }

    #[test]
    fn arbitrary_text(text in "[ \n:=()/\\\\0-9a-z\\-.]{0,300}") {
        parse_as_everything(text.as_bytes());
    }

    #[test]
    fn damaged_files(which in 0..REAL.len(), damages in damages()) {
        parse_as_everything(&damaged(fixture(REAL[which]), &damages));
    }

    #[test]
    fn cut_files(which in 0..REAL.len(), kept in 0.0..1.0f64) {
        let mut bytes = fixture(REAL[which]);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        bytes.truncate((bytes.len() as f64 * kept) as usize);
        parse_as_everything(&bytes);
    }

    /// Whatever the name, the fields behind it are found.
    #[test]
    fn any_name(name in vec(any::<u8>(), 0..16), numbers in vec(0u32..u32::MAX, 49)) {
        let mut line = b"42 (".to_vec();
        line.extend(&name);
        line.extend(b") S");
        for number in &numbers {
            line.extend(format!(" {number}").bytes());
        }
        let stat = process::pid_stat(&line).unwrap();
        prop_assert_eq!(stat.pid, 42);
        prop_assert_eq!(stat.name, String::from_utf8_lossy(&name));
        prop_assert_eq!(stat.parent, numbers[0]);
        prop_assert_eq!(stat.user_ticks, u64::from(numbers[10]));
        prop_assert_eq!(stat.rss_pages, u64::from(numbers[20]));
    }

    /// The difference of two readings is never negative and has no key that is not in both.
    #[test]
    fn differences(pairs in vec((0u8..6, 0.0..1e18f64, 0.0..1e18f64), 0..12)) {
        let before = pairs.iter().map(|(key, value, _)| (format!("k{key}_us"), *value)).collect();
        let after = pairs.iter().map(|(key, _, value)| (format!("k{key}_us"), *value)).collect();
        for (key, grown) in weigh_collect::delta(&before, &after) {
            prop_assert!(grown >= 0.0);
            prop_assert_eq!(grown, after[&key] - before[&key]);
        }
    }
}
