//! An agent as data, what it does for jobs as traits, and what it says of itself on the bus.

use std::sync::Arc;

use async_nats::jetstream::kv::Operation;
use serde::{Deserialize, Serialize};

use crate::connection::Connection;
use crate::entry::Entry;
use crate::keys::TrustedKey;
use crate::places::Places;

/// The work that jobs ask for.
pub trait Work {
    /// Begins it.
    ///
    /// # Errors
    /// Why it cannot be done here: a sentence.
    fn start(&mut self, text: &str) -> Result<Box<dyn Running>, String>;

    /// Starts a program that a lab is to speak with, its standard input and output piped.
    ///
    /// # Errors
    /// Why that cannot be done here: a sentence.
    fn open(&mut self) -> Result<std::process::Child, String>;
}

/// Work under way. Dropping it ends it.
pub trait Running {
    /// The result or what went wrong, once it is over.
    fn poll(&mut self) -> Option<Result<Vec<u8>, Trouble>>;

    /// What it waits for before it goes on: a sentence. None while it is at work.
    fn waits_for(&mut self) -> Option<String> {
        None
    }
}

/// Why there is no result: a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// This host lacks what the work needs, and another may have it.
    Lacks(String),
    /// It was tried, and went wrong.
    Failed(String),
}

/// An agent: the side that carries out jobs, one at a time.
#[derive(Debug)]
pub struct Agent<'a> {
    /// Its bus.
    pub connection: &'a Connection,
    /// Its name: one agent of a name takes jobs at a time.
    pub name: &'a str,
    /// What it tells of its host.
    pub about: serde_json::Value,
    /// Whose jobs it takes.
    pub trusted: &'a [TrustedKey],
    /// Gets sentences on what happens.
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
