//! Starts a server and the helpers of the load.

use pitot_plan::{CellServer, FileContent, PlanFile};

use super::between::{lead_resolver, start_resolver};
use super::context::{Abort, Context};
use super::readiness::{Readiness, Sign, wait_until_ready};
use crate::runner::executor::{AddressChoice, Role};

/// The address of a server that chooses its port.
const ANY_PORT: &str = "127.0.0.1:0";

/// Creates the private directory of repetition `number`, with the files of the cell.
pub(in crate::runner) fn prepare(context: &mut Context<'_>, number: usize) -> Result<(), Abort> {
    let choice = match context.cell.server {
        CellServer::Pitot { .. } | CellServer::None => AddressChoice::Server,
        CellServer::External(_) => AddressChoice::Executor,
    };
    let place = context.executor.begin(number, choice)?;
    context.at.dir = place.dir;
    let elsewhere = context.cell.foreign().map(|foreign| foreign.address.clone());
    context.at.address = elsewhere.unwrap_or(place.address);
    start_resolver(context)?;
    let fill = |file: &PlanFile| match &file.content {
        FileContent::Text(text) => {
            PlanFile { path: file.path.clone(), content: FileContent::Text(context.at.fill(text)) }
        }
        _ => file.clone(),
    };
    let files: Vec<PlanFile> = context.cell.files.iter().map(fill).collect();
    Ok(context.executor.write_files(&files)?)
}

/// Starts the server and waits until it is ready.
pub(in crate::runner) fn start_server(context: &mut Context<'_>) -> Result<(), Abort> {
    let readiness = begin_server(context)?;
    context.at.address = readiness.wait(context)?;
    Ok(())
}

/// Starts the server without waiting until it is ready.
pub(in crate::runner) fn begin_server(context: &mut Context<'_>) -> Result<Readiness, Abort> {
    context.start(Role::Server, context.cell.server_argv(&context.at))?;
    let sign = match &context.cell.server {
        CellServer::External(program) => Sign::Described {
            ready: program.ready.clone(),
            failed: program.failed.clone(),
            address: context.at.address.clone(),
        },
        CellServer::Pitot { .. } | CellServer::None => Sign::ReadyLine,
    };
    Ok(Readiness::from_now(context, Role::Server, sign))
}

/// Starts the helpers of the load, one after the other, and stores their addresses.
pub(in crate::runner) fn start_helpers(context: &mut Context<'_>) -> Result<(), Abort> {
    for (index, helper) in context.cell.helpers.iter().enumerate() {
        let role = Role::Helper(index);
        context.start(role, context.cell.helper_argv(helper, ANY_PORT, &context.at))?;
        context.helpers_started = index + 1;
        let address = wait_until_ready(context, role, Sign::ReadyLine)?;
        context.at.helpers.push((helper.name.clone(), address));
    }
    lead_resolver(context)
}
