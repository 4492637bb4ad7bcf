//! Timers.

use std::time::Duration;

use pitot_meter::{Nanos, now};

use crate::{Operation, Primitive, Topic};

/// How long is slept.
const SLEEP: Nanos = Nanos::from_micros(100);

pub(super) static TOPIC: Topic = Topic {
    title: "Timers",
    primitives: &[Primitive {
        name: "timer-lateness",
        summary: "lateness of a sleep of 100 us, with the default timer slack of 50 us (prctl(2))",
        operation: Operation::Lateness,
        make: |_| {
            Ok(Box::new(|count, watch| {
                for _ in 0..count {
                    let begin = now();
                    std::thread::sleep(Duration::from(SLEEP));
                    watch.count(now() - begin - SLEEP);
                }
                Ok(())
            }))
        },
    }],
};
