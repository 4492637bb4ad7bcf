//! Lines of the kernel's log that matter to a run of days (/dev/kmsg, Documentation/ABI/testing/dev-kmsg).
//!
//! Told are warnings and worse, and lines of lower priority about what a run may suffer from. A machine that logs without end
//! must not fill the file: there is room for `BURST` events, and one more every `REFILL_S`; what is left out is counted.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;

use crate::record::{Event, EventKind};

/// Events that may come at once.
const BURST: f64 = 100.0;
/// Seconds until there is room for another one: 2016 in 14 days.
const REFILL_S: f64 = 600.0;
/// Records that one look takes at most.
const MOST_AT_ONCE: usize = 1000;
/// The longest record is 8 KiB; a shorter buffer is EINVAL.
const RECORD_BYTES: usize = 8192;
/// `KERN_WARNING`, and what is worse.
const WARNING: u64 = 4;

/// What is told also of lower priority.
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
    log: Option<File>,
    room: f64,
    refilled_at_s: f64,
    left_out: u64,
}

impl KernelLog {
    /// Opens it at its end; where it may not be read there are no lines.
    pub fn open() -> KernelLog {
        let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        let log = File::options().read(true).custom_flags(nonblocking).open("/dev/kmsg");
        let log = log.and_then(|mut log| log.seek(SeekFrom::End(0)).map(|_| log));
        KernelLog { log: log.ok(), room: BURST, refilled_at_s: 0.0, left_out: 0 }
    }

    /// Whether it may be read.
    pub fn is_readable(&self) -> bool {
        self.log.is_some()
    }

    /// What it has said since the last look.
    pub fn events(&mut self, now_s: f64) -> Vec<Event> {
        let mut lines = Vec::new();
        let mut record = [0; RECORD_BYTES];
        for _ in 0..MOST_AT_ONCE {
            let Some(log) = &mut self.log else { break };
            match log.read(&mut record) {
                Ok(0) => break,
                Ok(length) => lines.extend(message(&String::from_utf8_lossy(&record[..length]))),
                // Lines were overwritten before they were read: the next read goes on behind them (EPIPE).
                Err(e) if matches!(e.kind(), ErrorKind::BrokenPipe | ErrorKind::Interrupted) => {}
                Err(_) => break,
            }
        }
        self.admit(lines, now_s)
    }

    fn admit(&mut self, lines: Vec<String>, now_s: f64) -> Vec<Event> {
        self.room = (self.room + (now_s - self.refilled_at_s) / REFILL_S).min(BURST);
        self.refilled_at_s = now_s;
        let mut events = Vec::new();
        for line in lines {
            if self.room < 1.0 {
                self.left_out += 1;
                continue;
            }
            self.room -= 1.0;
            let evidence = match std::mem::take(&mut self.left_out) {
                0 => String::new(),
                count => format!("{count} lines before it were left out"),
            };
            events.push(Event {
                at_s: now_s,
                until_s: None,
                subject: None,
                kind: EventKind::Kernel,
                sentence: line,
                evidence,
            });
        }
        events
    }
}

/// The message of a record, if it is one that is told: `priority,sequence,microseconds,flags;message`, and lines about the device.
fn message(record: &str) -> Option<String> {
    let (header, rest) = record.split_once(';')?;
    let text = rest.lines().next()?.trim();
    let priority: u64 = header.split(',').next()?.parse().ok()?;
    // The lower three bits are the level, the rest is the facility: 0 is the kernel, others are programs.
    let (level, facility) = (priority & 7, priority >> 3);
    let lower = text.to_ascii_lowercase();
    let is_telling = level <= WARNING || TELLING.iter().any(|telling| lower.contains(telling));
    (facility == 0 && is_telling && !text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let mut log = KernelLog { log: None, room: BURST, refilled_at_s: 0.0, left_out: 0 };
        assert_eq!(log.admit(vec!["x".into(); 500], 0.0).len(), 100);
        assert_eq!(log.admit(vec!["x".into(); 3], 10.0).len(), 0);
        let later = log.admit(vec!["x".into(); 3], 1300.0);
        assert_eq!(later.len(), 2);
        assert_eq!(later[0].evidence, "403 lines before it were left out");
    }

    #[test]
    fn the_log_of_this_machine_can_be_looked_at() {
        let mut log = KernelLog::open();
        log.events(0.0);
        assert!(log.events(1.0).len() <= MOST_AT_ONCE);
    }
}
