//! The figures of `pitot run`.

use pitot_lab::{Event, Step};
use pitot_plan::Plan;
use pitot_record::metric::{named, of_plan};
use pitot_record::{CellRecord, METRICS, Metric, Repetition, Side};
use pitot_results::VerdictKind;
use pitot_results::secrets::Secrets;
use pitot_scrape::{Family, Kind, Label, Publisher, Unit, label};
use pitot_stats::judge_control;

use super::about::{about, left};
use super::name::Named;

/// Controls are shown in it too.
const CPU: &Metric = named("cpu-per-request");
/// Labels that are no factors; a factor of that name has `_` at its end.
const OWN: [&str; 4] = ["cell", "control", "verdict", "metric"];

/// Tells how a run goes.
pub(crate) struct RunMetrics {
    publisher: Publisher,
    secrets: Secrets,
    about: Family,
    plan: Plan,
    /// With their repetitions, controls at the end.
    cells: Vec<CellRecord>,
    /// Where the run is, as the display says.
    at: At,
    given_up: u64,
    warnings: u64,
}

#[derive(Clone, Copy, Default)]
struct At {
    /// Steps that have ended.
    done: usize,
    total: usize,
    left_s: Option<f64>,
}

impl RunMetrics {
    /// Of a run of this plan.
    pub(crate) fn new(publisher: Publisher, plan: &Plan) -> RunMetrics {
        let secrets = plan.secrets();
        let metrics = RunMetrics {
            publisher,
            about: about("run", &secrets.hide(&plan.name)),
            secrets,
            plan: plan.clone(),
            cells: Vec::new(),
            at: At::default(),
            given_up: 0,
            warnings: 0,
        };
        metrics.publish();
        metrics
    }

    /// Takes an event. Between these nothing is measured.
    pub(crate) fn take(&mut self, event: &Event<'_>) {
        match event {
            Event::Started { cells, .. } => self.cells = cells.to_vec(),
            Event::GivenUp { .. } => self.given_up += 1,
            Event::Begun(step) => self.at = At::begun(step),
            Event::Measured { step, repetitions } => {
                self.at = At { done: step.number, ..At::begun(step) };
                for (cell, repetition) in *repetitions {
                    if let Some(cell) = self.cells.get_mut(*cell) {
                        cell.repetitions.push(Repetition { samples: Vec::new(), ..repetition.clone() });
                    }
                }
            }
            Event::Warning(_) => self.warnings += 1,
            Event::Finished(_) => self.at.left_s = Some(0.0),
            Event::Trying(_) | Event::SoakBegun { .. } | Event::Recorded(_) | Event::Status(_) => return,
        }
        self.publish();
    }

    fn publish(&self) {
        self.publisher.publish(self.families());
    }

    pub(super) fn families(&self) -> Vec<Family> {
        let mut families = vec![self.about.clone()];
        families.extend(self.progress());
        families.extend(self.verdicts());
        families.extend(self.figures());
        families.extend(self.controls());
        families
    }

    fn progress(&self) -> Vec<Family> {
        let one = |name, help, count| Family::gauge(name, help).with(Vec::new(), count);
        let controls = self.cells.iter().filter(|cell| cell.control_of.is_some()).count();
        let cells = (self.cells.len() - controls) as u64;
        let warnings = Family::counter("pitot_warnings", "Warnings for the reader of the report.");
        vec![
            left(self.at.left_s),
            one("pitot_cells", "Cells of the plan.", cells),
            one("pitot_controls", "A/A controls: second copies of baselines.", controls as u64),
            one("pitot_cells_given_up", "Cells that failed their trial and are not measured.", self.given_up),
            one(
                "pitot_steps_done",
                "Steps that have ended: generations, or repetitions in fresh runs.",
                self.at.done as u64,
            ),
            one("pitot_steps_planned", "Steps of the whole run, estimated.", self.at.total as u64),
            warnings.with(Vec::new(), self.warnings),
        ]
    }

    /// The labels of a cell: its number, whether it is a control, and the levels of its factors.
    fn labels(&self, number: usize) -> Vec<Label> {
        let Some(cell) = self.cells.get(number) else { return Vec::new() };
        let mut labels = vec![label("cell", number.to_string())];
        if cell.control_of.is_some() {
            labels.push(label("control", "true"));
        }
        for factor in &cell.factors {
            let level = self.secrets.hide_option("header", &factor.level);
            let (name, level) = label(factor.name.clone(), level);
            let is_taken = OWN.contains(&&*name) || labels.iter().any(|(known, _)| *known == name);
            labels.push(if is_taken { label(format!("{name}_"), level) } else { (name, level) });
        }
        labels
    }

    fn verdicts(&self) -> Vec<Family> {
        let mut repetitions = Family::counter(
            "pitot_cell_repetitions",
            "Repetitions or generations of the cell by their verdict.",
        );
        let mut verdict =
            Family::gauge("pitot_cell_verdict", "1 for the verdict on the cell so far, 0 for others.");
        for (number, cell) in self.cells.iter().enumerate() {
            let own = cell.verdict().kind;
            for kind in VerdictKind::ALL {
                let labels = || [self.labels(number), vec![label("verdict", kind.name())]].concat();
                let count = cell.repetitions.iter().filter(|r| r.verdict.kind == kind).count();
                repetitions.put(labels(), count as u64);
                if !cell.repetitions.is_empty() {
                    verdict.put(labels(), u64::from(own == kind));
                }
            }
        }
        vec![repetitions, verdict]
    }

    /// The metrics that are published: the plan's own, those of its columns, and those that tables of results have.
    fn metrics(&self) -> impl Iterator<Item = &'static Metric> {
        let is_asked = |metric: &Metric| {
            metric.name == of_plan(&self.plan).name
                || self.plan.columns.iter().any(|column| column == metric.name)
        };
        METRICS
            .iter()
            .filter(move |metric| metric.is_of_runs() && (is_asked(metric) || metric.column().is_some()))
    }

    /// The figure of each cell in each metric, as the report has it.
    fn figures(&self) -> Vec<Family> {
        let of_metric = |metric: &'static Metric| {
            let mut named = Named::of("pitot_cell", metric);
            for (number, cell) in self.cells.iter().enumerate() {
                let values: Vec<f64> = cell.figures(metric).into_iter().map(|(_, value)| value).collect();
                if let Some(figure) = self.plan.statistic.of(&values) {
                    let value = named.value(figure);
                    named.family.put(self.labels(number), value);
                }
            }
            named.family
        };
        self.metrics().map(of_metric).collect()
    }

    /// The ratio of each A/A control to its cell.
    fn controls(&self) -> Vec<Family> {
        let mut ratio = Family::new(
            Kind::Gauge,
            "pitot_control",
            "Ratio of the A/A control, a second copy of the cell, to the cell: what equal servers differ by.",
        )
        .in_unit(Unit::Ratio);
        let mut failed = Family::gauge(
            "pitot_control_failed",
            "Whether the control differs, so that the run cannot be trusted: 1 or 0.",
        );
        let headline = of_plan(&self.plan);
        let cpu = Some(CPU).filter(|cpu| cpu.name != headline.name && !headline.is_of_commands());
        for control in self.cells.iter().filter(|control| control.control_of.is_some()) {
            let Some(number) = self.cells.iter().position(|cell| Some(cell.id) == control.control_of) else {
                continue;
            };
            for metric in std::iter::once(headline).chain(cpu) {
                let cell = Side::alone(&self.cells[number]);
                let samples = Side::alone(control).samples_against(&cell, metric, &self.plan);
                let Some(comparison) = judge_control(&samples) else { continue };
                let labels = || [self.labels(number), vec![label("metric", metric.name)]].concat();
                ratio.put(labels(), comparison.ratio);
                failed.put(labels(), u64::from(comparison.decision.is_difference()));
            }
        }
        vec![ratio, failed]
    }
}

impl At {
    fn begun(step: &Step<'_>) -> At {
        At { done: step.number.saturating_sub(1), total: step.total, left_s: Some(step.left_s) }
    }
}

#[cfg(test)]
mod tests {
    use pitot_plan::{FactorLevel, Measure};
    use pitot_record::Verdict;
    use pitot_results::load::LoadResult;

    use super::*;

    fn cell(id: i64, server: &str, control_of: Option<i64>) -> CellRecord {
        let factors = vec![FactorLevel::new("server", server), FactorLevel::new("load.connections", "64")];
        CellRecord {
            id,
            factors,
            server_command: String::new(),
            load_command: String::new(),
            measure: Measure::Fresh,
            fresh_reason: String::new(),
            control_of,
            repetitions: Vec::new(),
        }
    }

    fn repetition(block: u32, throughput_rps: f64, kind: VerdictKind) -> Repetition {
        Repetition {
            block,
            load: Some(LoadResult { throughput_rps, ..LoadResult::default() }),
            verdict: Verdict { kind, ..Verdict::default() },
            ..Repetition::default()
        }
    }

    #[test]
    fn cells_have_figures_verdicts_and_controls() {
        let plan = Plan { name: "two".into(), metric: "throughput".into(), ..Plan::default() };
        let mut metrics = RunMetrics::new(Publisher::default(), &plan);
        let cells = [cell(1, "nginx", None), cell(2, "nginx", Some(1))];
        metrics.take(&Event::Started { file: std::path::Path::new("x"), run: "y", cells: &cells });
        let step = Step { number: 1, total: 4, label: "nginx", left_s: 30.0 };
        metrics.take(&Event::Begun(step));
        let rates = [(100.0, 90.0), (300.0, 270.0)];
        for (block, (own, twin)) in (0..).zip(rates) {
            let repetitions = [
                (0, repetition(block, own, VerdictKind::Valid)),
                (1, repetition(block, twin, VerdictKind::Noisy)),
            ];
            let step = Step { number: 1 + block as usize, ..step };
            metrics.take(&Event::Measured { step, repetitions: &repetitions });
        }
        let text =
            pitot_scrape::text(&std::sync::Arc::new(metrics.families()), pitot_scrape::Format::OpenMetrics);
        let of_cell = "cell=\"0\",server=\"nginx\",load_connections=\"64\"";
        for line in [
            "pitot_cells 1".to_owned(),
            "pitot_controls 1".into(),
            "pitot_steps_done 2".into(),
            "pitot_steps_planned 4".into(),
            format!("pitot_cell_repetitions_total{{{of_cell},verdict=\"valid\"}} 2"),
            format!("pitot_cell_verdict{{{of_cell},verdict=\"noisy\"}} 0"),
            format!("pitot_cell_throughput_per_second{{{of_cell}}} 200.0"),
            "pitot_cell_throughput_per_second{cell=\"1\",control=\"true\",server=\"nginx\",load_connections=\"64\"} 180.0"
                .into(),
        ] {
            assert!(text.lines().any(|other| other == line), "{line}\n{text}");
        }
        let ratio = text.lines().find_map(|line| {
            line.strip_prefix(&format!("pitot_control_ratio{{{of_cell},metric=\"throughput\"}} "))
        });
        assert!((ratio.unwrap().parse::<f64>().unwrap() - 0.9).abs() < 1e-9, "{text}");
    }
}
