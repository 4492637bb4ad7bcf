//! `pitot soak`.

mod alarms;
mod control;
mod faults;
mod options;
mod orders;
mod resume;
mod status;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use pitot_host::setting::Change;
use pitot_host::{CpuSplit, Fingerprint, split_cpus};
use pitot_lab::{Event, LocalHost, Outcome, Place, Prepared, Work, recordable};
use pitot_meter::{Nanos, units};
use pitot_plan::Profiled;
use pitot_record::database::check_owner;
use pitot_record::soak::Info;
use pitot_record::{RunState, Soak as Recorded, SoakWriter};
use pitot_results::Failure;
use pitot_results::secrets::mask;
use pitot_soak::run::{OnDeath, OnHang, Settings};

use crate::events::Events;
use crate::metrics::{self, SoakMetrics};
use crate::output::{default_output, is_stdout};
use crate::progress::Display;
use crate::runs::{self, How, Runs};
use crate::screen::Color;
use crate::watched::{Metrics, Watched};
pub(crate) use options::Soak;
use options::{Command, INTERVAL_S};
use orders::SoakTarget;

impl Soak {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        if let Some(Command::Status(status)) = self.command {
            return status.run();
        }
        match &self.resume {
            Some(path) => {
                self.refuse_beside_resume()?;
                check_owner(path, self.trust_owner)?;
                // The soak goes on in the directory in which it was begun.
                let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
                let path = absolute(path);
                let events = self
                    .events
                    .as_ref()
                    .map(|path| if is_stdout(path) { path.clone() } else { absolute(path) });
                let (asked, resumed) = resume::read(&path)?;
                let soak = Soak {
                    pid: self.pid.or(asked.pid),
                    restart: self.restart || asked.restart,
                    on_hang: self.on_hang.or(asked.on_hang),
                    fail_if: if self.fail_if.is_empty() { asked.fail_if } else { self.fail_if },
                    on_event: self.on_event.or(asked.on_event),
                    events,
                    metrics: self.metrics,
                    user: self.user,
                    ..asked
                };
                soak.carry_out(path, Some(resumed))
            }
            None => {
                let output = self.output.clone().unwrap_or_else(|| default_output("soak"));
                self.carry_out(output, None)
            }
        }
    }

    /// What a soak runs and how it is measured stays as it was: otherwise it would be another one.
    fn refuse_beside_resume(&self) -> Result<(), Failure> {
        let given = [
            ("a target", self.target.is_some()),
            ("--for", self.length.is_some()),
            ("--output", self.output.is_some()),
            ("--server", !self.servers.is_empty()),
            ("--unit", self.unit.is_some()),
            ("--url", self.url.is_some()),
            ("--connections", self.connections.is_some()),
            ("--rate", self.rate.is_some()),
            ("--load", !self.loads.is_empty()),
            ("--fault", !self.faults.is_empty()),
            ("--seed", self.seed.is_some()),
            ("--interval", self.interval.is_some()),
            ("--no-control", self.no_control),
            ("--profile", !self.profile.kinds().is_empty()),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            None => Ok(()),
            Some((what, _)) => Err(Failure::misuse(
                format!("{what} cannot be given with --resume: a soak continues as it was started"),
                "omit it (--pid, --restart, --on-hang, --fail-if and --on-event may be given again), or start another soak",
            )),
        }
    }

    /// Runs it, or what is left of it.
    fn carry_out(&self, output: PathBuf, resumed: Option<resume::Resumed>) -> Result<ExitCode, Failure> {
        crate::user::check(self.user)?;
        let mut runs = Runs::new(1, self.user)?;
        let guardian = runs.guardian()?;
        let target = self.target()?;
        let mut info = self.info(&target)?;
        let cpus = self.cpus(&target)?;
        let lock = runs.lock(&info.title, false)?;
        let (profile, left_out) = self.profile(&target)?;
        info.notes.extend(lock.note().into_iter().chain(left_out));
        let events = self.events.as_deref().map(|path| Events::create(path, info.secrets())).transpose()?;
        let is_quiet = events.as_ref().is_some_and(|events| events.are_on_stdout);
        let display = Display::of_soak(&runs::own_path()?, &info.title, &output);
        let metrics = metrics::listen(self.metrics)?.map(|publisher| {
            Metrics::Soak(Box::new(SoakMetrics::new(publisher, info.secrets(), &info.title)))
        });
        let mut watched = Watched { display, events, metrics };
        let has_control = resumed.as_ref().map_or(!self.no_control, |resumed| resumed.has_control);
        let control = has_control.then(|| control::control(&target)).transpose()?;
        let mut asked = Asked {
            options: self,
            target: &target,
            control: control.as_ref(),
            info: &info,
            cpus: &cpus,
            profile: &profile,
            output: &output,
            resumed: resumed.as_ref(),
        };
        let how = How::to_its_end(false, Some(&lock));
        // Everything of it has ended before its report is made.
        let state = runs
            .carry_out(Work::Soak(&mut asked), Place::Here(guardian), how, &mut |event| watched.take(event))?
            .state;
        let color = (!is_quiet).then_some(Color::AUTO);
        let soak = crate::report::soak_summary_and_page(&output, false, color)?;
        watched.events.map_or(Ok(()), Events::finish)?;
        let lost = soak.loads.iter().map(|load| load.totals.lost).sum();
        match state {
            RunState::Complete if lost > 0 => Err(Failure::run(
                format!(
                    "{} that servers had acknowledged are lost",
                    units::counted(lost, "request", "requests")
                ),
                format!("see when and of which load: pitot report {}", output.display()),
            )),
            RunState::Complete => {
                if let Some((server, met)) = soak.never_answered() {
                    return Err(pitot_soak::run::never_answered(&server.name, &met));
                }
                alarms::check(&soak, &self.fail_if.concat(), &output)?;
                Ok(ExitCode::SUCCESS)
            }
            RunState::Running | RunState::Interrupted => Err(Failure::run(
                "the soak was stopped early; all finished intervals are kept",
                format!("continue with: pitot soak --resume {}", output.display()),
            )),
        }
    }

    /// What is asked for, as it stands in the file.
    fn info(&self, target: &SoakTarget) -> Result<Info, Failure> {
        Ok(Info {
            title: mask(&target.title()).into_owned(),
            version: env!("CARGO_PKG_VERSION").into(),
            arguments: std::env::args().skip(2).collect(),
            directory: std::env::current_dir().unwrap_or_default().to_string_lossy().into_owned(),
            started_unix_s: resume::unix_s(),
            asked_s: self.length_s(target)?,
            interval_s: self.interval.unwrap_or(INTERVAL_S),
            notes: target.notes(),
            published: target.published(),
            labels: self.labels.with(target.labels()),
            machine: Fingerprint::collect(),
        })
    }

    /// What is recorded, by the command line or else by the plan, which was looked through when it was prepared; and what to say of
    /// what is left out.
    fn profile(&self, target: &SoakTarget) -> Result<(Vec<Profiled>, Vec<String>), Failure> {
        let planned = || target.prepared().map_or_else(Vec::new, |prepared| prepared.plan.profile.clone());
        match self.profile.kinds() {
            none if none.is_empty() => Ok((planned(), Vec::new())),
            asked => recordable(&asked),
        }
    }

    /// Time under load that is asked for, seconds.
    fn length_s(&self, target: &SoakTarget) -> Result<f64, Failure> {
        let planned = || target.soak().and_then(|soak| soak.for_s);
        self.length
            .map(Nanos::as_secs_f64)
            .or_else(planned)
            .ok_or_else(|| Failure::misuse("the soak has no length", "add --for 24h"))
    }

    fn cpus(&self, target: &SoakTarget) -> Result<CpuSplit, Failure> {
        match target {
            SoakTarget::Plan(prepared) => Ok(prepared.cpus.clone()),
            SoakTarget::Running { .. } => split_cpus(None, None),
        }
    }
}

/// A soak as it is asked for.
struct Asked<'a> {
    options: &'a Soak,
    target: &'a SoakTarget,
    control: Option<&'a Prepared>,
    info: &'a Info,
    cpus: &'a CpuSplit,
    /// What is recorded of the servers.
    profile: &'a [Profiled],
    output: &'a Path,
    /// Where it continues, if it is resumed.
    resumed: Option<&'a resume::Resumed>,
}

impl pitot_lab::Soak for Asked<'_> {
    fn cpus(&self) -> &CpuSplit {
        self.cpus
    }

    /// The settings of a plan are the same for all its cells.
    fn host(&self) -> &[Change] {
        match self.target {
            SoakTarget::Plan(prepared) => prepared.cells.first().map_or(&[], |cell| &cell.host),
            SoakTarget::Running { .. } => &[],
        }
    }

    fn measure(
        &mut self,
        local_host: &LocalHost<'_>,
        watch: &mut dyn FnMut(&Event<'_>),
    ) -> Result<Outcome, Failure> {
        let Asked { options, target, control, info, output, resumed, .. } = *self;
        let mut orders = options.orders(target, local_host, self.cpus)?;
        if let Some(prepared) = target.prepared() {
            faults::check_times(&prepared.plan.faults, &options.faults, info.asked_s)?;
            let is_due = |subject, moment: &_| resumed.is_none_or(|soak| soak.is_due(subject, moment));
            faults::plan(&prepared.plan, info.asked_s, &is_due, &mut orders);
        }
        orders.extend(control.and_then(|control| control::order(control, local_host)));
        // A mistake in what is asked for leaves no file behind.
        let file = match resumed {
            Some(resumed) => resumed.reopen(output)?,
            None => SoakWriter::create(output, info)?,
        };
        let ran = pitot_soak::run::run(local_host, file, orders, self.settings(), watch);
        if ran.is_err() && resumed.is_none() {
            remove_if_empty(output);
        }
        ran
    }
}

impl Asked<'_> {
    /// How it goes on, by the command line and what the plan says of soaks.
    fn settings(&self) -> Settings<'_> {
        let Asked { options, target, info, resumed, .. } = self;
        let restarts = options.restart || target.soak().is_some_and(|soak| soak.restart);
        let planned = || match target.soak().is_some_and(|soak| soak.ends_on_hang) {
            true => OnHang::End,
            false => OnHang::Continue,
        };
        Settings {
            left_s: resumed.map_or(info.asked_s, |resumed| resumed.left_s),
            done_s: resumed.map_or(0.0, |resumed| resumed.done_s),
            offset_s: resumed.map_or(0.0, |resumed| resumed.offset_s),
            interval_s: info.interval_s as f64,
            on_death: if restarts { OnDeath::Restart } else { OnDeath::End },
            on_hang: options.on_hang.unwrap_or_else(planned),
            on_event: options.on_event.as_deref(),
            path: self.output,
            directory: &info.directory,
            cpus: [&self.cpus.server[..], &self.cpus.load].concat(),
            profile: self.profile.to_vec(),
        }
    }
}

/// Takes away the file of a soak that did not begin: the same command, corrected, is to find no file.
fn remove_if_empty(path: &Path) {
    let has_begun = |soak: &Recorded| {
        let is_answered = soak.loads.iter().any(|load| load.totals.was_answered());
        is_answered || soak.events.iter().any(|event| event.subject.is_some())
    };
    if Recorded::open(path).is_ok_and(|soak| !has_begun(&soak)) {
        for end in ["", "-wal", "-shm", ".secrets"] {
            let mut name = path.as_os_str().to_owned();
            name.push(end);
            let _ = std::fs::remove_file(name);
        }
    }
}
