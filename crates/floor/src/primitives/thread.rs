//! Threads.

use crate::threads::crowd;
use crate::{Operation, Primitive, Topic};

pub(super) static TOPIC: Topic = Topic {
    title: "Threads",
    primitives: &[
        Primitive {
            name: "thread",
            summary: "a thread created and joined",
            operation: Operation::Call,
            make: |_| Ok(Box::new(|count, watch| made(count, 1, watch))),
        },
        Primitive {
            name: "thread-of-50",
            summary: "the same while up to 50 are alive",
            operation: Operation::Call,
            make: |_| Ok(Box::new(|count, watch| made(count, 50, watch))),
        },
    ],
};

fn made(count: u64, alive: u32, watch: &mut crate::Stopwatch) -> std::io::Result<()> {
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    watch.time(count.into(), || crowd(count, alive)).map(drop)
}
