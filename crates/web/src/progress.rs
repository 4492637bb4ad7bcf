//! How much of a run or a soak is done, from its file alone.

use pitot_meter::units::{counted, span};
use pitot_plan::Measure;
use pitot_record::soak::State;
use pitot_record::{CellRecord, Run, RunState, Soak};
use pitot_report::served::Progress;

/// How much is done.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Done {
    /// What is counted: `3 of 16 generations`, or nothing if only time counts.
    amount: String,
    /// Time that was measured, seconds.
    measured_s: f64,
    /// Time that will be measured in all, as far as that can be told, seconds.
    whole_s: Option<f64>,
    /// The part that is done, if that is not a matter of time alone.
    part: Option<f64>,
    /// How it ended, once it has.
    ended: &'static str,
}

impl Done {
    /// Of a run. Repetitions that are missing are expected to take as long as those that are there.
    pub(crate) fn of_run(run: &Run, is_running: bool) -> Done {
        let cells = || run.cells.iter().chain(&run.controls);
        let done: usize = cells().map(|cell| cell.repetitions.len()).sum();
        let measured_s: f64 =
            cells().flat_map(|cell| &cell.repetitions).map(|repetition| repetition.elapsed_s).sum();
        let planned = |cell: &CellRecord| (run.repetitions_of(cell) as usize).max(cell.repetitions.len());
        let planned: usize = cells().map(planned).sum();
        // Cells in slices are measured side by side: a generation is one of each.
        let is_sliced = run.is_sliced() && run.cells.iter().all(|cell| cell.measure == Measure::Slices);
        let (noun, each) = if is_sliced { ("generation", cells().count()) } else { ("repetition", 1) };
        let words = |count: usize| format!("{noun}{}", if count == 1 { "" } else { "s" });
        let (shown, of) = (done / each.max(1), planned / each.max(1));
        let (amount, whole_s, part) = match run.plan.until_decided_s {
            Some(at_most_s) => {
                (format!("{shown} {}, until it is decided", words(shown)), Some(at_most_s), None)
            }
            None => {
                let whole_s = (done > 0).then(|| measured_s / done as f64 * planned as f64);
                let part = done as f64 / planned.max(1) as f64;
                (format!("{shown} of {of} {}", words(of)), whole_s, Some(part))
            }
        };
        let ended = match (is_running, run.info.state) {
            (true, _) => "",
            (false, RunState::Complete) => "complete",
            (false, RunState::Interrupted) => "stopped early",
            (false, RunState::Running) => "killed",
        };
        Done { amount, measured_s, whole_s, part, ended }
    }

    /// Of a soak.
    pub(crate) fn of_soak(soak: &Soak, is_running: bool) -> Done {
        let faults = soak.faults.iter().filter(|fault| fault.was_made).count() as u64;
        let hangs = soak.events.iter().filter(|event| event.kind.is_hang()).count() as u64;
        let counts = [(faults, "fault", "faults"), (hangs, "hang", "hangs")];
        let counts = counts.into_iter().filter(|(count, ..)| *count > 0);
        let ended = match (is_running, soak.state) {
            (true, _) => "",
            (false, State::Complete) => "complete",
            (false, State::Stopped) => "stopped early",
            (false, State::Running | State::Killed) => "killed",
        };
        Done {
            amount: counts.map(|(count, one, many)| counted(count, one, many)).collect::<Vec<_>>().join(", "),
            measured_s: (soak.reached_s() - soak.gaps_s()).max(0.0),
            whole_s: Some(soak.info.asked_s).filter(|asked_s| *asked_s > 0.0),
            part: None,
            ended,
        }
    }

    /// In words, `idle_s` after the file was written last.
    pub(crate) fn after(&self, idle_s: f64) -> Progress {
        let is_over = !self.ended.is_empty();
        let so_far_s = self.measured_s + if is_over { 0.0 } else { idle_s.max(0.0) };
        let part = self.part.or_else(|| Some(so_far_s / self.whole_s?)).map(|part| part.clamp(0.0, 1.0));
        let left = self.whole_s.map(|whole_s| whole_s - so_far_s).filter(|left_s| !is_over && *left_s >= 1.0);
        let left = left.map_or_else(String::new, |left_s| format!(", about {} left", span(left_s)));
        let state = match self.ended {
            "" => "In progress",
            "complete" => "Complete",
            "stopped early" => "Stopped early",
            _ => "Killed",
        };
        let colon = if self.amount.is_empty() { "" } else { ": " };
        Progress {
            part: if self.ended == "complete" { Some(1.0) } else { part },
            sentence: format!("{state}{colon}{}", self.amount),
            time: format!("{} measured{left}", span(so_far_s)),
            is_over,
            ..Progress::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pitot_record::Repetition;

    fn run(repetitions: usize, planned: u32) -> Run {
        let each = || Repetition { elapsed_s: 10.0, ..Repetition::default() };
        let cell = || CellRecord {
            id: 1,
            factors: Vec::new(),
            server_command: String::new(),
            load_command: String::new(),
            measure: Measure::Slices,
            fresh_reason: String::new(),
            control_of: None,
            repetitions: (0..repetitions).map(|_| each()).collect(),
        };
        let mut run = Run { cells: vec![cell(), cell()], ..Run::default() };
        run.plan.generations = Some(planned);
        run
    }

    #[test]
    fn the_time_left_is_that_of_the_repetitions_that_are_missing() {
        let done = Done::of_run(&run(3, 8), true);
        let now = done.after(5.0);
        assert_eq!((&*now.sentence, now.part), ("In progress: 3 of 8 generations", Some(0.375)));
        assert_eq!(now.time, "1 min 5 s measured, about 1 min 35 s left");
        assert_eq!(done.after(1e6).time.split(',').count(), 1, "it takes longer than was expected");
        let first = Done::of_run(&run(0, 8), true).after(2.0);
        assert_eq!((&*first.time, first.part), ("2 s measured", Some(0.0)));
    }

    #[test]
    fn what_has_ended_says_how() {
        let mut run = run(8, 8);
        run.info.state = RunState::Complete;
        let over = Done::of_run(&run, false).after(100.0);
        assert!(over.is_over && over.part == Some(1.0) && over.sentence.starts_with("Complete: 8 of 8"));
        run.info.state = RunState::Running;
        assert_eq!(Done::of_run(&run, false).after(0.0).sentence, "Killed: 8 of 8 generations");
    }

    #[test]
    fn a_soak_is_a_matter_of_time_and_says_what_happened_in_it() {
        let mut soak = Soak::default();
        soak.info.asked_s = 3600.0;
        let reading = pitot_record::soak::Reading { start_s: 890.0, length_s: 10.0, ..Default::default() };
        soak.readings.push(reading);
        soak.faults.push(pitot_record::soak::Fault { was_made: true, ..Default::default() });
        let now = Done::of_soak(&soak, true).after(0.0);
        assert_eq!((&*now.sentence, now.part), ("In progress: 1 fault", Some(0.25)));
        assert_eq!(now.time, "15 min measured, about 45 min left");
    }
}
