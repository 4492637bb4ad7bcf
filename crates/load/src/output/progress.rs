use pitot_meter::units::grouped;
use pitot_meter::{Histogram, Nanos};

use crate::watch::{Preparing, Progress};
use pitot_results::load::Step;

/// One line about the second that is over, to be written over the last one.
pub fn progress_line(progress: &Progress<'_>) -> String {
    let second = progress.second;
    line(progress, second.completed, Nanos(second.p50_ns), Nanos(second.p99_ns))
}

fn line(progress: &Progress<'_>, rate: u64, p50: Nanos, p99: Nanos) -> String {
    let trying = progress.trying_rps.map(|rate| format!("trying {} rps  ", grouped(rate as u64)));
    let left = progress.left.map(|left| format!("  {:.0} s left", left.as_secs_f64()));
    format!(
        "{}{} rps  p50 {}  p99 {}  errors {}  open {}{}",
        trying.unwrap_or_default(),
        grouped(rate),
        time_or_none(p50),
        time_or_none(p99),
        grouped(progress.errors),
        grouped(progress.second.open),
        left.unwrap_or_default()
    )
}

/// A percentile, which is 0 where there was no reply.
pub(super) fn time_or_none(time: Nanos) -> String {
    if time == Nanos::ZERO { "-".to_owned() } else { time.to_string() }
}

/// One line about what comes before the measured part.
pub(super) fn preparing_line(stage: Preparing) -> String {
    match stage {
        Preparing::Opening { opened, of } => {
            format!("opening connections: {} of {}", grouped(opened), grouped(of))
        }
        Preparing::WarmUp { left } => format!("warm-up: {:.0} s left", left.as_secs_f64().ceil()),
    }
}

/// Lines about a run, one every so often, where there is no terminal to draw on.
#[derive(Debug)]
pub struct Lines {
    every_s: u64,
    /// When the last line about what comes before the measured part was due.
    prepared: Option<Nanos>,
    /// Of the seconds since the last line.
    seconds: u64,
    completed: u64,
    response: Histogram,
}

impl Lines {
    /// A line every so many seconds, which is not 0.
    pub fn new(every_s: u64) -> Lines {
        Lines { every_s, prepared: None, seconds: 0, completed: 0, response: Histogram::new() }
    }

    /// Takes a second, and returns the line that is due with it: the mean rate and the percentiles since the last one.
    pub fn second(&mut self, progress: &Progress<'_>) -> Option<String> {
        self.seconds += 1;
        self.completed += progress.second.completed;
        self.response.merge(progress.response);
        let at_s = progress.second.t_s + 1;
        if !at_s.is_multiple_of(self.every_s) {
            return None;
        }
        let (p50, p99) = (self.response.at(0.5), self.response.at(0.99));
        let text = line(progress, self.completed / self.seconds, p50, p99);
        *self = Lines::new(self.every_s);
        Some(format!("{at_s} s: {text}"))
    }

    /// The line that is due at this moment, before the measured part.
    pub fn preparing(&mut self, stage: Preparing, now: Nanos) -> Option<String> {
        let last = *self.prepared.get_or_insert(now);
        if now < last + Nanos::from_secs(self.every_s) {
            return None;
        }
        self.prepared = Some(now);
        Some(preparing_line(stage))
    }
}

/// One line about a step of a search.
pub fn step_line(step: &Step) -> String {
    format!(
        "{:>10} rps  p50 {:>8}  p99 {:>8}  errors {}  missed {}  {}",
        grouped(step.rate_rps.round() as u64),
        time_or_none(Nanos(step.response_ns.p50)),
        time_or_none(Nanos(step.response_ns.p99)),
        grouped(step.errors),
        grouped(step.missed),
        if step.passed { "met" } else { "not met" }
    )
}

#[cfg(test)]
mod tests {
    use pitot_results::Latency;
    use pitot_results::load::Second;

    use super::*;

    #[test]
    fn a_line_is_about_all_seconds_since_the_last_one() {
        let mut lines = Lines::new(3);
        let mut said = Vec::new();
        for t_s in 0..7 {
            let mut response = Histogram::new();
            (0..=t_s).for_each(|_| response.record(Nanos::from_millis(t_s + 1)));
            let second = Second { t_s, completed: t_s + 1, open: 2, ..Second::default() };
            said.extend(lines.second(&Progress {
                second: &second,
                response: &response,
                steps: None,
                durability: None,
                errors: 1,
                kinds: &[],
                left: Some(Nanos::from_secs(7 - t_s)),
                trying_rps: None,
            }));
        }
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].starts_with("3 s: 2 rps  p50 ") && said[0].ends_with("open 2  5 s left"), "{said:?}");
        assert!(said[1].starts_with("6 s: 5 rps  p50 5"), "{said:?}");
    }

    #[test]
    fn what_comes_before_is_said_as_often() {
        let mut lines = Lines::new(10);
        let stage = Preparing::Opening { opened: 1200, of: 10_000 };
        assert_eq!(lines.preparing(stage, Nanos::from_secs(1)), None);
        assert_eq!(lines.preparing(stage, Nanos::from_secs(9)), None);
        let line = lines.preparing(stage, Nanos::from_secs(11));
        assert_eq!(line.as_deref(), Some("opening connections: 1,200 of 10,000"));
        let stage = Preparing::WarmUp { left: Nanos::from_millis(2100) };
        assert_eq!(lines.preparing(stage, Nanos::from_secs(20)), None);
        assert_eq!(lines.preparing(stage, Nanos::from_secs(21)).as_deref(), Some("warm-up: 3 s left"));
    }

    #[test]
    fn a_step_without_a_reply_has_no_percentiles() {
        let step = Step { rate_rps: 5.0, ..Step::default() };
        assert!(step_line(&step).contains("p50        -  p99        -  "), "{}", step_line(&step));
        let response_ns = Latency { count: 1, p50: 1000, p99: 2000, ..Latency::default() };
        assert!(!step_line(&Step { response_ns, ..step }).contains(" -  "));
    }
}
