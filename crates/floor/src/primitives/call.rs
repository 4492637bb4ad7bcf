//! The entry to the kernel, and the clocks.

use std::hint::black_box;

use pitot_sys::{QueuedSignal, Unavailable};
use rustix::time::{ClockId, clock_gettime};

use crate::{Operation, Primitive, Topic, Work};

pub(super) static TOPIC: Topic = Topic {
    title: "Calls",
    primitives: &[
        Primitive {
            name: "system-call",
            summary: "the smallest system call, made in place as Pitot's servers make theirs: getppid(2)",
            operation: Operation::Call,
            make: |_| repeated(rustix::process::getppid),
        },
        Primitive {
            name: "system-call-libc",
            summary: "the same through the function of the C library, as most programs make it",
            operation: Operation::Call,
            make: |_| repeated(std::os::unix::process::parent_id),
        },
        Primitive {
            name: "clock-read",
            summary: "the monotonic clock: clock_gettime(2), which the vDSO answers without the kernel where it can",
            operation: Operation::Call,
            make: |_| repeated(pitot_meter::now),
        },
        Primitive {
            name: "cpu-clock-read",
            summary: "the CPU time of a thread: clock_gettime(2), answered by the kernel",
            operation: Operation::Call,
            make: |_| repeated(|| clock_gettime(ClockId::ThreadCPUTime)),
        },
        Primitive {
            name: "signal",
            summary: "a realtime signal queued for the own thread (tgkill(2)) and taken (sigtimedwait(2))",
            operation: Operation::RoundTrip,
            make: |_| {
                let signal = QueuedSignal::new();
                Ok(Box::new(move |count, watch| {
                    watch.time(count, || {
                        for _ in 0..count {
                            signal.send()?;
                            if !signal.take() {
                                return Err(std::io::ErrorKind::NotFound.into());
                            }
                        }
                        Ok(())
                    })
                }))
            },
        },
    ],
};

/// The same call again and again.
fn repeated<T>(call: impl Fn() -> T + 'static) -> Result<Work, Unavailable> {
    Ok(Box::new(move |count, watch| {
        watch.time(count, || {
            for _ in 0..count {
                black_box(call());
            }
        });
        Ok(())
    }))
}
