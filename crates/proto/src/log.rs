//! Log lines about requests, from the core that answers them to the log of the worker.
//!
//! A line contains the number of content bytes sent, which is known only when the reply is sent or its connection has ended.
//! Until then it waits in the exchange, with a gap for that number. Cores that write no lines pay nothing for this.

use std::fmt;

use crate::http::syntax::write_decimal;

/// The destination of a worker's log lines.
pub trait LogSink: fmt::Debug + Send {
    /// Adds a line, its end included.
    fn line(&mut self, line: &[u8]);
    /// Writes waiting lines: all of them if `now` is true, else only those that have waited long enough.
    fn flush(&mut self, at: crate::Tick, now: bool);
    /// True if lines wait to be written.
    fn is_waiting(&self) -> bool;
}

/// Beyond this size, replies are sent before further requests are answered, bytes.
pub(crate) const WAITING_MAX: usize = 64 << 10;

/// The lines about replies that are not sent yet.
#[derive(Debug, Default)]
pub struct Log {
    text: Vec<u8>,
    records: Vec<Record>,
}

/// A reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoggedReply {
    /// Its status code.
    pub status: u16,
    /// The length of its content.
    pub content: u64,
    /// The length of all of it.
    pub len: u64,
}

#[derive(Debug)]
struct Record {
    /// The end of its line in the text.
    end: usize,
    /// The place of status and length in the text.
    gap: usize,
    reply: LoggedReply,
}

impl Log {
    /// True if there are no lines.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Bytes that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.text.len()
    }

    /// Adds a line: `start`, then status and length, then `end`.
    pub fn add(
        &mut self,
        start: impl FnOnce(&mut Vec<u8>),
        reply: LoggedReply,
        end: impl FnOnce(&mut Vec<u8>),
    ) {
        start(&mut self.text);
        let gap = self.text.len();
        end(&mut self.text);
        self.records.push(Record { end: self.text.len(), gap, reply });
    }

    /// Replaces the reply of the last line, which was revoked.
    pub fn amend(&mut self, reply: LoggedReply) {
        if let Some(last) = self.records.last_mut() {
            last.reply = reply;
        }
    }

    /// The last `bytes` of the queue are revoked. The line of the first reply among them stays.
    pub(crate) fn revoke(&mut self, mut bytes: u64) {
        while let Some(last) = self.records.last()
            && last.reply.len < bytes
            && self.records.len() > 1
        {
            bytes -= last.reply.len;
            self.records.pop();
        }
        self.text.truncate(self.records.last().map_or(0, |last| last.end));
    }

    /// Passes on all lines; the last `unsent` bytes of the replies were lost.
    #[cold]
    pub(crate) fn finish(&mut self, mut unsent: u64, sink: Option<&mut Box<dyn LogSink>>) {
        for record in self.records.iter_mut().rev() {
            let lost = unsent.min(record.reply.len);
            unsent -= lost;
            record.reply.content -= lost.min(record.reply.content);
        }
        if let Some(sink) = sink {
            let (mut line, mut start) = (Vec::new(), 0);
            for record in &self.records {
                line.clear();
                line.extend_from_slice(&self.text[start..record.gap]);
                write_decimal(&mut line, record.reply.status.into());
                line.push(b' ');
                write_decimal(&mut line, record.reply.content);
                line.extend_from_slice(&self.text[record.gap..record.end]);
                sink.line(&line);
                start = record.end;
            }
        }
        self.clear();
    }

    /// Drops all lines.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.records.clear();
        if self.text.capacity() > WAITING_MAX {
            *self = Log::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Debug)]
    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl LogSink for Sink {
        fn line(&mut self, line: &[u8]) {
            self.0.lock().unwrap().extend_from_slice(line);
        }
        fn flush(&mut self, _: crate::Tick, _: bool) {}
        fn is_waiting(&self) -> bool {
            false
        }
    }

    fn lines(log: &mut Log, unsent: u64) -> String {
        let text = Arc::new(Mutex::new(Vec::new()));
        let mut sink: Box<dyn LogSink> = Box::new(Sink(Arc::clone(&text)));
        log.finish(unsent, Some(&mut sink));
        assert!(log.is_empty() && log.waiting() == 0);
        let text = text.lock().unwrap();
        String::from_utf8(text.clone()).unwrap()
    }

    fn three() -> Log {
        let mut log = Log::default();
        for (name, content) in [("a", 10), ("b", 20), ("c", 30)] {
            let reply = LoggedReply { status: 200, content, len: 100 + content };
            log.add(|buf| buf.extend_from_slice(name.as_bytes()), reply, |buf| buf.push(b'\n'));
        }
        log
    }

    #[test]
    fn a_line_says_how_much_of_the_content_was_sent() {
        assert_eq!(lines(&mut three(), 0), "a200 10\nb200 20\nc200 30\n");
        assert_eq!(lines(&mut three(), 5), "a200 10\nb200 20\nc200 25\n");
        assert_eq!(lines(&mut three(), 130 + 19), "a200 10\nb200 1\nc200 0\n");
        assert_eq!(lines(&mut three(), 130 + 90), "a200 10\nb200 0\nc200 0\n");
        assert_eq!(lines(&mut three(), u64::MAX), "a200 0\nb200 0\nc200 0\n");
    }

    #[test]
    fn a_revoked_reply_is_replaced_with_all_behind_it() {
        let error = LoggedReply { status: 500, content: 7, len: 107 };
        for (bytes, expected) in
            [(130, "a200 10\nb200 20\nc500 7\n"), (250, "a200 10\nb500 7\n"), (360, "a500 7\n")]
        {
            let mut log = three();
            log.revoke(bytes);
            log.amend(error);
            assert_eq!(lines(&mut log, 0), expected);
        }
        Log::default().revoke(100);
        Log::default().amend(error);
    }
}
