//! Histogram logs: the text format in which HdrHistogram tools exchange histograms over time (HistogramLogProcessor,
//! hdr-plot and others read it).

use std::io::{self, Write};
use std::time::SystemTime;

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, IntervalLogWriterError, Tag};

use crate::{Histogram, Nanos};

/// One line of a log: the samples of one stretch of time.
#[derive(Clone, Copy, Debug)]
pub struct LogInterval<'a> {
    /// What was measured, a word without commas: `response`.
    pub tag: &'a str,
    /// The start of the stretch, from the start of the log.
    pub start: Nanos,
    /// Its length.
    pub length: Nanos,
    /// The samples. The log keeps nanoseconds; only the column of maxima, which is for people, is in milliseconds.
    pub histogram: &'a Histogram,
}

/// Writes a log that starts at `started`.
///
/// # Errors
/// What `out` answers; `InvalidInput` for a tag that the format cannot hold.
pub fn write_log<'a>(
    out: &mut impl Write,
    started: SystemTime,
    comment: &str,
    intervals: impl IntoIterator<Item = LogInterval<'a>>,
) -> io::Result<()> {
    let mut serializer = V2DeflateSerializer::new();
    let mut log = IntervalLogWriterBuilder::new()
        .add_comment("[Histogram log format version 1.3]")
        .add_comment(comment)
        .with_base_time(started)
        .with_start_time(started)
        .with_max_value_divisor(1e6)
        .begin_log_with(out, &mut serializer)?;
    for interval in intervals {
        let tag = Tag::new(interval.tag)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "a tag must not hold a comma"))?;
        log.write_histogram(&interval.histogram.0, interval.start.into(), interval.length.into(), Some(tag))
            .map_err(|e| match e {
                IntervalLogWriterError::IoError(e) => e,
                IntervalLogWriterError::SerializeError(e) => io::Error::other(e),
            })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    use super::*;

    #[test]
    fn a_log_can_be_read_by_a_log_reader() {
        let mut histogram = Histogram::new();
        histogram.record(Nanos::from_millis(5));
        let interval = |s| LogInterval {
            tag: "response",
            start: Nanos::from_secs(s),
            length: Nanos::from_secs(1),
            histogram: &histogram,
        };
        let mut log = Vec::new();
        write_log(
            &mut log,
            SystemTime::UNIX_EPOCH + Duration::from_secs(9),
            "a test",
            [interval(0), interval(1)],
        )
        .unwrap();
        let mut intervals = 0;
        for entry in IntervalLogIterator::new(&log) {
            match entry.unwrap() {
                LogEntry::StartTime(t) | LogEntry::BaseTime(t) => assert_eq!(t, Duration::from_secs(9)),
                LogEntry::Interval(i) => {
                    assert_eq!(i.tag().unwrap().as_str(), "response");
                    assert_eq!(i.start_timestamp(), Duration::from_secs(intervals));
                    let read = Histogram::decode(i.encoded_histogram()).unwrap();
                    assert_eq!((read.count(), read.max()), (1, histogram.max()));
                    intervals += 1;
                }
            }
        }
        assert_eq!(intervals, 2);
    }
}
