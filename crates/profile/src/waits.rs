//! How long threads waited, from the moments at which they left their CPU and came back to one.

use std::collections::HashMap;

use pitot_sys::perf::{Sample, Switched};

/// What happened to threads, as the rings of all CPUs have it: in order only within each.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    moments: Vec<Moment>,
}

#[derive(Debug)]
enum Moment {
    /// The stack with which a thread leaves.
    Stack(Box<Sample>),
    Switch(Switched),
}

impl Moment {
    fn time_ns(&self) -> u64 {
        match self {
            Moment::Stack(sample) => sample.time_ns,
            Moment::Switch(switch) => switch.time_ns,
        }
    }
}

/// A wait that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wait<'a> {
    /// Where the thread was.
    pub(crate) sample: &'a Sample,
    /// How long it was off the CPU.
    pub(crate) ns: u64,
    /// Whether it could have gone on, and waited for the CPU alone.
    pub(crate) preempted: bool,
}

impl Waits {
    pub(crate) fn left_with(&mut self, sample: Sample) {
        self.moments.push(Moment::Stack(Box::new(sample)));
    }

    pub(crate) fn switched(&mut self, switch: Switched) {
        self.moments.push(Moment::Switch(switch));
    }

    /// All waits that began and ended meanwhile.
    pub(crate) fn ended(&mut self) -> Vec<Wait<'_>> {
        self.moments.sort_by_key(Moment::time_ns);
        let mut stacks: HashMap<u32, &Sample> = HashMap::new();
        let mut left: HashMap<u32, (&Sample, Switched)> = HashMap::new();
        let mut waits = Vec::new();
        for moment in &self.moments {
            match moment {
                Moment::Stack(sample) => {
                    stacks.insert(sample.tid, sample);
                }
                Moment::Switch(switch) if switch.left => {
                    if let Some(sample) = stacks.remove(&switch.tid) {
                        left.insert(switch.tid, (sample, *switch));
                    }
                }
                Moment::Switch(came) => {
                    if let Some((sample, went)) = left.remove(&came.tid) {
                        let ns = came.time_ns.saturating_sub(went.time_ns);
                        waits.push(Wait { sample, ns, preempted: went.preempted });
                    }
                }
            }
        }
        waits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_lasts_from_leaving_one_cpu_to_coming_to_another() {
        let mut waits = Waits::default();
        let switch = |tid, time_ns, left, preempted| Switched { pid: 1, tid, time_ns, left, preempted };
        let stack = |tid, time_ns| Sample { pid: 1, tid, time_ns, user: vec![time_ns], ..Sample::default() };
        // The ring of a CPU to which thread 7 comes is read first.
        waits.switched(switch(7, 900, false, false));
        waits.switched(switch(9, 50, false, false));
        waits.left_with(stack(7, 100));
        waits.switched(switch(7, 101, true, false));
        waits.left_with(stack(8, 200));
        waits.switched(switch(8, 200, true, true));
        waits.switched(switch(8, 260, false, false));
        // It has not come back.
        waits.left_with(stack(8, 300));
        waits.switched(switch(8, 301, true, false));
        let ended = waits.ended();
        let all: Vec<_> = ended.iter().map(|w| (w.sample.tid, w.sample.user[0], w.ns, w.preempted)).collect();
        assert_eq!(all, [(8, 200, 60, true), (7, 100, 799, false)]);
    }
}
