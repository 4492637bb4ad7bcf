//! `pitot soak --resume`: the command line of the file is read again, and the axis continues.

use std::collections::HashSet;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::{Args, FromArgMatches};
use pitot_fault::Moment;
use pitot_meter::units;
use pitot_record::file::Moment as Written;
use pitot_record::file::is_running;
use pitot_record::soak::{Event, EventKind, Info, State};
use pitot_record::{RecordError, Soak as Recorded, SoakWriter};
use pitot_results::Failure;
use pitot_results::secrets::mask;

use super::options::Soak;

/// Where a soak continues.
pub(super) struct Resumed {
    /// Seconds of load that are left.
    pub(super) left_s: f64,
    /// Where the axis begins now.
    pub(super) offset_s: f64,
    /// Time under load that was run.
    pub(super) done_s: f64,
    /// Whether it has a control.
    pub(super) has_control: bool,
    /// Where it ended.
    reached_s: f64,
    /// Faults that were made, by server, position in the plan and time.
    made: HashSet<(i64, u32, u64)>,
    /// What was asked for, with its secrets.
    info: Info,
}

/// Seconds since 1970.
pub(super) fn unix_s() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// Reads what was asked for, and how far it came.
pub(super) fn read(path: &Path) -> Result<(Soak, Resumed), Failure> {
    if is_running(path) {
        return Err(locked(path));
    }
    let soak = Recorded::open_to_resume(path)?;
    let reached_s = soak.reached_s();
    let done_s = reached_s - soak.gaps_s();
    let left_s = soak.info.asked_s - done_s;
    if soak.state == State::Complete || left_s <= 0.0 {
        return Err(Failure::misuse(
            "this soak is complete",
            format!("read it with: pitot report {}", path.display()),
        ));
    }
    std::env::set_current_dir(&soak.info.directory).map_err(|e| {
        Failure::run(
            format!("its directory {} cannot be entered: {e}", soak.info.directory),
            "the soak was started there, and its plan may be there; make it again",
        )
    })?;
    let command = Soak::augment_args(clap::Command::new("soak").no_binary_name(true));
    let words = command.try_get_matches_from(&soak.info.arguments);
    let asked = words.and_then(|matches| Soak::from_arg_matches(&matches)).map_err(|_| {
        Failure::misuse(
            format!("its command line is no longer valid: {}", mask(&soak.info.arguments.join(" "))),
            "continue with the version that started it",
        )
    })?;
    // A wall clock that was set back must not turn the axis.
    let offset_s = (unix_s() - soak.info.started_unix_s).max(reached_s);
    let made = soak.faults.iter().map(|fault| (fault.subject, fault.number, fault.due_s.to_bits())).collect();
    let has_control = soak.control.is_some();
    Ok((asked, Resumed { left_s, offset_s, done_s, has_control, reached_s, made, info: soak.info }))
}

fn locked(path: &Path) -> Failure {
    Failure::misuse(
        format!("the soak of {} is running", path.display()),
        format!("see its progress: pitot soak status {}; Ctrl-C in its terminal stops it", path.display()),
    )
}

impl Resumed {
    /// Whether a fault of a server is still to be made. One that was made in the interval that was lost is not made again.
    pub(super) fn is_due(&self, subject: i64, moment: &Moment) -> bool {
        let fault = (subject, moment.number as u32, moment.at_s.to_bits());
        moment.at_s >= self.done_s && !self.made.contains(&fault)
    }

    /// Opens the file, and notes the gap.
    pub(super) fn reopen(&self, path: &Path) -> Result<SoakWriter, Failure> {
        let unwritable = |e: RecordError| match e {
            RecordError::Locked(_) => locked(path),
            e => Failure::run(
                format!("{} cannot be written: {e}", path.display()),
                "check its permissions and the space",
            ),
        };
        let mut file = SoakWriter::resume(path, &self.info).map_err(unwritable)?;
        let length_s = self.offset_s - self.reached_s;
        let gap = Event {
            at_s: self.reached_s,
            until_s: Some(self.offset_s),
            subject: None,
            kind: EventKind::Gap,
            sentence: format!("the soak was interrupted for {}", units::span(length_s)),
            evidence: String::new(),
        };
        let moment = Written { now_s: self.offset_s, events: vec![gap], ..Written::default() };
        file.write(&moment).map_err(unwritable)?;
        file.end_faults(self.reached_s).map_err(unwritable)?;
        file.end_events(self.reached_s).map_err(unwritable)?;
        Ok(file)
    }
}
