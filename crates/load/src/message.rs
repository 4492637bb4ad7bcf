use crate::tally::{Interval, Tally};

/// What a source of records, a thread or a process, reports to the collector.
#[derive(Debug)]
pub(crate) enum Message {
    /// All connections that are opened before the start have been tried, and `opened` of them are established.
    Ready { opened: u64 },
    /// A second of the run is over.
    Interval { source: usize, interval: Box<Interval> },
    /// The run is over for this source: what it counted, or why it could not go on.
    Final { source: usize, result: Result<Box<Tally>, String> },
}
