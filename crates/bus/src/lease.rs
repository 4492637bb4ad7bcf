//! The name of an agent, which it holds as long as it announces itself.

use std::hash::{BuildHasher, Hasher};
use std::time::Instant;

use async_nats::jetstream::kv::Operation;

use crate::agent::{Agent, Announcement};

/// The entry of an agent: as long as it is renewed, nobody else of its name takes jobs.
pub(crate) struct Lease<'a> {
    agent: &'a Agent<'a>,
    pub(crate) instance: String,
    revision: u64,
    is_held: bool,
    /// When it was renewed, and with which job.
    renewed: Option<(Instant, Option<String>)>,
    has_told: bool,
}

impl<'a> Lease<'a> {
    pub(crate) fn new(agent: &'a Agent<'a>) -> Lease<'a> {
        let instance = format!("{:016x}", drawn());
        Lease { agent, instance, revision: 0, is_held: false, renewed: None, has_told: false }
    }

    /// Renews it where that is due. False if another agent has the name.
    pub(crate) async fn keep(&mut self, running: Option<&str>) -> bool {
        let places = self.agent.places();
        let is_fresh = |(at, with): &(Instant, Option<String>)| {
            at.elapsed() < places.times.progress && with.as_deref() == running
        };
        if self.is_held && self.renewed.as_ref().is_some_and(is_fresh) {
            return true;
        }
        let announcement = Announcement {
            instance: self.instance.clone(),
            running: running.map(str::to_owned),
            about: self.agent.about.clone(),
        };
        let bytes: Vec<u8> = serde_json::to_vec(&announcement).expect("plain data has a JSON form");
        let agents = &places.agents;
        if let Ok(revision) = agents.update(self.agent.name, bytes.into(), self.revision).await {
            (self.revision, self.is_held) = (revision, true);
            self.renewed = Some((Instant::now(), running.map(str::to_owned)));
            return true;
        }
        // It lapsed, somebody has the name, or the bus does not answer, which takes nothing from anybody.
        let Ok(found) = agents.entry(self.agent.name).await else { return self.is_held };
        let Some(found) = found else {
            self.revision = 0;
            return self.is_held;
        };
        let holder = serde_json::from_slice::<Announcement>(&found.value).ok();
        let is_other = found.operation == Operation::Put
            && holder.is_some_and(|holder| holder.instance != self.instance);
        if is_other {
            if !self.has_told {
                (self.agent.tell)(&format!(
                    "another agent is called `{}`; waiting until it ends (use --name to choose another name)",
                    self.agent.name
                ));
                self.has_told = true;
            }
            // Not its revision: when it lapses, nothing is there.
            (self.revision, self.is_held) = (0, false);
        } else {
            self.revision = found.revision;
        }
        self.is_held
    }

    pub(crate) async fn give_up(&self) {
        if self.is_held {
            let _ = self.agent.places().agents.purge(self.agent.name).await;
        }
    }
}

/// A number that nobody else draws.
pub(crate) fn drawn() -> u64 {
    std::hash::RandomState::new().build_hasher().finish()
}
