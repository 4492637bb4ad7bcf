//! What a load cannot do of which each of several programs does a part (`--share`).

use pitot_results::Failure;

use crate::options::Options;
use pitot_drive::pace::Pace;
use pitot_drive::share::Share;

/// Refuses what the parts would have to agree on, and figures that cannot be put together again from those of the parts.
pub(crate) fn check(options: &Options, pace: &Pace, has_sessions: bool) -> Result<(), Failure> {
    if options.share == Share::WHOLE {
        return Ok(());
    }
    let refused = [
        (
            "a search for the highest rate",
            matches!(pace, Pace::Search(_)),
            "ask for the rates one after the other: load.rate = [1000, 2000] as a factor of a plan",
        ),
        (
            "--browser",
            options.workload.browser.is_some(),
            "use one load generator: times of pages cannot be merged",
        ),
        ("a load of sessions", has_sessions, "use one load generator: times of sessions cannot be merged"),
        (
            "--abort-on",
            !options.abort_on.is_empty(),
            "remove it: a part does not know the figures of the whole",
        ),
        (
            "--fail-if",
            !options.fail_if.is_empty(),
            "remove it: a part does not know the figures of the whole",
        ),
    ];
    match refused.into_iter().find(|(_, given, _)| *given) {
        Some((what, _, fix)) => {
            Err(Failure::misuse(format!("{what} cannot be done in parts (--share)"), fix))
        }
        None => Ok(()),
    }
}

/// Refuses a part that has no connection.
pub(crate) fn check_connections(own: u64, all: u64, share: Share) -> Result<(), Failure> {
    if own > 0 || all == 0 {
        return Ok(());
    }
    let parts = share.count;
    Err(Failure::misuse(
        format!("{all} connections are too few for {parts} parts (--share)"),
        format!("use -c {parts} or more, or fewer parts"),
    ))
}
