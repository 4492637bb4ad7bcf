//! Lines of the kernel's log that matter to a soak (/dev/kmsg, Documentation/ABI/testing/dev-kmsg).
//!
//! Reported are warnings and worse, and some lines of lower priority. Lines that come together, such as the stack of an oops, are one
//! event, whose sentence is the most important line. The number of events is limited ([`events`](crate::events)).

use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;

use crate::events::Bucket;
use pitot_record::soak::{Event, EventKind};

/// Maximum number of lines in an event.
const EVIDENCE_LINES: usize = 60;
/// Maximum number of records in one read.
const MOST_AT_ONCE: usize = 1000;
/// The longest record is 8 KiB; a shorter buffer is EINVAL.
const RECORD_BYTES: usize = 8192;
/// `KERN_WARNING` and worse.
const WARNING: u64 = 4;

/// Texts that are reported also with lower priority, most important first.
const TELLING: [&str; 14] = [
    "out of memory",
    "oom-kill",
    "oom_reaper",
    "blocked for more than",
    "soft lockup",
    "rcu_sched",
    "link is up",
    "link is down",
    "nic link",
    "link becomes ready",
    "segfault",
    "throttled",
    "clocksource",
    "i/o error",
];

/// The kernel's log from now on.
#[derive(Debug)]
pub struct KernelLog {
    log: std::io::Result<File>,
    bucket: Bucket,
}

impl KernelLog {
    /// Opens it at its end; if it may not be read there are no lines.
    pub fn open() -> KernelLog {
        let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        let log = File::options().read(true).custom_flags(nonblocking).open("/dev/kmsg");
        let log = log.and_then(|mut log| log.seek(SeekFrom::End(0)).map(|_| log));
        KernelLog { log, bucket: Bucket::full(0.0) }
    }

    /// The event that it cannot be read, if so.
    pub fn unreadable(&self, now_s: f64) -> Option<Event> {
        let e = self.log.as_ref().err()?;
        Some(Event {
            at_s: now_s,
            until_s: None,
            subject: None,
            kind: EventKind::KernelUnreadable,
            sentence: format!(
                "the kernel's log (/dev/kmsg) cannot be read: {e}; its lines are not among the events"
            ),
            evidence: String::new(),
        })
    }

    /// Its lines since the last call.
    pub fn event(&mut self, now_s: f64) -> Option<Event> {
        let mut lines = Vec::new();
        let mut record = [0; RECORD_BYTES];
        for _ in 0..MOST_AT_ONCE {
            let Ok(log) = &mut self.log else { break };
            match log.read(&mut record) {
                Ok(0) => break,
                Ok(length) => lines.extend(message(&String::from_utf8_lossy(&record[..length]))),
                // Lines were overwritten before they were read; the next read continues after them (EPIPE).
                Err(e) if matches!(e.kind(), ErrorKind::BrokenPipe | ErrorKind::Interrupted) => {}
                Err(_) => break,
            }
        }
        self.admit(lines, now_s)
    }

    /// At most one event for the lines of one call.
    fn admit(&mut self, lines: Vec<String>, now_s: f64) -> Option<Event> {
        let sentence = lines.iter().min_by_key(|line| rank(line))?.clone();
        let mut evidence = match self.bucket.take(now_s, lines.len())? {
            0 => String::new(),
            count => format!("{count} earlier lines were suppressed\n"),
        };
        if lines.len() > 1 {
            evidence += &lines[..lines.len().min(EVIDENCE_LINES)].join("\n");
        }
        if lines.len() > EVIDENCE_LINES {
            evidence += &format!("\nand {} more lines", lines.len() - EVIDENCE_LINES);
        }
        let kind = EventKind::Kernel;
        Some(Event { at_s: now_s, until_s: None, subject: None, kind, sentence, evidence })
    }
}

/// The rank of a line by importance; 0 is the most important.
fn rank(line: &str) -> usize {
    let lower = line.to_ascii_lowercase();
    TELLING.iter().position(|telling| lower.contains(telling)).unwrap_or(TELLING.len())
}

/// The message of a record, if it is reported: `priority,sequence,microseconds,flags;message`, and lines about the device.
fn message(record: &str) -> Option<String> {
    let (header, rest) = record.split_once(';')?;
    let text = rest.lines().next()?.trim();
    let priority: u64 = header.split(',').next()?.parse().ok()?;
    // The lower three bits are the level, the rest is the facility: 0 is the kernel, others are programs.
    let (level, facility) = (priority & 7, priority >> 3);
    let is_telling = level <= WARNING || rank(text) < TELLING.len();
    (facility == 0 && is_telling && !text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unread() -> KernelLog {
        KernelLog { log: Err(ErrorKind::PermissionDenied.into()), bucket: Bucket::full(0.0) }
    }

    #[test]
    fn a_log_that_may_not_be_read_is_an_event() {
        let event = unread().unreadable(3.0).unwrap();
        assert_eq!((event.kind, event.at_s), (EventKind::KernelUnreadable, 3.0));
        assert!(event.sentence.contains("permission denied"), "{event:?}");
    }

    #[test]
    fn warnings_and_what_a_run_may_suffer_from_are_told() {
        let told = |record: &str| message(record);
        let device = "6,875,58225519745,-;EXT4-fs (loop0): mounting ext2 file system\n SUBSYSTEM=block\n";
        assert_eq!(told(device), None);
        assert_eq!(told("6,9,1,-;eth0: Link is Down\n"), Some("eth0: Link is Down".into()));
        assert_eq!(told("3,9,1,-;Out of memory: Killed process 7 (nginx)\n DEVICE=+x\n").unwrap().len(), 39);
        assert_eq!(told("4,9,1,-;TCP: request_sock_TCP: Possible SYN flooding\n").unwrap().len(), 44);
        // A program that writes to the log: user.err.
        assert_eq!(told("11,9,1,-;a program warns\n"), None);
        assert_eq!(told("nonsense"), None);
    }

    #[test]
    fn a_log_without_end_is_cut_and_what_is_left_out_is_counted() {
        let mut log = unread();
        let told = (0..150).filter_map(|_| log.admit(vec!["x".into(); 5], 0.0)).count();
        assert_eq!(told, 100);
        assert_eq!(log.admit(vec!["x".into(); 3], 10.0), None);
        let later = log.admit(vec!["x".into()], 1300.0).unwrap();
        assert_eq!(later.evidence, "253 earlier lines were suppressed\n");
    }

    #[test]
    fn lines_that_come_together_are_one_event_whose_sentence_says_most() {
        let mut log = unread();
        assert_eq!(log.admit(Vec::new(), 1.0), None);
        let lines = ["nginx invoked oom-killer", "RAX: 0", "Out of memory: Killed process 7 (nginx)"];
        let mut lines: Vec<String> = lines.map(str::to_owned).into();
        let event = log.admit(lines.clone(), 1.0).unwrap();
        assert_eq!(event.sentence, lines[2]);
        assert_eq!(event.evidence.lines().count(), 3);
        lines.resize(100, "RBX: 0".into());
        let event = log.admit(lines, 2.0).unwrap();
        assert!(event.evidence.ends_with("\nand 40 more lines"), "{}", event.evidence);
    }

    #[test]
    fn the_log_of_this_machine_can_be_looked_at() {
        let mut log = KernelLog::open();
        log.event(0.0);
        assert!(log.event(1.0).is_none_or(|event| event.kind == EventKind::Kernel));
    }
}
