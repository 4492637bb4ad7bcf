//! How each cell of a plan is measured on this machine, and how many generations that takes.

use pitot_results::Failure;

use pitot_plan::{Cell, CellServer, HostLimits, Measure, Plan, changes_host};
use pitot_stats::generations_needed;

use super::slices::{Group, Member, families, groups};

/// Generations where a plan does not say: enough for the comparisons of most plans, and for an interval of use.
const GENERATIONS_MIN: u32 = 10;
/// Fewer slices than these do not average out a burst of noise.
const SLICES_MIN: u32 = 4;
/// Slices last so long where the pilot chooses, in an estimate.
const SLICE_GUESS_S: f64 = 0.04;
/// What a slice takes besides its length: to ask for it, to drain it, to read the counters.
const SLICE_OVERHEAD_S: f64 = 0.005;
/// What a fresh server of a generation takes: its start, its connections, its end.
const SERVER_OVERHEAD_S: f64 = 0.08;
/// What it takes to open a connection, on both sides.
const CONNECTION_S: f64 = 40e-6;
/// Connections whose opening [`SERVER_OVERHEAD_S`] has in it.
const CONNECTIONS_FEW: u64 = 1000;
/// Of the time in which a target may settle it takes about this share.
const SETTLING_SHARE: f64 = 0.25;
/// What a generation takes besides: the load generator.
const GENERATION_OVERHEAD_S: f64 = 0.1;
/// Descriptors that the load generator and the lab need besides those of connections.
const DESCRIPTORS_SPARE: u64 = 200;

/// Why no cell of a plan that varies the kernel is measured in slices.
const IN_GUESTS: &str = "each kernel is measured by itself, at a time of its own";

/// How the cells of a plan are measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ways {
    /// Of each cell, and why in fresh runs, if the plan asks for slices.
    pub cells: Vec<(Measure, String)>,
    /// Cells that have a twin as a control.
    pub controls: Vec<usize>,
    /// Seconds that slow starts and long warm-ups of targets add to a generation.
    pub slow_starts_s: f64,
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
                    "side by side these cells have {connections} connections, and a process may have {} descriptors",
                    host.descriptors
                );
                group.cells.iter().for_each(|&cell| ways[cell] = (Measure::Fresh, reason.clone()));
            }
        }
        let controls: Vec<usize> = families(&members(cells, &ways), plan.baseline.as_ref())
            .iter()
            .filter(|family| family.cells.len() > 1)
            .map(|family| {
                let is_baseline =
                    |&&cell: &&usize| plan.baseline.as_ref().is_some_and(|b| b.matches(&cells[cell].factors));
                *family.cells.iter().find(is_baseline).unwrap_or(&family.cells[0])
            })
            .collect();
        let sliced =
            (0..cells.len()).filter(|&cell| ways[cell].0 == Measure::Slices).chain(controls.iter().copied());
        let slow_starts_s = sliced.map(|cell| slow_start_s(&cells[cell])).sum();
        Ways { cells: ways, controls, slow_starts_s }
    }

    /// The cells that are measured in slices.
    pub fn sliced(&self) -> usize {
        self.cells.iter().filter(|(measure, _)| *measure == Measure::Slices).count()
    }

    /// Comparisons of a family: every sliced cell with its baseline.
    pub(super) fn comparisons(&self) -> usize {
        self.sliced().saturating_sub(self.controls.len()).max(1)
    }

    /// The generations that a plan of its own leaves open.
    pub(super) fn generations(&self) -> u32 {
        GENERATIONS_MIN.max(generations_needed(self.comparisons()) as u32)
    }

    /// Seconds that one generation of all groups takes.
    pub(super) fn generation_s(&self, plan: &Plan) -> f64 {
        let arms = (self.sliced() + self.controls.len()) as f64;
        let slice_s = plan.slice_s.unwrap_or(SLICE_GUESS_S) + SLICE_OVERHEAD_S;
        // Each round has two slices of each cell, and one that is not counted.
        let slices =
            arms * f64::from(plan.slices) + f64::from(plan.slices.div_ceil(2)) * self.groups() as f64;
        self.fixed_s(plan) + slices * slice_s
    }

    /// The part of a generation that does not depend on the number of slices, seconds.
    fn fixed_s(&self, plan: &Plan) -> f64 {
        let arms = (self.sliced() + self.controls.len()) as f64;
        let starts_s = arms * (SERVER_OVERHEAD_S + plan.warmup_s) + self.slow_starts_s;
        starts_s + self.groups() as f64 * GENERATION_OVERHEAD_S
    }

    /// Groups with a control; a group without one is a single cell.
    fn groups(&self) -> usize {
        self.controls.len().max(1)
    }

    /// The seconds that the slices of a decision take at least.
    pub(super) fn least_s(&self, plan: &Plan) -> f64 {
        let generation_s = self.generation_s(&Plan { slices: SLICES_MIN, ..plan.clone() });
        generation_s * generations_needed(self.comparisons()) as f64
    }

    /// Fits generations and slices to a time, seconds: as many generations as it allows, of the plan's slices, or of fewer
    /// where that leaves too few generations. `besides_s` of the time go to the trial and to cells in fresh runs.
    ///
    /// # Errors
    /// If the time is too short for a decision.
    pub(super) fn fit(&self, plan: &mut Plan, within_s: f64, besides_s: f64) -> Result<(), Failure> {
        let least = generations_needed(self.comparisons()) as u32;
        let of = |slices: u32| self.generation_s(&Plan { slices, ..plan.clone() });
        let fitting = |slices: u32| ((within_s - besides_s) / of(slices)).floor() as u32;
        let choices = || (SLICES_MIN..=plan.slices.max(SLICES_MIN)).rev().step_by(2);
        let slices =
            [self.generations(), least].into_iter().find_map(|g| choices().find(|&s| fitting(s) >= g));
        let Some(slices) = slices else {
            let needed = besides_s + self.least_s(plan);
            let fresh = match besides_s {
                s if s >= 0.5 => format!(", and what is not in slices takes {s:.0} s"),
                _ => String::new(),
            };
            return Err(Failure::misuse(
                format!(
                    "{within_s:.0} s are too short: {} {least} generations{fresh}",
                    match self.comparisons() {
                        1 => "a comparison needs".to_owned(),
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

/// Seconds that the start and the warm-up of a target take beyond those of other servers, and that many connections do.
pub(super) fn slow_start_s(cell: &Cell) -> f64 {
    let settles_s = |within_s: f64| within_s * SETTLING_SHARE;
    let opening_s = cell.connections().saturating_sub(CONNECTIONS_FEW) as f64 * CONNECTION_S;
    opening_s
        + cell.target().map_or(0.0, |target| {
            (target.start_s - SERVER_OVERHEAD_S).max(0.0) + target.settles_within_s.map_or(0.0, settles_s)
        })
}

/// The cells as the grouping sees them.
pub(super) fn members<'a>(cells: &'a [Cell], ways: &[(Measure, String)]) -> Vec<Member<'a>> {
    cells.iter().zip(ways).map(|(cell, (measure, _))| Member { cell, measure: *measure }).collect()
}

/// The groups of a run: of its cells, with their controls, which follow the cells. Where settings of the host are compared,
/// whose cells are never side by side, a control is not side by side with its twin either.
pub(super) fn groups_with_controls(plan: &Plan, cells: &[Cell], ways: &Ways) -> Vec<Group> {
    let mut groups = groups(&members(cells, &ways.cells), plan.baseline.as_ref());
    let apart = plan.baseline.iter().flat_map(|levels| &levels.0).any(|(factor, _)| changes_host(factor));
    for (number, &twin) in ways.controls.iter().enumerate() {
        // Of a cell that turned out to be none for slices there is no twin either.
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

/// Why a cell cannot be measured in slices, as far as its description says.
pub(super) fn why_not_in_slices(cell: &Cell) -> Option<String> {
    match &cell.program {
        _ if cell.server == CellServer::None => Some("it is a program that is measured by itself".to_owned()),
        Some(program) => Some(format!("`pitot {program}` runs to its end and cannot be held")),
        None if !cell.is_timed() => {
            Some("its load ends with a number of requests or connections, not after a time".to_owned())
        }
        None if !cell.helpers.is_empty() => Some("its load needs helpers".to_owned()),
        None if cell.foreign().is_some() => Some(
            "its server is on a system whose CPU time is read by a command, too slowly for slices".to_owned(),
        ),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ways(cells: usize, controls: usize) -> Ways {
        Ways {
            cells: vec![(Measure::Slices, String::new()); cells],
            controls: (0..controls).collect(),
            slow_starts_s: 0.0,
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
        assert_eq!((two_minutes.generations, two_minutes.slices), (Some(11), 8));
        let short = fitted(75.0).unwrap();
        assert_eq!((short.generations, short.slices), (Some(10), 4));
        for within_s in [90.0, 120.0, 600.0, 3600.0] {
            let plan = fitted(within_s).unwrap();
            let takes = ways(16, 2).generation_s(&plan) * f64::from(plan.generations.unwrap());
            assert!(takes <= within_s && takes > within_s * 0.8, "{within_s}: {takes}");
        }
        assert!(fitted(3600.0).unwrap().generations.unwrap() > 100);
        let two =
            ways(2, 1).fit(&mut Plan { measure: Measure::Slices, ..Plan::default() }, 1.0, 0.0).unwrap_err();
        assert!(two.what.contains("a comparison needs 6 generations"), "{}", two.what);
        let short = fitted(20.0).unwrap_err();
        assert!(short.what.contains("14 comparisons need 10 generations"), "{}", short.what);
    }
}
