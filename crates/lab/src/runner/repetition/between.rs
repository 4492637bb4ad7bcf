//! The fault proxy between load and server, and the DNS resolver, which make faults during a repetition. Both read from
//! stdin which fault to begin or end, and report when they have.

use pitot_fault::proxy::{PROXY_BEGAN, PROXY_ENDED, PROXY_REFUSED};
use pitot_fault::{Aim, FaultPlan, FaultRecord, find};
use pitot_meter::Nanos;

use super::context::{Abort, Context};
use super::fault_command::words;
use super::readiness::{Sign, wait_until_ready};
use super::stop::wait_for_end;
use crate::runner::executor::Role;
use pitot_plan::RESOLVER;

/// Timeout until either reports that a fault has ended, seconds.
const TIMEOUT_S: f64 = 5.0;
/// The protocol of helpers that are DNS servers.
const NAMES: &str = "dns";

/// Starts the fault proxy, if a fault of the plan needs it.
pub(in crate::runner) fn lead_through_proxy(context: &mut Context<'_>) -> Result<(), Abort> {
    if context.shared.plan.faults.iter().any(is_on_the_way) {
        let argv = [context.shared.pitot, "fault", "proxy", "--to", &context.at.address].map(str::to_owned);
        context.start_conversing(Role::Proxy, argv.to_vec())?;
        context.proxy = Some(wait_until_ready(context, Role::Proxy, Sign::ReadyLine)?);
    }
    Ok(())
}

/// Starts the resolver, if the plan has DNS faults. Its address replaces `{resolver}`.
pub(super) fn start_resolver(context: &mut Context<'_>) -> Result<(), Abort> {
    if context.shared.plan.has_resolver {
        let argv = [context.shared.pitot, "fault", "resolver"].map(str::to_owned);
        context.start_conversing(Role::Resolver, argv.to_vec())?;
        let address = wait_until_ready(context, Role::Resolver, Sign::ReadyLine)?;
        context.at.helpers.retain(|(name, _)| name != RESOLVER);
        context.at.helpers.push((RESOLVER.to_owned(), address));
    }
    Ok(())
}

/// Forwards the resolver's queries to the DNS helper, if there is one.
pub(super) fn lead_resolver(context: &mut Context<'_>) -> Result<(), Abort> {
    let answers = context.cell.helpers.iter().find(|helper| helper.protocol == NAMES);
    let address = answers.and_then(|helper| context.at.helpers.iter().find(|(name, _)| *name == helper.name));
    match address.filter(|_| context.shared.plan.has_resolver) {
        Some((_, address)) => Ok(context.executor.write_line(Role::Resolver, &format!("to {address}"))?),
        None => Ok(()),
    }
}

/// Ends both after the load.
pub(in crate::runner) fn quit_between(context: &mut Context<'_>) -> Result<(), Abort> {
    let mut outcome = Ok(());
    if context.proxy.take().is_some() {
        let _ = context.executor.write_line(Role::Proxy, "quit");
        outcome = wait_for_end(context, Role::Proxy).map(drop);
    }
    if context.shared.plan.has_resolver {
        let _ = context.executor.write_line(Role::Resolver, "quit");
        outcome = outcome.and(wait_for_end(context, Role::Resolver).map(drop));
    }
    outcome
}

fn is_on_the_way(fault: &FaultPlan) -> bool {
    find(&fault.kind).is_some_and(|fault| fault.aim == Aim::Path)
}

/// A fault of one of them.
pub(super) struct Told {
    role: Role,
    number: usize,
    asked: Nanos,
    /// The deadline for ending the fault.
    back_by: Option<Nanos>,
}

impl Told {
    /// Begins a fault of the proxy or the resolver; `None` if it is another fault. An error is in the record.
    pub(super) fn begin(
        context: &mut Context<'_>,
        fault: &FaultPlan,
        number: usize,
        record: &mut FaultRecord,
    ) -> Option<Told> {
        let role = match find(&fault.kind)?.aim {
            Aim::Path => Role::Proxy,
            Aim::Names => Role::Resolver,
            _ => return None,
        };
        let asked = context.executor.now();
        let command = format!("begin {number} {}", words(fault).join(" "));
        if let Err(why) = context.executor.write_line(role, &command) {
            record.what = format!("{} has ended: {why}", context.name(role));
        }
        Some(Told { role, number, asked, back_by: None })
    }

    /// Ends the fault and returns whether it is over, which it also is if the program has ended or does not reply in time.
    pub(super) fn is_over(&mut self, context: &mut Context<'_>, record: &mut FaultRecord) -> bool {
        let Told { role, number, asked, .. } = *self;
        let back_by = *self.back_by.get_or_insert_with(|| {
            let _ = context.executor.write_line(role, &format!("end {number}"));
            context.deadline(TIMEOUT_S)
        });
        let output = context.executor.output(role).stdout;
        // An earlier instance of the fault may have printed the same.
        let said = |verb: &str| {
            let lines = output.lines().rev().filter_map(|line| line.strip_prefix(verb)?.split_once(' '));
            let rest = lines.filter(|(of, _)| of.parse() == Ok(number)).map(|(_, rest)| rest).next()?;
            let (at, what) = rest.split_once(' ').unwrap_or((rest, ""));
            Some((at.parse().ok().filter(|at| *at >= asked.0)?, what.to_owned()))
        };
        if let Some(began) = said(PROXY_BEGAN) {
            (record.began_ns, record.what) = began;
        }
        if let Some((ended_ns, _)) = said(PROXY_ENDED) {
            record.ended_ns = ended_ns;
        }
        let refused = format!("{PROXY_REFUSED}{number} ");
        if let Some(why) = output.lines().rev().find_map(|line| line.strip_prefix(&refused))
            && !record.was_made()
        {
            why.clone_into(&mut record.what);
            return true;
        }
        record.ended_ns > 0 || context.executor.ending(role).is_some() || context.executor.now() > back_by
    }
}
