//! The control of a soak: a small server of Pitot under a small constant load. What slows it down slows down the machine, and a figure of
//! another server that only goes with it is no drift.

use pitot_lab::{LocalHost, Prepared, Where, prepare};
use pitot_plan::Plan;
use pitot_record::soak::CONTROL;
use pitot_results::Failure;
use pitot_soak::run::{LoadOrder, Server, SubjectOrder};

use super::orders::{LOAD_HOURS, SoakTarget};
use crate::catalog::catalog;
use crate::comparison::{self, Comparison, Folder};

/// Requests a second: some 0.3% of a CPU for the server, and as much for the load.
const RATE: &str = "50";
const SERVER: &str = "loop+epoll-et";
const URL: &str = "http://{address}/bytes/1024";

/// The control beside these servers, on their CPUs.
pub(super) fn control(target: &SoakTarget) -> Result<Prepared, Failure> {
    let catalog = catalog()?;
    let comparison = Comparison::of(&[SERVER.to_owned()], Some(URL), 1, Some(RATE));
    let text = comparison.plan_text(None, &catalog, Folder::Here)?;
    let mut plan = Plan::parse(comparison::NAME, &text, &catalog)
        .map_err(|error| Failure::run(error.what, "add --no-control, and report it"))?;
    if let Some(prepared) = target.prepared() {
        plan.server_cpus.clone_from(&prepared.plan.server_cpus);
        plan.load_cpus.clone_from(&prepared.plan.load_cpus);
    }
    plan.duration_s = f64::from(LOAD_HOURS) * 3600.0;
    prepare(plan, text, &catalog, Where::Here)
}

/// What is run of it.
pub(super) fn order<'g>(control: &'g Prepared, local_host: &'g LocalHost<'g>) -> Option<SubjectOrder<'g>> {
    let cell = control.cells.first()?;
    Some(SubjectOrder {
        name: CONTROL.to_owned(),
        server: Server::LongRunning(Box::new(local_host.server(&control.plan, cell))),
        loads: vec![(format!("{RATE} requests a second"), LoadOrder::OfCell)],
        faults: Vec::new(),
    })
}
