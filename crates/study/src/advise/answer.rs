//! The answer of a run of contenders: which is best, by how much, and how certain that is.

use pitot_results::VerdictKind;
use pitot_results::under_way::is_idle;

use super::case::Case;
use super::contenders::{CONTENDERS, Contender, REFERENCE, may_be_advised};
use pitot_plan::SERVER_FACTOR;
use pitot_record::metric::{Better, Metric, named};
use pitot_record::{CellRecord, Run, Side};
use pitot_stats::{Comparison, Decision, Samples, judge, median};

const THROUGHPUT: &Metric = named("throughput");
const CPU: &Metric = named("cpu-per-request");
const P99: &Metric = named("latency-p99");
const MEMORY: &Metric = named("memory-per-connection");

/// The answer at one level.
#[derive(Debug)]
pub struct LevelAnswer {
    /// The deciding metric: throughput, or CPU time if the load generator was at its limit.
    pub metric: &'static Metric,
    /// All measured contenders, best first, including those that may not be advised, such as the reference for the cost of isolation.
    pub standings: Vec<Standing>,
    /// What to build: the cheapest of those that tie with the best, and the simplest of those that tie in cost.
    pub build: &'static Contender,
    /// What could not be measured, and why.
    pub failed: Vec<(String, String)>,
    /// Contenders with a doubtful measurement, the verdict, and the reason.
    pub doubts: Vec<(&'static Contender, VerdictKind, String)>,
    /// Repetitions or generations that a decision needs, if there are fewer.
    pub needed: Option<usize>,
    /// The A/A control of the baseline: the difference of two equal servers here.
    pub control: Option<Against>,
}

/// One contender in a run.
#[derive(Clone, Debug)]
pub struct Standing {
    /// The contender.
    pub contender: &'static Contender,
    /// Whether it may be advised.
    pub is_eligible: bool,
    /// Requests a second.
    pub throughput_rps: Option<f64>,
    /// CPU time of the server for each request, nanoseconds.
    pub cpu_ns: Option<f64>,
    /// 99th percentile of the response time, nanoseconds.
    pub p99_ns: Option<f64>,
    /// Memory for each connection, bytes. None if too small to be measured.
    pub memory_bytes: Option<f64>,
    /// The factor by which the best one is better; none for itself.
    pub behind: Option<Against>,
    /// Repetitions or generations.
    pub samples: usize,
}

impl Standing {
    /// CPUs that it used, on average.
    pub fn cpus_used(&self) -> Option<f64> {
        Some(self.throughput_rps? * self.cpu_ns? / 1e9)
    }
}

/// How much better one contender is than another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Against {
    /// The factor: above 1 is better, for every metric.
    pub factor: f64,
    /// Its 95% interval, if there are enough repetitions.
    pub interval: Option<(f64, f64)>,
    /// Whether there is a difference: significant and above the tolerance.
    pub is_declared: bool,
}

impl Against {
    /// From a comparison of the worse one with the better one.
    fn of(comparison: &Comparison, better: Better) -> Against {
        let turn = |ratio: f64| match better {
            Better::Higher => 1.0 / ratio,
            Better::Lower => ratio,
        };
        let interval = comparison.interval.map(|i| {
            let (a, b) = (turn(i.low), turn(i.high));
            (a.min(b), a.max(b))
        });
        Against { factor: turn(comparison.ratio), interval, is_declared: comparison.decision.is_difference() }
    }
}

impl LevelAnswer {
    /// The answer of a run, at a level of a factor if one is varied. None if no contender that may be advised has a figure.
    pub fn of(run: &Run, case: &Case, level: Option<(&str, &str)>) -> Option<LevelAnswer> {
        let at_level = |cell: &&CellRecord| {
            level.is_none_or(|(factor, word)| cell.level(factor).is_some_and(|l| l.level == word))
        };
        let all: Vec<&CellRecord> = run.cells.iter().filter(at_level).collect();
        let is_failed = |cell: &&&CellRecord| cell.verdict().kind == VerdictKind::Failed;
        let failed = all.iter().filter(is_failed).map(|cell| (cell.label(), cell.verdict().reason)).collect();
        let mut cells: Vec<(&'static Contender, &CellRecord)> = all
            .iter()
            .filter(|cell| !is_failed(cell))
            .filter_map(|&cell| Some((contender(cell)?, cell)))
            .collect();
        let metric = deciding(&cells);
        cells.retain(|(_, cell)| figure(cell, metric).is_some());

        let is_eligible = |contender: &Contender| may_be_advised(case, contender);
        let Ranking { order, best, to_best } = rank(&cells, metric, run, &is_eligible)?;
        let standing = |&at: &usize| {
            let (contender, cell) = cells[at];
            let to_best = to_best[at].as_ref().filter(|_| at != best);
            Standing {
                contender,
                is_eligible: is_eligible(contender),
                throughput_rps: figure(cell, THROUGHPUT),
                cpu_ns: figure(cell, CPU),
                p99_ns: figure(cell, P99),
                memory_bytes: figure(cell, MEMORY).filter(|bytes| *bytes > 0.0),
                behind: to_best.map(|comparison| Against::of(comparison, metric.better)),
                samples: cell.figures(metric).len(),
            }
        };
        let is_level =
            |at: usize| at == best || to_best[at].as_ref().is_some_and(|c| !c.decision.is_difference());
        let level = order.iter().filter(|&&at| is_eligible(cells[at].0) && is_level(at));
        let build = simplest(&cheapest(level.map(|&at| cells[at]).collect(), run));
        let needed = to_best.iter().flatten().find_map(|c| match c.decision {
            Decision::TooFewRepetitions { needed } => Some(needed),
            _ => None,
        });
        Some(LevelAnswer {
            metric,
            standings: order.iter().map(standing).collect(),
            build,
            failed,
            doubts: doubts(&cells),
            needed,
            control: control(&cells, metric, run),
        })
    }

    /// The best of those that may be advised.
    pub fn best(&self) -> &Standing {
        let mut eligible = self.standings.iter().filter(|s| s.is_eligible);
        eligible.next().expect("an answer has one")
    }

    /// A contender's standing.
    pub fn standing(&self, name: &str) -> Option<&Standing> {
        self.standings.iter().find(|s| s.contender.name == name)
    }

    /// The maximum of CPUs that a server used, if none was busy: then rates reflect response times, not capacity. None if
    /// one was busy or it is unknown.
    pub fn hardly_loaded(&self) -> Option<f64> {
        let used = self.standings.iter().map(Standing::cpus_used).collect::<Option<Vec<f64>>>()?;
        let most = used.into_iter().reduce(f64::max)?;
        is_idle(most).then_some(most)
    }

    /// The contenders that may be advised and tie with the best, including the best.
    pub fn level(&self) -> impl Iterator<Item = &Standing> {
        let is_level = |s: &&Standing| s.is_eligible && s.behind.is_none_or(|behind| !behind.is_declared);
        self.standings.iter().filter(is_level)
    }

    /// Whether a contender is the best or ties with it.
    pub fn is_level(&self, name: &str) -> bool {
        self.level().any(|s| s.contender.name == name)
    }

    /// The cost of isolation: the factor by which the loop is better than what may be advised.
    pub fn isolation_cost(&self) -> Option<Against> {
        let loop_ = self.standing(REFERENCE).filter(|s| !s.is_eligible)?;
        let behind = loop_.behind?;
        let turned = behind.interval.map(|(low, high)| (1.0 / high, 1.0 / low));
        Some(Against { factor: 1.0 / behind.factor, interval: turned, ..behind })
    }
}

/// Cells in the order of how far each is from the best.
struct Ranking {
    /// Their indices, the best first.
    order: Vec<usize>,
    /// The best of those that may be advised.
    best: usize,
    /// Each against the best; none for itself.
    to_best: Vec<Option<Comparison>>,
}

/// None if nothing may be advised.
fn rank(
    cells: &[(&'static Contender, &CellRecord)],
    metric: &Metric,
    run: &Run,
    is_eligible: &dyn Fn(&Contender) -> bool,
) -> Option<Ranking> {
    let to_first = compare(cells, cells.first()?.1, metric, run);
    let advantage = |at: usize| match (&to_first[at], metric.better) {
        (Some(c), Better::Higher) => c.ratio,
        (Some(c), Better::Lower) => 1.0 / c.ratio,
        (None, _) => 1.0,
    };
    let mut order: Vec<usize> = (0..cells.len()).collect();
    order.sort_by(|&a, &b| advantage(b).total_cmp(&advantage(a)));
    let best = *order.iter().find(|&&at| is_eligible(cells[at].0))?;
    let to_best = compare(cells, cells[best].1, metric, run);
    // What is shown is by how far each is from the best, so that is the order.
    let distance = |at: usize| to_best[at].as_ref().map_or(1.0, |c| Against::of(c, metric.better).factor);
    order.sort_by(|&a, &b| distance(a).total_cmp(&distance(b)));
    Some(Ranking { order, best, to_best })
}

/// The difference of two equal servers, if one of these cells has a control.
fn control(cells: &[(&'static Contender, &CellRecord)], metric: &Metric, run: &Run) -> Option<Against> {
    let twin = |control: &CellRecord| cells.iter().find(|(_, cell)| control.control_of == Some(cell.id));
    let (control, (_, baseline)) = run.controls.iter().find_map(|control| Some((control, twin(control)?)))?;
    let samples = Side::alone(control).samples_against(&Side::alone(baseline), metric, &run.plan);
    let comparison = judge(&[samples], run.plan.tolerance).pop().flatten()?;
    Some(Against::of(&comparison, metric.better))
}

/// Contenders with a doubtful measurement.
fn doubts(cells: &[(&'static Contender, &CellRecord)]) -> Vec<(&'static Contender, VerdictKind, String)> {
    let doubt = |&(contender, cell): &(&'static Contender, &CellRecord)| {
        let verdict = cell.verdict();
        (verdict.kind != VerdictKind::Valid).then_some((contender, verdict.kind, verdict.reason))
    };
    cells.iter().filter_map(doubt).collect()
}

/// The contender of a cell.
fn contender(cell: &CellRecord) -> Option<&'static Contender> {
    let name = &cell.level(SERVER_FACTOR)?.level;
    CONTENDERS.iter().find(|c| c.name == name)
}

fn figure(cell: &CellRecord, metric: &Metric) -> Option<f64> {
    median(&cell.figures(metric).into_iter().map(|(_, value)| value).collect::<Vec<_>>())
}

/// Throughput, unless the load generator was at its limit, where a rate is the generator's.
fn deciding(cells: &[(&Contender, &CellRecord)]) -> &'static Metric {
    let is_bound = |cell: &CellRecord| cell.verdict().kind == VerdictKind::ClientBound;
    let has_cpu = cells.iter().all(|(_, cell)| figure(cell, CPU).is_some());
    if has_cpu && cells.iter().any(|(_, cell)| is_bound(cell)) { CPU } else { THROUGHPUT }
}

/// All cells against one of them.
fn compare(
    cells: &[(&'static Contender, &CellRecord)],
    with: &CellRecord,
    metric: &Metric,
    run: &Run,
) -> Vec<Option<Comparison>> {
    let others: Vec<usize> = (0..cells.len()).filter(|&at| cells[at].1.id != with.id).collect();
    let with = run.side(with);
    let against_it = |&at: &usize| run.side(cells[at].1).samples_against(&with, metric, &run.plan);
    let family: Vec<Samples> = others.iter().map(against_it).collect();
    let mut judged = vec![None; cells.len()];
    for (at, comparison) in others.into_iter().zip(judge(&family, run.plan.tolerance)) {
        judged[at] = comparison;
    }
    judged
}

/// The contenders than which none needs less CPU time.
fn cheapest<'r>(
    level: Vec<(&'static Contender, &'r CellRecord)>,
    run: &Run,
) -> Vec<(&'static Contender, &'r CellRecord)> {
    let cost = |cell: &CellRecord| figure(cell, CPU).unwrap_or(f64::INFINITY);
    let Some(&(_, least)) = level.iter().min_by(|a, b| cost(a.1).total_cmp(&cost(b.1))) else { return level };
    let judged = compare(&level, least, CPU, run);
    let is_cheap = |c: &Option<Comparison>| c.as_ref().is_none_or(|c| !c.decision.is_difference());
    level.into_iter().zip(&judged).filter(|(_, c)| is_cheap(c)).map(|(cell, _)| cell).collect()
}

/// The first in the order of [`CONTENDERS`].
fn simplest(cells: &[(&'static Contender, &CellRecord)]) -> &'static Contender {
    let place = |name: &str| CONTENDERS.iter().position(|c| c.name == name);
    cells
        .iter()
        .map(|(contender, _)| *contender)
        .min_by_key(|c| place(c.name))
        .expect("the best is among them")
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::advise::case::tests::plain;
    use pitot_plan::{FactorLevel, Measure, Plan};
    use pitot_record::{Repetition, Resources, RunInfo, Verdict};

    /// A server, perhaps a level of another factor, requests a second, and microseconds of CPU time for each.
    pub(in crate::advise) type Figures<'a> = (&'a str, Option<(&'a str, &'a str)>, f64, f64);

    /// A run of fresh repetitions: for each server (with a level of another factor) requests a second and, at the second
    /// place, CPU time for each.
    pub(in crate::advise) fn run(cells: &[Figures<'_>]) -> Run {
        let cell = |(id, (server, level, rps, cpu_us)): (i64, &Figures<'_>)| {
            let repetition = |block: u32| {
                let noise = 1.0 + 0.004 * f64::from(block % 4);
                Repetition {
                    block,
                    load: Some(pitot_results::load::LoadResult {
                        throughput_rps: rps * noise,
                        ..pitot_results::load::LoadResult::default()
                    }),
                    resources: Some(Resources {
                        window_s: 1.0,
                        server_cpu_s: rps * cpu_us * 1e-6,
                        ..Resources::default()
                    }),
                    ..Repetition::default()
                }
            };
            let mut factors = vec![FactorLevel::new("server", server)];
            factors.extend(level.map(|(factor, word)| FactorLevel::new(factor, word)));
            CellRecord {
                id,
                factors,
                server_command: String::new(),
                load_command: String::new(),
                measure: Measure::Fresh,
                fresh_reason: String::new(),
                control_of: None,
                repetitions: (0..10).map(repetition).collect(),
            }
        };
        Run {
            path: "x.pitot".into(),
            info: RunInfo::default(),
            plan: Plan { tolerance: 0.05, repetitions: 10, ..Plan::default() },
            host_before: pitot_host::Fingerprint::default(),
            host_after: None,
            host_changes: Vec::new(),
            hosts: Vec::new(),
            cells: (1..).zip(cells).map(cell).collect(),
            controls: Vec::new(),
            skips: Vec::new(),
            floor: None,
        }
    }

    #[test]
    fn the_best_is_declared_with_its_factor() {
        let run = run(&[("loop+epoll-et", None, 100.0, 1.0), ("loop+uring", None, 150.0, 1.0)]);
        let answer = LevelAnswer::of(&run, &plain(10_000, 500), None).unwrap();
        assert_eq!((answer.build.name, answer.best().contender.name), ("loop+uring", "loop+uring"));
        let behind = answer.standing("loop+epoll-et").unwrap().behind.unwrap();
        assert!(behind.is_declared && (behind.factor - 1.5).abs() < 0.02, "{behind:?}");
        let (low, high) = behind.interval.unwrap();
        assert!(low <= behind.factor && behind.factor <= high && low > 1.4);
    }

    #[test]
    fn servers_that_were_hardly_loaded_are_known_by_that_and_no_memory_is_none() {
        let hardly = |cpu_us: f64| {
            let run = run(&[("loop+epoll-et", None, 1000.0, cpu_us), ("loop+uring", None, 1500.0, 90.0)]);
            let answer = LevelAnswer::of(&run, &plain(50, 50), None).unwrap();
            assert!(answer.standings.iter().all(|standing| standing.memory_bytes.is_none()));
            answer.hardly_loaded()
        };
        let most = hardly(50.0).unwrap();
        assert!((most - 0.135).abs() < 0.005, "{most}");
        assert_eq!(hardly(900.0), None, "one of them was busy");
    }

    #[test]
    fn of_those_that_are_level_the_simplest_is_advised() {
        let run = run(&[
            ("loop+epoll-et", None, 100.0, 1.0),
            ("tokio", None, 201.0, 1.0),
            ("thread", None, 200.0, 1.0),
        ]);
        let answer = LevelAnswer::of(&run, &plain(50, 50), None).unwrap();
        assert_eq!(answer.build.name, "thread");
        assert!(answer.is_level("tokio") && !answer.is_level("loop+epoll-et"));
    }

    #[test]
    fn too_few_repetitions_decide_nothing_and_it_is_said() {
        let mut run = run(&[("loop+epoll-et", None, 100.0, 1.0), ("loop+uring", None, 150.0, 1.0)]);
        assert_eq!(LevelAnswer::of(&run, &plain(50, 50), None).unwrap().needed, None);
        run.cells.iter_mut().for_each(|cell| cell.repetitions.truncate(3));
        let answer = LevelAnswer::of(&run, &plain(50, 50), None).unwrap();
        assert_eq!(answer.needed, Some(4));
        assert!(answer.is_level("loop+epoll-et"), "nothing is proved");
    }

    #[test]
    fn kept_apart_the_loop_is_a_measure_and_no_advice() {
        let run = run(&[("loop+epoll-et", None, 200.0, 1.0), ("prefork", None, 100.0, 1.0)]);
        let case = Case { isolation: true, ..plain(50, 50) };
        let answer = LevelAnswer::of(&run, &case, None).unwrap();
        assert_eq!(answer.build.name, "prefork");
        let cost = answer.isolation_cost().unwrap();
        assert!((cost.factor - 2.0).abs() < 0.05 && cost.is_declared, "{cost:?}");
    }

    #[test]
    fn a_run_of_failures_has_no_answer_and_says_which() {
        let mut failed = run(&[("loop+epoll-et", None, 100.0, 1.0), ("thread", None, 90.0, 1.0)]);
        for repetition in &mut failed.cells[1].repetitions {
            repetition.verdict =
                Verdict { kind: VerdictKind::Failed, reason: "it crashed".into(), figures: Vec::new() };
        }
        let answer = LevelAnswer::of(&failed, &plain(50, 50), None).unwrap();
        assert_eq!(answer.failed.len(), 1);
        assert_eq!(answer.standings.len(), 1);
        assert!(LevelAnswer::of(&run(&[]), &plain(50, 50), None).is_none());
    }
}
