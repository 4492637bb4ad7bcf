//! What a run is, wherever it is carried out: a plan that is made ready, a place, and a file.

use std::path::PathBuf;

use pitot_lab::{Outcome, Place, Where, Work, prepare};
use pitot_plan::{Catalog, Plan, SkipRecord};
use pitot_results::Failure;

use super::asked::{Asked, Ready};
use super::options::Run;
use super::{check, self_check};
use crate::output::default_output;
use crate::runs::{How, Runs};
use crate::watched::Watched;

impl Run {
    /// Makes what is asked for ready.
    pub(crate) fn ready(&self, asked: Asked, catalog: &Catalog, at: Where) -> Result<Ready, Failure> {
        let (plan, source, is_described) = match asked {
            Asked::New { plan, source, is_described } => (*plan, source, is_described),
            Asked::Begun(run) => return Ok(Ready::Begun(run)),
        };
        let mut prepared = prepare(plan, source.text, catalog, at)?;
        self.amount.fit(&mut prepared, self.is_watched())?;
        check::check(&prepared, (!is_described).then_some(&source.name))?;
        // Whoever names a server wants it measured.
        if is_described && let Some(first) = prepared.skips.first() {
            let each = |skip: &SkipRecord| format!("{} cannot be measured: {}", skip.label(), skip.reason);
            let all: Vec<String> = prepared.skips.iter().map(each).collect();
            return Err(Failure::misuse(all.join("\n"), first.kind.fix()));
        }
        Ok(Ready::New(Box::new(prepared)))
    }

    /// Carries out a plan that is ready, or continues a run, in some place.
    pub(crate) fn carry_out(
        &self,
        ready: Ready,
        catalog: &Catalog,
        place: Place<'_>,
        how: How<'_>,
        runs: &Runs,
        watched: &mut Watched,
    ) -> Result<Outcome, Failure> {
        let file;
        let work = match ready {
            Ready::New(prepared) => {
                file = self.output_of(&prepared.plan);
                Work::New { prepared, output: &file }
            }
            Ready::Begun(run) => {
                file = run.path;
                Work::Resume { path: &file, catalog }
            }
        };
        runs.carry_out(work, place, how, &mut |event| watched.take(event))
    }

    /// Where a plan's run is written. The second file of a self-check is named after the first.
    pub(crate) fn output_of(&self, plan: &Plan) -> PathBuf {
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
