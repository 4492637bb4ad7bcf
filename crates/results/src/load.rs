//! What `pitot load --json` prints.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::latency::{Latencies, Latency};
use crate::lenient::known_word;
use crate::printed::Printed;
use crate::under_way::UnderWay;
use crate::verdict::VerdictKind;
use pitot_durability::Acknowledged;

/// The schema of [`LoadResult`].
pub const SCHEMA: &str = "pitot-load/1";

/// The result of a run under load. Rates and counts are totals over all threads and processes in the measured part,
/// without the warm-up, unless a field says otherwise.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoadResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// The version of the program that printed it.
    pub version: String,
    /// The URL.
    pub target: String,
    /// The options as they took effect; `asked` among them has method, headers, paths and body, and the words of the
    /// command line.
    pub options: Value,
    /// When the measured part began, RFC 3339.
    pub started_at: String,
    /// Length of the measured part, seconds.
    pub duration_s: f64,
    /// The measured part on the clock that all processes of the machine share.
    pub clock_ns: Window,
    /// Requests by their end.
    pub requests: RequestCounts,
    /// What came before the measured part.
    pub warmup: WarmupCounts,
    /// Replies completed per second.
    pub throughput_rps: f64,
    /// Requests due per second in an open loop; `None` in a closed one.
    pub asked_rps: Option<f64>,
    /// Latencies by their kind, in nanoseconds.
    pub latency_ns: Latencies<Latency>,
    /// How evenly replies flowed; `None` if each came in one piece.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smoothness: Option<Smoothness>,
    /// The CPU time that the program counted of itself for its requests alone, where that says more than what can be
    /// seen of its process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_cpu_s: Option<OwnCpu>,
    /// Connections.
    pub connections: ConnectionCounts,
    /// How many of the server's connections had a reply under way whenever they were looked at; `None` unless the server is on
    /// this machine and each request waited for nothing but the reply before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub under_way: Option<UnderWay>,
    /// TLS; `None` if the run was without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<Tls>,
    /// How idle connections were served; `None` if there were none, or they sent nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle: Option<IdleCounts>,
    /// Errors by phase and kind, the most frequent first.
    pub errors: Vec<ErrorRow>,
    /// Complete replies by their status, right and wrong ones; empty if the protocol has none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub statuses: BTreeMap<u16, u64>,
    /// Bytes of the application.
    pub bytes: Bytes,
    /// Sessions, where requests were steps of such.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sessions: Option<SessionResult>,
    /// What the protocol counted by itself in the whole run, such as hits and misses of a cache.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub protocol: BTreeMap<String, u64>,
    /// Where the first redirect led that was not followed, in the server's words (HTTP/1.1).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redirects_to: Option<String>,
    /// The first refusal of the server in its own words (PostgreSQL, Redis, memcached, SMTP).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_said: Option<String>,
    /// Which requests were acknowledged, where each had a name of its own (`--durability`); in the warm-up too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub durability: Option<Acknowledged>,
    /// When the last reply came, seconds from the start of the measured part, if the server answered nothing from then to
    /// the end; 0 if it never answered, and `None` if it answered to the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unanswered_since_s: Option<f64>,
    /// The measured part by the second.
    pub series: Vec<Second>,
    /// The measured part in steps that are shorter than a second, where they are asked for (`--steps`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<Steps>,
    /// The generator's own resources and its verdict.
    pub client: Client,
    /// A storm of connections, where one was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storm: Option<Storm>,
    /// Pages, where users read them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pages: Option<Pages>,
    /// A search for the highest rate, where one was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchResult>,
    /// What each host did of the load, where several did parts of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// Conditions that were to be checked.
    pub gates: Vec<Gate>,
    /// What the executions of a command used, where those are the requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub executions: Option<Executions>,
    /// Why the run ended before its time, if it did.
    pub ended_early: Option<String>,
    /// By the names of [`Latencies`]: base64 of the HdrHistogram V2 deflate encoding.
    pub histograms: BTreeMap<String, String>,
    /// The object of another program from which this result was drawn.
    #[serde(skip)]
    pub printed: Printed,
    /// The whole object as it was read, with the fields that are not known here; null in a result that was not read.
    #[serde(skip)]
    pub raw: Value,
}

impl LoadResult {
    /// The same without the rows of domains of a mailing to which all was sent: there may be thousands, a megabyte in each repetition
    /// of a run.
    #[must_use]
    pub fn without_domains(mut self) -> LoadResult {
        if let Printed::Mail(mail) = &mut self.printed {
            mail.domains.retain(|domain| domain.refused + domain.gave_up > 0);
            self.raw["domains"] = serde_json::json!(mail.domains);
        }
        self
    }

    /// Errors of all phases together.
    pub fn error_count(&self) -> u64 {
        self.errors.iter().map(|e| e.count).sum()
    }

    /// Errors as a share of the requests that were due or begun, 0 to 1.
    pub fn error_share(&self) -> Option<f64> {
        error_share(self.error_count(), self.requests.due())
    }
}

impl LoadResult {
    /// Bytes of the content of a right reply, on average.
    pub fn content_per_reply(&self) -> Option<f64> {
        let content = self.bytes.content?;
        (self.requests.ok > 0).then(|| content as f64 / self.requests.ok as f64)
    }
}

impl RequestCounts {
    /// Requests that were begun, or were due in an open loop and never sent.
    pub fn due(&self) -> u64 {
        self.attempted + self.missed
    }
}

/// Errors as a share of the requests that were due or begun, 0 to 1; `None` if there is neither. In an open loop those
/// that were due count whether or not there was a connection to send them on, as in a closed one each is begun.
/// Connects fail without a request, so that there may be more errors than requests; then the share is 1.
pub fn error_share(errors: u64, due: u64) -> Option<f64> {
    let whole = due.max(errors);
    (whole > 0).then(|| errors as f64 / whole as f64)
}

/// A stretch of `CLOCK_MONOTONIC`, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Window {
    /// Its start; 0 if it is not known.
    pub start: u64,
    /// Its end; 0 if it is not known.
    pub end: u64,
}

/// Requests whose intended time lies in the measured part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RequestCounts {
    /// Begun.
    pub attempted: u64,
    /// Answered in full, rightly or wrongly, in time or late.
    pub completed: u64,
    /// Answered in full, rightly and in time.
    pub ok: u64,
    /// Ended without a full answer: no connection, broken off, timed out.
    pub failed: u64,
    /// Begun and neither answered nor failed when the run ended.
    pub cut: u64,
    /// How long the oldest of those had waited, nanoseconds.
    pub cut_oldest_ns: u64,
    /// Due in an open loop and never sent: no connection was free for as long as the timeout, or up to the end.
    pub missed: u64,
    /// Sent more than a millisecond after they were due although a connection was free: the generator's own lateness.
    pub started_late: u64,
}

/// What happened before the measured part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WarmupCounts {
    /// Requests begun.
    pub requests: u64,
    /// Errors of all phases.
    pub errors: u64,
}

/// Connections, from the first that was opened, before the measured part too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConnectionCounts {
    /// Asked for: active and idle.
    pub requested: u64,
    /// Established in all.
    pub opened: u64,
    /// The most that were open at once: the proof that they existed.
    pub peak_open: u64,
    /// The mean number open over the measured part.
    pub mean_open: f64,
    /// How many of those opened replaced an earlier one.
    pub reopened: u64,
    /// Closed or reset by the server.
    pub closed_by_peer: u64,
    /// Failed connects, each tried again after a back-off.
    pub connect_failures: u64,
    /// Requests that kept idle connections alive; they are in no other figure.
    pub trickled: u64,
    /// Segments that the client's kernel sent again.
    pub retransmits: u64,
    /// Those on which a request was to be sent. Counted with idle ones in none of these two.
    pub asked: u64,
    /// Those of them that had no reply from the start to the end: their requests failed, or the first waited for more than half
    /// of the run. No percentile knows of that wait.
    pub unanswered: u64,
    /// Seconds from the start of the generator's threads or processes until every connection that is opened before the
    /// run had been tried; 0 if there are none.
    pub opening_s: f64,
}

/// The requests that idle connections sent (`--idle-trickle`) and the replies in the measured part: the proof that each of
/// them was served all the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct IdleCounts {
    /// Idle connections.
    pub connections: u64,
    /// Right replies on all of them.
    pub replies: u64,
    /// Right replies on the connection that had the fewest.
    pub replies_min: u64,
    /// The longest that one of them was without a right reply, from the start of the measured part to its end, seconds.
    pub gap_max_s: f64,
}

/// TLS, from the first connection that was opened, before the measured part too.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tls {
    /// Handshakes by their outcome.
    pub handshakes: HandshakeCounts,
    /// What was agreed on, the most frequent first.
    pub sessions: Vec<TlsSession>,
}

/// TLS handshakes by their outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HandshakeCounts {
    /// With certificates and signatures.
    pub full: u64,
    /// That resumed an earlier session of the same connection.
    pub resumed: u64,
    /// That failed; the errors of the phase `handshake` say why.
    pub failed: u64,
}

/// What the two ends of connections agreed on, by the names of IANA's registries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TlsSession {
    /// `TLSv1_3`.
    pub version: String,
    /// `TLS_AES_256_GCM_SHA384`.
    pub cipher: String,
    /// The protocol chosen by ALPN, if any.
    pub alpn: Option<String>,
    /// Handshakes.
    pub count: u64,
}

/// Errors of one kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ErrorRow {
    /// `connect`, `handshake`, `send`, `receive`, `timeout`, `protocol` or `content`; `read` of a disk, `mail` of a mailing.
    pub phase: String,
    /// The name of an errno or a word.
    pub kind: String,
    /// How many.
    pub count: u64,
    /// When the first came, seconds from the start of the measured part.
    pub first_at_s: f64,
}

/// Bytes of the application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bytes {
    /// From the server.
    pub received: u64,
    /// To the server.
    pub sent: u64,
    /// Of the content of right replies (`requests.ok`): bodies without heads, frames and TLS, values and rows of protocols that have no
    /// bodies. `None` if it was not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<u64>,
}

/// How evenly replies flowed: the gaps between arrivals of the same reply, as the client receives them. The wait for
/// the first byte is not among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Smoothness {
    /// The gaps, nanoseconds.
    pub gap_ns: Latency,
    /// A gap longer than this is a stall, nanoseconds.
    pub stall_ns_min: u64,
    /// The part of the time between the first and the last bytes of replies that stalls took, 0 to 1.
    pub stalled_share: f64,
}

/// CPU time, seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OwnCpu {
    /// In user mode.
    pub user: f64,
    /// In the kernel.
    pub system: f64,
}

/// What the executions of a command used, all together, with the children that they waited for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Executions {
    /// CPU time in user mode, seconds.
    pub user_s: f64,
    /// CPU time in the kernel, seconds.
    pub system_s: f64,
    /// The peak of resident memory of each execution, added up, bytes; 0 if it is too small to be known.
    pub memory_bytes: u64,
    /// Page faults that needed no disk.
    pub faults_minor: u64,
    /// Page faults that waited for a disk.
    pub faults_major: u64,
    /// Times that a thread gave up the CPU to wait.
    pub switches_voluntary: u64,
    /// Times that a thread was made to give up the CPU.
    pub switches_involuntary: u64,
    /// How executions ended and what they printed, with how many did.
    pub outcomes: BTreeMap<String, u64>,
}

impl Executions {
    /// Adds those of another slice.
    pub fn add(&mut self, other: &Executions) {
        self.user_s += other.user_s;
        self.system_s += other.system_s;
        self.memory_bytes += other.memory_bytes;
        self.faults_minor += other.faults_minor;
        self.faults_major += other.faults_major;
        self.switches_voluntary += other.switches_voluntary;
        self.switches_involuntary += other.switches_involuntary;
        for (outcome, count) in &other.outcomes {
            *self.outcomes.entry(outcome.clone()).or_default() += count;
        }
    }

    /// What most of them did.
    pub fn usual_outcome(&self) -> Option<&str> {
        let most = self.outcomes.iter().max_by_key(|(_, count)| **count)?;
        Some(most.0)
    }
}

/// What one of several hosts did of a load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Part {
    /// The plan's name for it.
    pub host: String,
    /// Its measured part, on the clock of the whole: in what the starts differ is known to the error of the hosts' clocks.
    pub clock_ns: Window,
    /// Replies completed per second.
    pub throughput_rps: f64,
    /// Requests answered in full, rightly and in time.
    pub requests_ok: u64,
    /// Errors of all phases.
    pub errors: u64,
    /// Arrivals missed.
    pub missed: u64,
    /// Median response time, nanoseconds.
    pub p50_ns: u64,
    /// 99th percentile of the response times, nanoseconds.
    pub p99_ns: u64,
    /// Share of its busiest thread's time that was spent on a CPU, 0 to 1.
    pub cpu_utilisation: f64,
    /// The verdict of its generator.
    #[serde(deserialize_with = "known_word")]
    pub verdict: Option<VerdictKind>,
    /// The sentence behind the verdict.
    pub reason: String,
}

/// One second of the measured part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Second {
    /// Its start, seconds from the start of the measured part.
    pub t_s: u64,
    /// Replies completed.
    pub completed: u64,
    /// Those of them with a status from 200 to 299, ...
    pub status_2xx: u64,
    /// ... 300 to 399, ...
    pub status_3xx: u64,
    /// ... 400 to 499, ...
    pub status_4xx: u64,
    /// ... and 500 to 599.
    pub status_5xx: u64,
    /// Errors of all phases.
    pub errors: u64,
    /// Arrivals missed of those that were due in it.
    pub missed: u64,
    /// Bytes from the server.
    pub received: u64,
    /// Bytes to the server.
    pub sent: u64,
    /// Connections open at its end.
    pub open: u64,
    /// Median response time of the replies completed in it, nanoseconds.
    pub p50_ns: u64,
    /// 95th percentile of the same, nanoseconds.
    pub p95_ns: u64,
    /// 99th percentile of the same, nanoseconds.
    pub p99_ns: u64,
    /// The longest of the same, nanoseconds.
    pub max_ns: u64,
}

/// The measured part in steps of equal length, of which so many are a second.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Steps {
    /// The length of a step, nanoseconds.
    pub length_ns: u64,
    /// Replies that came complete, right and in time, by step, from the start of the measured part to the last that had one.
    pub right: Vec<u64>,
    /// Errors by phase and kind.
    pub errors: Vec<StepErrors>,
}

/// Errors of one kind by step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StepErrors {
    /// As in [`ErrorRow`].
    pub phase: String,
    /// As in [`ErrorRow`].
    pub kind: String,
    /// Steps that had some, ascending, and how many.
    pub at: Vec<(u64, u64)>,
}

/// The generator's own resources in the measured part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Client {
    /// CPU time in user mode of all its threads, seconds.
    pub cpu_user_s: f64,
    /// CPU time in the kernel of all its threads, seconds.
    pub cpu_system_s: f64,
    /// Share of its busiest thread's time that was spent on a CPU, 0 to 1.
    pub cpu_utilisation: f64,
    /// The longest that one of its threads was ready to run and did not, seconds; `None` where the kernel does not
    /// count it.
    pub run_queue_s: Option<f64>,
    /// Thread by thread.
    pub threads: Vec<ThreadUse>,
    /// The verdict of the generator on its own run; `None` if it gave none, or one that is not known here.
    #[serde(deserialize_with = "known_word")]
    pub verdict: Option<VerdictKind>,
    /// The sentence behind the verdict.
    pub reason: String,
}

/// What a thread used and was denied during the measured part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ThreadUse {
    /// CPU time in user mode, seconds.
    pub cpu_user_s: f64,
    /// CPU time in the kernel, seconds.
    pub cpu_system_s: f64,
    /// CPU time over elapsed time, 0 to 1.
    pub cpu_utilisation: f64,
    /// Time it was ready to run while another ran, seconds; `None` where the kernel does not count it.
    pub run_queue_s: Option<f64>,
    /// The longest that it was late for a request for which a connection was free, nanoseconds.
    pub late_max_ns: u64,
}

/// A storm of connections: all opened at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Storm {
    /// Connections asked for.
    pub requested: u64,
    /// Connections established at the end.
    pub established: u64,
    /// Seconds from the start until the last of them was.
    pub established_s: f64,
}

/// A search for the highest rate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SearchResult {
    /// What a rate had to meet.
    pub conditions: String,
    /// The highest rate that did, if any, requests per second.
    pub found_rps: Option<f64>,
    /// All runs in the order in which they were made.
    pub steps: Vec<Step>,
}

/// One run of a search.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Step {
    /// The rate asked for, requests per second.
    pub rate_rps: f64,
    /// Replies per second.
    pub throughput_rps: f64,
    /// Response times, nanoseconds.
    pub response_ns: Latency,
    /// Errors of all phases.
    pub errors: u64,
    /// Arrivals missed.
    pub missed: u64,
    /// The verdict of the generator on the run.
    #[serde(deserialize_with = "known_word")]
    pub verdict: Option<VerdictKind>,
    /// It met the conditions.
    pub passed: bool,
}

/// The sessions of the measured part: those that were to begin in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionResult {
    /// Begun.
    pub begun: u64,
    /// Ended with the right reply to their last request.
    pub completed: u64,
    /// Ended by a wrong reply, or none.
    pub failed: u64,
    /// Under way when the run ended.
    pub cut: u64,
    /// Sessions that were due in a second of an open loop; `None` in a closed one.
    pub asked_per_s: Option<f64>,
    /// Completed per second.
    pub completed_per_s: f64,
    /// From the moment at which a session was to begin to its last reply, think times included, nanoseconds; of those that
    /// completed.
    pub time_ns: Latency,
    /// The steps at which sessions failed.
    pub failed_at: Vec<FailedStep>,
    /// The steps by themselves, in the order in which they were written; empty where there are too many to be kept apart.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepResult>,
}

/// What became of the requests of one step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StepResult {
    /// `SESSION/STEP`, or the action that it is.
    pub step: String,
    /// Requests that were answered in full.
    pub requests: u64,
    /// Wrong answers, and requests that came to nothing.
    pub errors: u64,
    /// Its share of all requests that are actions, 0 to 1; `None` for one that only prepares another.
    pub share: Option<f64>,
    /// Response times, nanoseconds.
    pub time_ns: Latency,
}

/// A step at which sessions failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FailedStep {
    /// `SESSION/STEP`.
    pub step: String,
    /// How many.
    pub count: u64,
}

/// A condition that was to be checked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Gate {
    /// The condition for failure.
    pub fail_if: String,
    /// The condition is met.
    pub failed: bool,
    /// The figure that it is about.
    pub figure: String,
}

/// Pages whose intended time lies in the measured part, in a run whose users read pages as browsers do (`--browser`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pages {
    /// Begun.
    pub begun: u64,
    /// The page and all that belongs to it answered in full, rightly or wrongly.
    pub completed: u64,
    /// The same, all rightly and in time.
    pub ok: u64,
    /// Ended with a request that had no full answer.
    pub failed: u64,
    /// Under way when the run ended.
    pub cut: u64,
    /// Due in an open loop and never begun: no user was free for as long as the timeout, or up to the end.
    pub missed: u64,
    /// Pages completed per second.
    pub per_s: f64,
    /// Pages due per second in an open loop; `None` in a closed one.
    pub asked_per_s: Option<f64>,
    /// Embedded objects got with a completed page, on average.
    pub objects_per_page: f64,
    /// Content of a completed page with all that belongs to it, on average, bytes.
    pub bytes_per_page: f64,
    /// References that were not followed: they lead to other hosts, or a page had too many.
    pub elsewhere: u64,
    /// Objects that were not got since their user had got them before.
    pub cached: u64,
    /// Redirects of pages that were followed.
    pub redirected: u64,
    /// From the intended start of a page until all that belongs to it was complete, nanoseconds.
    pub time_ns: Latency,
    /// Response times of the pages' own documents, nanoseconds.
    pub document_ns: Latency,
    /// Response times of what belongs to them, nanoseconds.
    pub embedded_ns: Latency,
}
