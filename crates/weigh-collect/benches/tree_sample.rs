//! What one reading costs: a tree of thirty processes, the host, the disk.

#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use weigh_collect::{BlockDevice, DiskSample, HostSample, OwnSample, ProcessTree};

/// A shell with 29 children.
struct Thirty(Child);

impl Thirty {
    fn start() -> Thirty {
        let script = "i=0; while [ $i -lt 29 ]; do sleep 600 & i=$((i+1)); done; wait";
        Thirty(Command::new("sh").args(["-c", script]).process_group(0).spawn().unwrap())
    }
}

impl Drop for Thirty {
    fn drop(&mut self) {
        let group = Pid::from_raw(-i32::try_from(self.0.id()).unwrap());
        kill(group, Signal::SIGKILL).unwrap();
        self.0.wait().unwrap();
    }
}

fn samples(criterion: &mut Criterion) {
    let thirty = Thirty::start();
    std::thread::sleep(Duration::from_millis(500));
    let mut tree = ProcessTree::of(&[thirty.0.id()]);
    assert_eq!(tree.sample().unwrap().processes.len(), 30);
    criterion.bench_function("tree of 30 processes", |bench| bench.iter(|| tree.sample().unwrap()));
    let mut tree = ProcessTree::of(&[thirty.0.id()]).with_pss(true);
    criterion.bench_function("the same with pss", |bench| bench.iter(|| tree.sample().unwrap()));
    criterion.bench_function("host", |bench| bench.iter(|| HostSample::read().unwrap()));
    criterion.bench_function("own thread", |bench| {
        bench.iter(|| black_box(OwnSample::current_thread().unwrap()));
    });
    if let Some(device) = BlockDevice::below(Path::new(".")).unwrap() {
        criterion.bench_function("disk", |bench| bench.iter(|| DiskSample::read(&device).unwrap()));
    }
}

criterion_group!(benches, samples);
criterion_main!(benches);
