//! The words of every kind of doubt. A table: one entry per kind, nothing else.

use super::{DoubtKind, DoubtText};

#[expect(clippy::too_many_lines, reason = "a table")]
pub(super) fn of(kind: DoubtKind) -> DoubtText {
    let (title, cause, advice) = match kind {
        DoubtKind::ClientSaturated => (
            "the client was near its limit",
            "What was measured is partly the load generator, and real differences between variants look smaller than they are.",
            "Give it more threads (`load.threads`), or run it with fewer clients on a machine with free CPUs.",
        ),
        DoubtKind::ScheduleNotKept => (
            "the client did not keep its schedule",
            "Operations were sent later than the system would have taken them, so a part of the response times is the load generator's own.",
            "Give it more threads (`load.threads`) or a free CPU, or ask for a lower rate (`load.rate`).",
        ),
        DoubtKind::RateAboveCapacity => (
            "the system did not keep up with the rate",
            "A backlog then grows for as long as the trial lasts, and response times say more about the length of the trial than about the system.",
            "Ask for a lower rate (`load.rate`): at most about 70 % of what the slowest variant can do.",
        ),
        DoubtKind::Steal => (
            "the hypervisor gave CPU time to somebody else",
            "Trials then differ for reasons that have nothing to do with the variants; random order keeps the verdict honest, but intervals get wider.",
            "Run it again at a quieter hour or on a host of your own.",
        ),
        DoubtKind::OtherCpu => (
            "other processes used the CPUs",
            "They take time from server and client alike; random order keeps the verdict honest, but intervals get wider and latencies longer.",
            "Stop what is not needed (`top -o %CPU`) and run it again.",
        ),
        DoubtKind::RunQueueWait => (
            "the server waited for a CPU",
            "Latencies then contain the scheduler's queue: a figure can repeat well and still be many times too high.",
            "Trust the ratios more than the absolute figures; free some CPUs, or use fewer clients, and run it again.",
        ),
        DoubtKind::TickAligned => (
            "latencies cluster at multiples of the scheduler's tick",
            "The server then waits for a CPU after every flush, and what repeats so well is the timer of the kernel.",
            "Free some CPUs and run it again; until then the absolute latencies are not those of the system.",
        ),
        DoubtKind::AaFailed => (
            "the A/A check failed",
            "If two equal things differ by that much, so may two different ones for the same unknown reason.",
            "Make the warm-up longer (`--settle`), then the budget (`--budget`); if instances are separate, let them be restarted more often.",
        ),
        DoubtKind::CarryOver => (
            "what ran before a trial shows in it",
            "Both variants inherit work from each other, which pulls every ratio towards 1.",
            "Make the warm-up longer (`--settle`), and leave the drain on.",
        ),
        DoubtKind::UnsettledTrials => (
            "the first and the second half of trials differ",
            "Either the warm-up is too short or something grows while a trial runs.",
            "Make the warm-up longer (`--settle`) or the trials (`--trial`).",
        ),
        DoubtKind::DriftingEffect => (
            "the effect changed during the run",
            "One figure for the whole run then describes neither its beginning nor its end, for example while a table fills.",
            "Look at both halves; load more data in the set-up, so that the run starts where production is.",
        ),
        DoubtKind::RareStalls => (
            "the typical ratio and the ratio of totals disagree",
            "One variant stalls rarely but long: most trials do not show it, the totals do.",
            "Read the ratio of totals as the price, and make trials longer (`--trial`) than the time between two stalls.",
        ),
        DoubtKind::MemoryLow => (
            "memory was nearly full",
            "Caches of the server and of the kernel then push each other out, in an order nobody chose.",
            "Free memory, or make the data and the caches of the experiment smaller.",
        ),
        DoubtKind::DiskLow => (
            "the disk below the work directory is nearly full",
            "File systems get slower near their end, and a server that cannot write stops.",
            "Free space, or name another place (`--work-dir`).",
        ),
        DoubtKind::SettingNotInForce => (
            "a setting is not in force as asked",
            "What was measured is then not the variant that its name says.",
            "See the effective value in the evidence; correct the experiment, or the place that overrides it.",
        ),
        DoubtKind::TooFewOperations => (
            "too few operations for the percentile",
            "A percentile needs at least ten operations beyond it in every trial, or it is a guess.",
            "Make trials longer (`--trial`), or judge by a lower percentile.",
        ),
        DoubtKind::ClockSource => (
            "the clock source is not one to trust",
            "Reading the clock is then slow or uneven, and short latencies are mostly clock.",
            "See `/sys/devices/system/clocksource/clocksource0/available_clocksource`; `tsc` or `kvm-clock` is what one wants.",
        ),
        DoubtKind::Errors => (
            "operations failed",
            "Failed operations are counted apart and never timed as success, but a variant that fails does less work.",
            "Read the messages, correct the workload, and run it again.",
        ),
        DoubtKind::FrozenBusy => (
            "a frozen instance used CPU time",
            "An instance that should have stood still disturbed the one under load.",
            "Look for processes of the server that escaped its process tree.",
        ),
        DoubtKind::MemoryFileSystem => (
            "the work directory is in memory",
            "Syncing costs nothing there, so settings about durability seem to cost nothing.",
            "Name a directory on a disk (`--work-dir`).",
        ),
        DoubtKind::TrialsSetAside => (
            "trials were set aside by the rule on interference",
            "The rule was fixed before the run and does not look at results, but many such trials mean a busy machine.",
            "Run it again at a quieter hour.",
        ),
        DoubtKind::CutShort => (
            "the run was cut short",
            "It ended before every comparison was decided or the budget spent.",
            "Finish it with `weigh resume`.",
        ),
        DoubtKind::RestartVariation => (
            "the same work varies between restarts",
            "Every start of a server lays out memory and files anew, and here that alone matters more than the difference asked for.",
            "Give it a longer budget (`--budget`), so that there are more restarts; do not trust one start of anything.",
        ),
        DoubtKind::MachineChanged => (
            "the runs were not made under the same conditions",
            "A difference between runs of different hosts, loads, versions or hours may be theirs and not the variants'.",
            "Put them into one experiment as variants: only trials taken in turn compare.",
        ),
    };
    DoubtText { title, cause, advice }
}
