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
            summary: "the smallest system call, inlined as in Pitot's servers: getppid(2)",
            operation: Operation::Call,
            make: |_| repeated(rustix::process::getppid),
        },
        Primitive {
            name: "system-call-libc",
            summary: "the same through the C library, as in most programs",
            operation: Operation::Call,
            make: |_| repeated(std::os::unix::process::parent_id),
        },
        Primitive {
            name: "clock-read",
            summary: "the monotonic clock: clock_gettime(2), in the vDSO if possible",
            operation: Operation::Call,
            make: |_| repeated(pitot_meter::now),
        },
        Primitive {
            name: "cpu-clock-read",
            summary: "the CPU time of a thread: clock_gettime(2), in the kernel",
            operation: Operation::Call,
            make: |_| repeated(|| clock_gettime(ClockId::ThreadCPUTime)),
        },
        Primitive {
            name: "signal",
            summary: "a realtime signal queued for the same thread (tgkill(2)) and received (sigtimedwait(2))",
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
