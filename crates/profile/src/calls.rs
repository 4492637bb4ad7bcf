//! System calls, from the tracepoints at which threads enter and leave the kernel.

use std::collections::{BTreeMap, HashMap};

use pitot_sys::Unavailable;
use pitot_sys::perf::{Event, Sample, tracepoint};
use syscalls::Sysno;

use crate::amount::Amount;

/// The tracepoints, and what was met at them.
#[derive(Debug)]
pub(crate) struct Calls {
    enter: u64,
    exit: u64,
    passed: Vec<Passed>,
}

#[derive(Clone, Copy, Debug)]
struct Passed {
    tid: u32,
    time_ns: u64,
    /// The call that is entered; none at its end.
    entered: Option<i64>,
}

impl Calls {
    pub(crate) fn new() -> Result<Calls, Unavailable> {
        let (enter, exit) = (tracepoint("raw_syscalls/sys_enter")?, tracepoint("raw_syscalls/sys_exit")?);
        Ok(Calls { enter, exit, passed: Vec::new() })
    }

    pub(crate) fn events(&self) -> [Event; 2] {
        [Event::Tracepoint(self.enter), Event::Tracepoint(self.exit)]
    }

    /// Takes a sample of either tracepoint. Fields: the number of the tracepoint (2 bytes), flags, the thread, and from the ninth
    /// byte on the number of the call (events/raw_syscalls/sys_enter/format).
    pub(crate) fn take(&mut self, sample: &Sample) {
        let number = |at: usize, bytes: usize| sample.fields.get(at..at + bytes);
        let Some(of) = number(0, 2).and_then(|bytes| bytes.try_into().ok()).map(u16::from_ne_bytes) else {
            return;
        };
        let Some(call) = number(8, 8).and_then(|bytes| bytes.try_into().ok()).map(i64::from_ne_bytes) else {
            return;
        };
        let entered = (u64::from(of) == self.enter).then_some(call);
        self.passed.push(Passed { tid: sample.tid, time_ns: sample.time_ns, entered });
    }

    /// How often each was made, and how long it took, waiting included. A call that began before or ends later is left out.
    pub(crate) fn ended(&mut self) -> BTreeMap<String, Amount> {
        self.passed.sort_by_key(|passed| passed.time_ns);
        let mut entered: HashMap<u32, (i64, u64)> = HashMap::new();
        let mut by_number: BTreeMap<i64, Amount> = BTreeMap::new();
        for passed in &self.passed {
            match passed.entered {
                Some(call) => {
                    entered.insert(passed.tid, (call, passed.time_ns));
                }
                None => {
                    if let Some((call, since)) = entered.remove(&passed.tid) {
                        by_number.entry(call).or_default().add(passed.time_ns.saturating_sub(since));
                    }
                }
            }
        }
        by_number.into_iter().map(|(call, amount)| (name(call), amount)).collect()
    }
}

fn name(call: i64) -> String {
    let known = usize::try_from(call).ok().and_then(Sysno::new);
    known.map_or_else(|| format!("call {call}"), |known| known.name().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_with_their_time() {
        let mut calls = Calls { enter: 300, exit: 301, passed: Vec::new() };
        let passed = |point: u16, tid, time_ns, call: i64| {
            let mut fields = point.to_ne_bytes().to_vec();
            fields.extend([0; 6]);
            fields.extend(call.to_ne_bytes());
            Sample { tid, time_ns, fields, ..Sample::default() }
        };
        let read = i64::from(Sysno::read.id());
        for sample in [
            // It began earlier.
            passed(301, 1, 5, read),
            passed(300, 1, 10, read),
            passed(300, 2, 11, 99_999),
            passed(301, 1, 14, read),
            passed(301, 2, 20, 99_999),
            passed(300, 1, 30, read),
            passed(301, 1, 31, read),
            Sample { fields: vec![1], ..Sample::default() },
        ] {
            calls.take(&sample);
        }
        let ended = calls.ended();
        assert_eq!(ended["read"], Amount { count: 2, ns: 5 });
        assert_eq!(ended["call 99999"], Amount { count: 1, ns: 9 });
        assert_eq!(ended.len(), 2);
    }
}
