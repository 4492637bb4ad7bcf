//! What every command tells.

use pitot_scrape::{Family, Kind, Unit, label};

/// The command that runs, with its plan or target, without secrets.
pub(super) fn about(command: &'static str, plan: &str) -> Family {
    let labels =
        vec![label("version", env!("CARGO_PKG_VERSION")), label("command", command), label("plan", plan)];
    Family::new(Kind::Info, "pitot_run", "What runs, and the version of Pitot.").with(labels, 1u64)
}

/// Time since the begin of the measurement, and time left.
pub(super) fn times(elapsed_s: f64, left_s: Option<f64>) -> [Family; 2] {
    let elapsed = Family::gauge("pitot_elapsed", "Time since the measurement began.").in_unit(Unit::Seconds);
    [elapsed.with(Vec::new(), elapsed_s), left(left_s)]
}

/// Time left, if that is known.
pub(super) fn left(left_s: Option<f64>) -> Family {
    let left = Family::gauge("pitot_remaining", "Time left until the end, estimated.").in_unit(Unit::Seconds);
    match left_s {
        Some(left_s) => left.with(Vec::new(), left_s),
        None => left,
    }
}
