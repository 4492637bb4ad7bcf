//! What threads and processes report.

use crate::tally::{Interval, Tally};

/// What a source of records, a thread or a process, reports to the collector.
#[derive(Debug)]
pub enum Message {
    /// All connections that are opened before the start have been tried, and `opened` of them are established.
    Ready {
        /// Connections.
        opened: u64,
    },
    /// A second of the run is over.
    Interval {
        /// Its index.
        source: usize,
        /// What was done in it.
        interval: Box<Interval>,
    },
    /// The run is over for this source: what it counted, or why it could not go on.
    Final {
        /// Its index.
        source: usize,
        /// The tally, or one line.
        result: Result<Box<Tally>, String>,
    },
}
