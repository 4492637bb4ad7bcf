//! The main loop of an agent: it runs jobs, one at a time, and serves labs that request a stream.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use async_nats::jetstream::{AckKind, Message};
use futures_util::StreamExt;
use pitot_results::Failure;

use crate::agent::{Agent, Trouble, Work};
use crate::claim::{Claim, RETRY, give_back};
use crate::connection::ANSWER_MAX;
use crate::entry::{Entry, State};
use crate::hosted::Openings;
use crate::job::{Job, now_unix_s};
use crate::lease::{Lease, drawn};
use crate::places::{TRIES_MAX, of_subject};

/// Timeout of a request for a job.
const PULL: Duration = Duration::from_secs(1);
/// Deliveries of a job that was handed out again count from here.
const EPOCH: u64 = 1_000_000;
/// A job for which this host lacks something is not tried here again for so long, ...
const LACK_MAX: Duration = Duration::from_secs(600);
/// ... and each time that it comes nevertheless, nobody gets it for this time, so that other jobs are done meanwhile, and for a part of a
/// pull more, by lot: a whole number of pulls would give it to the same agent again and again.
const LACK_BACK_OFF: Duration = Duration::from_secs(4);

impl Agent<'_> {
    /// Runs jobs until `stop` is true.
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
            self.connection.flush().await;
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

    async fn carry_out(
        &self,
        message: &Message,
        lease: &mut Lease<'_>,
        lacking: &mut Lacking,
        work: &mut dyn Work,
        stop: &dyn Fn() -> bool,
    ) {
        let Some((mut claim, opened)) = self.claim(message, lacking).await else { return };
        let job = match opened {
            Ok(job) => job,
            Err(why) => {
                (self.tell)(&format!("refused the job {}: {why}", claim.key));
                let refused = Err(Trouble::Failed(format!("it was refused: {why}")));
                return claim.end(refused, lease, stop).await;
            }
        };
        if !claim.take().await {
            return;
        }
        (self.tell)(&format!("begin {}", claim.key));
        let _ = lease.keep(Some(&claim.key)).await;
        let outcome = match work.start(&job.text) {
            Ok(running) => claim.outcome(running, lease, stop).await,
            Err(why) => Some(Err(Trouble::Failed(why))),
        };
        let Some(outcome) = outcome else { return };
        if let Err(Trouble::Lacks(_)) = &outcome {
            lacking.note(&claim.key);
        }
        claim.end(outcome, lease, stop).await;
    }

    /// What is needed to claim a job, with what it says or why it is refused. None if it is not to be tried here now: the bus
    /// knows by then.
    async fn claim<'m>(
        &'m self,
        message: &'m Message,
        lacking: &Lacking,
    ) -> Option<(Claim<'m>, Result<Job, &'static str>)> {
        let Some((run, job)) = of_subject(&message.subject) else {
            // No coordinator has put it there, and nobody will ever take it.
            let _ = message.ack_with(AckKind::Term).await;
            return None;
        };
        let delivered = message.info().ok()?.delivered;
        let key = format!("{run}.{job}");
        let (known, revision) = self.entry(&key).await.ok()?;
        if known.as_ref().is_some_and(Entry::is_over) {
            let _ = message.double_ack().await;
            return None;
        }
        if lacking.has(&key) {
            give_back(message, Some(LACK_BACK_OFF + PULL.mul_f64(lot()))).await;
            return None;
        }
        let opened = Job::open(&message.payload, self.trusted, (run, job), now_unix_s());
        let epoch = opened.as_ref().map_or(0, |job| job.epoch);
        let attempt = epoch * EPOCH + delivered.unsigned_abs();
        if known.as_ref().is_some_and(|known| known.attempt >= attempt) {
            // Whoever holds it has a later delivery than this one.
            return None;
        }
        let (tries, lacks) = known.map(|known| (known.tries, known.lacking)).unwrap_or_default();
        if tries >= TRIES_MAX {
            // Its last holder was lost, or says nothing for now: the coordinator sees which.
            give_back(message, Some(self.places().times.gone)).await;
            return None;
        }
        let entry = Entry {
            agent: self.name.to_owned(),
            attempt,
            tries: tries + 1,
            lacking: lacks,
            state: State::Claimed,
        };
        Some((Claim { agent: self, message, key, run, revision, entry }, opened))
    }
}

/// From 0 to 1.
fn lot() -> f64 {
    f64::from(drawn() as u32) / f64::from(u32::MAX)
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
