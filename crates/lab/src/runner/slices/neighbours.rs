//! Other processes that used the CPUs during generations. They affect all cells of a generation alike, so no cell is
//! noisy; but another run may not have them, so the report names them.

use std::collections::BTreeMap;

use pitot_host::CpuSplit;
use pitot_meter::Nanos;

use crate::monitor::OtherProcessUse;
use crate::runner::judge::{OTHERS_SHARE_MAX, UNKNOWN_SHARE_MAX};

/// The name for processes that were not seen; process names are not empty.
const UNSEEN: &str = "";
/// Unaccounted CPU time below this is measurement error.
const UNSEEN_S_MIN: f64 = 0.05;

/// CPU time of other processes in one generation.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::runner) struct Neighbours {
    /// Length of the observation, seconds.
    watched_s: f64,
    /// Number of CPUs of both sides.
    cpus: usize,
    /// CPU time by name, seconds.
    used_s: BTreeMap<String, f64>,
}

impl Neighbours {
    /// CPU time of other processes in this time on the CPUs of both sides.
    pub(super) fn of(uses: &[OtherProcessUse], watched: Nanos, cpus: &CpuSplit) -> Neighbours {
        let apart = if cpus.is_shared() { 0 } else { cpus.load.len() };
        let mut used_s = BTreeMap::new();
        for other in uses.iter().filter(|o| cpus.server.contains(&o.cpu) || cpus.load.contains(&o.cpu)) {
            *used_s.entry(other.name.clone()).or_insert(0.0) += other.cpu_ns as f64 / 1e9;
        }
        Neighbours { watched_s: watched.as_secs_f64(), cpus: cpus.server.len() + apart, used_s }
    }

    /// Adds CPU time of processes that were not seen: those of other containers or of the host, or short-lived ones.
    /// `unaccounted` is CPU time besides server and load in the slices, and their length, seconds.
    pub(super) fn with_unseen(mut self, unaccounted: Option<(f64, f64)>) -> Neighbours {
        let Some((others_s, slices_s)) = unaccounted.filter(|(_, slices_s)| *slices_s > 0.0) else {
            return self;
        };
        let share = others_s / (slices_s * self.cpus.max(1) as f64) - self.share();
        // CPU clocks have ticks of 10 ms, and slices begin and end between them.
        if share > UNKNOWN_SHARE_MAX && others_s > UNSEEN_S_MIN {
            let seconds = share * self.watched_s * self.cpus.max(1) as f64;
            self.used_s.insert(UNSEEN.to_owned(), seconds);
        }
        self
    }

    pub(super) fn watched_s(&self) -> f64 {
        self.watched_s
    }

    /// The share of the CPUs that they used.
    pub(super) fn share(&self) -> f64 {
        let all_s = self.watched_s * self.cpus.max(1) as f64;
        if all_s > 0.0 { self.used_s.values().sum::<f64>() / all_s } else { 0.0 }
    }
}

/// A warning about other processes in a run's generations; none if they used little CPU time.
pub(in crate::runner) fn sentence(generations: &[Neighbours]) -> Option<String> {
    let disturbed: Vec<&Neighbours> = generations.iter().filter(|n| n.share() > OTHERS_SHARE_MAX).collect();
    let watched_s: f64 = disturbed.iter().map(|n| n.watched_s).sum();
    let mut by_name: BTreeMap<&str, f64> = BTreeMap::new();
    for (name, seconds) in disturbed.iter().flat_map(|n| &n.used_s) {
        *by_name.entry(name).or_default() += seconds;
    }
    let percent = |seconds: f64| format!("{:.0}%", seconds / watched_s * 100.0);
    let (name, most_s) = by_name.iter().max_by(|a, b| a.1.total_cmp(b.1))?;
    let (total, all) = (generations.len(), percent(by_name.values().sum()));
    let when = match disturbed.len() {
        count if count == total => "in all".to_owned(),
        count => format!("in {count} of {total}"),
    };
    let most = percent(*most_s);
    let whose = match *name {
        UNSEEN => format!(
            "{most} by processes that could not be seen (of the host, of another container, or short-lived)"
        ),
        name => format!("most of it `{name}` with {most}"),
    };
    Some(format!(
        "Other processes used {all} of a CPU {when} generations, {whose}. This affects all cells of a generation alike, but \
         another run may differ."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_neighbour_is_named_with_what_it_used_where_it_was_there() {
        let cpus = CpuSplit { server: vec![0], load: vec![1] };
        let used = |name: &str, cpu: usize, percent: u64| OtherProcessUse {
            from: Nanos::ZERO,
            to: Nanos::from_secs(10),
            pid: 7,
            name: name.to_owned(),
            cpu,
            cpu_ns: percent * 100_000_000,
        };
        let of = |uses: &[OtherProcessUse]| Neighbours::of(uses, Nanos::from_secs(10), &cpus);
        let quiet = of(&[used("cron", 0, 9), used("far away", 5, 100)]);
        let busy = of(&[used("yes", 0, 120), used("yes", 1, 61), used("cc", 1, 5)]);
        assert!((quiet.share() - 0.045).abs() < 1e-9 && (busy.share() - 0.93).abs() < 1e-9);
        assert_eq!(sentence(&[quiet.clone(), Neighbours::default()]), None);
        let said = sentence(&[busy.clone(), quiet, busy.clone()]).unwrap();
        assert!(
            said.starts_with(
                "Other processes used 186% of a CPU in 2 of 3 generations, most of it `yes` with 181%."
            ),
            "{said}"
        );
        assert!(sentence(std::slice::from_ref(&busy)).unwrap().contains("in all generations"));
        // In slices of half a second in all; what was seen is a part of it.
        let hidden = busy.clone().with_unseen(Some((0.95, 0.5)));
        assert_eq!(hidden, busy, "all is seen, but for the clock's ticks");
        let hidden = of(&[used("yes", 0, 20)]).with_unseen(Some((0.6, 0.5)));
        assert!((hidden.share() - 0.6).abs() < 1e-9, "{}", hidden.share());
        let said = sentence(&[hidden]).unwrap();
        assert!(
            said.starts_with(
                "Other processes used 120% of a CPU in all generations, 100% by processes that could not be seen"
            ),
            "{said}"
        );
    }
}
