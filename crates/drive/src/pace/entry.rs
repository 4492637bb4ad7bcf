use std::fmt::Debug;

use pitot_meter::Nanos;

use super::rate_search::Search;
use super::recorded::Recorded;
use crate::share::Share;

/// The times, from the start of the run, at which one thread's requests are due, in order.
pub type Arrivals = Box<dyn Iterator<Item = Nanos> + Send>;

/// A pace that does not wait for the server.
pub trait OpenPace: Debug + Send + Sync {
    /// The arrivals of one part of the run; those of all parts together are the whole schedule.
    fn arrivals(&self, share: Share, seed: u64) -> Arrivals;

    /// How many arrivals of the whole schedule are expected from the start up to `at`.
    fn expected(&self, at: Nanos) -> f64;

    /// The end of the schedule; `None` if it goes on forever.
    fn length(&self) -> Option<Nanos>;
}

/// When requests start.
#[derive(Debug)]
pub enum Pace {
    /// Each connection's next request follows the last reply after a pause.
    Closed {
        /// The pause.
        think: Nanos,
    },
    /// Requests arrive by a schedule.
    Open(Box<dyn OpenPace>),
    /// A series of runs at constant rates.
    Search(Search),
}

/// The options about the pace.
#[derive(Clone, Debug, Default)]
pub struct PaceOptions {
    /// Requests per second in total (`-R`).
    pub rate: Option<f64>,
    /// The pause between a reply and the next request of its connection (`--think`).
    pub think: Option<Nanos>,
    /// `0:1000rps:30s,1000:5000rps:1m` (`--stages`).
    pub stages: Option<String>,
    /// `p99 < 5ms` (`--search`).
    pub search: Option<String>,
    /// The times of a log (`--replay`), which are read with its requests.
    pub recorded: Option<Recorded>,
}

/// One pace of the registry.
#[derive(Debug)]
pub struct PaceEntry {
    /// The name in options and results.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// A paragraph for help and docs.
    pub doc: &'static str,
    /// The options that it uses; all others are refused.
    pub uses: Uses,
    /// Arrivals are drawn at random, from `--seed`, so that their number in a given time varies.
    pub random: bool,
    /// Whether the options ask for it if they name no pace.
    pub implied: fn(&PaceOptions) -> bool,
    /// Builds the pace, or returns one line on what is wrong with the options.
    pub build: fn(&PaceOptions) -> Result<Pace, String>,
}

/// Which options a pace uses.
#[derive(Clone, Copy, Debug)]
pub struct Uses {
    pub rate: bool,
    pub think: bool,
    pub stages: bool,
    pub search: bool,
    pub recorded: bool,
}

impl PaceEntry {
    /// Builds the pace.
    ///
    /// # Errors
    /// One line if an option is missing, wrong, or would be silently ignored.
    pub fn pace(&self, options: &PaceOptions) -> Result<Pace, String> {
        let given = [
            ("-R", options.rate.is_some(), self.uses.rate),
            ("--think", options.think.is_some(), self.uses.think),
            ("--stages", options.stages.is_some(), self.uses.stages),
            ("--search", options.search.is_some(), self.uses.search),
            ("--replay", options.recorded.is_some(), self.uses.recorded),
        ];
        match given.iter().find(|(_, given, used)| *given && !used) {
            Some((flag, _, _)) => Err(format!("{flag} does not apply to the pace `{}`", self.name)),
            None => (self.build)(options),
        }
    }
}

/// The rate, for paces that need one.
pub(super) fn required_rate(options: &PaceOptions, name: &str) -> Result<f64, String> {
    match options.rate {
        Some(rate) if rate > 0.0 => Ok(rate),
        Some(_) => Err("the rate must be above 0".into()),
        None => Err(format!("the pace `{name}` needs a rate (-R)")),
    }
}

/// Seconds since the start as a point in time.
pub(super) fn seconds(at: f64) -> Nanos {
    Nanos((at * 1e9).round() as u64)
}
