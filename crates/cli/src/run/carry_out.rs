//! What a run is, wherever it is carried out: a plan that is made ready, a place, and a file.

use std::path::{Path, PathBuf};

use pitot_lab::{Catalog, Outcome, Place, Plan, Prepared, SkipRecord, Where, Work, prepare};
use pitot_results::Failure;

use super::announce::levels;
use super::options::Run;
use super::watched::Watched;
use super::{check, self_check};
use crate::output::default_output;
use crate::plan_text::PlanText;
use crate::runs::{How, Runs};

impl Run {
    /// Makes a plan ready.
    pub(super) fn ready(
        &self,
        plan: Plan,
        source: PlanText,
        is_described: bool,
        catalog: &Catalog,
        at: Where,
    ) -> Result<Prepared, Failure> {
        let mut prepared = prepare(plan, source.text, catalog, at)?;
        self.amount.fit(&mut prepared)?;
        check::check(&prepared, (!is_described).then_some(&source.name))?;
        // Whoever names a server wants it measured.
        if is_described && let Some(first) = prepared.skips.first() {
            let each =
                |skip: &SkipRecord| format!("{} cannot be measured: {}", levels(&skip.factors), skip.reason);
            let all: Vec<String> = prepared.skips.iter().map(each).collect();
            return Err(Failure::misuse(all.join("\n"), first.kind.cure()));
        }
        Ok(prepared)
    }

    /// Carries out a plan that is ready, or goes on with a run, in some place.
    pub(super) fn carry_out(
        &self,
        prepared: Option<Prepared>,
        catalog: &Catalog,
        place: Place<'_>,
        how: How<'_>,
        runs: &Runs,
        watched: &mut Watched,
    ) -> Result<Outcome, Failure> {
        let output = prepared.as_ref().map(|prepared| self.output_of(&prepared.plan)).unwrap_or_default();
        let work = match (prepared, &self.resume) {
            (Some(prepared), _) => Work::New { prepared: Box::new(prepared), output: &output },
            (None, path) => Work::Resume { path: path.as_deref().unwrap_or(Path::new("")), catalog },
        };
        runs.carry_out(work, place, how, &mut |event| watched.take(event))
    }

    /// Where a plan's run is written. The second file of a self-check is named after the first.
    pub(super) fn output_of(&self, plan: &Plan) -> PathBuf {
        match &self.output {
            Some(path) if self.self_check && plan.name == self_check::POWER => {
                let stem = path.file_stem().unwrap_or_default().to_string_lossy();
                path.with_file_name(format!("{stem}-power.pitot"))
            }
            Some(path) => path.clone(),
            None => default_output(&plan.name),
        }
    }
}
