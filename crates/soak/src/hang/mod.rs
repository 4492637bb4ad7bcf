//! Detects within seconds that a server hangs, and classifies how.
//!
//! | module | what |
//! |---|---|
//! | [`silence`] | whether replies have stopped, a pure decision |
//! | [`threads`] | what the server's threads are doing |
//! | [`sockets`] | the queues of its sockets |
//!
//! Evidence is collected when silence is detected, so it shows the hanging server.

pub mod silence;
pub mod sockets;
pub mod threads;

use std::collections::BTreeMap;
use std::net::SocketAddr;

use pitot_record::soak::{Event, EventKind};
use silence::{Change, Silence};
use sockets::PortSockets;
use threads::Threads;

/// Watches one server.
#[derive(Debug, Default)]
pub struct HangWatch {
    silence: Silence,
    /// The current hang.
    open: Option<Event>,
    /// Each load, which matters if there are several.
    loads: BTreeMap<i64, LoadWatch>,
}

/// Watches the replies of one load.
#[derive(Debug)]
struct LoadWatch {
    silence: Silence,
    /// The event that it gets no replies, while it lasts.
    open: Option<Event>,
}

/// A server that may hang.
#[derive(Clone, Copy, Debug)]
pub struct Suspect<'a> {
    /// Its number.
    pub subject: i64,
    /// What it is called.
    pub name: &'a str,
    /// Its processes; empty if unknown.
    pub pids: &'a [u32],
    /// Its address, if known ([`of_address`](pitot_sys::tcp_sockets::of_address)).
    pub address: Option<SocketAddr>,
}

impl HangWatch {
    /// Adds a load's replies of a second, and whether it sent requests.
    pub fn second(&mut self, now_s: f64, load: i64, replies: u64, asked: bool) {
        self.silence.second(now_s, load, replies, asked);
        let watch = || LoadWatch { silence: Silence::of_load(), open: None };
        self.loads.entry(load).or_insert_with(watch).silence.second(now_s, load, replies, asked);
    }

    /// Whether there is a change: then call `event`.
    pub fn change(&mut self, now_s: f64) -> Option<Change> {
        self.silence.change(now_s)
    }

    /// The event of a change: a hang that begins, or the end of one.
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

    /// The loads that get no replies while others do, and those that get some again: call `load_event` for each. A server
    /// that replies to no load is one hang, without events of its loads.
    pub fn load_changes(&mut self, now_s: f64) -> Vec<(i64, Change)> {
        let (is_silent, are_several) = (self.silence.is_silent(), self.loads.len() > 1);
        let change = |(id, load): (&i64, &mut LoadWatch)| {
            if is_silent {
                load.silence.forget();
                return load.open.is_some().then_some((*id, Change::Ended));
            }
            Some((*id, load.silence.change(now_s).filter(|_| are_several)?))
        };
        self.loads.iter_mut().filter_map(change).collect()
    }

    /// The event of a change of a load of that name.
    pub fn load_event(
        &mut self,
        (load, change): (i64, Change),
        now_s: f64,
        suspect: &Suspect<'_>,
        name: &str,
    ) -> Option<Event> {
        let load = self.loads.get_mut(&load)?;
        match change {
            Change::Began { last_reply_s } => {
                Some(load.open.insert(unanswered(now_s, last_reply_s, suspect, name)).clone())
            }
            Change::Ended => load.close(now_s),
        }
    }

    /// Notes that the server or one of its loads has ended, so that silence is not a hang. Returns the ends of current events.
    pub fn interrupt(&mut self, now_s: f64) -> Vec<Event> {
        self.silence.forget();
        let loads = self.loads.values_mut().filter_map(|load| load.interrupt(now_s));
        let mut ends: Vec<Event> = loads.collect();
        ends.extend(self.close(now_s));
        ends
    }

    fn close(&mut self, now_s: f64) -> Option<Event> {
        let event = self.open.take()?;
        Some(Event { until_s: Some(now_s), ..event })
    }
}

impl LoadWatch {
    fn interrupt(&mut self, now_s: f64) -> Option<Event> {
        self.silence.forget();
        self.close(now_s)
    }

    fn close(&mut self, now_s: f64) -> Option<Event> {
        let event = self.open.take()?;
        Some(Event { until_s: Some(now_s), ..event })
    }
}

/// The event that one load gets no replies while others do, with the evidence of a hang.
fn unanswered(now_s: f64, last_reply_s: f64, suspect: &Suspect<'_>, load: &str) -> Event {
    let seen = look(now_s, last_reply_s, suspect);
    let sentence = format!("{} replies to other loads, but not to the load `{load}`", suspect.name);
    Event { kind: EventKind::LoadUnanswered, sentence, ..seen }
}

/// Classifies a hang by the server's current state.
fn look(now_s: f64, last_reply_s: f64, suspect: &Suspect<'_>) -> Event {
    let threads = Threads::read(suspect.pids);
    let pid = suspect.pids.first().copied();
    let sockets = suspect.address.and_then(|address| PortSockets::read(pid, address));
    let (kind, what) = judge(&threads, sockets.as_ref());
    let mut evidence = format!("last second with replies: {:.1} s before\n", now_s - last_reply_s);
    if let Some((sockets, address)) = sockets.as_ref().zip(suspect.address) {
        evidence += &sockets.describe(address.port());
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

/// The kind of hang, and the end of a sentence that begins with the server's name. The first that applies, since a stopped
/// server does not accept, and one that does not accept does not reply.
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
        count => format!("; {count} of its threads are in uninterruptible sleep"),
    };
    let Some(sockets) = sockets else {
        return (EventKind::HangNoReplies, format!("does not reply{stuck}"));
    };
    if sockets.listening == 0 {
        return (EventKind::HangNoReplies, format!("no longer listens{stuck}"));
    }
    if sockets.waiting > 0 {
        let full = if sockets.is_full() { ", which is full" } else { "" };
        let what = format!(
            "does not accept connections: {} wait in its listen queue{full}; {} were accepted{stuck}",
            sockets.waiting,
            sockets.established.saturating_sub(sockets.waiting),
        );
        return (EventKind::HangNotAccepting, what);
    }
    if sockets.established > 0 {
        let what = format!(
            "has accepted {} connections and does not reply; requests on {} of them were not read{stuck}",
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
        assert_eq!(
            what,
            "has accepted 8 connections and does not reply; requests on 8 of them were not read"
        );
        let full = PortSockets { backlog: Some(1), ..sockets(2, 2) };
        let (kind, what) = judge(&threads, Some(&full));
        assert_eq!(kind, EventKind::HangNotAccepting);
        assert_eq!(
            what,
            "does not accept connections: 2 wait in its listen queue, which is full; 0 were accepted"
        );
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
        let suspect = Suspect { subject: 1, name: "sleep", pids: &pids, address: None };
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
        assert_eq!(watch.interrupt(13.0), []);
    }

    #[test]
    fn a_load_that_alone_has_no_replies_is_told_by_its_name_and_a_server_that_answers_nobody_is_not() {
        let mut watch = HangWatch::default();
        let suspect = Suspect { subject: 1, name: "nginx", pids: &[], address: None };
        let mut told = Vec::new();
        for second in 0..40u32 {
            let now_s = f64::from(second);
            // Uploads cease from 10 to 20 s, everything from 30 s on.
            let uploads = if (10..20).contains(&second) || second >= 30 { 0 } else { 50 };
            for (load, replies) in [(1, if second >= 30 { 0 } else { 500 }), (2, uploads)] {
                watch.second(now_s, load, replies, true);
                if let Some(change) = watch.change(now_s) {
                    told.extend(watch.event(change, now_s, &suspect));
                }
                for change in watch.load_changes(now_s) {
                    let name = if change.0 == 1 { "pages" } else { "uploads" };
                    told.extend(watch.load_event(change, now_s, &suspect, name));
                }
            }
        }
        let kinds: Vec<_> = told.iter().map(|event| (event.kind, event.at_s, event.until_s)).collect();
        let load = EventKind::LoadUnanswered;
        let expected = [(load, 12.0, None), (load, 12.0, Some(20.0)), (EventKind::HangNoReplies, 31.0, None)];
        assert_eq!(kinds, expected, "{told:#?}");
        assert_eq!(told[0].sentence, "nginx replies to other loads, but not to the load `uploads`");
        assert!(told[0].evidence.contains("last second with replies: 3.0 s before"), "{told:#?}");
    }

    #[test]
    fn a_load_that_never_had_a_reply_is_told_after_half_a_minute() {
        let mut watch = HangWatch::default();
        let mut told = Vec::new();
        for second in 1..=40u32 {
            let now_s = f64::from(second);
            watch.second(now_s, 1, 500, true);
            watch.second(now_s, 2, 0, true);
            assert_eq!(watch.change(now_s), None);
            told.extend(watch.load_changes(now_s).into_iter().map(|change| (second, change.0)));
        }
        assert_eq!(told, [(30, 2)]);
    }

    #[test]
    fn a_load_of_its_own_has_no_event_beside_that_of_its_server() {
        let mut watch = HangWatch::default();
        for second in 0..30u32 {
            let now_s = f64::from(second);
            watch.second(now_s, 7, if second < 10 { 50 } else { 0 }, true);
            assert_eq!(watch.load_changes(now_s), []);
        }
    }
}
