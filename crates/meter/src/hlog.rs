//! Histogram logs: the text format in which HdrHistogram tools exchange histograms over time (HistogramLogProcessor,
//! hdr-plot and others read it).

use std::io::{self, Write};
use std::time::SystemTime;

use crate::{Histogram, Nanos};

/// Writes a log a line at a time, so that a run of any length needs no memory for it.
#[derive(Debug)]
pub struct LogWriter<W> {
    out: W,
}

/// The column of maxima is in milliseconds, for readers. The histograms have nanoseconds.
const MAX_DIVISOR: f64 = 1e6;

impl<W: Write> LogWriter<W> {
    /// Starts a log of what begins at `started`.
    ///
    /// # Errors
    /// What `out` answers.
    pub fn new(mut out: W, started: SystemTime, comment: &str) -> io::Result<LogWriter<W>> {
        let started = started.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        writeln!(out, "#[Histogram log format version 1.3]")?;
        for line in comment.lines() {
            writeln!(out, "#{line}")?;
        }
        writeln!(out, "#[BaseTime: {started:.3} (seconds since epoch)]")?;
        writeln!(out, "#[StartTime: {started:.3} (seconds since epoch)]")?;
        writeln!(out, "#[MaxValueDivisor: {MAX_DIVISOR:.3}]")?;
        Ok(LogWriter { out })
    }

    /// Adds the samples of one period that starts at `start`, relative to the start of the log. `tag` names what was measured, in one
    /// word without commas and spaces.
    ///
    /// # Errors
    /// Those of the writer; `InvalidInput` for a tag that the format does not allow.
    pub fn write(&mut self, tag: &str, start: Nanos, length: Nanos, histogram: &Histogram) -> io::Result<()> {
        if tag.contains([',', ' ', '\n', '\r']) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a tag must be one word without commas"));
        }
        writeln!(
            self.out,
            "Tag={tag},{:.3},{:.3},{:.3},{}",
            start.as_secs_f64(),
            length.as_secs_f64(),
            histogram.max().0 as f64 / MAX_DIVISOR,
            histogram.encode()
        )
    }

    /// Ends the log and gives the writer back, flushed.
    ///
    /// # Errors
    /// What the writer answers.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
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
        let started = SystemTime::UNIX_EPOCH + Duration::from_secs(9);
        let mut log = LogWriter::new(Vec::new(), started, "a test\nof two lines").unwrap();
        for second in 0..2 {
            log.write("response", Nanos::from_secs(second), Nanos::from_secs(1), &histogram).unwrap();
        }
        assert!(log.write("a,b", Nanos::ZERO, Nanos::ZERO, &histogram).is_err());
        let text = log.finish().unwrap();
        let mut intervals = 0;
        for entry in IntervalLogIterator::new(&text) {
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
