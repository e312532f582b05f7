//! One real server per protocol, with something to ask it and the server's own count of it: what truth is held
//! against, in the tests and in the benchmark.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use weigh_drivers::Endpoint;
use weigh_drivers::http::HttpConfig;
use weigh_drivers::memcached::MemcachedConfig;
use weigh_drivers::mongodb::MongodbConfig;
use weigh_drivers::postgres::PostgresConfig;
use weigh_drivers::redis::RedisConfig;
use weigh_load::generator::GeneratorSpec;
use weigh_load::stall::{Constant, Stall};
use weigh_load::{Arrivals, Driver, Limits, LoadReport, LoadSpec, Operation, Schedule, connect, start};

use super::cluster::Cluster;
use super::delaying::{Delaying, Served, Stamping};
use super::ferretdb::{Server, number};
use super::keyvalue::{call, uniform};
use super::load::{ms, spec, work};
use super::memcached::MemcachedServer;
use super::nginx::{Nginx, get, with};
use super::processes::{stand_still, waits_since};
use super::redis::RedisServer;

const KEYS: i64 = 1000;

/// A server under way.
pub struct Subject {
    pub name: &'static str,
    port: u16,
    /// The driver, to the server on a loopback port.
    driver: Box<dyn Fn(u16) -> Arc<dyn Driver>>,
    operation: Operation,
    /// Connections; fewer than one in a hundred of all operations, so that a stop shows in few of theirs.
    clients: usize,
    /// What it can be asked for without queueing, even beside the tests of a busy machine.
    rate_per_s: f64,
    /// The server's own count of the operation.
    counted: Box<dyn Fn() -> u64>,
}

/// Starts a server with its load.
pub type Starter = fn() -> Subject;

/// Every protocol.
pub const SUBJECTS: [(&str, Starter); 5] = [
    ("redis", redis),
    ("memcached", memcached),
    ("http", http),
    ("postgres", postgres),
    ("mongodb", mongodb),
];

/// A port on loopback.
fn at(port: u16) -> Endpoint {
    Endpoint::Tcp { host: "127.0.0.1".into(), port }
}

fn redis() -> Subject {
    let server = RedisServer::new(&[]);
    let get = call("get", "GET key:$1", vec![uniform(1, KEYS)]);
    let config = server.config(std::slice::from_ref(&get));
    Subject {
        name: "redis",
        port: server.port,
        driver: Box::new(move |port| {
            Arc::new(RedisConfig { endpoint: at(port), ..config.clone() }.build().unwrap())
        }),
        operation: get.load,
        clients: 8,
        rate_per_s: 1000.0,
        counted: Box::new(move || server.calls("get").0),
    }
}

fn memcached() -> Subject {
    let server = MemcachedServer::new(&[]);
    let get = call("get", "get key:$1", vec![uniform(1, KEYS)]);
    let config = server.config(std::slice::from_ref(&get));
    Subject {
        name: "memcached",
        port: server.port,
        driver: Box::new(move |port| {
            Arc::new(MemcachedConfig { endpoint: at(port), ..config.clone() }.build().unwrap())
        }),
        operation: get.load,
        clients: 8,
        rate_per_s: 1000.0,
        counted: Box::new(move || server.stat("cmd_get")),
    }
}

fn http() -> Subject {
    let server = Nginx::new();
    let config: HttpConfig = with(server.config(""), &[(get("/64"), vec![])]);
    let asked = std::cell::Cell::new(0);
    Subject {
        name: "http",
        port: server.port,
        driver: Box::new(move |port| {
            Arc::new(HttpConfig { endpoint: at(port), ..config.clone() }.build().unwrap())
        }),
        operation: Operation { name: "get".into(), weight: 1, parameters: vec![] },
        clients: 8,
        rate_per_s: 1000.0,
        counted: Box::new(move || {
            // Questions are requests too; the present one is left out already.
            let count = server.requests() - asked.get();
            asked.set(asked.get() + 1);
            count
        }),
    }
}

/// Counted are scans of the primary key, of the table's own statistics: one for each lookup, none for anything else.
fn postgres() -> Subject {
    let cluster = Cluster::new();
    cluster
        .client()
        .batch_execute(
            "CREATE TABLE truth (id int PRIMARY KEY, v int);
             INSERT INTO truth SELECT i, i FROM generate_series(1, 1000) AS i; ANALYZE truth",
        )
        .unwrap();
    let draw = GeneratorSpec::Uniform { min: 1, max: KEYS };
    let lookup = work("lookup", &["SELECT v FROM truth WHERE id = $1"], vec![draw], 1);
    let config = PostgresConfig {
        operations: vec![lookup.sql],
        settings: vec![("enable_seqscan".into(), "off".into())],
        user: "by_trust".into(),
        ..cluster.config()
    };
    Subject {
        name: "postgres",
        port: cluster.port,
        driver: Box::new(move |port| {
            Arc::new(PostgresConfig { endpoint: at(port), ..config.clone() }.build().unwrap())
        }),
        operation: lookup.load,
        clients: 8,
        rate_per_s: 1000.0,
        counted: Box::new(move || {
            // Sessions hand in their counts when they end, which is a moment after the client has closed them.
            let sql = "SELECT idx_scan FROM pg_stat_user_tables WHERE relname = 'truth'";
            let others = "SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND application_name = 'weigh'";
            let mut client = cluster.client();
            while client.query_one(others, &[]).unwrap().get::<_, i64>(0) > 0 {
                thread::sleep(ms(10));
            }
            thread::sleep(ms(50));
            let count: i64 = client.query_one(sql, &[]).unwrap().get(0);
            u64::try_from(count).unwrap()
        }),
    }
}

fn mongodb() -> Subject {
    let server = Server::ferretdb(&[]);
    let documents: Vec<String> = (1..=KEYS).map(|id| format!(r#"{{"_id": {id}, "v": {id}}}"#)).collect();
    let insert = format!(r#"{{"insert": "truth", "documents": [{}]}}"#, documents.join(", "));
    server.session("truth").ask(&insert).unwrap();
    let find = call("find", r#"{"find": "truth", "filter": {}, "limit": 1, "singleBatch": true}"#, vec![]);
    let config = MongodbConfig { operations: vec![find.command], ..server.config("truth") };
    Subject {
        name: "mongodb",
        port: server.port,
        driver: Box::new(move |port| {
            Arc::new(MongodbConfig { endpoint: at(port), ..config.clone() }.build().unwrap())
        }),
        operation: find.load,
        clients: 2,
        // FerretDB is a Go program in front of SQLite.
        rate_per_s: 200.0,
        counted: Box::new(move || {
            let status = server.session("truth").ask(r#"{"serverStatus": 1}"#).unwrap();
            // A command that was never given is not in it.
            status.find(r#""find":"#).map_or(0, |at| number(&status[at..], "total"))
        }),
    }
}

/// What one run with a stop gave.
#[derive(Debug)]
pub struct Frozen {
    /// How long the server stood still, at least.
    pub stopped: Duration,
    /// 99th percentile of the response time as reported.
    pub p99_s: f64,
    /// The same timed from when each request was really sent.
    pub from_sending_p99_s: f64,
    /// Where the truth lies.
    pub low_s: f64,
    pub high_s: f64,
    /// How long the client's threads, and the server's thread that waited longest, stood ready without a CPU.
    pub client_wait: Duration,
    pub server_wait: Duration,
    pub measured: Duration,
    pub capacity_per_s: f64,
    pub report: LoadReport,
}

impl Frozen {
    /// Off the middle of the bounds, as a share of it.
    pub fn off(&self) -> f64 {
        let truth_s = f64::midpoint(self.low_s, self.high_s);
        (self.p99_s - truth_s) / truth_s
    }

    /// The rule, fixed beforehand: more than 1 % of the window without a CPU.
    pub fn is_disturbed(&self) -> bool {
        self.client_wait.max(self.server_wait) > self.measured.mul_f64(0.01)
    }
}

/// What one client measured of a service time that was known.
pub struct Known {
    report: LoadReport,
    /// One for each measured operation.
    served: Vec<Served>,
    /// When each reply was complete, before the first the start of the load.
    stamps: Vec<Instant>,
    server_wait: Duration,
}

impl Known {
    /// The rule, fixed beforehand: more than 1 % of the window without a CPU.
    pub fn is_disturbed(&self) -> bool {
        self.report.client_wait.max(self.server_wait) > self.report.measured.mul_f64(0.01)
    }

    /// What the server between took, at this quantile, seconds.
    pub fn service_s(&self, quantile: f64) -> f64 {
        order(self.served.iter().map(|served| served.1 - served.0), quantile)
    }

    /// What the engine says.
    pub fn measured_s(&self, quantile: f64) -> f64 {
        self.report.latency.value_at_quantile(quantile) as f64 / 1e9
    }

    /// The way there and back.
    pub fn way_s(&self, quantile: f64) -> f64 {
        order(self.requests().map(|(served, from, to)| (served.0 - from) + (to - served.1)), quantile)
    }

    /// The bounds of what the engine may say.
    pub fn bounds_s(&self, quantile: f64) -> (f64, f64) {
        let low = order(self.requests().map(|(served, _, to)| to - served.0), quantile);
        (low, order(self.requests().map(|(_, from, to)| to - from), quantile))
    }

    fn requests(&self) -> impl Iterator<Item = (&Served, Instant, Instant)> {
        self.served.iter().zip(self.stamps.windows(2)).map(|(served, pair)| (served, pair[0], pair[1]))
    }
}

/// The order statistic, as the histogram defines a percentile.
#[allow(clippy::cast_possible_truncation)]
fn order(durations: impl Iterator<Item = Duration>, quantile: f64) -> f64 {
    let mut sorted: Vec<Duration> = durations.collect();
    sorted.sort_unstable();
    let rank = (quantile * sorted.len() as f64).ceil().max(1.0) as usize;
    sorted[rank - 1].as_secs_f64()
}

impl Subject {
    /// One client, a service time that is known to the microsecond.
    pub fn known(&self, service: Duration, measure: Duration) -> Known {
        let between = Delaying::new(self.port, service);
        let stamps = Arc::new(Mutex::new(Vec::new()));
        let driver = Stamping { driver: (self.driver)(between.port), stamps: Arc::clone(&stamps) };
        let load_spec = LoadSpec { clients: 1, settle: Duration::ZERO, pin: true, ..self.spec(measure) };
        let load = start(&load_spec, Arc::new(driver)).unwrap();
        let began = load.began();
        let report = load.finish().unwrap();
        assert!(report.errors.is_empty(), "{}: {:?}", self.name, report.errors);
        let (served, server_wait) = between.finish();
        let stamps = std::mem::take(&mut *stamps.lock().unwrap());
        // Before the first operation it answered the log-in; the last may have ended behind the window.
        let first = served.len() - stamps.len();
        let measured = usize::try_from(report.latency.len()).unwrap();
        let served = served[first..first + measured].to_vec();
        Known { report, served, stamps: [vec![began], stamps].concat(), server_wait }
    }

    pub fn spec(&self, measure: Duration) -> LoadSpec {
        LoadSpec {
            operations: vec![self.operation.clone()],
            measure,
            settle: ms(300),
            ..spec(self.clients, 1, &[])
        }
    }

    /// An open loop at a constant rate, in which the server stands still.
    pub fn frozen(&self, measure: Duration, after: Duration, stopped: Duration) -> Frozen {
        let capacity_per_s = self.capacity_per_s();
        let mut load_spec = self.spec(measure);
        load_spec.schedule = Schedule::Open { rate_per_s: self.rate_per_s, arrivals: Arrivals::Constant };
        let connected = connect(&load_spec, (self.driver)(self.port), Limits::default()).unwrap();
        let before = waits_since(self.port, &[]);
        let load = connected.begin();
        let until = load.measure_begins() + after;
        thread::sleep(until.saturating_duration_since(Instant::now()));
        let [at_stop, at_going] = stand_still(self.port, stopped);
        let ends = load.measure_ends();
        thread::sleep(ends.saturating_duration_since(Instant::now()));
        let waits = waits_since(self.port, &before);
        let report = load.finish().unwrap();
        let stall = Stall { stopped: at_stop, went_on: at_going };
        let schedule = report.schedule.as_ref().unwrap();
        let constant = Constant { rate_per_s: self.rate_per_s, due: schedule.due, capacity_per_s };
        let truth = stall.response(&constant, 0.99);
        let truth = truth.unwrap_or_else(|| panic!("{}: {capacity_per_s} operations per second", self.name));
        Frozen {
            stopped: stall.length().0,
            p99_s: report.latency.value_at_quantile(0.99) as f64 / 1e9,
            from_sending_p99_s: report.service.as_ref().unwrap().value_at_quantile(0.99) as f64 / 1e9,
            low_s: truth.low_s,
            high_s: truth.high_s,
            client_wait: report.client_wait,
            server_wait: waits.iter().map(|(_, wait)| *wait).max().unwrap_or_default(),
            measured: report.measured,
            capacity_per_s,
            report,
        }
    }

    /// Operations per second of a closed loop of the same clients.
    fn capacity_per_s(&self) -> f64 {
        let report = start(&self.spec(ms(300)), (self.driver)(self.port)).unwrap().finish().unwrap();
        report.operations_measured as f64 / report.measured.as_secs_f64()
    }

    /// A closed loop: operations by our count and by the server's.
    pub fn counts(&self, measure: Duration) -> (LoadReport, u64) {
        let before = (self.counted)();
        let report = start(&self.spec(measure), (self.driver)(self.port)).unwrap().finish().unwrap();
        let counted = (self.counted)() - before;
        (report, counted)
    }
}
