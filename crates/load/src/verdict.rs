//! Whether the figures say something about the server, or about the generator or the network between them.

use pitot_meter::{Nanos, units};
use pitot_results::load::ErrorRow;
use pitot_results::under_way::{self, UnderWay};
use pitot_results::{MISSED_SHARE_MAX, RETRANSMIT_SHARE_MAX, VerdictKind, is_client_at_limit};

use crate::silence::{self, Silence};
use pitot_drive::tally::Tally;

/// Share of its time that a thread may be ready and not run.
const RUN_QUEUE_MAX: f64 = 0.05;
/// Share of the requests that may start late although a connection was free.
const LATE_MAX: f64 = 0.01;
/// Share of the requests that may come to nothing or have a wrong reply without a word.
const WRONG_MAX: f64 = 0.01;
/// Share of the connections that may have no reply at all, ...
const STARVED_MAX: f64 = 0.01;
/// ... in a run of this length or more.
const STARVED_LENGTH_MIN: Nanos = Nanos::from_millis(500);
/// Share of its time for which a generator neither ran nor was ready to: then it waited for the server.
const SPARE_MIN: f64 = 0.1;
/// A server fails for the whole of a run if it does from its first part of this share to its last.
const EDGE: f64 = 0.1;
/// A shorter run says nothing about the time of the generator's threads: opening the first connections is most of it.
const TIMED_MIN: Nanos = Nanos::from_millis(100);

/// Judges a run whose generator may use so many CPUs. A server that stopped answering is named alone, before all that follows
/// from it; else every reason that applies is named, the worst first, and the first gives the verdict.
pub(crate) fn judge(
    tally: &Tally,
    under_way: Option<UnderWay>,
    length: Nanos,
    wanted: bool,
    cpus: usize,
) -> (VerdictKind, String) {
    let requests = &tally.requests;
    if wanted && requests.completed == 0 {
        return (VerdictKind::Failed, failure(tally));
    }
    if let Some(silence) = silence::at_the_end(tally).filter(|_| wanted) {
        return (VerdictKind::Failed, unanswered(tally, silence));
    }
    if wanted && requests.ok == 0 {
        return (VerdictKind::Failed, wrong(tally));
    }
    if let Some(why) = sessions(tally, length).filter(|_| wanted) {
        return (VerdictKind::Failed, why);
    }
    if let Some(why) = starved(tally, length).filter(|_| wanted) {
        return (VerdictKind::Failed, why);
    }
    let times = Times::of(tally, length);
    let reasons = reasons(tally, &times, under_way, cpus);
    let (kind, reason) = match reasons.first() {
        Some(&(kind, _)) => {
            let all: Vec<&str> = reasons.iter().map(|(_, reason)| reason.as_str()).collect();
            (kind, all.join("; also, "))
        }
        None => (VerdictKind::Valid, times.in_words(tally)),
    };
    (kind, reason + &not_right(tally).unwrap_or_default())
}

/// How many requests came to nothing or had a wrong reply, if they are not few: figures that are sound can be those of a server that
/// is not.
fn not_right(tally: &Tally) -> Option<String> {
    let requests = &tally.requests;
    let wrong = requests.failed + (requests.completed - requests.ok);
    let share = share(wrong, wrong + requests.ok);
    (share > WRONG_MAX).then(|| {
        format!(
            "; {:.1}% of the requests failed or had a wrong reply (--fail-if makes that an error)",
            share * 100.0
        )
    })
}

/// What the generator's threads did with the run, as shares of it.
struct Times {
    /// CPU time of the thread that was busiest.
    busiest: f64,
    /// Time that a thread was ready and did not run; `None` where the kernel does not count it.
    denied: Option<f64>,
    /// The run was long enough for them to say something.
    are_known: bool,
}

impl Times {
    fn of(tally: &Tally, length: Nanos) -> Times {
        // Threads that were asked for too much go on behind the end.
        let elapsed = tally.window.map_or(0, |window| window.end.saturating_sub(window.start)).max(length.0);
        let waited = tally.threads.iter().filter_map(|t| t.run_queue_s).reduce(f64::max);
        let share = |seconds: f64| if elapsed == 0 { 0.0 } else { seconds / Nanos(elapsed).as_secs_f64() };
        Times {
            busiest: tally.threads.iter().map(|t| t.cpu_utilisation).fold(0.0, f64::max).min(1.0),
            denied: waited.map(|seconds| share(seconds).min(1.0)),
            are_known: length >= TIMED_MIN,
        }
    }

    fn is_busy(&self) -> bool {
        self.are_known && is_client_at_limit(self.busiest)
    }

    /// Time in which no thread of the generator had anything to do, at least; 0 where that is not known.
    fn spare(&self) -> f64 {
        self.denied.map_or(0.0, |denied| 1.0 - self.busiest - denied)
    }

    fn busy_in_words(&self) -> String {
        format!("the generator was busy for {:.1}% of the time at most", self.busiest * 100.0)
    }

    fn in_words(&self, tally: &Tally) -> String {
        let busy = self.busy_in_words();
        match self.denied {
            Some(denied) => {
                format!(
                    "{busy}, waited for a CPU for {:.2}%, and {} sent again",
                    denied * 100.0,
                    resent(tally)
                )
            }
            None => busy,
        }
    }
}

/// Everything that was wrong, the worst first. That the way limits was seen beside all the rest. A generator without time to itself can cause all the rest, and comes first. But
/// arrivals for which no connection was free are not explained by a wait that took a smaller share of the time, nor by
/// milliseconds of lateness on fewer connections that were free: the rate was too high. Nor are they by a generator that had time
/// to spare.
fn reasons(
    tally: &Tally,
    times: &Times,
    under_way: Option<UnderWay>,
    cpus: usize,
) -> Vec<(VerdictKind, String)> {
    let requests = &tally.requests;
    let is_overload = !times.is_busy()
        && requests.missed > requests.started_late
        && (missed_share(tally) > times.denied.unwrap_or(0.0) || times.spare() > SPARE_MIN);
    let mut found =
        vec![way(times, under_way), denied(tally, times, cpus), busy(times), late(tally), dropped(tally)];
    found.insert(if is_overload { 0 } else { found.len() }, rate_missed(tally));
    found.into_iter().flatten().collect()
}

/// A thread was ready to run, and something else ran.
fn denied(tally: &Tally, times: &Times, cpus: usize) -> Option<(VerdictKind, String)> {
    let denied = times.denied.filter(|&denied| times.are_known && denied > RUN_QUEUE_MAX)?;
    let waited = format!(
        "a thread of the generator was ready to run and did not for {:.1}% of the time",
        denied * 100.0
    );
    let threads = tally.threads.len();
    // What its own threads take from each other is no noise.
    Some(match threads > cpus {
        true => {
            let cpus = units::counted(cpus as u64, "CPU", "CPUs");
            let reason =
                format!("{waited}: its {threads} threads have {cpus}; use fewer (-t) or more CPUs (--cpus)");
            (VerdictKind::ClientBound, reason)
        }
        false => (VerdictKind::Noisy, format!("{waited}: something else used its CPU, see --cpus")),
    })
}

fn busy(times: &Times) -> Option<(VerdictKind, String)> {
    times.is_busy().then(|| {
        let reason = format!(
            "a thread of the generator was busy for {:.1}% of the time: give it more threads (-t) or CPUs (--cpus)",
            times.busiest * 100.0
        );
        (VerdictKind::ClientBound, reason)
    })
}

fn late(tally: &Tally) -> Option<(VerdictKind, String)> {
    let late = share(tally.requests.started_late, tally.begun());
    let late_max = Nanos(tally.threads.iter().map(|t| t.late_max_ns).max().unwrap_or(0));
    (late > LATE_MAX).then(|| {
        let reason = format!(
            "the generator itself started {:.1}% of the requests more than 1 ms late, the latest by {late_max}",
            late * 100.0
        );
        (VerdictKind::ClientBound, reason)
    })
}

fn dropped(tally: &Tally) -> Option<(VerdictKind, String)> {
    let share = share(tally.connections.retransmits, tally.requests.attempted + tally.connections.opened);
    (share > RETRANSMIT_SHARE_MAX).then(|| {
        let reason = format!(
            "{} sent again, {:.1} for each hundred requests and connections: the network or a full listen queue dropped \
             them",
            resent(tally),
            share * 100.0
        );
        (VerdictKind::NetworkBound, reason)
    })
}

/// The generator had time to spare, and so had the server: its replies were under way.
fn way(times: &Times, under_way: Option<UnderWay>) -> Option<(VerdictKind, String)> {
    let is_idle = times.are_known && under_way::is_idle(times.busiest + times.denied.unwrap_or(0.0));
    let share = under_way.filter(|_| is_idle)?.share();
    Some((VerdictKind::NetworkBound, under_way::limits(share, &times.busy_in_words())?))
}

/// `12 segments were`.
fn resent(tally: &Tally) -> String {
    units::counted(tally.connections.retransmits, "segment was", "segments were")
}

/// Of the requests that were due, those that were never sent.
fn missed_share(tally: &Tally) -> f64 {
    share(tally.requests.missed, tally.requests.missed + tally.begun())
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Why requests that were due were not sent, if these are too many.
fn rate_missed(tally: &Tally) -> Option<(VerdictKind, String)> {
    let missed = missed_share(tally);
    if missed <= MISSED_SHARE_MAX {
        return None;
    }
    let why = match tally.errors.iter().filter(|e| e.phase == "connect").max_by_key(|e| e.count) {
        Some(e) => format!(
            "no connection was open and free, and connects failed: {} ({}). The server was away for a time, or",
            e.kind,
            times(e.count)
        ),
        None => "no connection was free. The server".into(),
    };
    let reason = format!(
        "{:.1}% of the requests that were due could not be sent: {why} is slower than the asked rate, or needs more \
         connections (-c)",
        missed * 100.0
    );
    Some((VerdictKind::RateMissed, reason))
}

fn times(count: u64) -> String {
    units::counted(count, "time", "times")
}

/// Why no request was answered, in one line.
fn failure(tally: &Tally) -> String {
    let most = tally.errors.iter().max_by_key(|e| e.count);
    match most {
        Some(e) if e.phase == "connect" || e.phase == "timeout" && e.kind == "connect" => {
            let kind = if e.phase == "timeout" { "the connect timed out" } else { &e.kind };
            format!("no connection could be opened from the start on: {kind} ({})", times(e.count))
        }
        Some(e) if e.phase == "handshake" => {
            let why = pitot_client::tls::explain(&e.kind).map_or(e.kind.as_str(), |explained| explained.what);
            format!("no TLS handshake succeeded from the start on: {why} ({})", times(e.count))
        }
        Some(e) if e.phase == "timeout" && e.kind == "handshake" => {
            format!("no TLS handshake was answered in time from the start on ({})", times(e.count))
        }
        Some(e) if e.phase == "timeout" => {
            format!("no request was answered in time from the start on ({})", times(e.count))
        }
        Some(e) => {
            format!("no request was answered from the start on: {} {} ({})", e.phase, e.kind, times(e.count))
        }
        None => "no request was answered before the run ended".into(),
    }
}

/// Since when the server has answered nothing, and what came instead.
fn unanswered(tally: &Tally, silence: Silence) -> String {
    let instead = tally.errors.iter().filter(|e| e.phase != "content").max_by_key(|e| e.count);
    let instead = match instead {
        Some(e) => format!("{} {} ({})", e.phase, e.kind, times(e.count)),
        None => "requests waited".into(),
    };
    format!(
        "nothing was answered from {:.2} s on, for the last {:.2} s of the run: {instead}",
        silence.since.as_secs_f64(),
        silence.length.as_secs_f64()
    )
}

/// Connections that had no reply at all, if they are too many. What they waited for is in no percentile.
fn starved(tally: &Tally, length: Nanos) -> Option<String> {
    let c = &tally.connections;
    // A reply that takes half of a run is no refusal to serve.
    let usual = Nanos(tally.service.max().0 * silence::SERVICE_TIMES_MIN);
    if share(c.unanswered, c.asked) <= STARVED_MAX || length < STARVED_LENGTH_MIN.max(usual) {
        return None;
    }
    Some(format!(
        "{} of {} never got a reply: the figures exclude them",
        units::grouped(c.unanswered),
        units::counted(c.asked, "connection", "connections")
    ))
}

/// Why most sessions failed, if a wrong reply is why: the load is not the one that was meant. A server that says itself that it
/// fails (5xx) may do so in a part of the run, where sessions that fail at once are soon more than those before.
fn sessions(tally: &Tally, length: Nanos) -> Option<String> {
    let sessions = tally.sessions.as_ref()?;
    let failed = sessions.failed();
    let window = tally.window?;
    // None is completed: whatever it is, it is in the way of all.
    let none = sessions.completed == 0 && failed > sessions.cut;
    let most = tally.errors.iter().filter(|e| none || e.phase == "content").max_by_key(|e| e.count)?;
    let edge = length.as_secs_f64() * EDGE;
    let from_the_start = most.first_at_s <= edge;
    let to_the_end = Nanos(window.end.saturating_sub(tally.last_error_ns)).as_secs_f64() <= edge;
    let is_outage = most.kind.contains(":status-5") && !(from_the_start && to_the_end);
    if failed <= sessions.completed || is_outage {
        return None;
    }
    Some(format!(
        "{} of {} failed: {} ({})",
        units::grouped(failed),
        units::counted(failed + sessions.completed, "session", "sessions"),
        in_words(most),
        times(most.count)
    ))
}

/// Why none of the replies was right.
fn wrong(tally: &Tally) -> String {
    let replies = units::counted(tally.requests.completed, "reply", "replies");
    match tally.errors.iter().max_by_key(|e| e.count) {
        Some(e) => format!("none of {replies} was right: {} ({})", in_words(e), times(e.count)),
        None => format!("none of {replies} was right"),
    }
}

/// What is wrong with a reply, for a sentence; the table of errors has the names that scripts match.
fn in_words(row: &ErrorRow) -> String {
    match (row.phase.as_str(), row.kind.as_str()) {
        ("content", "bytes") => "other content than expected".into(),
        ("content", "length") => "another length than expected".into(),
        ("content", kind) => kind.into(),
        (phase, kind) => format!("{phase} {kind}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pitot_client::SessionInfo;
    use pitot_drive::sessions::SessionTally;
    use pitot_results::load::{RequestCounts, ThreadUse, Window};

    const LENGTH: Nanos = Nanos::from_secs(10);

    fn good() -> Tally {
        let mut tally = Tally::default();
        tally.requests.attempted = 1000;
        tally.requests.completed = 1000;
        tally.requests.ok = 1000;
        tally.threads =
            vec![ThreadUse { cpu_utilisation: 0.5, run_queue_s: Some(0.01), ..ThreadUse::default() }];
        tally
    }

    fn verdict(change: impl FnOnce(&mut Tally)) -> VerdictKind {
        let mut tally = good();
        change(&mut tally);
        let (verdict, reason) = judge(&tally, None, LENGTH, true, 1);
        assert!(!reason.is_empty() && !reason.contains('\n'));
        verdict
    }

    #[test]
    fn each_verdict_has_its_figure() {
        assert_eq!(verdict(|_| ()), VerdictKind::Valid);
        assert_eq!(verdict(|t| t.threads[0].cpu_utilisation = 0.99), VerdictKind::ClientBound);
        assert_eq!(verdict(|t| t.threads[0].run_queue_s = Some(5.0)), VerdictKind::Noisy);
        let crowded =
            |t: &mut Tally| t.threads = vec![ThreadUse { run_queue_s: Some(5.0), ..t.threads[0] }; 2];
        assert_eq!(verdict(crowded), VerdictKind::ClientBound);
        assert_eq!(verdict(|t| t.requests.started_late = 20), VerdictKind::ClientBound);
        assert_eq!(verdict(|t| t.connections.retransmits = 50), VerdictKind::NetworkBound);
        assert_eq!(verdict(|t| t.requests.missed = 50), VerdictKind::RateMissed);
        assert_eq!(verdict(|t| t.requests.completed = 0), VerdictKind::Failed);
    }

    #[test]
    fn a_way_that_limits_is_named_unless_somebody_is_busy_or_the_server_waits() {
        let judged = |busy: f64, sending: u64| {
            let mut tally = good();
            tally.threads[0].cpu_utilisation = busy;
            judge(&tally, Some(UnderWay { looked_at: 100, sending }), LENGTH, true, 1)
        };
        let (verdict, reason) = judged(0.16, 93);
        assert_eq!(verdict, VerdictKind::NetworkBound);
        assert!(
            reason.starts_with("the generator was busy for 16.0% of the time at most, and 93% of the conn"),
            "{reason}"
        );
        assert_eq!(judged(0.16, 30).0, VerdictKind::Valid);
        assert_eq!(judged(0.60, 93).0, VerdictKind::Valid);
    }

    #[test]
    fn a_server_that_stopped_answering_is_named_before_what_follows_from_it() {
        let mut tally = good();
        tally.window = Some(Window { start: 1_000, end: 10_000_001_000 });
        tally.last_reply_ns = 4_000_001_000;
        tally.last_error_ns = 9_000_001_000;
        tally.requests.missed = 500;
        tally.threads[0].run_queue_s = Some(5.0);
        tally.errors = vec![ErrorRow {
            phase: "connect".into(),
            kind: "ECONNREFUSED".into(),
            count: 80,
            first_at_s: 4.0,
        }];
        let (verdict, reason) = judge(&tally, None, LENGTH, true, 1);
        assert_eq!(verdict, VerdictKind::Failed);
        assert!(reason.contains("from 4.00 s on") && reason.contains("ECONNREFUSED (80 times)"), "{reason}");
    }

    #[test]
    fn arrivals_that_no_connection_was_open_for_are_not_blamed_on_a_slow_server_alone() {
        let mut tally = good();
        tally.requests.missed = 500;
        assert!(
            judge(&tally, None, LENGTH, true, 1).1.contains("no connection was free. The server is slower")
        );
        tally.errors = vec![ErrorRow {
            phase: "connect".into(),
            kind: "ECONNREFUSED".into(),
            count: 1,
            first_at_s: 4.0,
        }];
        let (verdict, reason) = judge(&tally, None, LENGTH, true, 1);
        assert_eq!(verdict, VerdictKind::RateMissed);
        assert!(reason.contains("ECONNREFUSED (1 time)") && reason.contains("away for a time"), "{reason}");
    }

    #[test]
    fn connections_that_never_had_a_reply_are_no_valid_run() {
        let mut tally = good();
        (tally.connections.asked, tally.connections.unanswered) = (1000, 750);
        let (verdict, reason) = judge(&tally, None, LENGTH, true, 1);
        assert_eq!(verdict, VerdictKind::Failed);
        assert!(reason.starts_with("750 of 1,000 connections never got a reply"), "{reason}");
        assert_eq!(
            judge(&tally, None, Nanos::from_millis(300), true, 1).0,
            VerdictKind::Valid,
            "too short to say"
        );
        tally.service.record(Nanos::from_secs(9));
        assert_eq!(
            judge(&tally, None, LENGTH, true, 1).0,
            VerdictKind::Valid,
            "a reply takes as long as the run"
        );
        tally = good();
        (tally.connections.asked, tally.connections.unanswered) = (1000, 1);
        assert_eq!(judge(&tally, None, LENGTH, true, 1).0, VerdictKind::Valid);
    }

    #[test]
    fn a_generator_with_time_to_spare_is_not_what_a_rate_is_missed_for() {
        let mut tally = good();
        tally.requests.missed = 600;
        tally.threads[0].run_queue_s = Some(4.0);
        tally.threads[0].cpu_utilisation = 0.3;
        assert_eq!(judge(&tally, None, LENGTH, true, 1).0, VerdictKind::RateMissed);
        tally.threads[0].cpu_utilisation = 0.6;
        assert_eq!(judge(&tally, None, LENGTH, true, 1).0, VerdictKind::Noisy);
    }

    #[test]
    fn replies_that_are_all_wrong_are_not_valid() {
        let mut tally = good();
        tally.requests.ok = 0;
        tally.errors = vec![ErrorRow {
            phase: "content".into(),
            kind: "status-404".into(),
            count: 1000,
            first_at_s: 0.0,
        }];
        let (verdict, reason) = judge(&tally, None, LENGTH, true, 1);
        assert_eq!(verdict, VerdictKind::Failed);
        assert!(reason.contains("right: status-404 (1,000 times)"), "{reason}");
        tally.errors[0].kind = "bytes".into();
        let (_, reason) = judge(&tally, None, LENGTH, true, 1);
        assert!(reason.contains("right: other content than expected (1,000 times)"), "{reason}");
        tally.requests.ok = 1;
        assert_eq!(judge(&tally, None, LENGTH, true, 1).0, VerdictKind::Valid);
    }

    #[test]
    fn a_share_of_requests_that_failed_is_part_of_the_verdict() {
        let mut tally = good();
        (tally.requests.ok, tally.requests.completed, tally.requests.failed) = (450, 500, 500);
        let (verdict, reason) = judge(&tally, None, LENGTH, true, 1);
        assert_eq!(verdict, VerdictKind::Valid);
        assert!(reason.contains("; 55.0% of the requests failed or had a wrong reply"), "{reason}");
        (tally.requests.ok, tally.requests.completed, tally.requests.failed) = (995, 1000, 1);
        assert!(!judge(&tally, None, LENGTH, true, 1).1.contains("failed"));
    }

    #[test]
    fn a_run_most_of_whose_sessions_fail_has_failed() {
        let judged = |kind: &str, completed, failed: u64, first_at_s, last_error_ns| {
            let mut tally = good();
            let info = SessionInfo { steps: vec!["login".into()], ..SessionInfo::default() };
            let mut sessions = SessionTally::new(&info);
            sessions.completed = completed;
            (0..failed).for_each(|_| sessions.fail(Some(0)));
            tally.sessions = Some(Box::new(sessions));
            tally.window = Some(Window { start: 0, end: 10_000_000_000 });
            (tally.last_error_ns, tally.last_reply_ns) = (last_error_ns, 10_000_000_000);
            let phase = if kind == "reply" { "timeout" } else { "content" };
            let (phase, kind) = (phase.into(), kind.into());
            tally.errors = vec![ErrorRow { phase, kind, count: failed, first_at_s }];
            judge(&tally, None, LENGTH, true, 1)
        };
        assert_eq!(
            judged("reply", 10, 90, 0.1, 9_900_000_000).0,
            VerdictKind::Valid,
            "a server that is slow"
        );
        let (verdict, reason) = judged("reply", 0, 90, 5.0, 5_000_000_000);
        assert_eq!(verdict, VerdictKind::Failed, "none was completed");
        assert!(reason.starts_with("90 of 90 sessions failed: timeout reply (90 times)"), "{reason}");
        let (verdict, reason) = judged("login:declined", 10, 90, 5.0, 9_900_000_000);
        assert_eq!(verdict, VerdictKind::Failed);
        assert!(reason.starts_with("90 of 100 sessions failed: login:declined (90 times)"), "{reason}");
        assert_eq!(judged("login:declined", 60, 40, 0.1, 9_900_000_000).0, VerdictKind::Valid);
        assert_eq!(judged("s/1:status-503", 10, 90, 0.1, 9_900_000_000).0, VerdictKind::Failed);
        assert_eq!(judged("s/1:status-503", 10, 90, 3.0, 9_900_000_000).0, VerdictKind::Valid, "an outage");
        assert_eq!(judged("s/1:status-503", 10, 90, 0.1, 5_000_000_000).0, VerdictKind::Valid, "an outage");
    }

    #[test]
    fn a_generator_without_time_is_named_before_what_it_causes() {
        let both = |t: &mut Tally| {
            t.requests.missed = 500;
            t.threads[0].run_queue_s = Some(5.0);
        };
        assert_eq!(verdict(both), VerdictKind::Noisy);
    }

    #[test]
    fn overload_is_no_noise_and_all_reasons_are_named() {
        let mut tally = good();
        tally.requests.missed = 2600;
        tally.threads[0].run_queue_s = Some(1.0);
        tally.connections.retransmits = 50;
        let (verdict, reason) = judge(&tally, None, LENGTH, true, 1);
        assert_eq!(verdict, VerdictKind::RateMissed);
        let parts: Vec<&str> = reason.split("; also, ").collect();
        assert!(parts[0].starts_with("72.2% of the requests that were due"), "{reason}");
        assert!(parts[1].contains("did not for 10.0% of the time"), "{reason}");
        assert!(parts[2].starts_with("50 segments were sent again"), "{reason}");
        // A generator that is at its own limit is what is slow.
        tally.threads[0].cpu_utilisation = 0.99;
        assert_ne!(judge(&tally, None, LENGTH, true, 1).0, VerdictKind::RateMissed);
    }

    #[test]
    fn no_share_exceeds_the_whole() {
        let mut tally = good();
        tally.threads[0].run_queue_s = Some(25.0);
        tally.window = Some(Window { start: 0, end: 40_000_000_000 });
        assert!(
            judge(&tally, None, LENGTH, true, 1).1.contains("did not for 62.5% of the time"),
            "it ran for 40 s"
        );
        (tally.window, tally.threads[0].cpu_utilisation) = (None, 1.5);
        let (_, reason) = judge(&tally, None, LENGTH, true, 1);
        assert_eq!(reason.matches("100.0%").count(), 2, "{reason}");
    }

    #[test]
    fn a_generator_that_is_busy_for_a_moment_is_not_the_bottleneck() {
        let mut tally = good();
        (tally.threads[0].cpu_utilisation, tally.threads[0].run_queue_s) = (1.0, Some(0.005));
        assert_eq!(judge(&tally, None, Nanos::from_millis(20), true, 1).0, VerdictKind::Valid);
        assert_eq!(judge(&tally, None, Nanos::from_millis(100), true, 1).0, VerdictKind::ClientBound);
    }

    #[test]
    fn a_few_late_requests_do_not_hide_that_most_could_not_be_sent() {
        let mut tally = good();
        (tally.requests.attempted, tally.requests.started_late, tally.requests.missed) = (80, 7, 5920);
        let (verdict, reason) = judge(&tally, None, LENGTH, true, 1);
        assert_eq!(verdict, VerdictKind::RateMissed);
        assert!(reason.starts_with("98.7% of the requests that were due"), "{reason}");
        // A generator that is late more often than that may be what is slow.
        tally.requests = RequestCounts { attempted: 1000, started_late: 200, missed: 50, ..tally.requests };
        assert_eq!(judge(&tally, None, LENGTH, true, 1).0, VerdictKind::ClientBound);
    }

    #[test]
    fn a_run_that_only_holds_connections_need_not_complete_requests() {
        assert_eq!(judge(&Tally::default(), None, LENGTH, false, 1).0, VerdictKind::Valid);
    }

    #[test]
    fn a_failure_names_its_cause() {
        let mut tally = Tally::default();
        let row = |phase: &str, kind: &str, count| ErrorRow {
            phase: phase.into(),
            kind: kind.into(),
            count,
            first_at_s: 0.0,
        };
        tally.errors = vec![row("connect", "ECONNREFUSED", 9), row("receive", "closed", 1)];
        assert!(failure(&tally).contains("ECONNREFUSED (9 times)"));
        tally.errors = vec![row("timeout", "connect", 9)];
        assert!(failure(&tally).contains("connect timed out"));
    }
}
