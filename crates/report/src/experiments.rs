//! Several experiments in one report.

use crate::analysis::SubRun;
use crate::claims::Conclusion;
use crate::document::Document;
use crate::format::Format;
use crate::page::{Experiment, Question, conclusions_of, experiments};
use crate::{Analysis, Reported, parts};
use pitot_record::Run;
use serde_json::{Value, json};

/// Runs of several plans, each of which repeats an experiment.
#[derive(Debug, Default)]
pub struct Experiments {
    /// The runs, each with the reason if it was left out and has no cells.
    pub runs: Vec<(Run, Option<String>)>,
}

impl Experiments {
    /// Of runs of different plans, by the numbers of their claims; those without claims come last.
    pub fn of(mut runs: Vec<Run>) -> Experiments {
        runs.sort_by_key(|run| run.plan.claim.first().map_or("~".to_owned(), |claim| claim.id.clone()));
        Experiments { runs: runs.into_iter().map(|run| (run, None)).collect() }
    }

    fn report<T>(&self, report: impl FnOnce(&[Experiment<'_>]) -> T) -> T {
        let wholes: Vec<Analysis<'_>> = self.runs.iter().map(|(run, _)| Analysis::of(run)).collect();
        let parts: Vec<Vec<SubRun>> = self.runs.iter().map(|(run, _)| parts(run)).collect();
        let of_parts: Vec<Vec<Analysis<'_>>> =
            parts.iter().map(|parts| parts.iter().map(|part| Analysis::of(&part.run)).collect()).collect();
        let one = |at: usize| {
            let questions = Question::of(&wholes[at], &parts[at], &of_parts[at]);
            Experiment { whole: &wholes[at], questions, left_out: self.runs[at].1.as_deref() }
        };
        report(&(0..self.runs.len()).map(one).collect::<Vec<_>>())
    }
}

impl Reported for Experiments {
    fn page(&self, _: Format) -> Document {
        self.report(experiments)
    }

    fn data(&self, format: Format) -> Option<String> {
        (format == Format::Json).then(|| self.report(json))
    }
}

/// `pitot-experiments/1`.
fn json(all: &[Experiment<'_>]) -> String {
    let run = |one: &Experiment<'_>| {
        let run = one.whole.run;
        json!({"plan": run.plan.name, "id": run.info.id, "started_at": run.info.started_at, "left_out": one.left_out})
    };
    let conclusions: Vec<Value> = all
        .iter()
        .flat_map(|one| conclusions_of(one).iter().map(Conclusion::json).collect::<Vec<_>>())
        .collect();
    let object = json!({
        "schema": "pitot-experiments/1",
        "runs": all.iter().map(run).collect::<Vec<_>>(),
        "conclusions": conclusions,
    });
    let mut text = serde_json::to_string_pretty(&object).unwrap_or_default();
    text.push('\n');
    text
}
