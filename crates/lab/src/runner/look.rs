//! Checks in the smoke test whether the rate of an unknown server rises for longer than the plan's warm-up.
//!
//! Runtimes compile, pools and caches fill. Slices within the first second of such a server agree with each other and are all wrong,
//! so each server is loaded once for longer, and once more if its rate rises. If it rises again, every repetition warms up all servers until
//! their rates have settled.

use super::estimate::{LOOKS_SHARE, OVERHEAD_S};
use super::executor::Machine;
use super::prepare::Prepared;
use super::repetition::{self, Shared};
use super::request::Caller;
use super::rise::risen;
use super::way::why_not_in_slices;
use pitot_plan::{Cell, CellServer, OWN, Plan, Settling};

/// The longest look, seconds.
const LOOK_S: f64 = 4.0;
/// The shortest useful look, seconds.
const LOOK_S_MIN: f64 = 1.0;

/// The results: warm-ups by cell, and a sentence if there are any.
pub(super) type Rises = (Vec<(usize, Settling)>, Vec<String>);

impl Prepared {
    /// The cells to look at: the first of each server.
    fn looked_at(&self) -> Vec<usize> {
        let is_first = |index: &usize| {
            let cell = &self.cells[*index];
            is_unknown(cell, &self.plan)
                && !self.cells[..*index]
                    .iter()
                    .any(|other| is_unknown(other, &self.plan) && is_alike(other, cell))
        };
        (0..self.cells.len()).filter(is_first).collect()
    }

    /// Seconds of each look in a run of so many seconds; 0 if there is no time.
    fn look_s(&self, run_s: f64) -> f64 {
        let each_s = run_s * LOOKS_SHARE / self.looked_at().len().max(1) as f64 - OVERHEAD_S;
        if each_s < LOOK_S_MIN { 0.0 } else { each_s.min(LOOK_S) }
    }

    /// Seconds of all looks in a run of so many seconds.
    pub(super) fn looks_s(&self, run_s: f64) -> f64 {
        match self.look_s(run_s) {
            0.0 => 0.0,
            each_s => (each_s + OVERHEAD_S) * self.looked_at().len() as f64,
        }
    }

    /// Looks at the server of each wanted cell, if its start leaves time. The first repetition number and the servers'
    /// times until ready are given. `None` if the user stopped it.
    pub(super) fn look(
        &self,
        machine: &dyn Machine,
        wanted: &dyn Fn(usize) -> bool,
        caller: Caller<'_>,
        (mut number, ready_s): (usize, &[f64]),
    ) -> Option<Rises> {
        let run_s = self.within_s.unwrap_or_else(|| self.estimate_s());
        let seconds = if self.has_no_time_to_look { 0.0 } else { self.look_s(run_s) };
        let (mut longest, mut rising): (Option<Settling>, Vec<String>) = (None, Vec::new());
        let mut left_s = run_s * LOOKS_SHARE;
        for index in self.looked_at().into_iter().filter(|index| seconds > 0.0 && wanted(*index)) {
            let cell = &self.cells[index];
            let each_s = ready_s[index].max(OVERHEAD_S) + seconds;
            if left_s < each_s {
                break;
            }
            if machine.set_host(&cell.host).is_err() {
                continue;
            }
            let shared = Shared {
                plan: &self.plan,
                pitot: caller.pitot,
                cpus: &self.cpus,
                stop: caller.stop,
                memory_total_bytes: machine.memory_total_bytes(),
                block: 0,
            };
            let pacer = machine.pacer();
            let look = || {
                number += 1;
                left_s -= each_s;
                repetition::look(shared, &mut *machine.executor(), cell, number, seconds, pacer.as_ref())
            };
            let Some(settling) = risen(self.plan.warmup_s, look)? else { continue };
            rising.push(cell.label());
            let is_longer = |known: &Settling| known.at_least_s < settling.at_least_s;
            if longest.as_ref().is_none_or(is_longer) {
                longest = Some(settling);
            }
        }
        // All are warmed up alike: a server that was loaded for longer has more memory, for one.
        let Some(longest) = longest else { return Some(Rises::default()) };
        let unknown = (0..self.cells.len()).filter(|index| is_unknown(&self.cells[*index], &self.plan));
        let sentence = format!(
            "The rate of {} rose for seconds after the start: the warm-up of every server lasts {:.1} s, and then until its rate has \
             settled, for at most {:.1} s.",
            rising.join(" and of "),
            longest.at_least_s,
            longest.within_s
        );
        Some((unknown.map(|index| (index, longest)).collect(), vec![sentence]))
    }
}

/// Whether it is unknown how a server warms up: it is not one of Pitot's, which need no warm-up, nor a target that
/// says how long. A load with a fixed rate would not show it.
fn is_unknown(cell: &Cell, plan: &Plan) -> bool {
    let is_other = match &cell.server {
        CellServer::External(program) => program.command.first().is_none_or(|word| word != OWN),
        CellServer::Pitot { .. } | CellServer::None => false,
    };
    is_other
        && plan.warmup_s > 0.0
        && plan.faults.is_empty()
        && cell.settling().is_none()
        && cell.closed_connections().is_some()
        && why_not_in_slices(cell).is_none()
}

/// Whether two cells have the same server, whatever its load.
fn is_alike(a: &Cell, b: &Cell) -> bool {
    a.server == b.server && a.files == b.files && a.url == b.url && a.host == b.host
}
