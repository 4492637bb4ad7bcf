//! A job in the hands of an agent, from its claim to the result in its entry.

use std::time::{Duration, Instant};

use async_nats::jetstream::kv::UpdateErrorKind;
use async_nats::jetstream::{AckKind, Message};

use crate::agent::{Agent, Running, Trouble};
use crate::entry::{Entry, State};
use crate::lease::Lease;
use crate::places::{INLINE_BYTES_MAX, hints};

/// How often work under way is asked whether it is over.
const POLL: Duration = Duration::from_millis(20);
/// How often it is asked what it waits for.
const ASK: Duration = Duration::from_millis(500);
/// Between two tries of what the bus did not take.
pub(crate) const RETRY: Duration = Duration::from_millis(500);
/// After a try that went wrong nobody gets a job for so long.
const FAILED_BACK_OFF: Duration = Duration::from_secs(1);

/// A job that this agent holds, as long as nobody has changed its entry since.
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
    /// Takes the job. False if somebody else has taken it first, or the bus does not answer.
    pub(crate) async fn take(&mut self) -> bool {
        self.put(State::Claimed, b"").await.unwrap_or(false)
    }

    /// Changes the entry from the revision that is known. False if somebody else has.
    async fn put(&mut self, state: State, result: &[u8]) -> Result<bool, async_nats::Error> {
        self.entry.state = state;
        let bytes = self.entry.to_bytes(result);
        loop {
            let put = self.agent.places().states.update(&self.key, bytes.clone().into(), self.revision).await;
            match put {
                Ok(revision) => self.revision = revision,
                Err(e) if e.kind() == UpdateErrorKind::WrongLastRevision => {
                    // An update whose answer was lost was made all the same, this one or the one before it.
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

    /// Whether somebody else has changed the entry. False if the bus does not answer.
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

    /// Says that the job is being worked on.
    async fn say_progress(&self, lease: &mut Lease<'_>) {
        let _ = self.message.ack_with(AckKind::Progress).await;
        let _ = lease.keep(Some(&self.key)).await;
    }

    /// Waits for what comes of the work. None if the agent is to end, or another holds the job by now; the work is ended then.
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
                // Another may hold it by now: from under that one it must not be taken.
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

    /// Tells here and on the bus what work waits for, once for each thing, and that it waits no longer. If the bus
    /// does not answer, the next look says it.
    async fn say_what_it_waits_for(&mut self, waits: Option<String>) {
        let state = waits.clone().map_or(State::Claimed, State::Waiting);
        if state == self.entry.state {
            return;
        }
        let known = self.entry.state.clone();
        match self.put(state, b"").await {
            Ok(true) => (self.agent.tell)(&match waits {
                Some(what) => format!("{} is {what}", self.key),
                None => format!("{} goes on", self.key),
            }),
            // It is lost, or is not on the bus: what the entry says there is as before.
            Ok(false) | Err(_) => self.entry.state = known,
        }
    }

    /// Puts what came of the job into its entry, and only then acknowledges it. Tried until the bus takes it.
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
                tell(&format!("left {} to others: {why}", self.key));
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

    /// Puts a large result on the bus. That may take longer than an agent may be silent.
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

/// Its next holder has it at once, or after a time.
pub(crate) async fn give_back(message: &Message, after: Option<Duration>) {
    let _ = message.ack_with(AckKind::Nak(after)).await;
}
