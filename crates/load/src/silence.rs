//! Whether the server stopped answering before the run ended, and since when.

use pitot_meter::Nanos;

use pitot_drive::tally::Tally;

/// The least time without a reply that is one if there were errors in it.
const WITH_ERRORS_MIN: Nanos = Nanos::from_millis(500);
/// The same if requests only waited in it, ...
const WAITING_MIN: Nanos = Nanos::from_secs(1);
/// ... and the least share of the measured part, since a server that stalls may go on.
const WAITING_SHARE_MIN: u64 = 5;
/// How much longer than the mean time from reply to reply it must be.
const GAPS_MIN: u64 = 3;
/// How much longer than the longest service time it must be.
pub(crate) const SERVICE_TIMES_MIN: u64 = 2;

/// The end of a run in which requests were due and nothing was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Silence {
    /// When the last reply came, from the start of the measured part.
    pub(crate) since: Nanos,
    /// From then to the end of the run.
    pub(crate) length: Nanos,
}

/// The silence at the end of a run, if there is one that is longer than the server's replies explain.
pub(crate) fn at_the_end(tally: &Tally) -> Option<Silence> {
    if tally.requests.completed == 0 {
        return from_the_start(tally);
    }
    let (window, requests) = (tally.window?, &tally.requests);
    let (start, end) = (Nanos(window.start), Nanos(window.end));
    if tally.last_reply_ns == 0 {
        return None;
    }
    let last = Nanos(tally.last_reply_ns).max(start);
    let (since, length) = (last.since(start), end.since(last));
    let usual =
        Nanos(since.0 / requests.completed * GAPS_MIN).max(Nanos(tally.service.max().0 * SERVICE_TIMES_MIN));
    let min = if tally.last_error_ns > last.0 {
        WITH_ERRORS_MIN
    } else if requests.cut > 0 || requests.missed > 0 {
        WAITING_MIN.max(Nanos(end.since(start).0 / WAITING_SHARE_MIN))
    } else {
        return None;
    };
    (length >= min.max(usual)).then_some(Silence { since, length })
}

/// The whole of a measured part in which nothing came. It has no length if not even a connection could be opened.
fn from_the_start(tally: &Tally) -> Option<Silence> {
    let window = tally.window.unwrap_or_default();
    // A reply to what was asked in the warm-up.
    if tally.last_reply_ns > window.start {
        return None;
    }
    let length = Nanos(window.end).since(Nanos(window.start));
    let waited = tally.requests.cut > 0 || tally.requests.missed > 0;
    let is_dead = tally.error_count() > 0 || waited && length >= WAITING_MIN;
    is_dead.then_some(Silence { since: Nanos::ZERO, length })
}

#[cfg(test)]
mod tests {
    use pitot_results::load::Window;

    use super::*;

    const START: u64 = 1_000_000_000_000;
    const MS: u64 = 1_000_000;

    /// A run of three seconds whose last reply came after `ms`.
    fn last_reply_after(ms: u64, change: impl FnOnce(&mut Tally)) -> Option<Silence> {
        let mut tally = Tally {
            window: Some(Window { start: START, end: START + 3000 * MS }),
            last_reply_ns: START + ms * MS,
            ..Tally::default()
        };
        tally.requests.completed = 1000;
        tally.service.record(Nanos::from_millis(20));
        change(&mut tally);
        at_the_end(&tally)
    }

    #[test]
    fn errors_and_no_reply_up_to_the_end_are_a_silence() {
        let error = |ms: u64| move |t: &mut Tally| t.last_error_ns = START + ms * MS;
        let silence = last_reply_after(1000, error(2900)).unwrap();
        assert_eq!((silence.since, silence.length), (Nanos::from_secs(1), Nanos::from_secs(2)));
        assert_eq!(last_reply_after(1000, error(900)), None, "the error came before the last reply");
        assert_eq!(last_reply_after(2600, error(2900)), None, "too short to say");
        let slow = |t: &mut Tally| {
            t.service.record(Nanos::from_millis(1100));
            t.last_error_ns = START + 2000 * MS;
        };
        assert_eq!(last_reply_after(1000, slow), None, "a reply took half of it before");
    }

    #[test]
    fn requests_that_wait_are_a_silence_if_it_is_long() {
        assert!(last_reply_after(1000, |t| t.requests.cut = 1).is_some());
        assert!(last_reply_after(1000, |t| t.requests.missed = 1).is_some());
        assert_eq!(last_reply_after(2200, |t| t.requests.cut = 1), None);
        assert_eq!(last_reply_after(1000, |_| ()), None, "nothing was asked");
    }

    #[test]
    fn a_server_that_never_answered_is_silent_from_the_start() {
        let never = |change: fn(&mut Tally)| {
            last_reply_after(0, |t| {
                (t.requests.completed, t.last_reply_ns) = (0, 0);
                change(t);
            })
        };
        let refused = |t: &mut Tally| {
            t.errors = vec![pitot_results::load::ErrorRow { count: 3, ..Default::default() }];
        };
        let whole = Some(Silence { since: Nanos::ZERO, length: Nanos::from_secs(3) });
        assert_eq!((never(refused), never(|t| t.requests.cut = 1)), (whole, whole));
        assert_eq!(never(|_| ()), None, "nothing was asked");
        let mut tally = Tally::default();
        refused(&mut tally);
        assert_eq!(at_the_end(&tally).map(|silence| silence.since), Some(Nanos::ZERO), "it never began");
        assert_eq!(last_reply_after(5, |t| t.requests.completed = 0), None, "a reply to the warm-up");
    }

    #[test]
    fn a_few_requests_far_apart_are_none() {
        let rare = |t: &mut Tally| (t.requests.completed, t.requests.missed) = (1, 1);
        assert_eq!(last_reply_after(1000, rare), None);
    }
}
