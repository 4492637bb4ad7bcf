//! Records what the servers do, for a second again and again (docs/profile.md).

use std::collections::VecDeque;
use std::time::Instant;

use pitot_lab::profile;
use pitot_plan::Profiled;
use pitot_profile::Recorder;
use pitot_record::soak::SubjectProfile;
use pitot_sys::processes::ProcessTable;

use super::subject::RunningSubject;

/// So often in a soak,
const TIMES: f64 = 60.0;
/// but not more often than this, seconds: recording takes a part of the server's CPU time.
const APART_MIN_S: f64 = 10.0;
/// For so long.
const RECORDED_S: f64 = 1.0;

/// When what is recorded of whom.
pub(super) struct Profiles {
    kinds: Vec<Profiled>,
    cpus: Vec<usize>,
    apart_s: f64,
    next_s: f64,
    /// Servers, by position, and what is to be recorded of them now.
    due: VecDeque<(usize, Profiled)>,
    running: Option<Running>,
}

struct Running {
    of: usize,
    kind: Profiled,
    recorder: Recorder,
    since: Instant,
    cpu_ns: u64,
}

impl Profiles {
    pub(super) fn new(kinds: &[Profiled], cpus: &[usize], length_s: f64, offset_s: f64) -> Profiles {
        let apart_s = (length_s / TIMES).max(APART_MIN_S);
        Profiles {
            kinds: kinds.to_vec(),
            cpus: cpus.to_vec(),
            apart_s,
            next_s: offset_s + apart_s / 2.0,
            due: VecDeque::new(),
            running: None,
        }
    }

    /// Whether a server is recorded now.
    pub(super) fn are_running(&self) -> bool {
        self.running.is_some()
    }

    /// Begins what is due, reads records, and returns what is complete. The error is a sentence.
    pub(super) fn turn(
        &mut self,
        now_s: f64,
        subjects: &mut [RunningSubject<'_>],
    ) -> Result<Option<SubjectProfile>, String> {
        if self.due.is_empty() && self.running.is_none() && now_s >= self.next_s {
            let of_servers = (0..subjects.len()).filter(|of| !subjects[*of].is_control());
            self.due = of_servers.flat_map(|of| self.kinds.iter().map(move |kind| (of, *kind))).collect();
            self.next_s = now_s + self.apart_s;
        }
        if let Some(running) = &mut self.running {
            running.recorder.look();
            if running.since.elapsed().as_secs_f64() < RECORDED_S {
                return Ok(None);
            }
        }
        let done = match self.running.take() {
            Some(running) => running.end(now_s, subjects)?,
            None => None,
        };
        if let Some((of, kind)) = self.due.pop_front() {
            self.running = Running::begin(of, kind, &mut subjects[of], &self.cpus)?;
        }
        Ok(done)
    }
}

impl Running {
    /// None of a server that is down.
    fn begin(
        of: usize,
        kind: Profiled,
        subject: &mut RunningSubject<'_>,
        cpus: &[usize],
    ) -> Result<Option<Running>, String> {
        let (pids, cpu_ns) = used(subject);
        if pids.is_empty() {
            return Ok(None);
        }
        let mut recorder = Recorder::of(kind, &pids, cpus).map_err(|unavailable| unavailable.to_string())?;
        recorder.start().map_err(|error| format!("{} cannot be recorded: {error}", subject.name))?;
        Ok(Some(Running { of, kind, recorder, since: Instant::now(), cpu_ns }))
    }

    fn end(
        mut self,
        now_s: f64,
        subjects: &mut [RunningSubject<'_>],
    ) -> Result<Option<SubjectProfile>, String> {
        let subject = &mut subjects[self.of];
        self.recorder.stop().map_err(|error| format!("{} cannot be recorded: {error}", subject.name))?;
        let length_s = self.since.elapsed().as_secs_f64();
        let (pids, cpu_ns) = used(subject);
        // It has ended meanwhile.
        if pids.is_empty() || cpu_ns < self.cpu_ns {
            return Ok(None);
        }
        // Loads report a second when it is over, so it is the rate of the second before.
        let rate: u64 = subject.loads.iter().map(|load| load.counts.last_second().replies).sum();
        let requests = (rate as f64 * length_s).round() as u64;
        let profile = profile(self.kind, requests, cpu_ns - self.cpu_ns, &mut self.recorder);
        Ok(Some(SubjectProfile { subject: subject.id, at_s: now_s - length_s, profile }))
    }
}

/// The processes of a server, and their CPU time so far.
fn used(subject: &mut RunningSubject<'_>) -> (Vec<u32>, u64) {
    let pids = if subject.is_up { subject.server.pids() } else { Vec::new() };
    let table = ProcessTable::read();
    let own = table.of_all(&pids);
    let cpu_ns = subject.server.cpu_ns().unwrap_or_else(|| own.iter().map(|process| process.cpu_ns()).sum());
    (own.iter().map(|process| process.pid).collect(), cpu_ns)
}
