//! Converts observations to and from messages.

use pitot_agent::Reply;
use pitot_meter::Nanos;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::monitor::OtherProcessUse;
use crate::runner::executor::Observed;

/// From, to, process, name, CPU, CPU time.
type OtherRow = (u64, u64, u32, String, usize, u64);

pub(in crate::runner) fn to_reply(observed: Observed) -> Reply {
    let row = |other: OtherProcessUse| -> OtherRow {
        (other.from.0, other.to.0, other.pid, other.name, other.cpu, other.cpu_ns)
    };
    Reply::Observed {
        samples: json!(observed.samples),
        other_processes: json!(observed.other_processes.into_iter().map(row).collect::<Vec<_>>()),
        lifetime: json!(observed.lifetime),
        throttled: observed.throttled,
        left_behind: observed.left_behind,
    }
}

/// `None` if it is another reply.
pub(super) fn from_reply(reply: Reply) -> Option<Observed> {
    let Reply::Observed { samples, other_processes, lifetime, throttled, left_behind } = reply else {
        return None;
    };
    let others: Vec<OtherRow> = read(other_processes)?;
    let other = |(from, to, pid, name, cpu, cpu_ns): OtherRow| OtherProcessUse {
        from: Nanos(from),
        to: Nanos(to),
        pid,
        name,
        cpu,
        cpu_ns,
    };
    Some(Observed {
        samples: read(samples)?,
        other_processes: others.into_iter().map(other).collect(),
        lifetime: read(lifetime)?,
        throttled,
        left_behind,
    })
}

fn read<T: DeserializeOwned>(value: Value) -> Option<T> {
    serde_json::from_value(value).ok()
}
