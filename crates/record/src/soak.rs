//! What a soak is, as plain data.

use pitot_durability::Stored;
use pitot_fault::Effect;
use pitot_host::Fingerprint;
use pitot_plan::shell_line;
use pitot_results::secrets::Secrets;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::run::RunState;

/// What is lost is known by the second of its acknowledgement, for a while.
pub const SECOND_S: f64 = 1.0;
/// What is lost so long after a fault still belongs to it, seconds.
const LOST_AFTER_S: f64 = 60.0;

/// A whole soak, as far as it has come.
#[derive(Clone, Debug, Default)]
pub struct Soak {
    /// Random, so that copies are recognised.
    pub id: String,
    /// What was asked for.
    pub info: Info,
    /// Whether it is over.
    pub state: State,
    /// The servers.
    pub subjects: Vec<Subject>,
    /// The loads, in the order of their numbers.
    pub loads: Vec<Load>,
    /// What each load did, by load and time.
    pub intervals: Vec<Interval>,
    /// What was sampled, by metric and time.
    pub readings: Vec<Reading>,
    /// What happened, oldest first.
    pub events: Vec<Event>,
    /// Faults that were made, oldest first.
    pub faults: Vec<Fault>,
    /// What was acknowledged and lost, oldest first.
    pub losses: Vec<Loss>,
}

/// What was asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Info {
    /// A line about it.
    pub title: String,
    /// The version that began it.
    pub version: String,
    /// The command line, which `--resume` repeats.
    pub arguments: Vec<String>,
    /// The directory in which it was begun.
    pub directory: String,
    /// When it began, seconds since 1970.
    pub started_unix_s: f64,
    /// Time under load that was asked for, seconds.
    pub asked_s: f64,
    /// Length of the shortest interval that is kept, seconds.
    pub interval_s: u64,
    /// What a reader should know of the method, from the plan.
    pub notes: Vec<String>,
    /// Figures that others published, in a line each.
    pub published: Vec<String>,
    /// The machine when it began. It is recorded as that of a run is.
    #[serde(skip)]
    pub machine: Fingerprint,
}

impl Info {
    /// As JSON, with its secrets.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("plain data has a JSON form")
    }

    /// The command line as a shell reads it.
    pub fn command_line(&self) -> String {
        format!("pitot soak {}", shell_line(&self.arguments))
    }

    /// The secrets of the command line.
    pub fn secrets(&self) -> Secrets {
        let mut secrets = Secrets::default();
        secrets.learn_json(&self.to_json());
        secrets
    }
}

/// Whether a soak is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It goes on, or was killed.
    #[default]
    Running,
    /// It was killed, and can be resumed. Known by those who look at the file ([`Soak::look`]); it does not stand there.
    Killed,
    /// It was stopped, and can be resumed.
    Stopped,
    /// All of the time is over.
    Complete,
}

impl From<State> for RunState {
    fn from(state: State) -> RunState {
        match state {
            State::Running | State::Killed => RunState::Running,
            State::Stopped => RunState::Interrupted,
            State::Complete => RunState::Complete,
        }
    }
}

impl From<RunState> for State {
    fn from(state: RunState) -> State {
        match state {
            RunState::Running => State::Running,
            RunState::Interrupted => State::Stopped,
            RunState::Complete => State::Complete,
        }
    }
}

/// A server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Subject {
    /// Its number in the file, from 1.
    pub id: i64,
    /// What it is called.
    pub name: String,
    /// The command line that started it; empty for one that was running already.
    pub command: String,
    /// How often it ended and was started again, exact for ever.
    pub endings: Endings,
}

/// How often a server ended by itself. Those of faults are not among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Endings {
    /// It ended, or was killed by somebody else.
    pub deaths: u64,
    /// It was started again.
    pub restarts: u64,
}

/// A load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Load {
    /// Its number in the file, from 1.
    pub id: i64,
    /// That of its server.
    pub subject: i64,
    /// What it is called.
    pub name: String,
    /// The command line.
    pub command: String,
    /// Counts since the soak began, exact for ever.
    pub totals: Totals,
}

/// Counts of a load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Totals {
    /// Replies completed.
    pub completed: u64,
    /// Those with a status from 200 to 299, 300 to 399, 400 to 499 and 500 to 599.
    pub by_status: [u64; 4],
    /// Errors of all phases.
    pub errors: u64,
    /// Arrivals missed.
    pub missed: u64,
    /// Bytes from the server.
    pub received: u64,
    /// Bytes to the server.
    pub sent: u64,
    /// Errors by phase and kind.
    pub kinds: Vec<Kind>,
    /// Seconds that the load was under way.
    pub loaded_s: f64,
    /// What the server keeps of its requests, if that is looked for (`keeps` in the plan).
    pub kept: Option<Stored>,
    /// Requests that the server has acknowledged, of those.
    pub acknowledged: u64,
    /// Of these, those that were not there, or not whole.
    pub lost: u64,
    /// Of those, the ones of which something was there.
    pub torn: u64,
    /// Acknowledged requests that were there more than once.
    pub doubled: u64,
}

impl Totals {
    /// Whether the server has answered any request, rightly or not.
    pub fn was_answered(&self) -> bool {
        self.completed > 0 || self.kinds.iter().any(|kind| kind.phase == "content" && kind.count > 0)
    }

    /// What its requests met, for a sentence: `connect ECONNREFUSED 12 times`.
    pub fn errors_by_kind(&self) -> String {
        let kind = |kind: &Kind| format!("{} {} {} times", kind.phase, kind.kind, kind.count);
        self.kinds.iter().map(kind).collect::<Vec<_>>().join(", ")
    }
}

/// Errors of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Kind {
    /// Where it happened: `connect`, `receive` and so on, as in the result of `pitot load`.
    pub phase: String,
    /// The name of an errno or a word.
    pub kind: String,
    /// How many.
    pub count: u64,
}

/// What a load did in a stretch of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Interval {
    /// The load.
    pub load: i64,
    /// Its begin, seconds since the soak began.
    pub start_s: f64,
    /// Its length, seconds. It is shorter than its kind's where a load began or ended in it.
    pub length_s: f64,
    /// Replies completed.
    pub completed: u64,
    /// Errors of all phases.
    pub errors: u64,
    /// Arrivals missed.
    pub missed: u64,
    /// Bytes from the server.
    pub received: u64,
    /// Connections open at its end.
    pub open: u64,
    /// Response times: HdrHistogram V2, deflated, in base64; nanoseconds.
    pub response: String,
}

/// A metric over a stretch of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// The server; 0 for the machine.
    pub subject: i64,
    /// The name of the metric.
    pub metric: String,
    /// Begin of the stretch, seconds since the soak began.
    pub start_s: f64,
    /// Its length, seconds.
    pub length_s: f64,
    /// The mean of the values in it.
    pub mean: f64,
    /// The smallest of them.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

/// Requests of one second, or of a longer stretch that is long ago, that a server had acknowledged and did not keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Loss {
    /// The load whose requests they were.
    pub load: i64,
    /// The begin of the stretch in which they were acknowledged, seconds since the soak began.
    pub at_s: f64,
    /// Its length: [`SECOND_S`], or more.
    pub length_s: f64,
    /// How many are not there, or not whole.
    pub lost: u64,
    /// How many of them are there and not whole.
    pub torn: u64,
}

/// What kind of thing happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// The lab did not run: nothing was loaded and nothing is known. No outage of the server.
    Gap,
    /// A server ended by itself, or was killed.
    ServerEnded,
    /// A server was started again.
    ServerRestarted,
    /// A server that had ended could not be started again; it is tried once more.
    RestartFailed,
    /// A load ended before its time, and was started again.
    LoadEnded,
    /// A helper of the loads has ended.
    HelperEnded,
    /// A server takes connections and answers nothing.
    HangSilent,
    /// A server takes no connections: its listen queue is full.
    HangNotAccepting,
    /// A server is stopped by a signal.
    HangStopped,
    /// Replies have come to an end for a reason that was not found.
    HangNoReplies,
    /// One of several loads of a server has no replies any more, while others have.
    LoadUnanswered,
    /// A line of the kernel's log.
    Kernel,
    /// The kernel's log cannot be read.
    KernelUnreadable,
    /// CPUs were slowed down: by heat, or by the limit of a control group.
    Throttled,
    /// The wall clock was set.
    ClockStep,
    /// Processes that are no part of the soak used the CPUs.
    Neighbours,
    /// A server did not keep what it had acknowledged.
    Lost,
    /// What a server keeps could not be read, or more was not there yet than is remembered.
    KeptUnreadable,
    /// A fault could not be made or taken back, or a server not be started again after it.
    FaultFailed,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// When, seconds since the soak began.
    pub at_s: f64,
    /// When it was over, if it has an end and that has come.
    pub until_s: Option<f64>,
    /// The server that it is about; none for the machine.
    pub subject: Option<i64>,
    /// What kind of thing.
    pub kind: EventKind,
    /// What happened, in a sentence.
    pub sentence: String,
    /// What shows it: what was printed last, states of threads, queues of sockets.
    pub evidence: String,
}

/// A fault that was made to a server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Fault {
    /// The server.
    pub subject: i64,
    /// Its position in the plan, from 0.
    pub number: u32,
    /// Its name among the faults.
    pub kind: String,
    /// When it was to begin, seconds under load. With server and number it names the fault.
    pub due_s: f64,
    /// When it began, seconds since the soak began.
    pub at_s: f64,
    /// When it was taken back; none while it goes on.
    pub until_s: Option<f64>,
    /// What was done, or why nothing was.
    pub what: String,
    /// The command that repeats it; empty if there is none.
    pub command: String,
    /// Whether it was made.
    pub was_made: bool,
    /// The whole server had died of it, and was started again at its end.
    pub server_died: bool,
    /// What the clients saw of it, once that is known. Never, if the lab was killed before.
    pub effect: Option<Effect>,
    /// Requests that were acknowledged in it and are lost, as far as the seconds of these are not known any more
    /// ([`loss_stretch`](Fault::loss_stretch)).
    pub lost: u64,
}

impl Fault {
    /// What is lost of which seconds belongs to it: of those that end after the first of these times and not after the second. The
    /// next fault of the server begins at `next_s`.
    pub fn loss_stretch(&self, next_s: Option<f64>) -> (f64, f64) {
        let over_s = self.until_s.map_or(f64::MAX, |until_s| until_s + LOST_AFTER_S);
        (self.at_s, next_s.unwrap_or(f64::MAX).min(over_s).max(self.at_s + SECOND_S))
    }
}

impl EventKind {
    /// The word for it in the file and in JSON.
    pub fn word(self) -> String {
        serde_json::to_value(self).ok().and_then(|word| Some(word.as_str()?.to_owned())).unwrap_or_default()
    }

    /// The kind with that word.
    pub fn of(word: &str) -> Option<EventKind> {
        serde_json::from_value(word.into()).ok()
    }

    /// Those that begin and are told once more when they are over.
    pub const WITH_END: [EventKind; 6] = [
        EventKind::HangSilent,
        EventKind::HangNotAccepting,
        EventKind::HangStopped,
        EventKind::HangNoReplies,
        EventKind::LoadUnanswered,
        EventKind::Neighbours,
    ];

    /// Whether one that begins is told once more when it is over.
    pub fn has_end(self) -> bool {
        EventKind::WITH_END.contains(&self)
    }

    /// Whether it is an outage of a server.
    pub fn is_hang(self) -> bool {
        matches!(
            self,
            EventKind::HangSilent
                | EventKind::HangNotAccepting
                | EventKind::HangStopped
                | EventKind::HangNoReplies
        )
    }
}

impl Soak {
    /// Seconds on its axis, with gaps.
    pub fn reached_s(&self) -> f64 {
        let intervals = self.intervals.iter().map(|i| i.start_s + i.length_s);
        let samples = self.readings.iter().map(|s| s.start_s + s.length_s);
        intervals.chain(samples).fold(0.0, f64::max)
    }

    /// Seconds in which the lab did not run.
    pub fn gaps_s(&self) -> f64 {
        let gaps = self.events.iter().filter(|event| event.kind == EventKind::Gap);
        gaps.filter_map(|gap| Some(gap.until_s? - gap.at_s)).sum()
    }

    /// A server that has answered nothing in the whole soak, and what its loads met.
    pub fn never_answered(&self) -> Option<(&Subject, String)> {
        let subject = self.subjects.iter().find(|subject| {
            let mut loads = self.loads_of(subject.id).peekable();
            loads.peek().is_some() && loads.all(|load| !load.totals.was_answered())
        })?;
        let met = self.loads_of(subject.id).map(|load| load.totals.errors_by_kind());
        Some((subject, met.filter(|met| !met.is_empty()).collect::<Vec<_>>().join(", ")))
    }

    /// The loads of a server.
    pub fn loads_of(&self, subject: i64) -> impl Iterator<Item = &Load> {
        self.loads.iter().filter(move |load| load.subject == subject)
    }
}
