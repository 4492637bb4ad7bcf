//! Servers that hang: that replies have come to an end is noticed within seconds, and told as what it is.
//!
//! | module | what |
//! |---|---|
//! | [`silence`] | whether replies have come to an end, a pure decision |
//! | [`threads`] | what the server's threads are doing |
//! | [`sockets`] | what waits in the queues of its sockets |
//!
//! Evidence is taken at the moment at which the silence is noticed, so it shows the server as it hangs.

pub mod silence;
pub mod sockets;
pub mod threads;

use crate::record::{Event, EventKind};
use silence::{Change, Silence};
use sockets::PortSockets;
use threads::Threads;

/// The watch over one server.
#[derive(Debug, Default)]
pub struct HangWatch {
    silence: Silence,
    /// The hang that goes on.
    open: Option<Event>,
}

/// A server as a hang is told of it.
#[derive(Clone, Copy, Debug)]
pub struct Suspect<'a> {
    /// Its number.
    pub subject: i64,
    /// What it is called.
    pub name: &'a str,
    /// Its processes; empty if they are not known.
    pub pids: &'a [u32],
    /// Where it listens, if that is known.
    pub port: Option<u16>,
}

impl HangWatch {
    /// Takes the replies that a load tells of for a second, and whether it asked for something.
    pub fn second(&mut self, now_s: f64, load: i64, replies: u64, asked: bool) {
        self.silence.second(now_s, load, replies, asked);
    }

    /// Whether there is something to tell: then `event` is to be called.
    pub fn change(&mut self, now_s: f64) -> Option<Change> {
        self.silence.change(now_s)
    }

    /// The event of a change: a hang that begins, or one that was told before and has ended.
    pub fn event(&mut self, change: Change, now_s: f64, suspect: &Suspect<'_>) -> Option<Event> {
        match change {
            Change::Began { last_reply_s } => {
                let event = look(now_s, last_reply_s, suspect);
                self.open = Some(event.clone());
                Some(event)
            }
            Change::Ended => self.close(now_s),
        }
    }

    /// The server or one of its loads has ended: silence from now on is no hang. The end of one that goes on is returned.
    pub fn interrupt(&mut self, now_s: f64) -> Option<Event> {
        self.silence.forget();
        self.close(now_s)
    }

    fn close(&mut self, now_s: f64) -> Option<Event> {
        let event = self.open.take()?;
        Some(Event { until_s: Some(now_s), ..event })
    }
}

/// Tells a hang as what it is, by what the server looks like now.
fn look(now_s: f64, last_reply_s: f64, suspect: &Suspect<'_>) -> Event {
    let threads = Threads::read(suspect.pids);
    let sockets = suspect.port.and_then(|port| PortSockets::read(suspect.pids.first().copied(), port));
    let (kind, what) = judge(&threads, sockets.as_ref());
    let mut evidence = format!("last second with replies: {:.1} s before\n", now_s - last_reply_s);
    if let Some((sockets, port)) = sockets.as_ref().zip(suspect.port) {
        evidence += &sockets.describe(port);
    }
    evidence += &threads.describe();
    Event {
        at_s: now_s,
        until_s: None,
        subject: Some(suspect.subject),
        kind,
        sentence: format!("{} {what}", suspect.name),
        evidence,
    }
}

/// The kind of hang, and the end of a sentence that begins with the server's name.
///
/// Whoever is stopped accepts nothing either, and whoever does not accept answers nothing: the first that is true is told.
fn judge(threads: &Threads, sockets: Option<&PortSockets>) -> (EventKind, String) {
    let stopped = threads.stopped_processes();
    if stopped > 0 {
        let of = match threads.processes() {
            all if all == stopped => String::new(),
            all => format!(" ({stopped} of its {all} processes)"),
        };
        return (EventKind::HangStopped, format!("is stopped by a signal{of}"));
    }
    let stuck = match threads.uninterruptible() {
        0 => String::new(),
        count => format!("; {count} of its threads sleep where no signal reaches them"),
    };
    let Some(sockets) = sockets else {
        return (EventKind::HangNoReplies, format!("answers nothing{stuck}"));
    };
    if sockets.listening == 0 {
        return (EventKind::HangNoReplies, format!("does not listen any more{stuck}"));
    }
    if sockets.waiting > 0 {
        let full = if sockets.is_full() { ", which is full" } else { "" };
        let what = format!(
            "takes no connections: {} wait in its listen queue{full}; {} were taken{stuck}",
            sockets.waiting,
            sockets.established.saturating_sub(sockets.waiting),
        );
        return (EventKind::HangNotAccepting, what);
    }
    if sockets.established > 0 {
        let what = format!(
            "has taken {} connections and answers nothing; requests of {} were not read{stuck}",
            sockets.established, sockets.unread
        );
        return (EventKind::HangSilent, what);
    }
    (EventKind::HangNoReplies, format!("listens, but no connection to it is open{stuck}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sockets(waiting: u64, established: u64) -> PortSockets {
        PortSockets { listening: 1, waiting, established, unread: established, ..PortSockets::default() }
    }

    #[test]
    fn kinds_are_told_apart() {
        let threads = Threads::default();
        let (kind, what) = judge(&threads, Some(&sockets(0, 8)));
        assert_eq!(kind, EventKind::HangSilent);
        assert_eq!(what, "has taken 8 connections and answers nothing; requests of 8 were not read");
        let full = PortSockets { backlog: Some(1), ..sockets(2, 2) };
        let (kind, what) = judge(&threads, Some(&full));
        assert_eq!(kind, EventKind::HangNotAccepting);
        assert_eq!(what, "takes no connections: 2 wait in its listen queue, which is full; 0 were taken");
        assert_eq!(judge(&threads, None).0, EventKind::HangNoReplies);
        assert_eq!(judge(&threads, Some(&PortSockets::default())).0, EventKind::HangNoReplies);
    }

    #[test]
    fn a_stopped_process_is_told_as_that_and_its_end_closes_the_event() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while Threads::read(&[child.id()]).stopped_processes() == 0 {
            assert!(std::time::Instant::now() < deadline, "it is not stopped");
            std::thread::yield_now();
        }
        let mut watch = HangWatch::default();
        let pids = [child.id()];
        let suspect = Suspect { subject: 1, name: "sleep", pids: &pids, port: None };
        let event = watch.event(Change::Began { last_reply_s: 7.0 }, 10.0, &suspect).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(
            (event.kind, event.sentence.as_str()),
            (EventKind::HangStopped, "sleep is stopped by a signal")
        );
        assert!(event.evidence.contains("is stopped by a signal (T)"), "{}", event.evidence);
        let over = watch.event(Change::Ended, 12.5, &suspect).unwrap();
        assert_eq!((over.at_s, over.until_s), (10.0, Some(12.5)));
        assert_eq!(over.sentence, event.sentence);
        assert_eq!(watch.interrupt(13.0), None);
    }
}
