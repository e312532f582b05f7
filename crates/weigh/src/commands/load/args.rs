//! What can be typed after `weigh load`, and the request it stands for.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use weigh_lab::load::{self, CapacityBound, LoadMistake, LoadRequest, OperationFlags, OperationSource};
use weigh_results::model::load::{ArrivalsAsked, ScheduleAsked};

use crate::args::{duration, duration_or_none};
use crate::exit;
use crate::failure::Failure;

/// Put load on a server and measure how it answers
///
/// Keeps clients busy with operations for a while: as fast as they are answered (closed loop), or at a rate (open loop),
/// where latency counts from the moment an operation was due. Sends what is asked for and nothing else; a bare URL
/// means GET of its path (http), SELECT 1 (postgres), PING (redis), version (memcached), ping (mongodb).
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES, args_override_self = true)]
pub(crate) struct LoadArgs {
    /// The server: http://, https://, postgres://, redis://, memcached://, mongodb://
    #[arg(value_name = "URL")]
    pub(super) url: String,
    /// Connections
    #[arg(short, long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(super) clients: u32,
    /// Worker threads [default: one per two CPUs]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(super) threads: Option<u32>,
    /// Operations in flight per connection
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4_096))]
    pub(super) pipeline: u32,
    /// Measured time; with --find-capacity of each step, at least [default: 10s; 3s]
    #[arg(short, long, value_name = "TIME", value_parser = duration)]
    pub(super) duration: Option<Duration>,
    /// Time before that, not measured
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration_or_none)]
    pub(super) warmup: Duration,
    /// End after so many operations, if that is sooner
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) operations: Option<u64>,
    /// Open loop: operations per second over all clients (1000/s, 300/min)
    #[arg(short, long, value_name = "RATE", value_parser = load::rate)]
    pub(super) rate: Option<f64>,
    /// Open loop: how they are spaced
    #[arg(long, value_name = "HOW", default_value = "constant", value_parser = ["constant", "poisson"])]
    pub(super) arrivals: String,
    /// A reply later than this is an error
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration)]
    pub(super) timeout: Duration,

    /// What to send: a statement, a command, or METHOD /path (repeatable)
    #[arg(short, long = "operation", value_name = "TEXT", help_heading = "Operations")]
    pub(super) operation: Vec<String>,
    /// What $1, $2, … stand for: uniform:1..1000, zipf:1..1000:0.99, sequence, string:16 … (repeatable)
    #[arg(short, long, value_name = "GENERATOR", help_heading = "Operations")]
    pub(super) parameter: Vec<String>,
    /// How often each --operation is chosen, in their order
    #[arg(long, value_name = "N", value_delimiter = ',', help_heading = "Operations")]
    pub(super) weight: Vec<u32>,
    /// What the reply must be: a status (200, 2xx, any), or a text
    #[arg(long, value_name = "REPLY", help_heading = "Operations")]
    pub(super) expect: Option<String>,
    /// A TOML file of operations instead
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["operation", "parameter", "weight", "expect", "method", "header", "body"], help_heading = "Operations")]
    pub(super) workload: Option<PathBuf>,
    /// Seed of parameters and arrivals [default: random, in the JSON]
    #[arg(long, value_name = "N", hide_short_help = true, help_heading = "Operations")]
    pub(super) seed: Option<u64>,

    /// The request's method [default: GET]
    #[arg(short = 'X', long, value_name = "METHOD", help_heading = "HTTP and TLS")]
    pub(super) method: Option<String>,
    /// A header (repeatable)
    #[arg(short = 'H', long, value_name = "NAME: VALUE", help_heading = "HTTP and TLS")]
    pub(super) header: Vec<String>,
    /// The request's body
    #[arg(short = 'b', long, value_name = "TEXT", help_heading = "HTTP and TLS")]
    pub(super) body: Option<String>,
    /// Connect there, whatever host the URL names
    #[arg(long, value_name = "HOST:PORT", hide_short_help = true, help_heading = "HTTP and TLS")]
    pub(super) connect_to: Option<String>,
    /// Certificates of authorities to trust (PEM)
    #[arg(long, value_name = "FILE", hide_short_help = true, help_heading = "HTTP and TLS")]
    pub(super) ca: Option<PathBuf>,
    /// Do not check the server's certificate
    #[arg(short = 'k', long, help_heading = "HTTP and TLS")]
    pub(super) insecure: bool,

    /// Find the highest rate whose p99 stays within --p99
    #[arg(long, requires = "p99", conflicts_with_all = ["rate", "operations", "hlog"], help_heading = "Capacity")]
    pub(super) find_capacity: bool,
    /// The bound
    #[arg(long, value_name = "TIME", requires = "find_capacity", value_parser = duration, help_heading = "Capacity")]
    pub(super) p99: Option<Duration>,
    /// The highest rate to try
    #[arg(long, value_name = "RATE", requires = "find_capacity", value_parser = load::rate, help_heading = "Capacity")]
    pub(super) max_rate: Option<f64>,

    /// Pin worker threads to cores
    #[arg(long, hide_short_help = true)]
    pub(super) pin: bool,
    /// Print the report as JSON
    #[arg(long)]
    pub(super) json: bool,
    /// Write latencies second by second as an HdrHistogram log
    #[arg(long, value_name = "FILE")]
    pub(super) hlog: Option<PathBuf>,
    /// Show no progress
    #[arg(short, long)]
    pub(super) quiet: bool,
}

const EXAMPLES: &str = "\
Examples:
  weigh load http://127.0.0.1:8080/ --clients 50 --duration 10s
  weigh load http://127.0.0.1:8080/ --clients 50 --rate 1000/s --arrivals poisson
  weigh load redis://127.0.0.1 --operation 'GET user:$1' --parameter zipf:1..100000:0.99
  weigh load redis://127.0.0.1 --operation 'GET k:$1' --operation 'SET k:$1 $2' --weight 9,1 \\
      --parameter uniform:1..1000 --parameter string:100
  weigh load postgres://me@127.0.0.1/app --operation 'SELECT * FROM users WHERE id = $1' --parameter uniform:1..1000
  weigh load http://127.0.0.1:8080/items -X POST -H 'Content-Type: application/json' -b '{\"id\": $1}' -p sequence
  weigh load http://127.0.0.1:8080/ --clients 50 --find-capacity --p99 10ms
";

impl LoadArgs {
    /// What is asked.
    pub(super) fn request(&self) -> Result<LoadRequest, Failure> {
        let (system, operations) = load::operations(&self.url, &self.source()?)?;
        let measure = self.duration.unwrap_or(Duration::from_secs(if self.find_capacity { 3 } else { 10 }));
        let arrivals =
            if self.arrivals == "poisson" { ArrivalsAsked::Poisson } else { ArrivalsAsked::Constant };
        // A search has a rate at every step; until then it only says how operations are spaced.
        let rate_per_s = self.rate.or(self.find_capacity.then_some(1.0));
        Ok(LoadRequest {
            url: self.url.clone(),
            system,
            operations,
            clients: self.clients as usize,
            threads: self.threads.map(|threads| threads as usize),
            pipeline: self.pipeline as usize,
            settle: self.warmup,
            measure,
            operations_limit: self.operations,
            schedule: match rate_per_s {
                Some(rate_per_s) => ScheduleAsked::Open { rate_per_s, arrivals },
                None => ScheduleAsked::Closed,
            },
            timeout: self.timeout,
            seed: self.seed.unwrap_or_else(random_seed),
            pin: self.pin,
            ca_file: self.ca.clone(),
            insecure: self.insecure,
            connect_to: self.connect_to.clone(),
        })
    }

    /// What --find-capacity looks for.
    pub(super) fn bound(&self) -> Option<CapacityBound> {
        self.p99.map(|p99| CapacityBound { p99, max_rate_per_s: self.max_rate })
    }

    fn source(&self) -> Result<OperationSource, Failure> {
        if let Some(path) = &self.workload {
            let name = path.display().to_string();
            let text = std::fs::read_to_string(path)
                .map_err(|error| Failure::caused(exit::USAGE, format!("cannot read `{name}`"), &error))?;
            return Ok(OperationSource::File { name, text });
        }
        Ok(OperationSource::Flags(OperationFlags {
            operations: self.operation.clone(),
            parameters: self.parameter.clone(),
            weights: self.weight.clone(),
            expect: self.expect.clone(),
            method: self.method.clone(),
            headers: self.header.clone(),
            body: self.body.clone(),
        }))
    }
}

/// One that nobody can foresee. JSON readers that know only doubles must be able to read it back.
fn random_seed() -> u64 {
    use std::hash::{BuildHasher as _, RandomState};
    RandomState::new().hash_one(std::time::SystemTime::now()) >> 11
}

impl From<LoadMistake> for Failure {
    fn from(mistake: LoadMistake) -> Failure {
        match mistake {
            LoadMistake::File(errors) => Failure::from(errors),
            LoadMistake::Flag(error) => Failure::of(exit::USAGE, &error),
        }
    }
}
