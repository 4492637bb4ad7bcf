//! Which cells of a plan can be run on their kernels: each kernel is asked, before anything is measured.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use pitot_lab::{Job, JobCell, Prepared};
use pitot_plan::{KernelUse, Measure, Plan};
use pitot_results::Failure;

use super::ground::{GuestPool, Place, Task};

/// How long a kernel may take to say it: its start, above all.
const TIMEOUT: Duration = Duration::from_secs(180);
/// How often it is looked whether it has.
const INTERVAL: Duration = Duration::from_millis(20);

/// Leaves out the cells that cannot be run on their kernels, as each kernel itself says: one that lacks io_uring, for one.
pub(super) fn leave_out_what_is_not(
    prepared: &mut Prepared,
    ground: &GuestPool,
    kernels: &[(KernelUse, Place)],
    stop: &dyn Fn() -> bool,
) -> Result<(), Failure> {
    let stopped = AtomicBool::new(false);
    let cells_of = |name: &str| -> Vec<usize> {
        let is_of = |cell: &usize| {
            let kernel = prepared.plan.kernel_of(&prepared.cells[*cell].factors);
            kernel.is_some_and(|kernel| kernel.name == name)
        };
        (0..prepared.cells.len()).filter(is_of).collect()
    };
    let ask = |number: usize, (kernel, place): &(KernelUse, Place)| -> Result<Vec<(usize, String)>, String> {
        let cells = cells_of(&kernel.name);
        let part = Job {
            // The name of a folder, which that of a kernel in a plan need not be.
            name: format!("check-{number}"),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            plan: prepared.plan.clone(),
            cells: cells
                .iter()
                .map(|&cell| JobCell {
                    factors: prepared.cells[cell].factors.clone(),
                    measure: Measure::Fresh,
                    fresh_reason: String::new(),
                })
                .collect(),
            controls: Vec::new(),
        };
        let text = serde_json::to_string(&as_carried(&part)).map_err(|e| e.to_string())?;
        let task = Task {
            name: &part.name,
            text: &text,
            append: &kernel.append,
            timeout: TIMEOUT,
            only_check: true,
        };
        let answer = ground.carry_out(place, task, &|| stopped.load(Relaxed))?;
        let cannot: Vec<(usize, String)> = serde_json::from_slice(&answer).map_err(|e| e.to_string())?;
        Ok(cannot.into_iter().filter_map(|(at, why)| Some((*cells.get(at)?, why))).collect())
    };
    let answers: Vec<Result<Vec<(usize, String)>, String>> = std::thread::scope(|scope| {
        let ask = &ask;
        let asked: Vec<_> = kernels
            .iter()
            .enumerate()
            .map(|(number, kernel)| scope.spawn(move || ask(number, kernel)))
            .collect();
        while asked.iter().any(|one| !one.is_finished()) {
            stopped.fetch_or(stop(), Relaxed);
            std::thread::sleep(INTERVAL);
        }
        asked.into_iter().map(|one| one.join().unwrap_or_else(|_| Err(String::new()))).collect()
    });
    if stopped.load(Relaxed) {
        return Err(Failure::run("stopped before the first measurement", "start it again"));
    }
    let mut cannot = Vec::new();
    for ((kernel, place), answer) in kernels.iter().zip(answers) {
        cannot.extend(answer.map_err(|why| {
            Failure::run(
                format!("no cell can be measured on the kernel `{}`: {why}", kernel.name),
                format!("try it alone: pitot kernel run {} -- uname -a", place.name()),
            )
        })?);
    }
    cannot.sort();
    prepared.leave_out(&cannot)
}

/// The part as it is sent: its kernel has CPUs of its own, and what the host must have does not apply to it.
pub(super) fn as_carried(part: &Job) -> Job {
    let plan = Plan { server_cpus: None, load_cpus: None, needs: None, ..part.plan.clone() };
    Job { plan, ..part.clone() }
}
