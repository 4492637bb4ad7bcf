//! A soak as plain data.

use pitot_durability::Stored;
use pitot_fault::Effect;
use pitot_host::Fingerprint;
use pitot_plan::shell_line;
use pitot_results::secrets::Secrets;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::run::{Profile, RunState};

/// The name of the control of a soak.
pub const CONTROL: &str = "the control";

/// For a while losses are known by the second of their acknowledgement.
pub const SECOND_S: f64 = 1.0;
/// Losses so long after a fault still belong to it, seconds.
const LOST_AFTER_S: f64 = 60.0;

/// A soak so far.
#[derive(Clone, Debug, Default)]
pub struct Soak {
    /// Random, so that copies are recognised.
    pub id: String,
    /// Its settings.
    pub info: Info,
    /// Whether it has ended.
    pub state: State,
    /// The servers.
    pub subjects: Vec<Subject>,
    /// The loads, in the order of their numbers.
    pub loads: Vec<Load>,
    /// Intervals of each load, by load and time.
    pub intervals: Vec<Interval>,
    /// Sampled values, by metric and time.
    pub readings: Vec<Reading>,
    /// Events, oldest first.
    pub events: Vec<Event>,
    /// Faults, oldest first.
    pub faults: Vec<Fault>,
    /// Losses of acknowledged requests, oldest first.
    pub losses: Vec<Loss>,
    /// What servers did for a second, oldest first, if that was asked for.
    pub profiles: Vec<SubjectProfile>,
    /// The control: a small server of Pitot under a small constant load, which shows what the machine does to servers. It is none of
    /// the servers above.
    pub control: Option<Box<Control>>,
}

/// What is recorded of the control of a soak.
#[derive(Clone, Debug, Default)]
pub struct Control {
    /// The server.
    pub subject: Subject,
    /// Its load.
    pub load: Load,
    /// Intervals of the load, by time.
    pub intervals: Vec<Interval>,
    /// Sampled values, by metric and time.
    pub readings: Vec<Reading>,
}

/// What a server did for a second.
#[derive(Clone, Debug, PartialEq)]
pub struct SubjectProfile {
    /// The server's number.
    pub subject: i64,
    /// When, seconds since the soak began.
    pub at_s: f64,
    /// What was recorded.
    pub profile: Profile,
}

/// The settings of a soak.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Info {
    /// Its title.
    pub title: String,
    /// The version that began it.
    pub version: String,
    /// The command line, which `--resume` repeats.
    pub arguments: Vec<String>,
    /// The directory in which it was begun.
    pub directory: String,
    /// When it began, seconds since 1970.
    pub started_unix_s: f64,
    /// Requested time under load, seconds.
    pub asked_s: f64,
    /// Length of the shortest intervals, seconds.
    pub interval_s: u64,
    /// Notes on the method, from the plan.
    pub notes: Vec<String>,
    /// Published figures, in a line each.
    pub published: Vec<String>,
    /// What it is known by beside others, as names and values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<(String, String)>,
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

/// The state of a soak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It is running, or was killed.
    #[default]
    Running,
    /// It was killed, and can be resumed. Only [`Soak::look`] detects this; it is not in the file.
    Killed,
    /// It was stopped, and can be resumed.
    Stopped,
    /// It is complete.
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
    /// How often it ended and was restarted; always exact.
    pub endings: Endings,
}

/// How often a server ended, except in faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Endings {
    /// It exited, or another program killed it.
    pub deaths: u64,
    /// It was restarted.
    pub restarts: u64,
}

/// A load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Load {
    /// Its number in the file, from 1.
    pub id: i64,
    /// The number of its server.
    pub subject: i64,
    /// What it is called.
    pub name: String,
    /// The command line.
    pub command: String,
    /// Counts since the soak began; always exact.
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
    /// Seconds that the load ran.
    pub loaded_s: f64,
    /// The results of the durability check (`keeps` in the plan).
    pub kept: Option<Stored>,
    /// Requests that the server has acknowledged, of those.
    pub acknowledged: u64,
    /// Of these, those that are missing or incomplete.
    pub lost: u64,
    /// Of those, the incomplete ones.
    pub torn: u64,
    /// Acknowledged requests that are stored more than once.
    pub doubled: u64,
}

impl Totals {
    /// Whether the server has replied to any request, rightly or not.
    pub fn was_answered(&self) -> bool {
        self.completed > 0 || self.kinds.iter().any(|kind| kind.phase == "content" && kind.count > 0)
    }

    /// Its errors, for a sentence: `connect ECONNREFUSED 12 times`.
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

/// An interval of a load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Interval {
    /// The load.
    pub load: i64,
    /// Its begin, seconds since the soak began.
    pub start_s: f64,
    /// Its length, seconds. It is shorter than others if the load began or ended in it.
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

/// A metric in an interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// The server; 0 for the machine.
    pub subject: i64,
    /// The name of the metric.
    pub metric: String,
    /// Begin of the interval, seconds since the soak began.
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

/// Losses: requests of a second, or of a longer interval that is old, that a server acknowledged but lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Loss {
    /// The load of the requests.
    pub load: i64,
    /// The begin of the interval in which they were acknowledged, seconds since the soak began.
    pub at_s: f64,
    /// Its length: [`SECOND_S`], or more.
    pub length_s: f64,
    /// How many are missing or incomplete.
    pub lost: u64,
    /// How many of them are incomplete.
    pub torn: u64,
}

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// The lab did not run: there was no load and nothing is known. Not an outage of the server.
    Gap,
    /// A server ended, or was killed.
    ServerEnded,
    /// A server was restarted.
    ServerRestarted,
    /// A server could not be restarted; another attempt follows.
    RestartFailed,
    /// A load ended early, and was restarted.
    LoadEnded,
    /// A helper of the loads has ended.
    HelperEnded,
    /// A server accepts connections but does not reply.
    HangSilent,
    /// A server does not accept connections: its listen queue is full.
    HangNotAccepting,
    /// A server is stopped by a signal.
    HangStopped,
    /// Replies have stopped for an unknown reason.
    HangNoReplies,
    /// One of several loads of a server gets no replies, while others do.
    LoadUnanswered,
    /// A line of the kernel's log.
    Kernel,
    /// The kernel's log cannot be read.
    KernelUnreadable,
    /// CPUs were throttled, for heat or by a control group's limit.
    Throttled,
    /// The wall clock was set.
    ClockStep,
    /// Other processes used the CPUs.
    Neighbours,
    /// A server lost acknowledged requests.
    Lost,
    /// The durability check failed, or too many requests were outstanding.
    KeptUnreadable,
    /// A fault could not be made or undone, or a server not be restarted after it.
    FaultFailed,
}

/// An event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// When, seconds since the soak began.
    pub at_s: f64,
    /// When it ended, if it has.
    pub until_s: Option<f64>,
    /// The server that it is about; none for the machine.
    pub subject: Option<i64>,
    /// Its kind.
    pub kind: EventKind,
    /// What happened, in a sentence.
    pub sentence: String,
    /// Evidence: last output, states of threads, queues of sockets.
    pub evidence: String,
}

/// A fault of a server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Fault {
    /// The server.
    pub subject: i64,
    /// Its position in the plan, from 0.
    pub number: u32,
    /// Its name among the faults.
    pub kind: String,
    /// Its planned begin, seconds under load. With server and number it identifies the fault.
    pub due_s: f64,
    /// When it began, seconds since the soak began.
    pub at_s: f64,
    /// When it ended; none while it is active.
    pub until_s: Option<f64>,
    /// What was done, or why nothing was.
    pub what: String,
    /// The command that repeats it; empty if there is none.
    pub command: String,
    /// Whether it was made.
    pub was_made: bool,
    /// Whether the server died in it, and was restarted at its end.
    pub server_died: bool,
    /// Its effect on clients, once known. Never known if the lab was killed before.
    pub effect: Option<Effect>,
    /// Requests that were acknowledged in it and lost, if their seconds are not known any more
    /// ([`loss_stretch`](Fault::loss_stretch)).
    pub lost: u64,
}

impl Fault {
    /// The time whose losses belong to it: seconds that end after the first and not after the second of these times. The
    /// server's next fault begins at `next_s`.
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

    /// Kinds of events with an end.
    pub const WITH_END: [EventKind; 6] = [
        EventKind::HangSilent,
        EventKind::HangNotAccepting,
        EventKind::HangStopped,
        EventKind::HangNoReplies,
        EventKind::LoadUnanswered,
        EventKind::Neighbours,
    ];

    /// Whether it has an end, which is reported too.
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
    /// Takes the control out of the servers, as a file has it.
    pub(crate) fn set_control_apart(&mut self) {
        let Some(at) = self.subjects.iter().position(|subject| subject.name == CONTROL) else { return };
        let subject = self.subjects.remove(at);
        let is_own = |id: i64| id == subject.id;
        self.events.retain(|event| event.subject.is_none_or(|id| !is_own(id)));
        self.profiles.retain(|profile| !is_own(profile.subject));
        let mut control = Control::default();
        let (own, others) = std::mem::take(&mut self.readings).into_iter().partition(|r| is_own(r.subject));
        (control.readings, self.readings) = (own, others);
        if let Some(at) = self.loads.iter().position(|load| is_own(load.subject)) {
            control.load = self.loads.remove(at);
            let of = control.load.id;
            let (own, others) = std::mem::take(&mut self.intervals).into_iter().partition(|i| i.load == of);
            (control.intervals, self.intervals) = (own, others);
        }
        control.subject = subject;
        self.control = Some(Box::new(control));
    }

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

    /// A server that has not replied in the whole soak, and the errors of its loads.
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
