//! Other processes that use the CPUs of a measurement and make it noisy, by name. Programs of the run do not count.

use std::collections::HashMap;

use pitot_meter::Nanos;
use pitot_sys::Mark;

use crate::procfs::{COOKIE_NAME, Reader, TICK_NS};

/// CPU time of another process between two readings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OtherProcessUse {
    pub(crate) from: Nanos,
    pub(crate) to: Nanos,
    pub(crate) pid: u32,
    pub(crate) name: String,
    /// The CPU on which it was found.
    pub(crate) cpu: usize,
    pub(crate) cpu_ns: u64,
}

/// The other processes known so far.
#[derive(Debug, Default)]
pub(super) struct OtherProcesses {
    /// The cookie of the run, which its own processes have.
    run: String,
    /// Time of the last reading.
    last: Option<Nanos>,
    /// Time of the last reading of a process, and its ticks until then, with those of its ended children, so that many
    /// short children count for their parent.
    known: HashMap<u32, (Nanos, u64)>,
    uses: Vec<OtherProcessUse>,
}

impl OtherProcesses {
    /// Those that do not belong to the run of this cookie.
    pub(super) fn than_of(run: &str) -> OtherProcesses {
        OtherProcesses { run: run.to_owned(), ..OtherProcesses::default() }
    }

    /// Reads all processes. A process counts for the CPU on which it is found. A new one was started since the last reading.
    pub(super) fn sample(&mut self, reader: &mut Reader, pids: impl Iterator<Item = u32>, at: Nanos) {
        let own = std::process::id();
        let mut now = HashMap::with_capacity(self.known.len());
        for pid in pids.filter(|&pid| pid != own) {
            let Some(stat) = reader.stat(pid) else { continue };
            let ticks = stat.ticks();
            let before = self.known.get(&pid).copied().or(self.last.map(|last| (last, 0)));
            if let Some((from, before)) = before
                && ticks > before
                && !is_of_run(reader, pid, &self.run)
            {
                // A child's whole life is counted when it is waited for, so limit it to what the parent's threads could use.
                let most_ns = at.since(from).0.saturating_mul(stat.threads.max(1));
                self.uses.push(OtherProcessUse {
                    from,
                    to: at,
                    pid,
                    name: reader.name(pid),
                    cpu: stat.processor,
                    cpu_ns: ((ticks - before) * TICK_NS).min(most_ns),
                });
            }
            now.insert(pid, (at, ticks));
        }
        self.known = now;
        self.last = Some(at);
    }

    pub(super) fn finish(self) -> Vec<OtherProcessUse> {
        self.uses
    }
}

/// Whether a process is one of the run's: by its mark, or by its environment where a kernel knows no mark.
fn is_of_run(reader: &mut Reader, pid: u32, run: &str) -> bool {
    let has_mark = |limits: &[u8]| Mark::in_limits(limits).is_some_and(|mark| mark.is_of(run));
    let has_line = |environment: &[u8]| {
        let value = |line| <[u8]>::strip_prefix(line, COOKIE_NAME.as_bytes())?.strip_prefix(b"=");
        environment.split(|&b| b == 0).filter_map(value).any(|value| value == run.as_bytes())
    };
    !run.is_empty()
        && (reader.read(format_args!("{pid}/limits")).is_some_and(has_mark)
            || reader.read(format_args!("{pid}/environ")).is_some_and(has_line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_began_meanwhile_is_seen_and_one_of_the_run_is_not() {
        let busy = |run: Option<&str>| {
            let mut command = std::process::Command::new("sh");
            command.args(["-c", "while :; do :; done"]);
            run.map(|run| command.env(COOKIE_NAME, run));
            pitot_sys::spawn::isolate(&mut command, &[]);
            command.spawn().unwrap()
        };
        let (mut reader, mut others) = (Reader::default(), OtherProcesses::than_of("this-run"));
        let now = pitot_meter::now;
        others.sample(&mut reader, std::iter::empty(), now());
        let mut children = [busy(None), busy(Some("this-run")), busy(Some("that-run"))];
        let pids = children.each_ref().map(std::process::Child::id);
        let deadline = now() + Nanos::from_secs(20);
        while pids.iter().any(|&pid| reader.stat(pid).unwrap().ticks() < 2) {
            assert!(now() < deadline, "the loops use no CPU");
            std::thread::yield_now();
        }
        others.sample(&mut reader, pids.into_iter(), now());
        for child in &mut children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let uses = others.finish();
        let seen: Vec<u32> = uses.iter().map(|other| other.pid).collect();
        assert_eq!(seen, [pids[0], pids[2]]);
        assert!(uses.iter().all(|other| other.cpu_ns >= 2 * TICK_NS && other.name == "sh"), "{uses:?}");
    }
}
