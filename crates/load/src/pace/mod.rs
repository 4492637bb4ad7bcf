//! When requests start.
//!
//! In a closed loop a connection starts its next request once the last one is done. In an open loop requests arrive by
//! a schedule that does not wait for the server. A schedule is an iterator of arrival times; nothing is stored of
//! requests that are due and wait, since the iterator simply has not been asked for them yet, so a backlog of any
//! length costs no memory.

mod closed;
mod constant;
mod poisson;
pub mod search;
mod stages;

use std::fmt::Debug;

use pitot_meter::Nanos;

use crate::share::Share;
pub use search::Search;

/// The times, from the start of the run, at which one thread's requests are due, in order.
pub(crate) type Arrivals = Box<dyn Iterator<Item = Nanos> + Send>;

/// A pace that does not wait for the server.
pub(crate) trait OpenPace: Debug + Send + Sync {
    /// The arrivals of one part of the run; those of all parts together are the whole schedule.
    fn arrivals(&self, share: Share, seed: u64) -> Arrivals;

    /// How many arrivals of the whole schedule are expected from the start up to `at`.
    fn expected(&self, at: Nanos) -> f64;

    /// The end of the schedule, where it has one.
    fn length(&self) -> Option<Nanos> {
        None
    }
}

/// When requests start.
#[derive(Debug)]
pub(crate) enum Pace {
    /// Each connection's next request follows the last reply after a pause.
    Closed { think: Nanos },
    /// Requests arrive by a schedule.
    Open(Box<dyn OpenPace>),
    /// A series of runs at constant rates.
    Search(Search),
}

/// What the user said about the pace.
#[derive(Clone, Debug, Default)]
pub struct PaceOptions {
    /// Requests per second in all (`-R`).
    pub rate: Option<f64>,
    /// The pause between a reply and the next request of its connection (`--think`).
    pub think: Option<Nanos>,
    /// `0:1000rps:30s,1000:5000rps:1m` (`--stages`).
    pub stages: Option<String>,
    /// `p99 < 5ms` (`--search`).
    pub search: Option<String>,
}

/// One pace of the registry.
#[derive(Debug)]
pub struct PaceEntry {
    /// The word that users type.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// A paragraph for help and docs.
    pub doc: &'static str,
    /// Makes the pace, or says in one line what is wrong with the options.
    pub(crate) build: fn(&PaceOptions) -> Result<Pace, String>,
}

/// All paces, in the order in which lists show them.
pub static PACES: &[PaceEntry] =
    &[closed::ENTRY, constant::ENTRY, poisson::ENTRY, stages::ENTRY, search::ENTRY];

/// The pace of that name.
pub fn find(name: &str) -> Option<&'static PaceEntry> {
    PACES.iter().find(|p| p.name == name)
}

/// The pace that the options ask for without naming one.
pub(crate) fn implied(options: &PaceOptions) -> &'static PaceEntry {
    match options {
        PaceOptions { search: Some(_), .. } => &search::ENTRY,
        PaceOptions { stages: Some(_), .. } => &stages::ENTRY,
        PaceOptions { rate: Some(_), .. } => &constant::ENTRY,
        _ => &closed::ENTRY,
    }
}

/// A constant pace, for one step of a search.
pub(crate) fn constant_at(rate: f64) -> Pace {
    Pace::Open(Box::new(constant::Constant { rate }))
}

/// The rate, for paces that need one.
fn required_rate(options: &PaceOptions, name: &str) -> Result<f64, String> {
    match options.rate {
        Some(rate) if rate > 0.0 => Ok(rate),
        Some(_) => Err("the rate must be above 0".into()),
        None => Err(format!("the pace `{name}` needs a rate (-R)")),
    }
}

/// Refuses options that the pace would silently ignore.
fn refuse(unused: &[(&str, bool)], name: &str) -> Result<(), String> {
    match unused.iter().find(|(_, given)| *given) {
        Some((flag, _)) => Err(format!("{flag} has no meaning for the pace `{name}`")),
        None => Ok(()),
    }
}

/// Seconds since the start as a point in time.
fn seconds(at: f64) -> Nanos {
    Nanos((at * 1e9).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options_for(name: &str) -> PaceOptions {
        match name {
            "closed" => PaceOptions::default(),
            "stages" => PaceOptions { stages: Some("0:100:1s,100:200:1s".into()), ..PaceOptions::default() },
            "search" => PaceOptions { search: Some("p99 < 5ms".into()), ..PaceOptions::default() },
            _ => PaceOptions { rate: Some(1000.0), ..PaceOptions::default() },
        }
    }

    #[test]
    fn every_entry_is_named_once_documented_and_buildable() {
        for (i, p) in PACES.iter().enumerate() {
            assert!(PACES[..i].iter().all(|q| q.name != p.name), "{} stands twice", p.name);
            assert!(!p.summary.is_empty() && p.doc.len() > p.summary.len(), "{} lacks its docs", p.name);
            let options = options_for(p.name);
            assert!((p.build)(&options).is_ok(), "{}", p.name);
            if p.name != "poisson" {
                assert_eq!(implied(&options).name, p.name);
            }
        }
    }

    #[test]
    fn shares_of_a_schedule_make_up_the_whole() {
        for entry in PACES {
            let Pace::Open(pace) = (entry.build)(&options_for(entry.name)).unwrap() else { continue };
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
            let tolerance = if entry.name == "poisson" { 4.0 * expected.sqrt() } else { 1.0 };
            assert!(
                (f64::from(total) - expected).abs() <= tolerance,
                "{}: {total} of {expected}",
                entry.name
            );
        }
    }
}
