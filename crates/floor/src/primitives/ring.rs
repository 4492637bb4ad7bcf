//! io_uring(7).

use pitot_sys::Unavailable;
use pitot_sys::ring::Nops;

use crate::{Operation, Primitive, Topic, Work};

pub(super) static TOPIC: Topic = Topic {
    title: "io_uring",
    primitives: &[
        Primitive {
            name: "uring-nop",
            summary: "a no-op, submitted and awaited by one io_uring_enter(2)",
            operation: Operation::Call,
            make: |_| nops(1),
        },
        Primitive {
            name: "uring-nop-of-64",
            summary: "the same, 64 of them with one call",
            operation: Operation::Call,
            make: |_| nops(64),
        },
    ],
};

fn nops(batch: u32) -> Result<Work, Unavailable> {
    let mut ring = Nops::new(batch)?;
    Ok(Box::new(move |count, watch| {
        let batches = count.div_ceil(batch.into());
        watch.time(batches * u64::from(batch), || (0..batches).try_for_each(|_| ring.run(batch)))
    }))
}
