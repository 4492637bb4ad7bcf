use crate::tally::{Interval, Tally};

/// What a source of records, a thread or a process, tells the collector.
#[derive(Debug)]
pub(crate) enum Message {
    /// All connections that are opened before the start have been tried, and so many established.
    Ready { opened: u64 },
    /// A second is over.
    Interval { source: usize, interval: Box<Interval> },
    /// The run is over for this source: what it counted, or why it could not go on.
    Final { source: usize, result: Result<Box<Tally>, String> },
}
