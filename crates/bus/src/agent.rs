//! An agent as data, its work as traits, and its announcement on the bus.

use std::sync::Arc;

use async_nats::jetstream::kv::Operation;
use serde::{Deserialize, Serialize};

use crate::connection::Connection;
use crate::entry::Entry;
use crate::keys::TrustedKey;
use crate::places::Places;

/// Runs jobs.
pub trait Work {
    /// Begins it.
    ///
    /// # Errors
    /// Why it cannot be run here: a sentence.
    fn start(&mut self, text: &str) -> Result<Box<dyn Running>, String>;

    /// Starts a program for a stream to a lab, with piped stdin and stdout.
    ///
    /// # Errors
    /// Why that cannot be done here: a sentence.
    fn open(&mut self) -> Result<std::process::Child, String>;
}

/// A running job. Dropping it ends it.
pub trait Running {
    /// The result or error, once it has ended.
    fn poll(&mut self) -> Option<Result<Vec<u8>, Trouble>>;

    /// What it is waiting for: a sentence. None while it is running.
    fn waits_for(&mut self) -> Option<String> {
        None
    }
}

/// Why there is no result: a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// This host lacks what the work needs, and another may have it.
    Lacks(String),
    /// It was run and failed.
    Failed(String),
}

/// An agent, which runs jobs one at a time.
#[derive(Debug)]
pub struct Agent<'a> {
    /// Its bus.
    pub connection: &'a Connection,
    /// Its name: one agent of a name takes jobs at a time.
    pub name: &'a str,
    /// The description of its host.
    pub about: serde_json::Value,
    /// The keys whose jobs it accepts.
    pub trusted: &'a [TrustedKey],
    /// Receives messages, a sentence each.
    pub tell: fn(&str),
}

impl Agent<'_> {
    pub(crate) fn places(&self) -> Arc<Places> {
        self.connection.places()
    }

    /// The entry of a job, and the revision from which it can be changed.
    pub(crate) async fn entry(&self, key: &str) -> Result<(Option<Entry>, u64), async_nats::Error> {
        Ok(match self.places().states.entry(key).await? {
            None => (None, 0),
            Some(found) if found.operation != Operation::Put => (None, found.revision),
            Some(found) => (Entry::read(&found.value).map(|(entry, _)| entry), found.revision),
        })
    }
}

/// What lies in the bucket of agents.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Announcement {
    /// Of the process, so that two of one name know each other apart.
    pub(crate) instance: String,
    /// `RUN.JOB`, while one is carried out; `stream.SESSION`, while a lab is served.
    pub(crate) running: Option<String>,
    /// The host.
    pub(crate) about: serde_json::Value,
}
