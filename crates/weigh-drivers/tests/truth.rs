//! What is reported when a server stands still, and how many operations there were, against what is known otherwise.
//! The long form, with as many runs as the bars ask for, is `cargo bench -p weigh-drivers --bench truth`.

use crate::support::load::ms;
use crate::support::subjects::SUBJECTS;

/// A server that stood still for half a second is charged for everyone who would have waited, in every protocol.
///
/// The truth comes from the schedule and the moments of the stop. On a busy machine the server and the client wait for
/// a CPU, which the kernel counts: a response may be that much longer, and never shorter.
#[test]
fn a_frozen_server_is_charged_for_all_who_would_have_waited() {
    for (name, subject) in SUBJECTS {
        let subject = subject();
        let frozen = subject.frozen(ms(2500), ms(800), ms(500));
        let report = &frozen.report;
        assert!(report.errors.is_empty(), "{name}: {:?}", report.errors);
        let waited_s = (frozen.client_wait + frozen.server_wait).as_secs_f64();
        let (low_s, high_s) = (0.98 * frozen.low_s, 1.02 * (frozen.high_s + waited_s));
        let p99_s = frozen.p99_s;
        assert!((low_s..=high_s).contains(&p99_s), "{name}: {p99_s} is not in {low_s} to {high_s}");
        // The figure that people are usually told: of all who would have waited, only the clients' own did.
        assert!(frozen.from_sending_p99_s < 0.5 * p99_s, "{name}: {}", frozen.from_sending_p99_s);
        let schedule = report.schedule.as_ref().unwrap();
        assert_eq!((schedule.never_sent, schedule.never_answered), (0, 0), "{name}");
        assert_eq!(schedule.due, report.latency.len(), "{name}: everyone who was due was answered");
    }
}

#[test]
fn operations_are_those_of_the_servers_own_count() {
    for (name, subject) in SUBJECTS {
        let (report, counted) = subject().counts(ms(300));
        assert!(report.errors.is_empty(), "{name}: {:?}", report.errors);
        assert!(report.operations_total > 20, "{name}: {}", report.operations_total);
        assert_eq!(report.operations_total, counted, "{name}");
    }
}

/// Whatever the protocol: percentiles lie between those of bounds that server and driver stamped, on any machine.
#[test]
fn a_known_service_time_is_what_is_measured() {
    for (name, subject) in SUBJECTS {
        let known = subject().known(ms(4), ms(400));
        for quantile in [0.5, 0.9] {
            let (low_s, high_s) = known.bounds_s(quantile);
            let measured_s = known.measured_s(quantile);
            // Three digits, and a microsecond for reading clocks.
            let within = (0.999 * low_s - 1e-6)..=(1.001 * high_s + 1e-6);
            assert!(within.contains(&measured_s), "{name}: {measured_s} is not in {low_s} to {high_s}");
            assert!(known.service_s(quantile) >= 0.004, "{name}: {}", known.service_s(quantile));
        }
    }
}
