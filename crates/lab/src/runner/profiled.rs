//! Records what a server does (docs/profile.md), in slices that do not count.

use pitot_host::CpuSplit;
use pitot_plan::Profiled;
use pitot_profile::{Amount, Recorder};
use pitot_record::{Profile, ProfileEntry};
use pitot_results::Failure;
use pitot_results::hold::Slice;
use pitot_sys::Unavailable;

use super::held::Held;
use super::repetition::context::Abort;

/// When records are taken out of the kernel's rings: from when on in a slice, and how often, seconds. Each system call leaves two
/// records.
const READ_S: (f64, f64) = (0.02, 0.02);

/// Those of `asked` that can be recorded here, and what to say of the others.
///
/// # Errors
/// If none can.
pub fn recordable(asked: &[Profiled]) -> Result<(Vec<Profiled>, Vec<String>), Failure> {
    let (mut possible, mut refused) = (Vec::new(), Vec::new());
    for &what in asked {
        match pitot_profile::check(what) {
            Ok(()) => possible.push(what),
            Err(unavailable) => refused.push((what, unavailable)),
        }
    }
    let said = |(what, unavailable): &(Profiled, Unavailable)| {
        format!("The profile `{}` is left out: {unavailable}. To have it: {}.", what.word(), unavailable.fix)
    };
    match refused.first() {
        Some((_, unavailable)) if possible.is_empty() => {
            Err(Failure::misuse(unavailable.to_string(), unavailable.fix.clone()))
        }
        _ => Ok((possible, refused.iter().map(said).collect())),
    }
}

/// Of whom it is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Whom<'a> {
    /// Processes, and what they start.
    Processes(&'a [u32]),
    /// What a process starts.
    ChildrenOf(u32),
}

pub(super) fn recorder(what: Profiled, whom: Whom<'_>, cpus: &CpuSplit) -> Result<Recorder, Unavailable> {
    // Commands run on those of both sides.
    let mut cpus = [&cpus.server[..], &cpus.load].concat();
    cpus.sort_unstable();
    cpus.dedup();
    match whom {
        Whom::ChildrenOf(pid) => Recorder::of_children(what, pid, &cpus),
        Whom::Processes(processes) => Recorder::of(what, processes, &cpus),
    }
}

/// Records during a slice of a group. The inner error is why the load cannot run it.
pub(super) fn slice(
    held: &mut Held<'_>,
    group: &str,
    seconds: f64,
    recorder: &mut Recorder,
) -> Result<Result<Box<Slice>, String>, Abort> {
    let failed = |error: std::io::Error| Abort::Failed(format!("the server cannot be recorded: {error}"));
    recorder.start().map_err(failed)?;
    let answer = held.slice_watched(group, seconds, Some(READ_S), &mut || recorder.look())?;
    recorder.stop().map_err(failed)?;
    Ok(answer)
}

/// What was recorded during a slice in which the server took `served_ns` of CPU time.
pub(super) fn of_slice(
    kind: Profiled,
    answer: &Slice,
    served_ns: Option<u64>,
    recorder: &mut Recorder,
) -> Profile {
    let executed_ns =
        answer.executions.as_ref().map(|used| ((used.user_s + used.system_s) * 1e9).round() as u64);
    profile(kind, answer.requests, executed_ns.or(served_ns).unwrap_or(0), recorder)
}

/// What was recorded while a server gave so many right replies and took so much CPU time.
pub fn profile(kind: Profiled, requests: u64, cpu_ns: u64, recorder: &mut Recorder) -> Profile {
    let recorded = recorder.recorded();
    // Without the kernel's part, samples are a share of the time in programs alone.
    let sampled_ns = recorded.sampled_ns.filter(|_| !recorded.sees_kernel);
    let entry = |(name, amount): (String, Amount)| ProfileEntry {
        name: name.into(),
        count: amount.count,
        ns: amount.ns,
    };
    Profile {
        kind,
        requests,
        cpu_ns: sampled_ns.unwrap_or(cpu_ns),
        lost: recorded.lost,
        sees_kernel: recorded.sees_kernel,
        entries: recorded.amounts.into_iter().map(entry).collect(),
    }
}
