//! A Maildir.

use std::fs;
use std::path::Path;

use pitot_proto::StoreStep;
use pitot_serve::store::{Acknowledged, Maildir};

use super::contract::{End, Say, Store, nothing};

pub(super) const STORE: Store = Store { name: "Maildir", prepare: nothing, work, check };

const MESSAGES: usize = 2;

fn halves(number: usize) -> [String; 2] {
    [
        format!("Subject: {number}\r\n\r\n{}", "first ".repeat(100)),
        format!("{}end\r\n", "second ".repeat(100)),
    ]
}

/// Opens the Maildir if it is not open, and stores a message in it.
fn store(root: &Path, maildir: &mut Option<Maildir>, number: usize) -> Result<(), String> {
    if maildir.is_none() {
        *maildir =
            Some(Maildir::open(&root.join("store/mail"), Acknowledged::OnDisk).map_err(|e| e.to_string())?);
    }
    let Some(maildir) = maildir else { return Ok(()) };
    let [first, second] = halves(number);
    let mut step = StoreStep { upload: None, bytes: first.into(), is_last: false };
    step.upload = maildir.store(&mut step).map_err(|e| format!("{e:?}"))?;
    step.bytes = second.into();
    step.is_last = true;
    maildir.store(&mut step).map(drop).map_err(|e| format!("{e:?}"))
}

/// As a server, whose clients send a message that was refused once more.
fn work(root: &Path, say: Say<'_>) {
    let mut maildir = None;
    for number in 0..MESSAGES {
        for _ in 0..2 {
            match store(root, &mut maildir, number) {
                Ok(()) => {
                    say(&format!("stored {number}"));
                    break;
                }
                Err(why) => say(&format!("not stored: {why}")),
            }
        }
    }
    say("end");
}

/// How often each message is there.
fn counts(root: &Path) -> Result<Vec<usize>, String> {
    let mut counts = vec![0; MESSAGES + 1];
    for entry in fs::read_dir(root.join("store/mail/new")).map_err(|e| e.to_string())? {
        let text = entry.and_then(|entry| fs::read_to_string(entry.path())).map_err(|e| e.to_string())?;
        let number = (0..=MESSAGES).find(|number| halves(*number).concat() == text);
        counts[number.ok_or_else(|| format!("a message is not whole: {} bytes", text.len()))?] += 1;
    }
    Ok(counts)
}

fn check(root: &Path, said: &[String], end: End) -> Result<(), String> {
    store(root, &mut None, MESSAGES)?;
    let counts = counts(root)?;
    for (number, count) in counts[..MESSAGES].iter().enumerate() {
        if said.contains(&format!("stored {number}")) && *count == 0 {
            return Err(format!("message {number} is lost"));
        }
        if end == End::Failure && *count > 1 {
            return Err(format!("message {number} is there {count} times"));
        }
    }
    if counts[MESSAGES] == 0 { Err("a further message is lost".to_owned()) } else { Ok(()) }
}
