//! Whether the comparisons of a running run are decided, and how many slices the next generation has if they are not.

use pitot_record::{CellRecord, Repetition, Side, Slice, metric};
use pitot_stats::{Components, Samples, judge, median};

use super::prepare::Prepared;
use super::slices::{families, parts};
use super::way::members;

/// The most rounds of a generation, as the plan counts them: what varies between generations is never known to be nothing.
const ROUNDS_MAX: f64 = 32.0;
/// A generation takes no more than this part of the time that is left: what is judged are generations ...
const PART_OF_REST: f64 = 1.0 / 10.0;
/// ... but its rounds may take this part of what all else takes, which would be for little otherwise.
const PART_OF_ELSE: f64 = 0.5;

/// The number of comparisons in the plan's metric that are not decided yet: neither a difference nor a tie.
///
/// `records` are the cells of the run with the repetitions so far. A cell without a figure, such as one that failed, is in
/// no comparison.
pub(super) fn undecided(prepared: &Prepared, records: &[CellRecord]) -> usize {
    let plan = &prepared.plan;
    let Some(metric) = metric::find(&plan.metric) else { return 0 };
    let compared = compared(prepared, records);
    let family: Vec<Samples> =
        compared.iter().map(|(cell, baseline)| cell.samples_against(baseline, metric, plan)).collect();
    judge(&family, plan.tolerance).iter().flatten().filter(|c| !c.decision.is_decided()).count()
}

/// The slices of each cell in the next generation, as the plan counts them: as many as tell most in the time, by how rounds and
/// generations varied so far, if that `is_known`, and what they took. Until it is known, generations whose servers take long to start and
/// to become warm have more slices than the plan says. `left_s` is the time that the run still has, and it must suffice for the fewest
/// generations that can decide. There are no fewer rounds than the plan has, however short slices are: of two rounds none can be left out
/// as wild.
pub(super) fn slices_worth(prepared: &Prepared, records: &[CellRecord], left_s: f64, is_known: bool) -> u32 {
    let plan = &prepared.plan;
    let Some(metric) = metric::find(&plan.metric) else { return plan.slices };
    let Some(Took { round_s, besides_s, slice_s }) = Took::of(records) else { return plan.slices };
    let (usual, parts) = (f64::from(plan.slices.div_ceil(2)), f64::from(parts(plan, slice_s)));
    let best = || {
        let compared = compared(prepared, records);
        let of = |(cell, baseline): &(Side<'_>, Side<'_>)| {
            Components::of(&cell.round_log_ratios(baseline, metric))
        };
        let best = compared.iter().filter_map(of).sum::<Components>().best_rounds(round_s, besides_s) / parts;
        if best.is_nan() { usual } else { best }
    };
    let rounds_in = |seconds: f64| seconds / round_s / parts;
    let for_what_else_takes = rounds_in(besides_s * PART_OF_ELSE);
    let done = records.iter().map(|record| record.repetitions.len()).max().unwrap_or(0) as u32;
    let needed = prepared.ways.generations_least().saturating_sub(done);
    let each_s = if needed > 0 { left_s / f64::from(needed) } else { f64::INFINITY };
    let most = rounds_in(left_s * PART_OF_REST - besides_s).max(for_what_else_takes);
    let wanted = if is_known { best() } else { usual.max(for_what_else_takes) };
    let least = (usual / parts).ceil().min(ROUNDS_MAX);
    2 * wanted.min(most).min(rounds_in(each_s - besides_s)).clamp(least, ROUNDS_MAX).round() as u32
}

/// What a generation took, on average, and its slices.
struct Took {
    /// Each of its rounds.
    round_s: f64,
    /// All else.
    besides_s: f64,
    slice_s: f64,
}

impl Took {
    fn of(records: &[CellRecord]) -> Option<Took> {
        let generations = records.iter().map(|record| record.repetitions.len()).max()? as u32;
        let repetitions = |block| {
            records
                .iter()
                .flat_map(|record| &record.repetitions)
                .filter(move |r: &&Repetition| r.block == block)
        };
        let (mut rounds, mut in_rounds_s, mut all_s) = (0, 0.0, 0.0);
        let mut lengths = Vec::new();
        for block in 0..generations {
            let slices = || repetitions(block).flat_map(|r| &r.slices);
            let end = |slice: &Slice| slice.began_unix_ns + slice.duration_ns + slice.drain_ns;
            let begin = slices().map(|slice| slice.began_unix_ns).min();
            let Some((begin, end)) = begin.zip(slices().map(end).max()) else { continue };
            in_rounds_s += end.saturating_sub(begin) as f64 / 1e9;
            rounds += repetitions(block).map(|r| r.slices.len() / 2).max().unwrap_or(0);
            all_s += repetitions(block).map(|r| r.elapsed_s).sum::<f64>();
            lengths.extend(slices().map(|slice| slice.duration_ns as f64 / 1e9));
        }
        let round_s = in_rounds_s / rounds as f64;
        let besides_s = (all_s - in_rounds_s) / f64::from(generations);
        (round_s > 0.0 && besides_s > 0.0).then_some(Took { round_s, besides_s, slice_s: median(&lengths)? })
    }
}

/// The cells that are compared, each with its baseline.
fn compared<'r>(prepared: &Prepared, records: &'r [CellRecord]) -> Vec<(Side<'r>, Side<'r>)> {
    let plan = &prepared.plan;
    let mut compared = Vec::new();
    for group in families(&members(&prepared.cells, &prepared.ways.cells), plan.baseline.as_ref()) {
        let controls = &prepared.ways.controls;
        let control_of = |&cell: &usize| controls.iter().position(|&twin| twin == cell);
        let with_control = group.cells.iter().find_map(|cell| Some((*cell, control_of(cell)?)));
        let Some((twin, control)) = with_control else { continue };
        let baseline = Side::with(&records[twin], records.get(prepared.cells.len() + control));
        let is_asked =
            |cell: usize| cell < prepared.cells.len() && !plan.is_reference(&prepared.cells[cell].factors);
        let others = group.cells.iter().filter(|&&cell| cell != twin && is_asked(cell));
        compared.extend(others.map(|&cell| (Side::alone(&records[cell]), baseline)));
    }
    compared
}

#[cfg(test)]
mod tests {
    use pitot_plan::Measure;
    use pitot_stats::Random;

    use super::*;
    use crate::runner::tests::ready;

    const PLAN: &str = r#"
until-decided = "10m"
metric = "cpu-per-request"
slice = "40ms"
baseline = { server = "good" }
[server]
protocol = "busy"
[factors]
server = ["good", "hang"]
"#;
    /// Of each slice.
    const SLICE_NS: u64 = 40_000_000;

    /// Generations of four rounds of both servers and the control, whose CPU time varies so much between rounds and generations. Each
    /// takes so many seconds besides.
    fn records(generations: u32, start_s: f64, of_round: f64, of_generation: f64) -> Vec<CellRecord> {
        let mut random = Random::new(3);
        let mut cell = |id: i64| CellRecord {
            id,
            factors: Vec::new(),
            server_command: String::new(),
            load_command: String::new(),
            measure: Measure::Slices,
            fresh_reason: String::new(),
            control_of: (id == 3).then_some(1),
            repetitions: (0..generations)
                .map(|block| {
                    let centre = of_generation * random.normal();
                    let slice = |at: u64| Slice {
                        round: at as u32 / 2,
                        began_unix_ns: (at * 3 + id as u64) * SLICE_NS,
                        duration_ns: SLICE_NS,
                        requests: 1000,
                        server_cpu_ns: Some((1e7 * (centre + of_round * random.normal()).exp()) as u64),
                        ..Slice::default()
                    };
                    let slices: Vec<Slice> = (0..8).map(slice).collect();
                    // Of a third of the slices, and a third of all else.
                    let elapsed_s = 8.0 * SLICE_NS as f64 / 1e9 + start_s / 3.0;
                    Repetition { block, slices, elapsed_s, ..Repetition::default() }
                })
                .collect(),
        };
        (1..=3).map(&mut cell).collect()
    }

    #[test]
    fn a_generation_has_as_many_slices_as_its_variance_makes_worth() {
        let prepared = ready(PLAN);
        let worth = |of_round, of_generation, left_s| {
            slices_worth(&prepared, &records(9, 1.0, of_round, of_generation), left_s, true)
        };
        assert_eq!(worth(0.1, 0.0, 1e4), 2 * ROUNDS_MAX as u32, "only rounds vary");
        assert_eq!(
            worth(0.005, 0.1, 1e4),
            prepared.plan.slices,
            "only starts do: no fewer than the plan has"
        );
        let both = worth(0.2, 0.1, 1e4);
        assert!(prepared.plan.slices <= both && both < 2 * ROUNDS_MAX as u32, "{both}");
        let unknown =
            |start_s, left_s| slices_worth(&prepared, &records(2, start_s, 0.1, 0.1), left_s, false);
        assert_eq!(unknown(1.0, 1e4), prepared.plan.slices, "half of a short start is less");
        assert_eq!(unknown(4.8, 1e4), 20, "ten rounds take half of a long start");
        let needed = prepared.ways.generations_least() - 2;
        assert_eq!(unknown(4.8, 6.48 * f64::from(needed)), 14, "the fewest generations that decide must fit");
        // 3 s for each generation: 1 s is the start, and a round takes 0.24 s.
        assert_eq!(worth(0.1, 0.0, 3.0 * 10.0), 16, "the time that is left counts");
    }
}
