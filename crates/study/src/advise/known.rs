//! Published rules of thumb and findings, each with its source.

use super::case::Case;

/// One published rule.
#[derive(Debug)]
pub struct Known {
    /// Its name.
    pub name: &'static str,
    /// What it says.
    pub says: &'static str,
    /// Its source.
    pub source: &'static str,
    /// When.
    pub year: u16,
    /// Whether it applies to a case.
    pub applies: fn(&Case) -> bool,
}

const LYRIS: &str = "Lyris Technologies";
const GAMMO: &str = "Gammo, Brecht, Shukla and Pariag, Ottawa Linux Symposium";
const DATA_SERVER: &str = "data-server design note";

/// Threads are said to be good up to so many tasks.
pub(super) const THREADS_GOOD: u64 = 1000;
/// Threads are measured up to this factor above that limit.
pub(super) const MARGIN: u64 = 4;
/// Connections that are "low load".
pub(super) const FEW: u64 = 64;

/// All of them.
pub static KNOWN: &[Known] = &[
    Known {
        name: "events",
        says: "events carry many connections: 35% more than threads at 1000 at once, and the gap widens with load",
        source: LYRIS,
        year: 2001,
        applies: |case| case.connections > FEW,
    },
    Known {
        name: "threads",
        says: "threads are good up to 500 to 1000 tasks, and then spiral down",
        source: LYRIS,
        year: 2001,
        applies: |case| case.connections > FEW || case.work > pitot_meter::Nanos::ZERO,
    },
    Known {
        name: "processes",
        says: "processes suit low load, small images and processes that are reused, and isolate faults",
        source: LYRIS,
        year: 2001,
        applies: |case| case.isolation || case.connections <= FEW || case.is_short_lived(),
    },
    Known {
        name: "process-per-connection",
        says: "a process for each connection carries about 5% of the connections of events",
        source: LYRIS,
        year: 2001,
        applies: |case| case.is_short_lived() || case.isolation,
    },
    Known {
        name: "idle",
        says: "select and poll lose up to 79% of their rate with 10,000 idle connections; without them all are alike",
        source: GAMMO,
        year: 2004,
        applies: |case| case.idle() >= 100,
    },
    Known {
        name: "few",
        says: "with few connections epoll has no advantage over select and poll",
        source: DATA_SERVER,
        year: 2006,
        applies: |case| case.connections <= FEW,
    },
    Known {
        name: "triggers",
        says: "epoll_ctl calls for each request decide between level and edge triggering",
        source: GAMMO,
        year: 2004,
        applies: |case| case.is_short_lived(),
    },
    Known {
        name: "pool-sendfile",
        says: "the best way to read from disk was a thread pool whose threads send directly to the client's socket",
        source: DATA_SERVER,
        year: 2006,
        applies: |case| case.files.is_some(),
    },
    Known {
        name: "cold",
        says: "small cold files are limited by the disk, then 4 MB/s; files of 256 KiB and more are equally fast, hot or cold",
        source: DATA_SERVER,
        year: 2006,
        applies: Case::is_cold,
    },
    Known {
        name: "split",
        says: "one process for network and disk is as fast as two at 200 connections, but two deliver in bursts",
        source: DATA_SERVER,
        year: 2006,
        applies: |case| case.files.is_some(),
    },
];

/// The rules that apply to a case.
pub fn known(case: &Case) -> Vec<&'static Known> {
    KNOWN.iter().filter(|known| (known.applies)(case)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advise::case::tests::plain;

    #[test]
    fn rules_are_named_once_and_have_a_source() {
        for (at, rule) in KNOWN.iter().enumerate() {
            assert!(KNOWN[..at].iter().all(|other| other.name != rule.name), "{}", rule.name);
            assert!(
                !rule.source.is_empty() && rule.year > 1990 && !rule.says.ends_with('.'),
                "{}",
                rule.name
            );
        }
    }

    #[test]
    fn the_first_source_speaks_on_each_kind_of_load() {
        let names = |case: &Case| known(case).iter().map(|k| k.name).collect::<Vec<_>>();
        assert_eq!(names(&plain(10_000, 500)), ["events", "threads", "idle"]);
        assert_eq!(names(&plain(8, 8)), ["processes", "few"]);
        let kept_apart = Case { isolation: true, ..plain(500, 500) };
        assert!(names(&kept_apart).contains(&"processes"));
    }
}
