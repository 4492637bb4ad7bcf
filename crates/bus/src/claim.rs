//! A claimed job, from the claim to the result in its entry.

use std::time::{Duration, Instant};

use async_nats::jetstream::kv::UpdateErrorKind;
use async_nats::jetstream::{AckKind, Message};

use crate::agent::{Agent, Running, Trouble};
use crate::entry::{Entry, State};
use crate::lease::Lease;
use crate::places::{INLINE_BYTES_MAX, hints};

/// Interval of checks whether a job has ended.
const POLL: Duration = Duration::from_millis(20);
/// Interval of checks what it is waiting for.
const ASK: Duration = Duration::from_millis(500);
/// Delay before an operation on the bus is repeated.
pub(crate) const RETRY: Duration = Duration::from_millis(500);
/// Delay before a failed job is delivered again.
const FAILED_BACK_OFF: Duration = Duration::from_secs(1);

/// A job that this agent holds, as long as its entry is unchanged.
pub(crate) struct Claim<'a> {
    pub(crate) agent: &'a Agent<'a>,
    pub(crate) message: &'a Message,
    /// `RUN.JOB`.
    pub(crate) key: String,
    pub(crate) run: &'a str,
    pub(crate) revision: u64,
    pub(crate) entry: Entry,
}

impl Claim<'_> {
    /// Claims the job. False if another agent was first, or the bus does not reply.
    pub(crate) async fn take(&mut self) -> bool {
        self.put(State::Claimed, b"").await.unwrap_or(false)
    }

    /// Changes the entry from the known revision. False if it was changed by another agent.
    async fn put(&mut self, state: State, result: &[u8]) -> Result<bool, async_nats::Error> {
        self.entry.state = state;
        let bytes = self.entry.to_bytes(result);
        loop {
            let put = self.agent.places().states.update(&self.key, bytes.clone().into(), self.revision).await;
            match put {
                Ok(revision) => self.revision = revision,
                Err(e) if e.kind() == UpdateErrorKind::WrongLastRevision => {
                    // An update whose reply was lost may have been made.
                    let (entry, revision) = self.agent.entry(&self.key).await?;
                    let is_new = revision != self.revision;
                    match entry {
                        Some(entry) if entry == self.entry => self.revision = revision,
                        Some(entry) if self.entry.is_same_claim(&entry) && is_new => {
                            self.revision = revision;
                            continue;
                        }
                        _ => return Ok(false),
                    }
                }
                Err(e) => return Err(e.into()),
            }
            break;
        }
        let job = self.key.rsplit('.').next().unwrap_or_default().to_owned();
        let _ = self.agent.connection.client.publish(hints(self.run), job.into()).await;
        Ok(true)
    }

    /// Whether another agent has changed the entry. False if the bus does not reply.
    async fn is_lost(&self) -> bool {
        let entry = self.agent.entry(&self.key).await;
        entry.is_ok_and(|(entry, _)| !entry.is_some_and(|entry| self.entry.is_same_claim(&entry)))
    }

    fn tell_that_it_is_lost(&self) {
        (self.agent.tell)(&format!(
            "{} was given to another agent; its result here does not count",
            self.key
        ));
    }

    /// Reports that the job is running.
    async fn say_progress(&self, lease: &mut Lease<'_>) {
        let _ = self.message.ack_with(AckKind::Progress).await;
        let _ = lease.keep(Some(&self.key)).await;
    }

    /// Waits for the result. None if the agent is to end, or another agent holds the job; then the job is ended.
    pub(crate) async fn outcome(
        &mut self,
        mut running: Box<dyn Running>,
        lease: &mut Lease<'_>,
        stop: &dyn Fn() -> bool,
    ) -> Option<Result<Vec<u8>, Trouble>> {
        let mut said = Instant::now();
        let mut asked: Option<Instant> = None;
        loop {
            if let Some(outcome) = running.poll() {
                return Some(outcome);
            }
            if stop() {
                drop(running);
                // Another agent may hold it by now, and must keep it.
                if !self.is_lost().await {
                    give_back(self.message, None).await;
                }
                return None;
            }
            if said.elapsed() >= self.agent.places().times.progress {
                said = Instant::now();
                self.say_progress(lease).await;
                if self.is_lost().await {
                    self.tell_that_it_is_lost();
                    return None;
                }
            }
            if asked.is_none_or(|asked| asked.elapsed() >= ASK) {
                asked = Some(Instant::now());
                self.say_what_it_waits_for(running.waits_for()).await;
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// Reports here and on the bus what the job is waiting for, once, and when it continues. If the bus does not reply,
    /// the next check repeats it.
    async fn say_what_it_waits_for(&mut self, waits: Option<String>) {
        let state = waits.clone().map_or(State::Claimed, State::Waiting);
        if state == self.entry.state {
            return;
        }
        let known = self.entry.state.clone();
        match self.put(state, b"").await {
            Ok(true) => (self.agent.tell)(&match waits {
                Some(what) => format!("{} is {what}", self.key),
                None => format!("{} continues", self.key),
            }),
            // It is lost, or is not on the bus: what the entry says there is as before.
            Ok(false) | Err(_) => self.entry.state = known,
        }
    }

    /// Stores the result of the job in its entry, and then acknowledges it. Repeated until the bus accepts it.
    pub(crate) async fn end(
        &mut self,
        outcome: Result<Vec<u8>, Trouble>,
        lease: &mut Lease<'_>,
        stop: &dyn Fn() -> bool,
    ) {
        let tell = self.agent.tell;
        match &outcome {
            Ok(_) => tell(&format!("end {}", self.key)),
            Err(Trouble::Failed(why)) => tell(&format!("failed {}: {why}", self.key)),
            Err(Trouble::Lacks(why)) => {
                tell(&format!("left {} to other agents: {why}", self.key));
                self.entry.tries = self.entry.tries.saturating_sub(1);
                self.entry.lacking.insert(self.agent.name.to_owned(), why.clone());
            }
        }
        while !stop() {
            let put = match &outcome {
                Ok(result) if result.len() <= INLINE_BYTES_MAX => self.put(State::Done, result).await,
                Ok(result) => self.put_object(result, lease).await,
                Err(Trouble::Failed(why) | Trouble::Lacks(why)) => {
                    self.put(State::Failed(why.clone()), b"").await
                }
            };
            match put {
                Ok(true) if outcome.is_ok() => {
                    let _ = self.message.double_ack().await;
                    return;
                }
                Ok(true) => return give_back(self.message, Some(FAILED_BACK_OFF)).await,
                Ok(false) => return self.tell_that_it_is_lost(),
                Err(_) => {
                    let _ = self.message.ack_with(AckKind::Progress).await;
                    self.agent.connection.restore().await;
                    tokio::time::sleep(RETRY).await;
                }
            }
        }
    }

    /// Uploads a large result, which may take longer than an agent may be silent.
    async fn put_object(
        &mut self,
        mut result: &[u8],
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
                    () = tokio::time::sleep(places.times.progress) => self.say_progress(lease).await,
                }
            }
        }
        self.put(State::Object(name), b"").await
    }
}

/// Releases the job to the next agent, at once or after a delay.
pub(crate) async fn give_back(message: &Message, after: Option<Duration>) {
    let _ = message.ack_with(AckKind::Nak(after)).await;
}
