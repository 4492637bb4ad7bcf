//! What is known of a stack, a call or a counter.

/// How often something was met, and for how long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Samples, waits, calls or events.
    pub count: u64,
    /// Nanoseconds of waits and calls.
    pub ns: u64,
}

impl Amount {
    pub(crate) fn add(&mut self, ns: u64) {
        self.count += 1;
        self.ns += ns;
    }
}
