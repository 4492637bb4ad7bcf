//! A run or a soak in a line of a list.

use std::path::PathBuf;

use pitot_record::soak::State;
use pitot_record::{Run, RunState, Soak};
use pitot_results::rfc3339;
use serde::{Deserialize, Serialize};

use super::figures::{machine_of, machine_words};
use crate::amount::size;
use crate::findings::answer;
use crate::text::unmarked;
use crate::tone::Tone;
use crate::trust::{Grade, Trust, trust};

/// What a list shows of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Digest {
    /// The file.
    pub path: PathBuf,
    /// Whether it is a soak.
    pub is_soak: bool,
    /// Its identity.
    pub id: String,
    /// The name of the plan; of a soak, its title.
    pub name: String,
    /// The title.
    pub title: String,
    /// The question; empty of a soak.
    pub question: String,
    /// The answer, in one sentence.
    pub answer: String,
    /// How far it can be trusted, in words.
    pub trust: String,
    /// The colour of that.
    pub tone: Option<Tone>,
    /// RFC 3339.
    pub started_at: String,
    /// RFC 3339; none while it is running or after a crash.
    pub ended_at: Option<String>,
    /// `complete`, `interrupted` or `running`; what is `running` may have been killed.
    pub state: String,
    /// How much was measured.
    pub size: String,
    /// The version of Pitot.
    pub version: String,
    /// The machine.
    pub machine: String,
    /// Its labels.
    pub labels: Vec<(String, String)>,
}

impl Digest {
    /// Of a run.
    pub fn of_run(run: &Run) -> Digest {
        let (answer, trust) = crate::asked(run, |whole, questions| {
            let answered = questions.first().map(|question| answer(question.analysis).headline);
            (answered.unwrap_or_default(), trust(whole))
        });
        let is_over = run.info.state != RunState::Running;
        Digest {
            path: run.path.clone(),
            is_soak: false,
            id: run.info.id.clone(),
            name: run.plan.name.clone(),
            title: run.plan.title.clone(),
            question: run.plan.question.clone(),
            started_at: run.info.started_at.clone(),
            ended_at: run.info.ended_at.clone().filter(|_| is_over),
            state: run.info.state.word().to_owned(),
            size: size(run),
            version: run.info.version.clone(),
            machine: machine_of(run),
            labels: run.plan.labels.clone(),
            ..Digest::said(&answer, &trust)
        }
    }

    /// Of a soak in `path`.
    pub fn of_soak(soak: &Soak, path: PathBuf) -> Digest {
        let (answer, trust) = crate::soak::said(soak);
        let info = &soak.info;
        let started = std::time::Duration::try_from_secs_f64(info.started_unix_s).unwrap_or_default();
        let state = match soak.state {
            State::Complete => "complete",
            State::Stopped | State::Killed => "interrupted",
            State::Running => "running",
        };
        Digest {
            path,
            is_soak: true,
            id: soak.id.clone(),
            name: info.title.clone(),
            title: format!("Soak: {}", info.title),
            started_at: rfc3339(std::time::UNIX_EPOCH + started),
            state: state.to_owned(),
            size: crate::number::span(soak.reached_s()),
            version: info.version.clone(),
            machine: machine_words(&info.machine),
            labels: info.labels.clone(),
            ..Digest::said(&answer, &trust)
        }
    }

    fn said(answer: &str, trust: &Trust) -> Digest {
        Digest {
            answer: unmarked(answer),
            trust: trust.grade.title().to_owned(),
            tone: Some(match trust.grade {
                Grade::Good => Tone::Good,
                Grade::Care => Tone::Care,
                Grade::Bad | Grade::Untrusted => Tone::Bad,
            }),
            ..Digest::default()
        }
    }
}
