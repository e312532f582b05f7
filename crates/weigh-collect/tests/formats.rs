//! Captured files give the figures that are written in them.

use std::path::Path;

use weigh_collect::cgroup::parse as cgroup;
use weigh_collect::facts::parse as facts;
use weigh_collect::host::parse as host;
use weigh_collect::host::pressure::{Pressure, pressure};
use weigh_collect::process::parse as process;
use weigh_collect::{ParseError, mounts};

use crate::fixture;

#[test]
fn stat_of_a_real_postmaster() {
    let stat = process::pid_stat(&fixture("linux-6.18/postgres-15/postmaster.stat")).unwrap();
    assert_eq!((stat.pid, stat.name.as_str(), stat.state, stat.parent), (7437, "postgres", 'S', 1));
    assert_eq!((stat.minor_faults, stat.child_minor_faults), (3871, 24681));
    assert_eq!((stat.major_faults, stat.child_major_faults), (0, 0));
    assert_eq!((stat.user_ticks, stat.system_ticks), (0, 2));
    assert_eq!((stat.child_user_ticks, stat.child_system_ticks), (161, 137));
    assert_eq!((stat.threads, stat.start_ticks, stat.rss_pages), (1, 132006, 7339));
}

#[test]
fn stat_with_brackets_blanks_and_line_ends_in_the_name() {
    let stat = process::pid_stat(&fixture("linux-6.18/pid-stat-brackets")).unwrap();
    assert_eq!((stat.name.as_str(), stat.state, stat.parent), ("a) S 1 (b c", 'R', 17372));
    let stat = process::pid_stat(&fixture("linux-6.18/pid-stat-newline")).unwrap();
    assert_eq!((stat.name.as_str(), stat.state, stat.start_ticks), ("x\n) T (y", 'R', 243888));
    // The same name is escaped in `status`.
    assert!(process::switches(&fixture("linux-6.18/pid-status-newline")).is_ok());
}

#[test]
fn io_schedstat_status_and_memory_of_a_real_postmaster() {
    let io = process::pid_io(&fixture("linux-6.18/postgres-15/postmaster.io")).unwrap();
    assert_eq!((io.read_chars_bytes, io.write_chars_bytes), (31_813_215, 160_123_560));
    assert_eq!((io.read_calls, io.write_calls), (5539, 14202));
    assert_eq!((io.read_bytes, io.dirtied_bytes), (8192, 1_776_734_208));

    let sched = process::schedstat(&fixture("linux-6.18/postgres-15/postmaster.schedstat")).unwrap();
    assert_eq!((sched.run_ns, sched.wait_ns, sched.slices), (26_245_224, 857_716, 36));

    let text = fixture("linux-6.18/postgres-15/postmaster.status");
    let switches = process::switches(&text).unwrap();
    let line = |key: &str| {
        let text = String::from_utf8(text.clone()).unwrap();
        let line = text.lines().find(|line| line.starts_with(key)).unwrap().to_owned();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    assert_eq!(switches.voluntary, line("voluntary"));
    assert_eq!(switches.involuntary, line("nonvoluntary"));

    let pss = process::pss_bytes(&fixture("linux-6.18/postgres-15/postmaster.smaps_rollup")).unwrap();
    assert_eq!(pss, 19598 * 1024);
    let children = process::pids(&fixture("linux-6.18/postgres-15/postmaster.children"));
    assert_eq!(children.first(), Some(&7438));
}

#[test]
fn what_is_missing_is_named() {
    assert_eq!(
        process::pid_stat(b"12 (sh) S 1 2").unwrap_err().to_string(),
        "no `minflt` in what should be `/proc/PID/stat`"
    );
    assert_eq!(process::pid_stat(b")(").unwrap_err().missing, "name");
    assert_eq!(process::pid_io(b"rchar: 1\n").unwrap_err().missing, "wchar");
    assert_eq!(
        pressure(b"full avg10=0.00 total=4\n"),
        Err(ParseError { format: "/proc/pressure", missing: "some total=" })
    );
}

#[test]
fn stat_of_the_host_with_and_without_steal() {
    let stat = host::stat(&fixture("linux-6.18/stat")).unwrap();
    assert_eq!((stat.cpu.user, stat.cpu.system, stat.cpu.idle, stat.cpu.iowait), (7504, 3380, 252_238, 742));
    assert_eq!((stat.cpu.softirq, stat.cpu.steal), (59, 15));
    let numbers: Vec<u32> = stat.cpus.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, [0, 1]);
    assert_eq!(stat.interrupts, Some(282_959));
    assert!(stat.context_switches.is_some() && stat.forks.is_some());

    let old = host::stat(&fixture("linux-2.6.9/stat")).unwrap();
    assert_eq!((old.cpu.irq, old.cpu.softirq, old.cpu.steal), (1288, 3155, 0));
    assert_eq!(old.forks, Some(60214));
}

#[test]
fn a_difference_of_cpu_times_is_never_negative() {
    let stat = host::stat(&fixture("linux-6.18/stat")).unwrap();
    let mut later = stat.cpu;
    later.user += 30;
    later.steal += 10;
    later.iowait -= 5; // The kernel lets it.
    let grown = later.since(&stat.cpu);
    assert_eq!((grown.busy(), grown.iowait, grown.steal, grown.total()), (30, 0, 10, 40));
}

#[test]
fn vmstat_new_and_old() {
    let new = host::vmstat(&fixture("linux-6.18/vmstat")).unwrap();
    assert_eq!((new.dirtied_pages, new.paged_out_kib), (Some(641_391), Some(870_548)));
    assert_eq!(new.oom_kills, Some(0));
    let old = host::vmstat(&fixture("linux-4.9/vmstat")).unwrap();
    assert_eq!((old.refaulted_file_pages, old.oom_kills), (Some(90211), None));
    assert!(host::vmstat(b"nothing 1\n").is_err());
}

#[test]
fn meminfo_new_and_old() {
    let new = host::meminfo(&fixture("linux-6.18/meminfo")).unwrap();
    assert_eq!(new.total_bytes, 24_684_096 * 1024);
    assert!(new.available_bytes.is_some() && new.dirty_bytes.is_some() && new.swap_total_bytes == Some(0));
    let old = host::meminfo(&fixture("linux-4.9/meminfo")).unwrap();
    assert_eq!((old.free_bytes, old.available_bytes), (448_136 * 1024, None));
}

#[test]
fn loadavg() {
    let load = host::loadavg(&fixture("linux-6.18/loadavg")).unwrap();
    assert!(load.mean_tasks[0] < 100.0 && load.tasks > 10);
    let load = host::loadavg(b"0.20 0.18 12.05 3/190 7247\n").unwrap();
    assert_eq!((load.mean_tasks, load.runnable_tasks, load.tasks), ([0.20, 0.18, 12.05], 3, 190));
    assert!(host::loadavg(b"0.20 0.18 nan 3/190 7247\n").is_err());
}

#[test]
fn diskstats_of_20_18_and_14_columns() {
    let new = host::diskstats(&fixture("linux-6.18/diskstats"));
    let vda = new.iter().find(|line| line.name == "vda").unwrap();
    assert_eq!((vda.device, vda.counts.write_bytes), ((254, 0), 1_741_096 * 512));
    assert_eq!((vda.counts.discards, vda.counts.flushes), (Some(3776), Some(7065)));
    assert_eq!((vda.counts.discard_bytes, vda.counts.flush_ms), (Some(281_448 * 512), Some(292)));
    // The device's own file has the same columns.
    let own = host::disk_stat(&fixture("linux-6.18/block-vda-stat")).unwrap();
    assert_eq!((own.writes, own.write_ms, own.io_ms, own.queue_ms), (23954, 6205, 10520, 23899));

    let middle = host::diskstats(&fixture("linux-4.19/diskstats"));
    assert_eq!((middle[1].name.as_str(), middle[1].counts.discards), ("nvme0n1p1", Some(1022)));
    assert_eq!(middle[1].counts.flushes, None);

    let old = host::diskstats(&fixture("linux-4.9/diskstats"));
    assert_eq!((old[0].counts.reads, old[0].counts.discards), (61522, None));
    assert_eq!((old[2].name.as_str(), old[2].device, old[2].counts.reads), ("8", (8, 16), 4));
}

#[test]
fn pressure_with_and_without_full() {
    let new = pressure(&fixture("linux-6.18/cgroup-io.pressure")).unwrap();
    assert_eq!(new, Pressure { some_us: 373_239, full_us: Some(182_903) });
    assert!(pressure(&fixture("linux-6.18/pressure-cpu")).unwrap().some_us > 6_473_360);
    let old = pressure(&fixture("linux-5.10/pressure-cpu")).unwrap();
    assert_eq!(old, Pressure { some_us: 190_233_412, full_us: None });
}

#[test]
fn files_of_control_groups() {
    let v2 = cgroup::cpu_stat(&fixture("linux-6.18/cgroup-cpu.stat")).unwrap();
    assert_eq!((v2.usage_us, v2.user_us), (Some(2_996_655), Some(1_617_736)));
    assert_eq!((v2.system_us, v2.throttled_us), (Some(1_378_919), None));
    let limited = cgroup::cpu_stat(&fixture("linux-6.1/cpu.stat")).unwrap();
    assert_eq!((limited.throttled_periods, limited.throttled_us), (Some(122), Some(9_912_331)));
    let v1 = cgroup::cpu_stat(&fixture("linux-4.9/cgroup1-cpu.stat")).unwrap();
    assert_eq!((v1.usage_us, v1.throttled_us), (None, Some(3_193_412)));

    let io = cgroup::io_stat(&fixture("linux-6.1/io.stat"));
    assert_eq!(io.len(), 2, "devices without figures are left out");
    assert_eq!((io[0].device, io[0].write_bytes, io[0].writes), ((8, 16), 314_773_504, 353));
    assert_eq!((io[1].discard_bytes, io[1].discards), (50_331_648, 3021));

    let events = cgroup::memory_events(&fixture("linux-6.1/memory.events")).unwrap();
    assert_eq!((events.high, events.max, events.oom_kills), (12, 409, 2));
}

#[test]
fn limits_and_memberships() {
    assert_eq!(cgroup::cpu_max(b"max 100000\n").unwrap().cpus(), None);
    assert_eq!(cgroup::cpu_max(b"150000 100000\n").unwrap().cpus(), Some(1.5));
    assert_eq!(cgroup::cpu_max(b"150000 0\n").unwrap().cpus(), None);
    assert!(cgroup::cpu_max(b"150000\n").is_err());

    let v2 = cgroup::memberships(&fixture("linux-6.1/self-cgroup"));
    assert_eq!((v2.len(), v2[0].hierarchy, v2[0].controllers.len()), (1, 0, 0));
    assert_eq!(v2[0].path, Path::new("/system.slice/docker-0d1c.scope"));
    let v1 = cgroup::memberships(&fixture("linux-4.9/self-cgroup"));
    assert_eq!(v1[1].controllers, ["cpu", "cpuacct"]);
    assert_eq!(v1[1].path, Path::new("/docker/0d1c:x"), "a path may have a colon");
}

#[test]
fn mounts_of_both_versions_side_by_side() {
    let mounts = mounts::parse(&fixture("linux-6.18/mountinfo-hybrid"));
    let root = mounts::covering(&mounts, Path::new("/var/lib")).unwrap();
    assert_eq!((root.kind.as_str(), root.source.as_str(), root.device), ("ext4", "/dev/vda", (254, 0)));
    let v2 = mounts.iter().find(|mount| mount.kind == "cgroup2").unwrap();
    assert_eq!(v2.mount_point, Path::new("/sys/fs/cgroup/unified"));
    assert_eq!(mounts.iter().filter(|mount| mount.kind == "cgroup").count(), 9);
}

#[test]
fn machine() {
    let os = fixture("linux-6.18/os-release-debian-12");
    assert_eq!(facts::os_release(&os, "PRETTY_NAME").as_deref(), Some("Debian GNU/Linux 12 (bookworm)"));
    let cpuinfo = fixture("linux-6.18/cpuinfo");
    assert_eq!(facts::cpu_model(&cpuinfo).as_deref(), Some("AMD EPYC"));
    assert!(facts::has_hypervisor_flag(&cpuinfo));
}
