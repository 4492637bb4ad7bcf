//! The journal of the mail engine.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use pitot_mail::Settled;
use pitot_mail::journal::{Header, Journal};
use pitot_results::mail::Outcome;
use pitot_sys::Waker;
use rustix::event::{PollFd, PollFlags, poll};

use super::contract::{End, Say, Store, nothing};

pub(super) const STORE: Store = Store { name: "mail journal", prepare: nothing, work, check };

const RECIPIENTS: usize = 4;

/// A journal that is open, and the recipients that it had.
struct Open {
    journal: Journal,
    waker: Arc<Waker>,
    known: BTreeSet<String>,
}

impl Open {
    fn new(root: &Path) -> Result<Open, String> {
        let waker = Arc::new(Waker::new().map_err(|e| e.to_string())?);
        let header = Header { mode: "send", from: "a@b.test".into(), message: (1, 2) };
        let mut known = BTreeSet::new();
        let settled = |address: &str, _| {
            known.insert(address.to_owned());
        };
        let opened = Journal::open(&root.join("store/journal"), &header, Arc::clone(&waker), settled);
        let (journal, _) = opened.map_err(|e| e.to_string())?;
        Ok(Open { journal, waker, known })
    }

    /// Settles a recipient, and waits until that is acknowledged.
    fn settle(&mut self, name: &str) -> Result<(), String> {
        let settled = Settled { outcome: Outcome::Sent, code: 250, text: b"2.0.0 ok" };
        self.journal.append(name, "x.test", settled);
        loop {
            self.journal.hand_over().map_err(|e| e.to_string())?;
            if self.journal.durable() == self.journal.appended() {
                return Ok(());
            }
            poll(&mut [PollFd::new(&*self.waker, PollFlags::IN)], None).map_err(|e| e.to_string())?;
            self.waker.reset();
        }
    }
}

/// As an engine and those that are started after it when it has failed.
fn work(root: &Path, say: Say<'_>) {
    let mut open: Option<Open> = None;
    for number in 0..RECIPIENTS {
        let name = format!("r{number}");
        for _ in 0..2 {
            if open.is_none() {
                open = Open::new(root).inspect_err(|why| say(&format!("not opened: {why}"))).ok();
                // Nobody sends to those again.
                open.iter()
                    .flat_map(|open| &open.known)
                    .for_each(|address| say(&format!("settled {address}")));
            }
            let Some(mut opened) = open.take() else { continue };
            if opened.known.contains(&format!("{name}@x.test")) {
                open = Some(opened);
                break;
            }
            match opened.settle(&name) {
                Ok(()) => {
                    say(&format!("settled {name}@x.test"));
                    open = Some(opened);
                    break;
                }
                Err(why) => say(&format!("not settled: {why}")),
            }
        }
    }
    if let Some(open) = open {
        let _ = open.journal.finish();
    }
    say("end");
}

fn check(root: &Path, said: &[String], _: End) -> Result<(), String> {
    let mut open = Open::new(root)?;
    let mut acknowledged: BTreeSet<String> =
        said.iter().filter_map(|line| line.strip_prefix("settled ")).map(str::to_owned).collect();
    if let Some(lost) = acknowledged.iter().find(|address| !open.known.contains(*address)) {
        return Err(format!("{lost} is lost"));
    }
    open.settle("new")?;
    open.journal.finish().1.map_err(|e| e.to_string())?;
    acknowledged.insert("new@x.test".to_owned());
    match acknowledged.is_subset(&Open::new(root)?.known) {
        true => Ok(()),
        false => Err("what was added by the second start is lost".to_owned()),
    }
}
