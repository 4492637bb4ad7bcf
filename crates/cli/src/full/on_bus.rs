//! `pitot run --bus`: agents carry out the parts of a run, and their results become one file.

use std::path::{Path, PathBuf};

use pitot_bus::{Connection, Coordinator, Event, Present, SigningKey};
use pitot_lab::{Job, JobResult, Outcome, Place, Transport, Where};
use pitot_meter::units::counted;
use pitot_plan::Catalog;
use pitot_record::RunState;
use pitot_results::{Failure, printable, stderr};

use super::bus::tell;
use crate::run::announce::{announce, extent};
use crate::run::asked::{Asked, Ready};
use crate::run::options::Run;
use crate::runs::{How, Runs};
use crate::watched::Watched;

impl Run {
    /// Has the agents of a bus carry it out, or continue it.
    pub(crate) fn on_bus(
        &self,
        asked: Asked,
        catalog: &Catalog,
        runs: &mut Runs,
        watched: &mut Watched,
    ) -> Result<Outcome, Failure> {
        let Some(sign) = &self.sign else {
            return Err(Failure::misuse(
                "agents accept only signed jobs, and no key is given",
                "make one with pitot bus-key FILE, and add --sign FILE",
            ));
        };
        let key = SigningKey::read(sign)?;
        self.bus.check_apart(&key)?;
        // Mistakes in the plan are told before anything is connected.
        let ready = self.ready(asked, catalog, Where::Elsewhere)?;
        if let Ready::New(prepared) = &ready {
            prepared.plan.needs_no_guests("an agent on a bus")?;
            prepared.can_be_distributed()?;
        }
        let Some(connection) = self.bus.connect()? else {
            return Err(Failure::misuse("there is no bus", "name one: --bus URL"));
        };
        // Its directory is what the results lie in.
        let guardian = runs.guardian()?;
        let mut bus = OnBus { connection: &connection, key: &key, dir: guardian.dir(), coordinator: None };
        if let Ready::New(prepared) = &ready {
            announce(prepared, &format!("{} on one host", extent(prepared)), []);
        }
        let how = How::to_its_end(false, None);
        self.carry_out(ready, catalog, Place::Jobs(&mut bus), how, runs, watched)
    }
}

/// What is said of agents whose hosts are not equal.
const UNLIKE: &str =
    "their hosts differ (the report lists how): only paired measurements are made on one host";

/// An agent with what its host has.
fn shown(agent: &Present) -> String {
    let about = |name: &str| &agent.about[name];
    let lacks: Vec<&str> =
        about("lacks").as_array().into_iter().flatten().filter_map(|x| x.as_str()).collect();
    let lacks = if lacks.is_empty() { String::new() } else { format!(", without {}", lacks.join(" and ")) };
    let (version, cpus) =
        (about("version").as_str().unwrap_or("of no version"), about("cpus").as_u64().unwrap_or(0));
    format!("{} (Pitot {version}, {}{lacks})", agent.name, counted(cpus, "CPU", "CPUs"))
}

/// Whether the facts of their hosts differ.
fn are_unlike(agents: &[Present]) -> bool {
    agents.windows(2).any(|two| two[0].about["fingerprint"] != two[1].about["fingerprint"])
}

/// Carries parts over a bus.
struct OnBus<'a> {
    connection: &'a Connection,
    key: &'a SigningKey,
    /// Where results lie until they are recorded.
    dir: &'a Path,
    coordinator: Option<Coordinator<'a>>,
}

impl OnBus<'_> {
    fn file(&self, part: &str) -> PathBuf {
        self.dir.join(format!("{part}.pitot"))
    }
}

impl Transport for OnBus<'_> {
    fn begin(&mut self, run: &str) -> Result<(), Failure> {
        let coordinator = Coordinator::new(self.connection, self.key, run, tell);
        match &coordinator.agents()[..] {
            [] => stderr::line(format_args!(
                "no agent is on the bus; waiting for the first: pitot agent --bus URL --trust {}",
                self.key.public()
            )),
            agents => {
                let all: Vec<String> = agents.iter().map(shown).collect();
                tell(&format!("agents on the bus: {}", all.join(", ")));
                if are_unlike(agents) {
                    tell(UNLIKE);
                }
            }
        }
        self.coordinator = Some(coordinator);
        Ok(())
    }

    fn offer(&mut self, part: &Job) -> Result<(), Failure> {
        let text = serde_json::to_string(part)
            .map_err(|e| Failure::run(format!("a part cannot be written: {e}"), "simplify the plan"))?;
        self.coordinator.as_mut().map_or(Ok(()), |coordinator| coordinator.offer(&part.name, text))
    }

    fn next(&mut self) -> Result<Option<JobResult>, Failure> {
        let event = self.coordinator.as_mut().and_then(Coordinator::arrival);
        Ok(match event {
            None => None,
            Some(Event::Failed { job, agent, reason }) => {
                Some(JobResult::Failed { job, host: printable(&agent), reason: printable(&reason) })
            }
            Some(Event::Done { job, agent, result }) => {
                let file = self.file(&job);
                std::fs::write(&file, result).map_err(|e| {
                    let _ = std::fs::remove_file(&file);
                    Failure::run(
                        format!("{} cannot be written: {e}", file.display()),
                        "check the free space of TMPDIR",
                    )
                })?;
                Some(JobResult::Done { job, host: printable(&agent), file })
            }
        })
    }

    fn settle(&mut self, part: &str) {
        let _ = std::fs::remove_file(self.file(part));
        if let Some(coordinator) = &mut self.coordinator {
            coordinator.settle(part);
        }
    }

    fn end(&mut self, _state: RunState) {
        if let Some(coordinator) = &mut self.coordinator {
            coordinator.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn agents_are_shown_with_what_their_hosts_have() {
        let agent = |about: serde_json::Value| Present { name: "a".into(), about };
        let plain = agent(json!({"version": "0.1.0", "cpus": 2, "lacks": [], "fingerprint": "x"}));
        assert_eq!(shown(&plain), "a (Pitot 0.1.0, 2 CPUs)");
        let other = agent(json!({"version": "0.1.0", "cpus": 1, "lacks": ["uring"], "fingerprint": "y"}));
        assert_eq!(shown(&other), "a (Pitot 0.1.0, 1 CPU, without uring)");
        assert_eq!(shown(&agent(json!(null))), "a (Pitot of no version, 0 CPUs)");
        assert!(are_unlike(&[plain.clone(), other]) && !are_unlike(&[plain.clone(), plain]));
    }
}
