//! The coordinator, which sends jobs and collects their results.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_nats::HeaderMap;
use async_nats::jetstream::kv::Operation;
use async_nats::jetstream::stream::LastRawMessageErrorKind;
use futures_util::{StreamExt, TryStreamExt};
use pitot_results::Failure;
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::agent::Announcement;
use crate::connection::{ANSWER_MAX, Connection};
use crate::entry::{Entry, State, sentence};
use crate::job::{Job, now_unix_s};
use crate::keys::SigningKey;
use crate::places::{AGE_MAX, Places, STATES, TRIES_MAX, hints, subject};

/// The result of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Its result.
    Done {
        /// The job.
        job: String,
        /// The agent that ran it.
        agent: String,
        /// The result.
        result: Vec<u8>,
    },
    /// It was given up.
    Failed {
        /// The job.
        job: String,
        /// The agent that tried last.
        agent: String,
        /// Why: a sentence.
        reason: String,
    },
}

/// An agent on the bus.
#[derive(Clone, Debug, PartialEq)]
pub struct Present {
    /// Its name.
    pub name: String,
    /// The description of its host.
    pub about: serde_json::Value,
}

/// Maximum size of a result. Those of runs have some hundred kilobytes, and the files of their plans.
const RESULT_BYTES_MAX: usize = 256 << 20;

/// All that a stream has, in no more room than that takes; none if it is more than `most` bytes.
async fn bounded(
    stream: &mut (impl AsyncRead + Unpin),
    most: usize,
) -> Result<Option<Vec<u8>>, async_nats::Error> {
    let mut bytes = Vec::new();
    while tokio::time::timeout(ANSWER_MAX, stream.read_buf(&mut bytes)).await?? > 0 {
        if bytes.len() > most {
            return Ok(None);
        }
    }
    Ok(Some(bytes))
}

/// Most sentences on what agents lack, or wait for, that are shown.
const TOLD_MAX: usize = 1000;

/// How long one looks for something new.
const MOMENT: Duration = Duration::from_millis(200);

/// The coordinator of a run.
pub struct Coordinator<'a> {
    connection: &'a Connection,
    key: &'a SigningKey,
    run: String,
    tell: fn(&str),
    jobs: BTreeMap<String, Open>,
    arrived: VecDeque<Event>,
    hints: Option<async_nats::Subscriber>,
    swept: Instant,
    /// What was told of agents that lack something, or wait for it: agent and reason.
    told: BTreeSet<(String, String)>,
}

impl std::fmt::Debug for Coordinator<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Coordinator({})", self.run)
    }
}

/// A job without a result.
struct Open {
    text: String,
    epoch: u64,
    is_on_bus: bool,
    /// Since when its last holder was not seen at work.
    gone: Option<Instant>,
}

impl<'a> Coordinator<'a> {
    /// Of a run with this name ([`is_name`](crate::is_name)). `tell` gets sentences on what happens.
    pub fn new(
        connection: &'a Connection,
        key: &'a SigningKey,
        run: &str,
        tell: fn(&str),
    ) -> Coordinator<'a> {
        let hints = connection.block_on(connection.client.subscribe(hints(run))).ok();
        Coordinator {
            connection,
            key,
            run: run.to_owned(),
            tell,
            jobs: BTreeMap::new(),
            arrived: VecDeque::new(),
            hints,
            swept: Instant::now(),
            told: BTreeSet::new(),
        }
    }

    /// The agents that are there, by name.
    pub fn agents(&self) -> Vec<Present> {
        self.connection.block_on(async {
            let mut names = self.names().await;
            names.sort();
            let mut agents = Vec::new();
            for name in names {
                // One that has ended meanwhile is there no more.
                if let Ok(Some(found)) = self.announcement(&name).await {
                    agents.push(Present { name, about: found.about });
                }
            }
            agents
        })
    }

    async fn announcement(&self, agent: &str) -> Result<Option<Announcement>, async_nats::Error> {
        let found = self.places().agents.get(agent).await?;
        Ok(found.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    async fn names(&self) -> Vec<String> {
        let names = async { self.places().agents.keys().await.ok()?.try_collect().await.ok() };
        tokio::time::timeout(ANSWER_MAX, names).await.ok().flatten().unwrap_or_default()
    }

    /// Takes a job. It may be on the bus already, or have a result there, of a coordinator that is gone.
    ///
    /// # Errors
    /// If it is larger than the bus allows.
    pub fn offer(&mut self, job: &str, text: String) -> Result<(), Failure> {
        let open = Open { text, epoch: 0, is_on_bus: false, gone: None };
        let bytes = self.sealed(job, &open).len();
        let bytes_max = self.connection.client.server_info().max_payload;
        if bytes_max > 0 && bytes + 1024 > bytes_max {
            return Err(Failure::misuse(
                format!("the job has {bytes} bytes, and the maximum of the bus is {bytes_max}"),
                "make the files of the plan smaller, or raise max_payload of nats-server",
            ));
        }
        self.jobs.insert(job.to_owned(), open);
        Ok(())
    }

    /// What has come, within a moment. A bus that does not answer is waited for.
    pub fn arrival(&mut self) -> Option<Event> {
        let connection = self.connection;
        connection.block_on(async {
            if self.arrived.is_empty() && self.look_around().await.is_err() {
                connection.restore().await;
                tokio::time::sleep(MOMENT).await;
            }
        });
        self.arrived.pop_front()
    }

    async fn look_around(&mut self) -> Result<(), async_nats::Error> {
        self.hand_out().await?;
        if !self.arrived.is_empty() {
            return Ok(());
        }
        match &mut self.hints {
            Some(hints) => {
                if let Ok(Some(hint)) = tokio::time::timeout(MOMENT, hints.next()).await
                    && let Ok(job) = str::from_utf8(&hint.payload)
                {
                    self.look_at(job).await?;
                }
            }
            None => tokio::time::sleep(MOMENT).await,
        }
        // Whether or not a hint has come.
        if self.swept.elapsed() >= self.places().times.progress {
            self.sweep().await?;
            self.swept = Instant::now();
        }
        Ok(())
    }

    /// Puts jobs on the bus that are not there.
    async fn hand_out(&mut self) -> Result<(), async_nats::Error> {
        let missing: Vec<String> =
            self.jobs.iter().filter(|(_, open)| !open.is_on_bus).map(|(job, _)| job.clone()).collect();
        for job in missing {
            self.look_at(&job).await?;
            let Some(open) = self.jobs.get(&job) else { continue };
            if !self.is_in_queue(&job).await? {
                let mut headers = HeaderMap::new();
                // A second message of this name is dropped.
                headers.insert("Nats-Msg-Id", format!("{}.{job}.{}", self.run, open.epoch).as_str());
                let payload = self.sealed(&job, open).into();
                let context = &self.connection.context;
                context.publish_with_headers(subject(&self.run, &job), headers, payload).await?.await?;
            }
            self.jobs.entry(job).and_modify(|open| open.is_on_bus = true);
        }
        Ok(())
    }

    async fn is_in_queue(&self, job: &str) -> Result<bool, async_nats::Error> {
        match self.places().stream.get_last_raw_message_by_subject(&subject(&self.run, job)).await {
            Ok(_) => Ok(true),
            Err(e) if e.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(false),
            Err(e) => Err(e.into()),
        }
    }

    /// Looks at all jobs, for what no hint has told.
    async fn sweep(&mut self) -> Result<(), async_nats::Error> {
        let all: Vec<String> =
            self.jobs.iter().filter(|(_, open)| open.is_on_bus).map(|(job, _)| job.clone()).collect();
        for job in all {
            let holder = self.look_at(&job).await?;
            if !self.jobs.contains_key(&job) {
                continue;
            }
            if !self.is_in_queue(&job).await? {
                // It was acknowledged just now, or the bus has lost it.
                self.look_at(&job).await?;
                if let Some(open) = self.jobs.get_mut(&job) {
                    (self.tell)(&format!("the bus has lost the job {job}; sending it again"));
                    (open.epoch, open.is_on_bus) = (open.epoch + 1, false);
                }
                continue;
            }
            let Some(holder) = holder else {
                self.jobs.entry(job).and_modify(|open| open.gone = None);
                continue;
            };
            if let Some(reason) = self.why_nobody(&job, &holder).await? {
                self.jobs.remove(&job);
                self.arrived.push_back(Event::Failed { job, agent: sentence(&holder.agent), reason });
            }
        }
        Ok(())
    }

    /// Why nobody will carry out a job that has this entry, if that is so.
    async fn why_nobody(&mut self, job: &str, holder: &Entry) -> Result<Option<String>, async_nats::Error> {
        if matches!(holder.state, State::Failed(_)) && self.nobody_can(holder).await {
            let why = holder.lacking.values().next().map_or_else(String::new, |why| sentence(why));
            return Ok(Some(format!("every agent on the bus lacks something for it: {why}")));
        }
        let is_gone = holder.tries >= TRIES_MAX && !self.is_at_work(&holder.agent, job).await?;
        let gone = self.places().times.gone;
        let Some(open) = self.jobs.get_mut(job) else { return Ok(None) };
        open.gone = if is_gone { open.gone.or(Some(Instant::now())) } else { None };
        let is_over = open.gone.is_some_and(|since| since.elapsed() >= gone);
        Ok(is_over.then(|| "it was started several times, and the agent was lost each time".to_owned()))
    }

    /// Whether every agent that is there lacks something for a job.
    async fn nobody_can(&self, entry: &Entry) -> bool {
        let agents = if entry.lacking.is_empty() { Vec::new() } else { self.names().await };
        !agents.is_empty() && agents.iter().all(|agent| entry.lacking.contains_key(agent))
    }

    async fn is_at_work(&self, agent: &str, job: &str) -> Result<bool, async_nats::Error> {
        let found = self.announcement(agent).await?;
        Ok(found.is_some_and(|a| a.running == Some(format!("{}.{job}", self.run))))
    }

    /// Looks at the entry of a job. The entry, if nothing has come of it yet.
    async fn look_at(&mut self, job: &str) -> Result<Option<Entry>, async_nats::Error> {
        if !self.jobs.contains_key(job) {
            return Ok(None);
        }
        let found = self.places().states.entry(format!("{}.{job}", self.run)).await?;
        let Some(found) = found.filter(|found| found.operation == Operation::Put) else { return Ok(None) };
        let Some((entry, result)) = Entry::read(&found.value) else { return Ok(None) };
        for (agent, why) in &entry.lacking {
            let (agent, why) = (sentence(agent), sentence(why));
            if self.told.len() < TOLD_MAX && self.told.insert((agent.clone(), why.clone())) {
                (self.tell)(&format!("the agent `{agent}` leaves {job} to other agents: {why}"));
            }
        }
        if let State::Waiting(what) = &entry.state {
            let (agent, what) = (sentence(&entry.agent), sentence(what));
            if self.told.len() < TOLD_MAX && self.told.insert((agent.clone(), what.clone())) {
                (self.tell)(&format!("the agent `{agent}` has {job} and is {what}"));
            }
        }
        if !entry.is_over() {
            return Ok(Some(entry));
        }
        let job = job.to_owned();
        let agent = sentence(&entry.agent);
        let event = match entry.state {
            State::Done => Event::Done { job, agent, result: result.to_vec() },
            State::Object(name) => match self.object(&name).await? {
                Some(result) => Event::Done { job, agent, result },
                None => {
                    let reason = format!("its result is larger than {} MiB", RESULT_BYTES_MAX >> 20);
                    Event::Failed { job, agent, reason }
                }
            },
            State::Failed(reason) => Event::Failed { job, agent, reason: sentence(&reason) },
            State::Claimed | State::Waiting(_) => return Ok(None),
        };
        let (Event::Done { job, .. } | Event::Failed { job, .. }) = &event;
        self.jobs.remove(job);
        self.arrived.push_back(event);
        Ok(None)
    }

    /// An object, as long as more of it comes: a bus that was restarted, or that does not permit all of it, says nothing. None if it
    /// is too large. What it claims as its size is not believed: anybody with permission may have put it there.
    async fn object(&self, name: &str) -> Result<Option<Vec<u8>>, async_nats::Error> {
        let places = self.places();
        let mut object = tokio::time::timeout(ANSWER_MAX, places.results.get(name)).await??;
        bounded(&mut object, RESULT_BYTES_MAX).await
    }

    /// The result of a job is safe elsewhere: the bus may forget it.
    pub fn settle(&mut self, job: &str) {
        self.jobs.remove(job);
        let (run, places) = (&self.run, self.places());
        let forget = async {
            let key = format!("{run}.{job}");
            if let Ok(Some(found)) = places.states.entry(&key).await
                && let Some((Entry { state: State::Object(name), .. }, _)) = Entry::read(&found.value)
            {
                let _ = places.results.delete(name).await;
            }
            let _ = places.stream.purge().filter(subject(run, job)).await;
            let _ = places.states.purge(&key).await;
        };
        // What is not forgotten now is when the run ends.
        let _ = self.connection.block_on(async { tokio::time::timeout(ANSWER_MAX, forget).await });
    }

    /// The run has ended: nothing of it stays on the bus. Agents that still work on it are not listened to.
    pub fn end(&mut self) {
        let (run, places) = (&self.run, self.places());
        let forget = async {
            let _ = places.stream.purge().filter(subject(run, ">")).await;
            let context = &self.connection.context;
            if let Ok(states) = context.get_stream(format!("KV_{STATES}")).await {
                let _ = states.purge().filter(format!("$KV.{STATES}.{run}.>")).await;
            }
            let _ = self.connection.client.flush().await;
        };
        let _ = self.connection.block_on(async { tokio::time::timeout(ANSWER_MAX, forget).await });
    }

    fn sealed(&self, job: &str, open: &Open) -> Vec<u8> {
        let until_unix_s = now_unix_s() + AGE_MAX.as_secs();
        Job {
            run: self.run.clone(),
            job: job.to_owned(),
            epoch: open.epoch,
            until_unix_s,
            text: open.text.clone(),
        }
        .sealed(self.key)
    }

    fn places(&self) -> Arc<Places> {
        self.connection.places()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_stream_is_read_up_to_a_bound_and_into_no_more_room_than_it_has() {
        let exact = bounded(&mut &[7; 100][..], 100).await.unwrap().unwrap();
        assert_eq!(exact.len(), 100);
        assert!(exact.capacity() < 1000);
        assert!(bounded(&mut &[7; 101][..], 100).await.unwrap().is_none());
        assert!(bounded(&mut tokio::io::repeat(7), 1 << 20).await.unwrap().is_none(), "it never ends");
    }
}
