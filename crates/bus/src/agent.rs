//! The side that carries out jobs: one at a time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use async_nats::jetstream::AckKind;
use async_nats::jetstream::Message;
use async_nats::jetstream::kv::{Operation, UpdateErrorKind};
use futures_util::StreamExt;
use pitot_results::Failure;
use serde::{Deserialize, Serialize};

use crate::connection::{ANSWER_MAX, Connection};
use crate::entry::{Entry, State};
use crate::hosted::Openings;
use crate::job::Job;
use crate::keys::TrustedKey;
use crate::places::{INLINE_BYTES_MAX, Places, TRIES_MAX, hints, of_subject};

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
}

/// Why there is no result: a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// This host lacks what the work needs, and another may have it.
    Lacks(String),
    /// It was tried, and went wrong.
    Failed(String),
}

/// How often work under way is asked whether it is over.
const POLL: Duration = Duration::from_millis(20);
/// How long an agent waits for a job before it looks around.
const PULL: Duration = Duration::from_secs(1);
/// Between two tries of what the bus did not take.
const RETRY: Duration = Duration::from_millis(500);
/// Deliveries of a job that was handed out anew count from here.
pub(crate) const EPOCH: u64 = 1_000_000;
/// A job for which this host lacks something is not tried here again for so long, ...
const LACK_MAX: Duration = Duration::from_secs(600);
/// ... and each time that it comes nevertheless, nobody gets it for this time, so that other jobs are done meanwhile, and for a part of a
/// pull more, by lot: a whole number of pulls would give it to the same agent again and again.
const LACK_BACK_OFF: Duration = Duration::from_secs(4);
/// After a try that went wrong nobody gets a job for so long.
const FAILED_BACK_OFF: Duration = Duration::from_secs(1);

/// An agent.
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

impl Agent<'_> {
    /// Takes jobs until `stop` says so.
    ///
    /// # Errors
    /// None yet: what the bus refuses is tried again.
    pub fn serve(&self, work: &mut dyn Work, stop: &dyn Fn() -> bool) -> Result<(), Failure> {
        self.connection.block_on(async {
            let mut lease = Lease::new(self);
            let mut openings = None;
            let mut lacking = Lacking::default();
            while !stop() {
                if !lease.keep(None).await {
                    self.connection.restore().await;
                    tokio::time::sleep(RETRY).await;
                    continue;
                }
                // Not before the name is held: labs ask by name.
                let openings = match &mut openings {
                    Some(openings) => openings,
                    none => none.insert(Openings::of(self).await),
                };
                if openings.serve(self, &mut lease, work, stop).await {
                    continue;
                }
                match self.pull().await {
                    Ok(Some(message)) if stop() => give_back(&message, None).await,
                    Ok(Some(message)) => self.carry_out(&message, &mut lease, &mut lacking, work, stop).await,
                    Ok(None) => {}
                    Err(_) => {
                        self.connection.restore().await;
                        tokio::time::sleep(RETRY).await;
                    }
                }
            }
            lease.give_up().await;
            let _ = self.connection.client.flush().await;
            Ok(())
        })
    }

    async fn pull(&self) -> Result<Option<Message>, async_nats::Error> {
        let one = async {
            let mut messages = self.places().jobs.fetch().max_messages(1).expires(PULL).messages().await?;
            messages.next().await.transpose()
        };
        tokio::time::timeout(PULL + ANSWER_MAX, one).await?
    }

    fn places(&self) -> Arc<Places> {
        self.connection.places()
    }

    async fn carry_out(
        &self,
        message: &Message,
        lease: &mut Lease<'_>,
        lacking: &mut Lacking,
        work: &mut dyn Work,
        stop: &dyn Fn() -> bool,
    ) {
        let Some((run, job)) = of_subject(&message.subject) else { return };
        let Ok(delivered) = message.info().map(|info| info.delivered) else { return };
        let key = format!("{run}.{job}");
        let Ok((known, revision)) = self.entry(&key).await else { return };
        if known.as_ref().is_some_and(Entry::is_over) {
            let _ = message.double_ack().await;
            return;
        }
        if lacking.has(&key) {
            return give_back(message, Some(LACK_BACK_OFF + PULL.mul_f64(lot()))).await;
        }
        let opened = Job::open(&message.payload, self.trusted, (run, job), now_unix_s());
        let epoch = opened.as_ref().map_or(0, |job| job.epoch);
        let attempt = epoch * EPOCH + delivered.unsigned_abs();
        if known.as_ref().is_some_and(|known| known.attempt >= attempt) {
            // Whoever holds it has a later delivery than this one.
            return;
        }
        let (tries, lacks) = known.map(|known| (known.tries, known.lacking)).unwrap_or_default();
        if tries >= TRIES_MAX {
            // Its last holder was lost, or says nothing for now: the coordinator sees which.
            return give_back(message, Some(self.places().times.gone)).await;
        }
        let entry = Entry {
            agent: self.name.to_owned(),
            attempt,
            tries: tries + 1,
            lacking: lacks,
            state: State::Claimed,
        };
        let mut claim = Claim { agent: self, key, run, revision, entry };
        let job = match opened {
            Ok(job) => job,
            Err(why) => {
                (self.tell)(&format!("refused the job {}: {why}", claim.key));
                let refused = Err(Trouble::Failed(format!("it was refused: {why}")));
                return claim.end(message, refused, lease, stop).await;
            }
        };
        if !claim.put(State::Claimed, b"").await {
            return;
        }
        (self.tell)(&format!("begin {}", claim.key));
        let _ = lease.keep(Some(&claim.key)).await;
        let mut running = match work.start(&job.text) {
            Ok(running) => running,
            Err(why) => return claim.end(message, Err(Trouble::Failed(why)), lease, stop).await,
        };
        let mut said = Instant::now();
        let outcome = loop {
            if let Some(outcome) = running.poll() {
                break outcome;
            }
            if stop() {
                drop(running);
                // Another may hold it by now: from under that one it must not be taken.
                if !claim.is_lost().await {
                    give_back(message, None).await;
                }
                return;
            }
            if said.elapsed() >= self.places().times.progress {
                said = Instant::now();
                let _ = message.ack_with(AckKind::Progress).await;
                let _ = lease.keep(Some(&claim.key)).await;
                if claim.is_lost().await {
                    (self.tell)(&format!(
                        "{} was given to another agent; its result here does not count",
                        claim.key
                    ));
                    return;
                }
            }
            tokio::time::sleep(POLL).await;
        };
        drop(running);
        if let Err(Trouble::Lacks(_)) = &outcome {
            lacking.note(&claim.key);
        }
        claim.end(message, outcome, lease, stop).await;
    }

    /// The entry of a job, and the revision from which it can be changed.
    async fn entry(&self, key: &str) -> Result<(Option<Entry>, u64), async_nats::Error> {
        Ok(match self.places().states.entry(key).await? {
            None => (None, 0),
            Some(found) if found.operation != Operation::Put => (None, found.revision),
            Some(found) => (Entry::read(&found.value).map(|(entry, _)| entry), found.revision),
        })
    }
}

/// A job that this agent holds, as long as nobody has changed its entry since.
struct Claim<'a> {
    agent: &'a Agent<'a>,
    key: String,
    run: &'a str,
    revision: u64,
    entry: Entry,
}

impl Claim<'_> {
    /// Changes the entry from the revision that is known. False if somebody else has, or the bus does not answer.
    async fn put(&mut self, state: State, result: &[u8]) -> bool {
        self.try_put(state, result).await.unwrap_or(false)
    }

    async fn try_put(&mut self, state: State, result: &[u8]) -> Result<bool, async_nats::Error> {
        self.entry.state = state;
        let bytes = self.entry.to_bytes(result).into();
        match self.agent.places().states.update(&self.key, bytes, self.revision).await {
            Ok(revision) => self.revision = revision,
            Err(e) if e.kind() == UpdateErrorKind::WrongLastRevision => {
                // An update whose answer was lost was made all the same.
                let (entry, revision) = self.agent.entry(&self.key).await?;
                if entry.as_ref() != Some(&self.entry) {
                    return Ok(false);
                }
                self.revision = revision;
            }
            Err(e) => return Err(e.into()),
        }
        let job = self.key.rsplit('.').next().unwrap_or_default().to_owned();
        let _ = self.agent.connection.client.publish(hints(self.run), job.into()).await;
        Ok(true)
    }

    /// Whether somebody else has changed the entry. False if the bus does not answer.
    async fn is_lost(&self) -> bool {
        let entry = self.agent.entry(&self.key).await;
        entry.is_ok_and(|(entry, _)| entry.as_ref() != Some(&self.entry))
    }

    /// Puts what came of the job into its entry, and only then acknowledges it. Tried until the bus takes it.
    async fn end(
        &mut self,
        message: &Message,
        outcome: Result<Vec<u8>, Trouble>,
        lease: &mut Lease<'_>,
        stop: &dyn Fn() -> bool,
    ) {
        let tell = self.agent.tell;
        match &outcome {
            Ok(_) => tell(&format!("end {}", self.key)),
            Err(Trouble::Failed(why)) => tell(&format!("failed {}: {why}", self.key)),
            Err(Trouble::Lacks(why)) => {
                tell(&format!("left {} to others: {why}", self.key));
                self.entry.tries = self.entry.tries.saturating_sub(1);
                self.entry.lacking.insert(self.agent.name.to_owned(), why.clone());
            }
        }
        while !stop() {
            let put = match &outcome {
                Ok(result) if result.len() <= INLINE_BYTES_MAX => self.try_put(State::Done, result).await,
                Ok(result) => self.put_object(result, message, lease).await,
                Err(Trouble::Failed(why) | Trouble::Lacks(why)) => {
                    self.try_put(State::Failed(why.clone()), b"").await
                }
            };
            match put {
                Ok(true) if outcome.is_ok() => {
                    let _ = message.double_ack().await;
                    return;
                }
                Ok(true) => {
                    return give_back(message, Some(FAILED_BACK_OFF)).await;
                }
                Ok(false) => {
                    tell(&format!("{} was given to another agent; its result here does not count", self.key));
                    return;
                }
                Err(_) => {
                    let _ = message.ack_with(AckKind::Progress).await;
                    self.agent.connection.restore().await;
                    tokio::time::sleep(RETRY).await;
                }
            }
        }
    }

    /// Puts a large result on the bus. That may take longer than an agent may be silent.
    async fn put_object(
        &mut self,
        mut result: &[u8],
        message: &Message,
        lease: &mut Lease<'_>,
    ) -> Result<bool, async_nats::Error> {
        let name = format!("{}.{}", self.key, self.entry.attempt);
        let places = self.agent.places();
        {
            let mut put = std::pin::pin!(places.results.put(name.as_str(), &mut result));
            loop {
                tokio::select! {
                    done = &mut put => {
                        done?;
                        break;
                    }
                    () = tokio::time::sleep(places.times.progress) => {
                        let _ = message.ack_with(AckKind::Progress).await;
                        let _ = lease.keep(Some(&self.key)).await;
                    }
                }
            }
        }
        self.try_put(State::Object(name), b"").await
    }
}

/// From 0 to 1.
fn lot() -> f64 {
    f64::from(drawn() as u32) / f64::from(u32::MAX)
}

/// A number that nobody else draws.
fn drawn() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::hash::RandomState::new().build_hasher().finish()
}

/// Its next holder has it at once, or after a time.
async fn give_back(message: &Message, after: Option<Duration>) {
    let _ = message.ack_with(AckKind::Nak(after)).await;
}

/// Jobs for which this host lacks something, and when that was seen.
#[derive(Debug, Default)]
struct Lacking(BTreeMap<String, Instant>);

impl Lacking {
    fn note(&mut self, key: &str) {
        self.0.retain(|_, seen| seen.elapsed() < LACK_MAX);
        self.0.insert(key.to_owned(), Instant::now());
    }

    fn has(&self, key: &str) -> bool {
        self.0.get(key).is_some_and(|seen| seen.elapsed() < LACK_MAX)
    }
}

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
    fn new(agent: &'a Agent<'a>) -> Lease<'a> {
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
                    "another agent is there by the name `{}`; waiting until it is gone (--name gives this one its own)",
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

    async fn give_up(&self) {
        if self.is_held {
            let _ = self.agent.places().agents.purge(self.agent.name).await;
        }
    }
}

pub(crate) fn now_unix_s() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
