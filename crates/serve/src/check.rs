//! Whether a plan is consistent, and whether this kernel supports it.

use pitot_proto::TlsBegins;
use pitot_results::Failure;
use pitot_sys::landlock;

use crate::disk::{DiskPlan, Route};
use crate::failure::unavailable;
use crate::kernel_tls;
use crate::mechanism::{Kind, Mechanism};
use crate::model::{Listens, Model};
use crate::plan::ServePlan;
use crate::tls::InKernel;

/// Checks a plan.
///
/// # Errors
/// What is inconsistent or not available here, with a fix.
pub fn check(plan: &ServePlan) -> Result<(), Failure> {
    check_options(plan)?;
    (plan.mechanism.probe)().map_err(unavailable)?;
    plan.ring.check()?;
    if let Some(disk) = plan.engine() {
        disk.engine.probe().map_err(unavailable)?;
    }
    if plan.tls.as_ref().is_some_and(|tls| tls.in_kernel != InKernel::No) {
        check_kernel_tls(plan)?;
    }
    if plan.confine {
        landlock::abi().map(drop).map_err(unavailable)?;
    }
    Ok(())
}

/// Checks that the options of a plan fit together, on any machine.
///
/// # Errors
/// What is inconsistent, with a fix.
pub fn check_options(plan: &ServePlan) -> Result<(), Failure> {
    let (model, mechanism) = (plan.model, plan.mechanism);
    if let Err(why) = (model.pairs_with)(mechanism) {
        return Err(Failure::misuse(
            format!("model {} cannot use mechanism {}: {why}", model.name, mechanism.name),
            format!("`pitot list pairs` shows the mechanisms that {} supports", model.name),
        ));
    }
    if let Some(disk) = plan.engine() {
        check_engine(&disk, model, mechanism)?;
        if plan.tls.is_some() && disk.route() != Route::Read {
            return Err(Failure::misuse(
                format!(
                    "engine {} sends files to the socket directly, and TLS must encrypt them",
                    disk.engine.name
                ),
                "use an engine that reads into memory, such as pread or pool, or omit --disk",
            ));
        }
    }
    check_listen(plan)?;
    check_steering(plan)?;
    if plan.ring.has_zero_copy() && plan.listen.is_unix() {
        return Err(Failure::misuse(
            "--ring zero-copy needs TCP: sockets of the file system always copy",
            "omit it, or give --listen an ADDRESS:PORT",
        ));
    }
    if plan.confine {
        check_confinement(model)?;
    }
    if plan.file_cache.lists && model.splits_files {
        return Err(Failure::misuse(
            format!("model {} cannot list directories: its data process sends only files", model.name),
            "omit --index, or use another model, for example --model preloop",
        ));
    }
    if plan.workers.is_some() && !model.takes_workers {
        return Err(Failure::misuse(
            format!(
                "--workers has no effect on model {}, which has as many workers as connections",
                model.name
            ),
            "omit it, or use a model with a fixed number of workers; `pitot list models` shows them",
        ));
    }
    if plan.workers() == 0 {
        return Err(Failure::misuse(
            "--workers is 0: a server needs at least one worker",
            "set --workers to 1 or more",
        ));
    }
    if plan.workers() > model.workers_max {
        return Err(Failure::misuse(
            format!(
                "--workers is {}: model {} has at most {} worker",
                plan.workers(),
                model.name,
                model.workers_max
            ),
            "use --model loops for more workers",
        ));
    }
    Ok(())
}

/// Whether sockets of this mechanism can be those that the kernel encrypts. The receives of a ring do not tell an alert from
/// data.
pub fn has_kernel_tls(mechanism: &Mechanism) -> bool {
    !matches!(mechanism.kind, Kind::Completion { .. })
}

/// Checks whether the kernel can encrypt for this server.
fn check_kernel_tls(plan: &ServePlan) -> Result<(), Failure> {
    if plan.protocol.tls == TlsBegins::OnRequest {
        return Err(Failure::misuse(
            format!(
                "--ktls needs TLS from the start of a connection, and {} begins it with STARTTLS",
                plan.protocol.name
            ),
            "omit --ktls, or serve http",
        ));
    }
    if !has_kernel_tls(plan.mechanism) {
        return Err(Failure::misuse(
            format!(
                "--ktls does not support mechanism {}: its receives do not distinguish alerts from data, and its sockets have no descriptors \
                 for sendfile(2)",
                plan.mechanism.name
            ),
            "omit it, or use --mechanism epoll-et",
        ));
    }
    if plan.listen.is_unix() {
        return Err(Failure::misuse(
            format!("--ktls needs TCP, and {} is not a TCP address", plan.listen),
            "omit it, or listen on an ADDRESS:PORT",
        ));
    }
    kernel_tls::probe().map_err(unavailable)
}

/// Checks whether a server of this model can be confined.
fn check_confinement(model: &Model) -> Result<(), Failure> {
    let why = match model {
        Model { executes: true, .. } => "executes a program for every connection",
        Model { connects: true, .. } => "has processes that connect to each other",
        _ => return Ok(()),
    };
    Err(Failure::misuse(
        format!("--confine cannot be combined with model {}: it {why}", model.name),
        "omit it, or use another model, for example --model preloop",
    ))
}

/// Checks what depends on where the server listens.
fn check_listen(plan: &ServePlan) -> Result<(), Failure> {
    let mechanism = plan.mechanism;
    if !plan.listen.is_unix() {
        return match plan.unix_mode {
            None => Ok(()),
            Some(_) => Err(Failure::misuse(
                format!("--unix-mode needs a socket file, and {} is not one", plan.listen),
                "omit it, or listen on unix:PATH",
            )),
        };
    }
    if plan.congestion.is_some() {
        return Err(Failure::misuse(
            format!("--congestion needs TCP, and {} is not a TCP address", plan.listen),
            "omit it, or listen on an ADDRESS:PORT",
        ));
    }
    // Such sockets have no SO_REUSEPORT, so these models share one listener.
    if mechanism.signals_one_owner && matches!(plan.model.listens, Listens::Each) {
        return Err(Failure::misuse(
            format!(
                "{}+{} cannot serve {}: its workers share the listener, and the kernel signals only one of them",
                plan.model.name, mechanism.name, plan.listen
            ),
            "use another mechanism or model, for example --mechanism epoll-et, or listen on an ADDRESS:PORT",
        ));
    }
    Ok(())
}

/// Checks that each CPU has a worker with a listener of its own, where connections go to the worker of their CPU.
fn check_steering(plan: &ServePlan) -> Result<(), Failure> {
    let (model, name) = (plan.model, plan.steering.name());
    if !plan.steering.is_by_cpu() {
        return Ok(());
    }
    if plan.listen.is_unix() || model.listens != Listens::Each {
        return Err(Failure::misuse(
            format!(
                "--steer {name} needs a listener per worker on one TCP port, which model {} on {} has not",
                model.name, plan.listen
            ),
            "omit it, or use --model loops or preloop and an ADDRESS:PORT",
        ));
    }
    let (workers, cpus) = (plan.workers(), plan.usable_cpus().len());
    if workers != cpus {
        return Err(Failure::misuse(
            format!("--steer {name} needs a worker per CPU, and these are {workers} workers on {cpus} CPUs"),
            "omit --workers, or choose as many CPUs with --cpus",
        ));
    }
    Ok(())
}

/// Checks an engine with its options, with the model and the mechanism.
fn check_engine(disk: &DiskPlan, model: &Model, mechanism: &Mechanism) -> Result<(), Failure> {
    let engine = disk.engine;
    engine.check(&disk.options).map_err(|e| {
        Failure::misuse(e.to_string(), "`pitot list engines` shows the requirements of each engine")
    })?;
    if let Err((why, fix)) = fits(disk, model, mechanism) {
        let pair = format!("{}+{}", model.name, mechanism.name);
        return Err(Failure::misuse(format!("{pair} cannot use engine {}: {why}", engine.name), fix));
    }
    Ok(())
}

fn fits(disk: &DiskPlan, model: &Model, mechanism: &Mechanism) -> Result<(), (&'static str, &'static str)> {
    match mechanism.kind {
        Kind::Completion { .. } if !disk.engine.native_to_ring => Err((
            "io_uring reads files itself, and its connections have no descriptors for an engine to send to",
            "omit --disk, or use --mechanism epoll-et",
        )),
        Kind::Blocking if !disk.reads_in_caller() || disk.options.direct => Err((
            "a worker with a single connection has nothing else to do while the engine reads",
            "use pread, mmap or sendfile, or a model with an event loop",
        )),
        _ if model.splits_files && disk.route() != Route::Read => Err((
            "the data process sends file content in frames, so it must be read into memory",
            "use pool, nowait or another engine that reads into memory",
        )),
        _ if !model.reads_by_engine && disk.route() != Route::InPlace => Err((
            "the threads of the runtime share their tasks, and an engine belongs to one thread",
            "omit --disk, or use --model loops",
        )),
        _ if !mechanism.watches_eventfd && !disk.engine.raises_sigio(&disk.options) => Err((
            "realtime signals do not report the eventfd or ring that signals its completions",
            "use --disk pool with --disk-notify pipe, or --mechanism epoll-et",
        )),
        _ => Ok(()),
    }
}
