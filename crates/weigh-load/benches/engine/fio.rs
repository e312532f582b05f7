//! The peer of the null driver: fio with an engine that does nothing. It too chooses an offset per operation, reads a
//! clock before and after, and keeps latencies in a histogram.

use std::process::Command;

use crate::{Cost, RUN};

/// What an operation costs fio.
pub fn null_engine() -> Cost {
    let runtime = format!("--runtime={}ms", RUN.as_millis());
    let output = Command::new("fio")
        .args(["--name=null", "--ioengine=null", "--rw=randread", "--bs=4k", "--size=64G", "--thread"])
        .args(["--time_based", "--output-format=json", &runtime])
        .output()
        .expect("fio is missing: `apt-get install fio`");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let job = &report["jobs"][0];
    let number = |value: &serde_json::Value| value.as_f64().unwrap();
    // Percentages of the job's run time, which is in milliseconds.
    let ns_per_percent = number(&job["job_runtime"]) * 1e4 / number(&job["read"]["total_ios"]);
    Cost {
        user_ns: number(&job["usr_cpu"]) * ns_per_percent,
        system_ns: number(&job["sys_cpu"]) * ns_per_percent,
    }
}
