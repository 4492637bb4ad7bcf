//! CPU time of a server on a system without an agent, read by a command before and after the load.

use pitot_meter::Nanos;

use super::context::{Abort, Context};
use crate::runner::printed::Asked;
use pitot_plan::cpu_seconds;
use pitot_record::Resources;

/// CPU time of such a server at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Reading {
    at: Nanos,
    cpu_s: f64,
}

/// Reads it. `None` for other servers, or without such a command.
pub(super) fn read(context: &mut Context<'_>) -> Result<Option<Reading>, Abort> {
    let Some(foreign) = context.cell.foreign().filter(|foreign| !foreign.cpu_time.is_empty()) else {
        return Ok(None);
    };
    let argv: Vec<String> = foreign.cpu_time.iter().map(|word| context.at.fill(word)).collect();
    let before = context.executor.now();
    let printed = context.executor.printed_by(&Asked { argv: &argv, cwd: None, env: Vec::new() });
    // The reading counts for the middle of the command.
    let at = Nanos((before.0 + context.executor.now().0) / 2);
    let printed = printed.map_err(|e| Abort::Failed(format!("`cpu-time` failed: {e}")))?;
    match cpu_seconds(&printed) {
        Some(cpu_s) => Ok(Some(Reading { at, cpu_s })),
        None => {
            let line = printed.lines().next().unwrap_or("nothing").to_owned();
            Err(Abort::Failed(format!("`cpu-time` must print a CPU time, not `{line}`")))
        }
    }
}

/// Resources of such a server. The local command that started it does not count. CPU time between the two readings, which
/// includes the warm-up, is distributed evenly.
pub(super) fn seen(used: Resources, from: Option<Reading>, to: Option<Reading>) -> Resources {
    let cpu_s = match (from, to) {
        (Some(from), Some(to)) if to.at > from.at => {
            (to.cpu_s - from.cpu_s).max(0.0) / to.at.since(from.at).as_secs_f64() * used.window_s
        }
        _ => 0.0,
    };
    Resources {
        server_cpu_s: cpu_s,
        window_s: used.window_s,
        samples: used.samples,
        load_private_bytes_max: used.load_private_bytes_max,
        load_cpu_s: used.load_cpu_s,
        load_run_delay_s: used.load_run_delay_s,
        load_cpus: used.load_cpus,
        load_cpus_busy_s: used.load_cpus_busy_s,
        steal_s: used.steal_s,
        tcp_retransmits: used.tcp_retransmits,
        monitor_cpu_share: used.monitor_cpu_share,
        ..Resources::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_the_window_is_taken_and_nothing_of_the_command_here() {
        let at = |s: u64, cpu_s| Some(Reading { at: Nanos::from_secs(s), cpu_s });
        let used = Resources {
            window_s: 2.0,
            server_cpu_s: 9.0,
            server_rss_bytes_max: 7,
            load_cpu_s: 0.5,
            ..Resources::default()
        };
        let seen_there = seen(used, at(10, 1.0), at(14, 3.0));
        assert_eq!(
            (seen_there.server_cpu_s, seen_there.server_rss_bytes_max, seen_there.load_cpu_s),
            (1.0, 0, 0.5)
        );
        assert_eq!(seen(used, None, at(14, 3.0)).server_cpu_s, 0.0);
        assert_eq!(seen(used, at(14, 3.0), at(14, 3.0)).server_cpu_s, 0.0);
    }
}
