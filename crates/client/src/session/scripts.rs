use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::Mutex;
use std::time::Duration;

use super::spec::SessionSpec;
use super::take::Taker;
use super::template::Names;
use crate::choice::RequestChoice;
use crate::exchange::Draw;
use crate::protocol::ClientOptions;
use crate::request::RequestSpec;

/// All sessions of a run.
#[derive(Debug)]
pub(crate) struct Scripts {
    /// The steps of all sessions, one after the other.
    pub(super) steps: Vec<Step>,
    /// The first step of each session, and the end of the last.
    begins: Vec<u16>,
    choice: RequestChoice,
    /// The ranges that each session draws from when it begins; they are the first of its values.
    draws: Vec<Vec<(i64, i64)>>,
    /// The largest number of values of a session.
    pub(super) values: usize,
    /// The most requests that are sent at once.
    burst_max: u16,
    words: Mutex<HashMap<(u16, Why), &'static str>>,
}

#[derive(Debug)]
pub(super) struct Step {
    name: String,
    pub(super) burst: bool,
    pub(super) think: Duration,
    pub(super) statuses: Vec<RangeInclusive<u16>>,
    /// With the indices of the values.
    pub(super) takers: Vec<(u16, Taker)>,
    value_names: Vec<String>,
}

/// Why the reply to a step is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Why {
    /// A status that is not expected.
    Status(u16),
    /// The nth value to take from it is missing.
    NoValue(u16),
    /// The body to search for a value is too long.
    TooLong,
    /// A reason that the protocol has a name for.
    Named(&'static str),
}

impl Scripts {
    /// Checks and compiles the sessions. `compile` gets each step with the names of the values that are known when its request is
    /// written.
    ///
    /// # Errors
    /// One line with the name of the step.
    pub(crate) fn new(
        options: &ClientOptions,
        mut compile: impl FnMut(&RequestSpec, &Names) -> Result<(), String>,
    ) -> Result<Scripts, String> {
        let weighted = |s: &SessionSpec| RequestSpec {
            weight: s.weight,
            path: s.name.clone(),
            ..RequestSpec::default()
        };
        let choices: Vec<RequestSpec> = options.sessions.iter().map(weighted).collect();
        let mut scripts = Scripts {
            steps: Vec::new(),
            begins: vec![0],
            choice: RequestChoice::new(&choices, options.in_turn)?,
            draws: Vec::new(),
            values: 0,
            burst_max: 1,
            words: Mutex::default(),
        };
        for session in &options.sessions {
            scripts.add(session, &options.expect_status, &mut compile)?;
        }
        Ok(scripts)
    }

    fn add(
        &mut self,
        session: &SessionSpec,
        usual: &[RangeInclusive<u16>],
        compile: &mut impl FnMut(&RequestSpec, &Names) -> Result<(), String>,
    ) -> Result<(), String> {
        let mut names = Names::default();
        // Values taken in the current burst are known only after it.
        let mut later = Names::default();
        for draw in &session.draws {
            later.add(&draw.name).map_err(|what| format!("session `{}`: {what}", session.name))?;
        }
        self.draws.push(session.draws.iter().map(|draw| (draw.first, draw.last)).collect());
        let mut pipelined = 0;
        for (at, step) in session.steps.iter().enumerate() {
            let wrong = |what: String| format!("step `{}` of session `{}`: {what}", step.name, session.name);
            if at == 0 && step.burst {
                return Err(wrong("the first step cannot continue a burst".into()));
            }
            let follows = session.steps.get(at + 1).is_some_and(|next| next.burst);
            if follows && step.think > Duration::ZERO {
                return Err(wrong("only the last step of a burst can have a think time".into()));
            }
            pipelined = if step.burst { pipelined + 1 } else { 0 };
            self.burst_max = self.burst_max.max(pipelined);
            // The first request of a burst is answered before the others are written.
            if pipelined <= 1 {
                names = later.clone();
            }
            compile(&step.request, &names).map_err(wrong)?;
            let mut takers = Vec::new();
            for take in &step.take {
                takers.push((later.add(&take.name).map_err(wrong)?, Taker::new(&take.from).map_err(wrong)?));
            }
            self.steps.push(Step {
                name: format!("{}/{}", session.name, step.name),
                burst: step.burst,
                think: step.think,
                statuses: if step.expect_status.is_empty() {
                    usual.into()
                } else {
                    step.expect_status.clone()
                },
                takers,
                value_names: step.take.iter().map(|take| take.name.clone()).collect(),
            });
        }
        if session.steps.is_empty() {
            return Err(format!("session `{}` has no step", session.name));
        }
        self.values = self.values.max(later.len());
        let end =
            u16::try_from(self.steps.len()).map_err(|_| "too many steps: the limit is 65535".to_owned())?;
        self.begins.push(end);
        Ok(())
    }

    /// The next session: its first step, its end, and the ranges that it draws from.
    pub(super) fn draw(&self, draw: Draw) -> (u16, u16, &[(i64, i64)]) {
        let session = self.choice.next(draw).0 as usize;
        (self.begins[session], self.begins[session + 1], &self.draws[session])
    }

    pub(crate) fn is_last(&self, step: u16) -> bool {
        self.begins.contains(&(step + 1))
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.steps.iter().map(|step| step.name.clone()).collect()
    }

    pub(crate) fn name(&self, step: u16) -> &str {
        &self.steps[usize::from(step)].name
    }

    pub(crate) fn burst_max(&self) -> u16 {
        self.burst_max
    }

    /// The name of an error, which lives as long as the process; there are few.
    pub(super) fn word(&self, step: u16, why: Why) -> &'static str {
        let mut words = self.words.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        words.entry((step, why)).or_insert_with(|| {
            let step = &self.steps[usize::from(step)];
            let what = match why {
                Why::Status(status) => format!("status-{status}"),
                Why::NoValue(nth) => format!("no-{}", step.value_names[usize::from(nth)]),
                Why::TooLong => "body-too-long".into(),
                Why::Named(name) => name.into(),
            };
            format!("{}:{what}", step.name).leak()
        })
    }
}
