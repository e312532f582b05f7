//! Two clients on the same server in turn: what one operation costs each of them.
//!
//! A [`Contest`] alternates both in every round, so that a drift of the machine hits both, and compares medians.
//! The server is kept on [`SERVER_CORE`] and clients on [`CLIENT_CORE`] where the machine has two cores. CPU comes
//! from `getrusage`: of the worker threads over the measured window for ours, of the child process for the
//! peer. Compare CPU per operation at equal load; times and throughput mean little on a shared machine.

use std::process::{Command, Stdio};

use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use weigh_load::LoadReport;

/// Where servers run.
pub const SERVER_CORE: &str = "0";
/// Where both clients run.
pub const CLIENT_CORE: &str = "1";

/// What one run of a client cost.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    pub operations: f64,
    pub operations_per_s: f64,
    pub user_us: f64,
    pub system_us: f64,
}

/// How much of everything.
#[derive(Clone, Copy, Debug)]
pub struct Amount {
    pub rounds: u32,
    pub seconds: u32,
}

/// One row of the final table.
pub struct Verdict {
    pub name: String,
    pub peer: String,
    pub ours: Cost,
    pub theirs: Cost,
    /// Bar for the ratio of user-mode CPU per operation.
    pub user_bar: f64,
    /// Bar for the ratio of user and system CPU, where there is one.
    pub total_bar: Option<f64>,
    /// Smallest and largest ratio of user-mode CPU of any round.
    pub user_spread: (f64, f64),
}

/// A comparison.
pub struct Contest<'a> {
    /// What is done.
    pub name: &'a str,
    /// Who else does it.
    pub peer: &'a str,
    pub user_bar: f64,
    pub total_bar: Option<f64>,
    /// One run of ours, so many seconds long.
    pub ours: &'a mut dyn FnMut(u32) -> Cost,
    /// One run of the peer's.
    pub theirs: &'a mut dyn FnMut(u32) -> Cost,
}

impl Contest<'_> {
    /// Runs it, prints every round, gives the medians.
    pub fn run(self, amount: Amount) -> Verdict {
        let Contest { name, peer, user_bar, total_bar, ours, theirs } = self;
        println!("\n{name}: {} rounds of {} s each; µs of CPU per operation", amount.rounds, amount.seconds);
        println!(
            "{:>5}  {:>10} {:>7} {:>7}  {:>10} {:>7} {:>7}  {peer}",
            "round", "ours/s", "user", "sys", "peer/s", "user", "sys"
        );
        let (mut our_costs, mut their_costs) = (Vec::new(), Vec::new());
        for round in 0..amount.rounds {
            for turn in 0..2 {
                if (round + turn) % 2 == 0 {
                    our_costs.push(ours(amount.seconds));
                } else {
                    their_costs.push(theirs(amount.seconds));
                }
            }
            let at = round as usize;
            print_row(&(round + 1).to_string(), &our_costs[at], &their_costs[at]);
        }
        let ratios = our_costs.iter().zip(&their_costs).map(|(o, t)| o.user_us / t.user_us);
        let user_spread = ratios.fold((f64::MAX, 0.0_f64), |(low, high), r| (low.min(r), high.max(r)));
        let (ours, theirs) = (median_cost(&our_costs), median_cost(&their_costs));
        print_row("med", &ours, &theirs);
        Verdict { name: name.into(), peer: peer.into(), ours, theirs, user_bar, total_bar, user_spread }
    }
}

impl Verdict {
    pub fn user_ratio(&self) -> f64 {
        self.ours.user_us / self.theirs.user_us
    }

    pub fn total_ratio(&self) -> f64 {
        (self.ours.user_us + self.ours.system_us) / (self.theirs.user_us + self.theirs.system_us)
    }

    pub fn passes(&self) -> bool {
        self.user_ratio() <= self.user_bar && self.total_bar.is_none_or(|bar| self.total_ratio() <= bar)
    }
}

/// The last thing a benchmark prints.
pub fn print_table(verdicts: &[Verdict]) {
    println!("\nµs of CPU per operation (medians), and ours / peer");
    println!(
        "{:<34} {:<22} {:>7} {:>7} {:>7} {:>7}  {:>6} {:>11} {:>5}  {:>6}",
        "operation", "peer", "user", "sys", "p.user", "p.sys", "user x", "(rounds)", "bar", "total x"
    );
    for v in verdicts {
        println!(
            "{:<34} {:<22} {:>7.3} {:>7.3} {:>7.3} {:>7.3}  {:>6.2} {:>11} {:>5.2}  {:>6.2}{}  {}",
            v.name,
            v.peer,
            v.ours.user_us,
            v.ours.system_us,
            v.theirs.user_us,
            v.theirs.system_us,
            v.user_ratio(),
            format!("({:.2}–{:.2})", v.user_spread.0, v.user_spread.1),
            v.user_bar,
            v.total_ratio(),
            v.total_bar.map(|bar| format!(" (bar {bar:.2})")).unwrap_or_default(),
            if v.passes() { "passed" } else { "MISSED" },
        );
    }
}

/// What a load of ours cost.
pub fn cost_of_load(report: &LoadReport) -> Cost {
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    let operations = report.operations_measured as f64;
    Cost {
        operations,
        operations_per_s: operations / report.measured.as_secs_f64(),
        user_us: report.client_user.as_secs_f64() * 1e6 / operations,
        system_us: report.client_system.as_secs_f64() * 1e6 / operations,
    }
}

/// Runs a peer on the clients' core; `count` finds the number of operations (and the seconds they took) in what it
/// printed on both streams.
pub fn cost_of_command(command: &mut Command, count: impl Fn(&str) -> (f64, f64)) -> Cost {
    let mut pinned = Command::new("taskset");
    pinned.args(["-c", CLIENT_CORE]).arg(command.get_program()).args(command.get_args());
    for (key, value) in command.get_envs() {
        match value {
            Some(value) => pinned.env(key, value),
            None => pinned.env_remove(key),
        };
    }
    let before = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    let output = pinned.stdin(Stdio::null()).output().unwrap();
    let after = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{pinned:?}: {text}");
    let (operations, seconds) = count(&text);
    let spent = |time: fn(&Usage) -> i64| (time(&after) - time(&before)) as f64 / operations;
    Cost {
        operations,
        operations_per_s: operations / seconds,
        user_us: spent(|usage| usage.user_time().num_microseconds()),
        system_us: spent(|usage| usage.system_time().num_microseconds()),
    }
}

fn print_row(name: &str, ours: &Cost, theirs: &Cost) {
    let row = |c: &Cost| format!("{:>10.0} {:>7.3} {:>7.3}", c.operations_per_s, c.user_us, c.system_us);
    println!("{name:>5}  {}  {}", row(ours), row(theirs));
}

fn median_cost(costs: &[Cost]) -> Cost {
    let median = |figure: fn(&Cost) -> f64| {
        let mut figures: Vec<f64> = costs.iter().map(figure).collect();
        figures.sort_unstable_by(f64::total_cmp);
        figures[figures.len() / 2]
    };
    Cost {
        operations: median(|c| c.operations),
        operations_per_s: median(|c| c.operations_per_s),
        user_us: median(|c| c.user_us),
        system_us: median(|c| c.system_us),
    }
}
