//! When requests start.
//!
//! In a closed loop a connection starts its next request once the last one is done. In an open loop requests arrive by
//! a schedule that does not wait for the server. A schedule is an iterator of arrival times; nothing is stored of
//! requests that are due and wait, since the iterator simply has not been asked for them yet, so a backlog of any
//! length costs no memory.

mod closed;
mod constant;
mod entry;
mod poisson;
mod rate_search;
mod recorded;
mod replay;
mod search;
mod stages;

pub use entry::{Arrivals, Pace};
pub use entry::{PaceEntry, PaceOptions};
pub use rate_search::{STEPS_MAX, Search};
pub use recorded::Recorded;

/// All paces, in the order in which lists show them; a later one takes precedence where options imply several.
pub static PACES: &[PaceEntry] =
    &[closed::ENTRY, constant::ENTRY, poisson::ENTRY, stages::ENTRY, replay::ENTRY, search::ENTRY];

/// The pace of that name.
pub fn find(name: &str) -> Option<&'static PaceEntry> {
    PACES.iter().find(|p| p.name == name)
}

/// The pace that the options ask for if they name none: the last in the list that they imply.
pub fn implied(options: &PaceOptions) -> &'static PaceEntry {
    PACES.iter().rev().find(|p| (p.implied)(options)).unwrap_or(&closed::ENTRY)
}

/// A constant pace, for one step of a search.
pub fn constant_at(rate: f64) -> Pace {
    Pace::Open(Box::new(constant::Constant { rate }))
}

#[cfg(test)]
mod tests {
    use pitot_meter::Nanos;

    use super::*;
    use crate::share::Share;

    /// Options with which the pace can be built.
    fn options_for(entry: &PaceEntry) -> PaceOptions {
        PaceOptions {
            rate: entry.uses.rate.then_some(1000.0),
            think: None,
            stages: entry.uses.stages.then(|| "0:100:1s,100:200:1s".into()),
            search: entry.uses.search.then(|| "p99 < 5ms".into()),
            recorded: entry.uses.recorded.then(|| Recorded { seconds: [0, 0, 1, 3, 3].into(), speed: 2.0 }),
        }
    }

    #[test]
    fn every_entry_is_named_once_documented_and_buildable() {
        for (i, p) in PACES.iter().enumerate() {
            assert!(PACES[..i].iter().all(|q| q.name != p.name), "{} stands twice", p.name);
            assert!(!p.summary.is_empty() && p.doc.len() > p.summary.len(), "{} lacks its docs", p.name);
            let options = options_for(p);
            assert!(p.pace(&options).is_ok(), "{}", p.name);
            if (p.implied)(&options) {
                assert_eq!(implied(&options).name, p.name);
            }
        }
    }

    #[test]
    fn an_option_that_a_pace_does_not_use_is_refused() {
        for (pace, options) in [
            ("closed", PaceOptions { rate: Some(1.0), ..PaceOptions::default() }),
            ("constant", PaceOptions { think: Some(Nanos(1)), rate: Some(1.0), ..PaceOptions::default() }),
            ("poisson", PaceOptions { stages: Some("1:1:1s".into()), ..PaceOptions::default() }),
            ("stages", PaceOptions { search: Some("p99 < 5ms".into()), ..PaceOptions::default() }),
        ] {
            let refused = find(pace).unwrap().pace(&options).unwrap_err();
            assert!(refused.contains("does not apply") && refused.contains(pace), "{refused}");
        }
    }

    #[test]
    fn shares_of_a_schedule_make_up_the_whole() {
        for entry in PACES {
            let Pace::Open(pace) = entry.pace(&options_for(entry)).unwrap() else { continue };
            let end = Nanos::from_secs(2);
            let mut total = 0;
            for index in 0..3 {
                let mut last = Nanos::ZERO;
                for at in pace.arrivals(Share { index, count: 3 }, 1).take_while(|&at| at < end) {
                    assert!(at >= last, "{} goes back in time", entry.name);
                    last = at;
                    total += 1;
                }
            }
            let expected = pace.expected(end);
            let tolerance = if entry.random { 4.0 * expected.sqrt() } else { 1.0 };
            assert!(
                (f64::from(total) - expected).abs() <= tolerance,
                "{}: {total} of {expected}",
                entry.name
            );
        }
    }
}
