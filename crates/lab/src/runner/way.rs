//! How each cell of a plan is measured on this machine, and in how many generations.

use pitot_results::Failure;

use pitot_plan::{Cell, CellServer, HostLimits, Measure, Plan, changes_host};
use pitot_stats::{MEDIAN_REPETITIONS_MIN, generations_needed, repetitions_needed};

use super::slices::{Group, Member, families, groups};

/// Default number of generations: enough for most plans and for a useful interval.
const GENERATIONS_MIN: u32 = 10;
/// The fewest slices that average out a burst of noise.
const SLICES_MIN: u32 = 4;
/// Estimated time of a slice if the pilot chooses its length, with its parts and their leads.
const SLICE_GUESS_S: f64 = 0.045;
/// Replies of each connection in such a slice: two that the pilot aims for, and one when the slice is drained.
const REPLIES_EACH: f64 = 3.0;
/// Replies per second of a usual server, to estimate slices with many connections.
const REPLIES_PER_S: f64 = 40e3;
/// Overhead of a slice: to request it, drain it and read the counters.
const SLICE_OVERHEAD_S: f64 = 0.005;
/// Overhead of a server in a generation: its start, its connections, its end.
const SERVER_OVERHEAD_S: f64 = 0.08;
/// Time to open a connection, on both sides.
const CONNECTION_S: f64 = 40e-6;
/// Connections that [`SERVER_OVERHEAD_S`] includes.
const CONNECTIONS_FEW: u64 = 1000;
/// Estimated share that a target takes of its maximum settling time.
const SETTLING_SHARE: f64 = 0.25;
/// Overhead of a generation: the load generator.
const GENERATION_OVERHEAD_S: f64 = 0.1;
/// Estimated time of a slice that is recorded, of which each cell has two of each kind: its length, and its recorder's start and end.
const RECORDED_SLICE_S: f64 = 0.3;
/// Descriptors of the load generator and the lab besides those of connections.
const DESCRIPTORS_SPARE: u64 = 200;

/// Why no cell of a plan that varies the kernel is measured in slices.
const IN_GUESTS: &str = "kernels are measured one after the other";

/// How the cells of a plan are measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ways {
    /// For each cell, and why in fresh runs if the plan asks for slices.
    pub cells: Vec<(Measure, String)>,
    /// Cells that have an A/A control.
    pub controls: Vec<usize>,
    /// Comparisons of the plan: every cell with its baseline.
    pub comparisons: usize,
    /// Seconds that slow starts and long warm-ups of targets add to a generation.
    pub slow_starts_s: f64,
    /// Seconds that many connections add to a slice whose length the pilot chooses, on average.
    pub slow_slice_s: f64,
    /// Whether the run goes on until it has decided.
    pub is_until_decided: bool,
    /// Whether commands are executed: nothing is started before the slices, and nothing is warmed up.
    pub are_executed: bool,
}

impl Ways {
    /// Decides for each cell.
    pub(super) fn of(plan: &Plan, cells: &[Cell], host: &HostLimits) -> Ways {
        let mut ways: Vec<(Measure, String)> = cells
            .iter()
            .map(|cell| match (plan.measure, why_not_in_slices(cell)) {
                (Measure::Slices, None) if plan.is_in_guests() => (Measure::Fresh, IN_GUESTS.to_owned()),
                (Measure::Slices, None) => (Measure::Slices, String::new()),
                (Measure::Slices, Some(reason)) => (Measure::Fresh, reason),
                (Measure::Fresh, _) => (Measure::Fresh, String::new()),
            })
            .collect();
        for group in groups(&members(cells, &ways), plan.baseline.as_ref()) {
            let connections: u64 = group.cells.iter().map(|&cell| cells[cell].connections()).sum();
            if connections + DESCRIPTORS_SPARE > host.descriptors {
                let reason = format!(
                    "side by side these cells have {connections} connections, and a process may open {} file descriptors",
                    host.descriptors
                );
                group.cells.iter().for_each(|&cell| ways[cell] = (Measure::Fresh, reason.clone()));
            }
        }
        let is_baseline = |cell: &Cell| plan.baseline.as_ref().is_some_and(|b| b.matches(&cell.factors));
        let controls: Vec<usize> = families(&members(cells, &ways), plan.baseline.as_ref())
            .iter()
            .filter(|family| family.cells.len() > 1)
            .map(|family| {
                *family.cells.iter().find(|&&cell| is_baseline(&cells[cell])).unwrap_or(&family.cells[0])
            })
            .collect();
        let sliced = || {
            let of_plan = cells.iter().zip(&ways).filter(|(_, way)| way.0 == Measure::Slices);
            of_plan.map(|(cell, _)| cell).chain(controls.iter().map(|&cell| &cells[cell]))
        };
        let slow_starts_s = sliced().map(slow_start_s).sum();
        let slow_slices_s: f64 = sliced().map(slow_slice_s).sum();
        let slow_slice_s = slow_slices_s / sliced().count().max(1) as f64;
        let are_executed = cells.iter().any(|cell| cell.executes);
        // Without a baseline all cells are compared with one of them.
        let baselines = cells.iter().filter(|cell| is_baseline(cell)).count().max(1);
        let comparisons = cells.len().saturating_sub(baselines);
        Ways {
            cells: ways,
            controls,
            comparisons,
            slow_starts_s,
            slow_slice_s,
            is_until_decided: plan.until_decided_s.is_some(),
            are_executed,
        }
    }

    /// The number of cells that are measured in slices.
    pub fn sliced(&self) -> usize {
        self.cells.iter().filter(|(measure, _)| *measure == Measure::Slices).count()
    }

    /// The fewest generations that can decide all comparisons.
    pub fn generations_least(&self) -> u32 {
        generations_needed(self.comparisons, self.is_until_decided) as u32
    }

    /// The fewest repetitions in fresh runs that can decide all comparisons, each with an interval.
    pub fn repetitions_least(&self) -> u32 {
        MEDIAN_REPETITIONS_MIN.max(repetitions_needed(self.comparisons, true)) as u32
    }

    /// The default number of generations of a plan.
    pub(super) fn generations(&self) -> u32 {
        GENERATIONS_MIN.max(self.generations_least())
    }

    /// Seconds that one generation of all groups takes.
    pub(super) fn generation_s(&self, plan: &Plan) -> f64 {
        let arms = (self.sliced() + self.controls.len()) as f64;
        let slice_s = plan.slice_s.unwrap_or(SLICE_GUESS_S + self.slow_slice_s) + SLICE_OVERHEAD_S;
        // Each round has two slices of each cell, and of servers one that does not count.
        let uncounted = if self.are_executed { 0 } else { plan.slices.div_ceil(2) };
        let slices = arms * f64::from(plan.slices) + f64::from(uncounted) * self.groups() as f64;
        self.fixed_s(plan) + slices * slice_s
    }

    /// The fixed time of a generation, independent of its slices, seconds.
    fn fixed_s(&self, plan: &Plan) -> f64 {
        let arms = (self.sliced() + self.controls.len()) as f64;
        let start_s = if self.are_executed { 0.0 } else { SERVER_OVERHEAD_S + plan.warmup_s };
        let recorded_s = 2.0 * plan.profile.len() as f64 * RECORDED_SLICE_S;
        let arms_s = arms * (start_s + recorded_s) + self.slow_starts_s;
        arms_s + self.groups() as f64 * GENERATION_OVERHEAD_S
    }

    /// Groups with a control; a group without one is a single cell.
    fn groups(&self) -> usize {
        self.controls.len().max(1)
    }

    /// The shortest time of slices for a decision, seconds.
    pub(super) fn least_s(&self, plan: &Plan) -> f64 {
        let generation_s = self.generation_s(&Plan { slices: SLICES_MIN.min(plan.slices), ..plan.clone() });
        generation_s * f64::from(self.generations_least())
    }

    /// Fits generations and slices to a time, seconds: as many generations as possible, with fewer slices if there
    /// would be too few. `besides_s` of the time are for the smoke test and fresh runs.
    ///
    /// # Errors
    /// If the time is too short for a decision.
    pub(super) fn fit(&self, plan: &mut Plan, within_s: f64, besides_s: f64) -> Result<(), Failure> {
        let least = self.generations_least();
        let of = |slices: u32| self.generation_s(&Plan { slices, ..plan.clone() });
        let fitting = |slices: u32| ((within_s - besides_s) / of(slices)).floor() as u32;
        let least_slices = SLICES_MIN.min(plan.slices);
        let choices = || (least_slices..=plan.slices).rev().step_by(2);
        let slices =
            [self.generations(), least].into_iter().find_map(|g| choices().find(|&s| fitting(s) >= g));
        let Some(slices) = slices else {
            let needed = besides_s + self.least_s(plan);
            let fresh = match besides_s {
                s if s >= 0.5 => format!(", and fresh runs and the smoke test take {s:.0} s"),
                _ => String::new(),
            };
            return Err(Failure::misuse(
                format!(
                    "{within_s:.0} s are too short: {} {least} generations{fresh}",
                    match self.comparisons {
                        0 | 1 => "a comparison needs".to_owned(),
                        count => format!("{count} comparisons need"),
                    }
                ),
                format!("allow at least {:.0} s, or compare fewer cells", needed.ceil()),
            ));
        };
        let generations = fitting(slices);
        (plan.slices, plan.generations) = (slices, Some(generations));
        Ok(())
    }
}

/// Additional seconds for slow starts and warm-ups of targets, and for many connections.
pub(super) fn slow_start_s(cell: &Cell) -> f64 {
    let settles_s = |within_s: f64| within_s * SETTLING_SHARE;
    let opening_s = cell.connections().saturating_sub(CONNECTIONS_FEW) as f64 * CONNECTION_S;
    opening_s
        + cell.target().map_or(0.0, |target| {
            (target.start_s - SERVER_OVERHEAD_S).max(0.0) + target.settles_within_s.map_or(0.0, settles_s)
        })
}

/// Additional seconds of a slice with many connections.
fn slow_slice_s(cell: &Cell) -> f64 {
    (REPLIES_EACH * cell.connections() as f64 / REPLIES_PER_S - SLICE_GUESS_S).max(0.0)
}

/// The cells as the grouping sees them.
pub(super) fn members<'a>(cells: &'a [Cell], ways: &[(Measure, String)]) -> Vec<Member<'a>> {
    cells.iter().zip(ways).map(|(cell, (measure, _))| Member { cell, measure: *measure }).collect()
}

/// The groups of a run, with controls, which come after the cells. If host settings are compared, cells are not side
/// by side, and neither are controls and their cells.
pub(super) fn groups_with_controls(plan: &Plan, cells: &[Cell], ways: &Ways) -> Vec<Group> {
    let mut groups = groups(&members(cells, &ways.cells), plan.baseline.as_ref());
    let apart = plan.baseline.iter().flat_map(|levels| &levels.0).any(|(factor, _)| changes_host(factor));
    for (number, &twin) in ways.controls.iter().enumerate() {
        // A cell that cannot be sliced has no control either.
        if ways.cells[twin].0 != Measure::Slices {
            continue;
        }
        let control = cells.len() + number;
        match groups.iter_mut().find(|group| group.cells.contains(&twin)) {
            Some(group) if !apart => group.cells.push(control),
            _ => groups.push(Group { cells: vec![control] }),
        }
    }
    groups
}

/// Why a cell cannot be measured in slices, from its description.
pub(super) fn why_not_in_slices(cell: &Cell) -> Option<String> {
    match &cell.program {
        Some(_) if cell.executes => None,
        _ if cell.server == CellServer::None => Some("it is a program without a server".to_owned()),
        Some(program) => Some(format!("`pitot {program}` cannot be held, only run to its end")),
        None if !cell.is_timed() => {
            Some("its load ends after a number of requests or connections, not after a time".to_owned())
        }
        None if !cell.helpers.is_empty() => Some("its load needs helpers".to_owned()),
        None if cell.foreign().is_some() => {
            Some("its server has no agent, and a command reads its CPU time too slowly for slices".to_owned())
        }
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pitot_plan::Profiled;

    fn ways(cells: usize, controls: usize) -> Ways {
        Ways {
            cells: vec![(Measure::Slices, String::new()); cells],
            controls: (0..controls).collect(),
            comparisons: cells - controls,
            slow_starts_s: 0.0,
            slow_slice_s: 0.0,
            is_until_decided: false,
            are_executed: false,
        }
    }

    #[test]
    fn generations_follow_from_the_number_of_comparisons() {
        assert_eq!(ways(3, 1).generations(), 10);
        assert_eq!(ways(16, 2).generations(), 10, "14 comparisons need ten");
        assert_eq!(ways(41, 1).generations(), 11);
    }

    #[test]
    fn a_time_is_filled_with_generations_of_as_many_slices_as_leave_enough_of_them() {
        let fitted = |within_s: f64| {
            let mut plan = Plan { measure: Measure::Slices, warmup_s: 0.1, ..Plan::default() };
            ways(16, 2).fit(&mut plan, within_s, 0.0).map(|()| plan)
        };
        let two_minutes = fitted(120.0).unwrap();
        assert_eq!((two_minutes.generations, two_minutes.slices), (Some(10), 8));
        let short = fitted(75.0).unwrap();
        assert_eq!((short.generations, short.slices), (Some(10), 4));
        for within_s in [90.0, 120.0, 600.0, 3600.0] {
            let plan = fitted(within_s).unwrap();
            let takes = ways(16, 2).generation_s(&plan) * f64::from(plan.generations.unwrap());
            assert!(takes <= within_s && takes > within_s * 0.8, "{within_s}: {takes}");
        }
        assert!(fitted(3600.0).unwrap().generations.unwrap() > 100);
        let plain = Plan { measure: Measure::Slices, ..Plan::default() };
        let recorded = Plan { profile: vec![Profiled::Cpu, Profiled::Calls], ..plain.clone() };
        let more_s = ways(2, 1).generation_s(&recorded) - ways(2, 1).generation_s(&plain);
        assert!((more_s - 3.6).abs() < 1e-9, "two slices of two kinds and three cells: {more_s}");
        let two =
            ways(2, 1).fit(&mut Plan { measure: Measure::Slices, ..Plan::default() }, 1.0, 0.0).unwrap_err();
        assert!(two.what.contains("a comparison needs 6 generations"), "{}", two.what);
        let short = fitted(20.0).unwrap_err();
        assert!(short.what.contains("14 comparisons need 10 generations"), "{}", short.what);
    }
}
