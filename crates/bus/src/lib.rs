//! Jobs and results over a message bus: NATS with JetStream (<https://docs.nats.io/nats-concepts/jetstream>).
//!
//! A coordinator sends jobs, and agents run them. Jobs and results are bytes here; the caller defines them. Jobs are messages of a
//! work queue, agents and states of jobs are entries of key-value buckets, large results are objects.
//!
//! The invariant of this crate is the *fence*: a job has one entry, which can be changed only from its last revision. An agent claims a
//! job there, with the number of the delivery; a later delivery claims it again, and then the server refuses updates of the former
//! holder. An acknowledgement alone proves nothing, since JetStream accepts one of a former holder too; it is sent only after the
//! result is in the entry.
//!
//! An agent can also be a host of a plan: a stream of bytes over plain subjects connects the lab to a program that the agent starts
//! ([`reach`]).
//!
//! The client needs an async runtime, which has one thread and is private to [`Connection`].
#![forbid(unsafe_code)]

mod address;
mod agent;
mod claim;
mod connection;
mod coordinator;
mod credentials;
mod entry;
mod hosted;
mod job;
mod keys;
mod lease;
mod places;
mod reach;
mod serving;
mod session;

/// What comes over a bus, read without one: for the fuzz target. Each gives back what it read as it would be written.
#[doc(hidden)]
pub mod received {
    use crate::agent::Announcement;
    use crate::entry::{self, Entry};
    use crate::job::Job;
    use crate::session::{self, Opening, OpeningReply};
    use crate::{SigningKey, TrustedKey};

    /// The entry of a job, and the sentences that a person is shown of it.
    pub fn entry(bytes: &[u8]) -> Option<(Vec<u8>, Vec<String>)> {
        let (read, result) = Entry::read(bytes)?;
        let shown = read.lacking.values().chain([&read.agent]).map(|text| entry::sentence(text)).collect();
        Some((read.to_bytes(result), shown))
    }

    /// The announcement of an agent.
    pub fn announcement(bytes: &[u8]) -> Option<Vec<u8>> {
        serde_json::to_vec(&serde_json::from_slice::<Announcement>(bytes).ok()?).ok()
    }

    /// An agent's answer to an opening.
    pub fn answer(bytes: &[u8]) -> Option<Vec<u8>> {
        serde_json::to_vec(&serde_json::from_slice::<OpeningReply>(bytes).ok()?).ok()
    }

    /// A job at a subject.
    ///
    /// # Errors
    /// Why it is none: a sentence.
    pub fn job(
        message: &[u8],
        trusted: &[TrustedKey],
        subject: &str,
        now_unix_s: u64,
        key: &SigningKey,
    ) -> Result<Vec<u8>, &'static str> {
        let at = crate::places::of_subject(subject).ok_or("no coordinator has made its subject")?;
        Job::open(message, trusted, at, now_unix_s).map(|job| job.sealed(key))
    }

    /// The opening of a stream.
    ///
    /// # Errors
    /// Why it is none: a sentence.
    pub fn opening(
        message: &[u8],
        trusted: &[TrustedKey],
        key: &SigningKey,
    ) -> Result<Vec<u8>, &'static str> {
        Opening::open(message, trusted).map(|opening| opening.sealed(key))
    }

    /// A signed piece of a stream.
    pub fn piece<'a>(message: &'a [u8], trusted: &[TrustedKey], session: &str) -> Option<(u64, &'a [u8])> {
        session::verified(trusted, session, message)
    }

    /// `body` signed as a job, and as an opening.
    pub fn signed(body: &[u8], key: &SigningKey) -> [Vec<u8>; 2] {
        [Job::signed(body, key), Opening::signed(body, key)]
    }
}

pub use address::Address;
pub use agent::{Agent, Running, Trouble, Work};
pub use connection::{Connection, VERSION_MIN};
pub use coordinator::{Coordinator, Event, Present};
pub use credentials::Credentials;
pub use keys::{SigningKey, TrustedKey, is_name};
pub use reach::reach;
