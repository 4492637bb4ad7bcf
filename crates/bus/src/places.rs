//! What lies on the bus, by name: docs/bus.md lists it with the permissions that each side needs.

use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, Consumer, pull};
use async_nats::jetstream::context::GetStreamErrorKind;
use async_nats::jetstream::object_store::ObjectStore;
use async_nats::jetstream::stream::{self, RetentionPolicy, Stream};
use async_nats::jetstream::{Context, ErrorCode, kv, object_store};

use crate::keys::is_name;

/// The work queue.
const JOBS: &str = "PITOT_JOBS";
/// Its one consumer, which all agents share.
const CONSUMER: &str = "agents";
/// Who is there.
const AGENTS: &str = "pitot_agents";
/// The entries of jobs.
pub(crate) const STATES: &str = "pitot_states";
/// Results that are too large for an entry.
const RESULTS: &str = "pitot_results";

/// A job of which nothing was heard for so long is delivered again.
const ACK_WAIT: Duration = Duration::from_secs(30);
/// A job is begun so often at most. The work queue delivers it as often as it takes: an agent that lacks something for it gives it back.
pub(crate) const TRIES_MAX: u32 = 3;
/// An agent that was silent for so long is gone.
const AGENT_AGE_MAX: Duration = Duration::from_secs(30);
/// An agent is heard so many times within the time for which it may be silent.
const SIGNS: u32 = 3;
/// What nobody has fetched is forgotten after so long, jobs included.
pub(crate) const AGE_MAX: Duration = Duration::from_secs(7 * 24 * 3600);
/// A larger result is an object. The server takes messages of 1 MiB where it is not told otherwise.
pub(crate) const INLINE_BYTES_MAX: usize = 512 << 10;

/// All of it.
#[derive(Clone)]
pub(crate) struct Places {
    pub(crate) stream: Stream,
    pub(crate) jobs: Consumer<pull::Config>,
    pub(crate) agents: kv::Store,
    pub(crate) states: kv::Store,
    pub(crate) results: ObjectStore,
    pub(crate) times: Times,
}

/// How long agents may be silent. Whoever has made the queue and the bucket has decided that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Times {
    /// An agent says so often that it works on a job, and that it is there; and so often all jobs are looked at.
    pub(crate) progress: Duration,
    /// An agent whose last try was not heard of for so long is dead: its announcement has lapsed, and was looked for again.
    pub(crate) gone: Duration,
}

impl Times {
    /// Of a queue that delivers a job again after `ack_wait` and a bucket whose announcements lapse after `age_max`; never, if that
    /// is zero.
    fn of(ack_wait: Duration, age_max: Duration) -> Times {
        let age_max = if age_max.is_zero() { AGENT_AGE_MAX } else { age_max };
        let progress = ack_wait.min(age_max) / SIGNS;
        Times { progress, gone: age_max + progress }
    }
}

impl Places {
    /// Whether the bus answers, and something of it is not there any more.
    pub(crate) async fn are_lost(context: &Context) -> bool {
        let buckets = [AGENTS, STATES].map(|name| format!("KV_{name}"));
        for name in [JOBS.to_owned(), format!("OBJ_{RESULTS}")].iter().chain(&buckets) {
            if let Err(e) = context.get_stream(name).await {
                let is_missing = |e: GetStreamErrorKind| matches!(e, GetStreamErrorKind::JetStream(e) if e.error_code() == ErrorCode::STREAM_NOT_FOUND);
                return is_missing(e.kind());
            }
        }
        false
    }

    /// Finds it, and makes what is not there: whoever comes first does.
    pub(crate) async fn reach(context: &Context) -> Result<Places, async_nats::Error> {
        let stream = match context.get_stream(JOBS).await {
            Ok(stream) => stream,
            Err(_) => {
                let config = stream::Config {
                    name: JOBS.into(),
                    subjects: vec!["pitot.job.>".into()],
                    retention: RetentionPolicy::WorkQueue,
                    max_age: AGE_MAX,
                    ..stream::Config::default()
                };
                context.get_or_create_stream(config).await?
            }
        };
        let jobs = match stream.get_consumer(CONSUMER).await {
            Ok(consumer) => consumer,
            Err(_) => {
                let config = pull::Config {
                    durable_name: Some(CONSUMER.into()),
                    ack_policy: AckPolicy::Explicit,
                    ack_wait: ACK_WAIT,
                    ..pull::Config::default()
                };
                stream.get_or_create_consumer(CONSUMER, config).await?
            }
        };
        let agents = bucket(context, AGENTS, AGENT_AGE_MAX).await?;
        let times = Times::of(jobs.cached_info().config.ack_wait, agents.stream.cached_info().config.max_age);
        Ok(Places {
            stream,
            jobs,
            agents,
            times,
            states: bucket(context, STATES, AGE_MAX).await?,
            results: match context.get_object_store(RESULTS).await {
                Ok(store) => store,
                Err(_) => {
                    let config = object_store::Config {
                        bucket: RESULTS.into(),
                        max_age: AGE_MAX,
                        ..object_store::Config::default()
                    };
                    context.create_object_store(config).await?
                }
            },
        })
    }
}

async fn bucket(context: &Context, name: &str, max_age: Duration) -> Result<kv::Store, async_nats::Error> {
    if let Ok(store) = context.get_key_value(name).await {
        return Ok(store);
    }
    let config = kv::Config { bucket: name.into(), max_age, history: 1, ..kv::Config::default() };
    Ok(context.create_key_value(config).await?)
}

/// The subject of a job.
pub(crate) fn subject(run: &str, job: &str) -> String {
    format!("pitot.job.{run}.{job}")
}

/// Run and job of a subject, if a coordinator may have made it.
pub(crate) fn of_subject(subject: &str) -> Option<(&str, &str)> {
    let names = subject.strip_prefix("pitot.job.")?.split_once('.');
    names.filter(|(run, job)| is_name(run) && is_name(job))
}

/// Where it is said that the entry of a job of a run has changed. A hint: what counts is the entry.
pub(crate) fn hints(run: &str) -> String {
    format!("pitot.hint.{run}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_heard_three_times_before_they_are_given_up() {
        let s = Duration::from_secs;
        for (ack_wait, age_max, progress, gone) in
            [(30, 30, 10, 40), (6, 6, 2, 8), (60, 30, 10, 40), (6, 30, 2, 32), (30, 0, 10, 40)]
        {
            let times = Times { progress: s(progress), gone: s(gone) };
            assert_eq!(Times::of(s(ack_wait), s(age_max)), times);
        }
    }
}
