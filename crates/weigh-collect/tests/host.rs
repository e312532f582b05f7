//! The real host: figures that must be there, and agree with each other.

use std::path::Path;
use std::time::Duration;

use weigh_collect::{BlockDevice, CgroupFacts, Counters, HostFacts, HostSample, OwnSample, mounts};

fn spin(time: Duration) {
    let start = std::time::Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

#[test]
fn a_busy_thread_is_seen_by_the_host() {
    let before = HostSample::read().unwrap();
    let own_before = OwnSample::read().unwrap();
    let thread_before = OwnSample::current_thread().unwrap();
    spin(Duration::from_millis(300));
    let after = HostSample::read().unwrap();
    let own = OwnSample::read().unwrap().delta(&own_before);
    let thread = OwnSample::current_thread().unwrap();
    let host = after.delta(&before);

    let run_ns = thread.run_ns - thread_before.run_ns;
    let wait_ns = thread.wait_ns - thread_before.wait_ns;
    // Wall time is own time and time waited for a CPU (the hypervisor's share is in the own time).
    let share = (run_ns + wait_ns) as f64 / 300e6;
    assert!((0.95..1.1).contains(&share), "{share}: ran {run_ns} ns, waited {wait_ns} ns");
    assert!(own.run >= Duration::from_nanos(run_ns * 9 / 10));
    assert!(own.wait_max <= own.wait && own.window >= Duration::from_millis(300));
    assert!(host.busy_time + Duration::from_millis(30) >= Duration::from_nanos(run_ns), "{host:?}");
    assert!(host.busy > 0.0 && host.busy + host.steal + host.iowait <= 1.000_001, "{host:?}");
    assert_eq!(host.other_busy(Duration::from_secs(1_000)), 0.0);
    assert!(host.other_busy(Duration::ZERO) > 0.0);
    let used = weigh_collect::delta(&before.counters(), &after.counters());
    assert!(used["host.context_switches"] > 0.0 && used["host.cpu_user_us"] > 0.0);
}

#[test]
fn every_key_ends_in_its_unit() {
    let mut keys = Counters::new();
    let host = HostSample::read().unwrap();
    keys.extend(host.counters());
    keys.extend(host.gauges());
    let mut tree = weigh_collect::ProcessTree::of(&[std::process::id()]).with_pss(true);
    let tree = tree.sample().unwrap();
    keys.extend(tree.counters());
    keys.extend(tree.gauges());
    if let Some(device) = BlockDevice::below(Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap() {
        let disk = weigh_collect::DiskSample::read(&device).unwrap();
        keys.extend(disk.counters());
        keys.extend(disk.gauges());
    }
    let units = [
        "us",
        "bytes",
        "faults",
        "switches",
        "calls",
        "processes",
        "threads",
        "reads",
        "writes",
        "flushes",
        "discards",
        "interrupts",
        "forks",
        "kills",
        "tasks",
        "requests",
        "events",
        "periods",
    ];
    for (key, value) in keys {
        let unit = key.rsplit(['_', '.']).next().unwrap();
        assert!(units.contains(&unit), "`{key}` has no unit");
        assert!(value.is_finite() && value >= 0.0, "`{key}` is {value}");
    }
}

#[test]
fn pressure_moves_when_threads_must_wait() {
    let before = HostSample::read().unwrap();
    if before.cpu_pressure.is_none() {
        eprintln!("skipped: this kernel keeps no pressure figures");
        return;
    }
    let threads = std::thread::available_parallelism().unwrap().get() * 3;
    let workers: Vec<_> =
        (0..threads).map(|_| std::thread::spawn(|| spin(Duration::from_millis(400)))).collect();
    for worker in workers {
        worker.join().unwrap();
    }
    let shares = HostSample::read().unwrap().delta(&before).cpu_pressure.unwrap();
    assert!(shares.some > 0.3, "{shares:?}");
}

#[test]
fn the_facts_of_this_host() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let facts = HostFacts::read(directory);
    assert_eq!(facts.kernel.as_deref(), Some(nix_release().as_str()));
    let parallelism = std::thread::available_parallelism().unwrap().get();
    let allowed = facts.cpu.allowed.clone().unwrap();
    assert!(allowed.len() >= parallelism, "{allowed:?}");
    assert!(facts.cpu.online.unwrap() as usize >= allowed.len());
    assert!(facts.memory.total_bytes.unwrap() > facts.memory.available_bytes.unwrap());
    assert!(facts.storage.free_bytes.unwrap() <= facts.storage.total_bytes.unwrap());
    assert!(facts.storage.file_system.is_some());
    assert!(facts.sysctls.contains_key("vm.swappiness"));
    if let Some(hz) = facts.clock.tick_hz {
        assert!([100, 250, 300, 1000].contains(&hz), "{hz}");
    }
    let stored = serde_json::to_string(&facts).unwrap();
    assert_eq!(serde_json::from_str::<HostFacts>(&stored).unwrap(), facts);
}

fn nix_release() -> String {
    nix::sys::utsname::uname().unwrap().release().to_str().unwrap().to_owned()
}

#[test]
fn a_work_directory_that_does_not_exist_yet() {
    let there = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let mut facts = HostFacts::read(&there.join("not/there/yet")).storage;
    let same = HostFacts::read(there).storage;
    // Somebody may have written in between.
    facts.free_bytes = same.free_bytes;
    assert_eq!(facts, same);
}

#[test]
fn the_device_below_a_path_is_the_one_that_is_mounted() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let mounts = mounts::read().unwrap();
    let mount = mounts::covering(&mounts, path).unwrap();
    match BlockDevice::below(path).unwrap() {
        Some(device) if mount.device.0 != 0 => {
            assert_eq!(device.number, mount.device);
            assert!(device.queue_directory().is_dir(), "{device:?}");
            assert!(weigh_collect::DiskSample::read(&device).unwrap().counts.reads > 0);
        }
        device => eprintln!("not compared: {device:?} below {mount:?}"),
    }
    if mounts.iter().any(|mount| mount.mount_point == Path::new("/dev/shm") && mount.kind == "tmpfs") {
        assert_eq!(BlockDevice::below(Path::new("/dev/shm")).unwrap(), None, "memory is no device");
        assert_eq!(HostFacts::read(Path::new("/dev/shm")).storage.in_memory, Some(true));
    }
}

#[test]
fn our_own_groups_are_directories() {
    let facts = CgroupFacts::read().unwrap();
    for own in facts.v2.iter().map(|v2| &v2.own).chain(facts.v1.values().map(|v1| &v1.own)) {
        assert!(own.join("cgroup.procs").exists(), "`{}`", own.display());
    }
}
