//! The live view of a run on a terminal: the last second, the run so far, and the last minute as a chart.
//!
//! It is drawn once a second from what the collector has then, in the thread that waits for the threads of the load, so
//! that it costs these nothing. It changes no mode of the terminal: what it has drawn it erases.

use std::collections::VecDeque;
use std::fmt::Write as _;

use pitot_meter::units::grouped;
use pitot_meter::{Histogram, Nanos};
use pitot_results::load::ErrorRow;
use pitot_results::{Drawn, Rows};

use super::progress::{preparing_line, progress_line, time_or_none};
use crate::watch::{Preparing, Progress};

/// Seconds of the chart.
const CHART_SECONDS: usize = 60;
/// Below these a single line is all that fits.
const WIDTH_MIN: usize = 64;
const HEIGHT_MIN: usize = 12;
/// Before and behind the bars of the chart.
const CHART_FRAME: usize = 24;
/// Before the kinds of errors.
const HEAD_OF_KINDS: &str = "   ";
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const LETTERS: [char; 8] = ['.', ':', '-', '=', '+', 'x', '#', '@'];

/// What the terminal can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// It shows characters beyond ASCII.
    pub unicode: bool,
}

/// What is kept for the view.
#[derive(Debug)]
pub struct Live {
    screen: Screen,
    /// Replies and 99th percentile of the last seconds.
    last: VecDeque<(u64, u64)>,
    /// The rate that a search is trying, whose run the figures are of.
    trying: Option<f64>,
    response: Histogram,
    completed: u64,
    seconds: u64,
    /// Replies by the first digit of their status, from 2 to 5.
    by_class: [u64; 4],
    drawn: Rows,
}

impl Live {
    /// A view for that screen.
    pub fn new(screen: Screen) -> Live {
        Live {
            screen,
            last: VecDeque::with_capacity(CHART_SECONDS),
            trying: None,
            response: Histogram::new(),
            completed: 0,
            seconds: 0,
            by_class: [0; 4],
            drawn: Rows::default(),
        }
    }

    /// Takes a second, and returns what draws the view over the one before.
    pub fn second(&mut self, progress: &Progress<'_>) -> Drawn {
        self.add(progress);
        let rows = match self.screen.width >= WIDTH_MIN && self.screen.height >= HEIGHT_MIN {
            true => self.rows(progress),
            false => vec![progress_line(progress)],
        };
        let rows: Vec<String> =
            rows.iter().map(|row| row.chars().take(self.screen.width.saturating_sub(1)).collect()).collect();
        self.drawn.draw("", &rows.join("\n"))
    }

    /// Returns what draws a line about what comes before the measured part.
    pub fn preparing(&mut self, stage: Preparing) -> Drawn {
        let row: String = preparing_line(stage).chars().take(self.screen.width.saturating_sub(3)).collect();
        self.drawn.draw("", &format!("  {row}"))
    }

    /// Erases the view, if there is one.
    pub fn clear(&mut self) -> Drawn {
        self.drawn.clear()
    }

    fn add(&mut self, progress: &Progress<'_>) {
        if self.trying != progress.trying_rps {
            let drawn = std::mem::take(&mut self.drawn);
            *self = Live { drawn, trying: progress.trying_rps, ..Live::new(self.screen) };
        }
        let second = progress.second;
        if self.last.len() == CHART_SECONDS {
            self.last.pop_front();
        }
        self.last.push_back((second.completed, second.p99_ns));
        self.response.merge(progress.response);
        self.completed += second.completed;
        self.seconds += 1;
        let classes = [second.status_2xx, second.status_3xx, second.status_4xx, second.status_5xx];
        self.by_class.iter_mut().zip(classes).for_each(|(all, count)| *all += count);
    }

    fn rows(&self, progress: &Progress<'_>) -> Vec<String> {
        let second = progress.second;
        let trying = progress.trying_rps.map(|rate| format!("trying {} rps, ", grouped(rate as u64)));
        let left = progress.left.map(|left| format!(", {:.0} s left", left.as_secs_f64()));
        let mut rows = vec![format!(
            "  {}{} s measured{}; {} open",
            trying.unwrap_or_default(),
            self.seconds,
            left.unwrap_or_default(),
            grouped(second.open)
        )];
        let names = ["rps", "p50", "p95", "p99", "max"];
        let cells = |head: &str, cells: [String; 5]| {
            cells.iter().fold(format!("  {head:<12}"), |row, cell| format!("{row}{cell:>10}"))
        };
        let time = |ns: u64| time_or_none(Nanos(ns));
        rows.push(cells("", names.map(str::to_owned)));
        let now = [second.p50_ns, second.p95_ns, second.p99_ns, second.max_ns].map(time);
        let [p50, p95, p99, max] = now;
        rows.push(cells("last second", [grouped(second.completed), p50, p95, p99, max]));
        let all = [0.5, 0.95, 0.99].map(|quantile| time(self.response.at(quantile).0));
        let [p50, p95, p99] = all;
        let rate = grouped(self.completed / self.seconds.max(1));
        rows.push(cells("so far", [rate, p50, p95, p99, time(self.response.max().0)]));
        rows.push(self.counts(progress));
        rows.push(if progress.kinds.is_empty() { String::new() } else { self.kinds(progress) });
        rows.push(self.chart("replies/s", self.last.iter().map(|&(completed, _)| completed), grouped));
        rows.push(self.chart("p99", self.last.iter().map(|&(_, p99)| p99), time));
        rows
    }

    /// The errors by their kind, the most frequent first, as many as the row has room for.
    fn kinds(&self, progress: &Progress<'_>) -> String {
        let mut kinds: Vec<&ErrorRow> = progress.kinds.iter().collect();
        kinds.sort_by_key(|row| std::cmp::Reverse(row.count));
        let mut shown = String::new();
        for (n, row) in kinds.iter().enumerate() {
            let next = format!("   {} {} {}", row.phase, row.kind, grouped(row.count));
            let others = format!("   {} more kinds", kinds.len() - n);
            let needed = if n + 1 == kinds.len() { 0 } else { others.len() };
            if shown.len() + next.len() + needed + HEAD_OF_KINDS.len() >= self.screen.width {
                shown.push_str(&others);
                break;
            }
            shown.push_str(&next);
        }
        format!("{HEAD_OF_KINDS}{shown}")
    }

    /// Errors, and the statuses of replies.
    fn counts(&self, progress: &Progress<'_>) -> String {
        let mut row = format!("  errors {}", grouped(progress.errors));
        let classes = ["2xx", "3xx", "4xx", "5xx"].iter().zip(self.by_class);
        for (name, count) in classes.filter(|(_, count)| *count > 0) {
            let _ = write!(row, "   {name} {}", grouped(count));
        }
        if progress.second.missed > 0 {
            let _ = write!(row, "   missed in this second {}", grouped(progress.second.missed));
        }
        row
    }

    /// A bar for each of the last seconds, as high as its share of the highest, which stands behind them.
    fn chart(
        &self,
        name: &str,
        values: impl DoubleEndedIterator<Item = u64>,
        show: fn(u64) -> String,
    ) -> String {
        let room = self.screen.width.saturating_sub(CHART_FRAME).min(CHART_SECONDS);
        let mut shown: Vec<u64> = values.rev().take(room).collect();
        shown.reverse();
        let highest = shown.iter().copied().max().unwrap_or(0);
        let steps = if self.screen.unicode { BLOCKS } else { LETTERS };
        let bar = |&value: &u64| match value {
            0 => ' ',
            _ => steps[(value as f64 / highest as f64 * 7.0).round() as usize],
        };
        let bars: String = shown.iter().map(bar).collect();
        format!("  {name:<10}{bars:<room$} {}", if highest == 0 { String::new() } else { show(highest) })
    }
}

#[cfg(test)]
mod tests {
    use pitot_results::load::Second;

    use super::*;

    const SCREEN: Screen = Screen { width: 80, height: 24, unicode: true };

    fn draw(live: &mut Live, t_s: u64, completed: u64) -> String {
        let mut response = Histogram::new();
        (0..completed).for_each(|n| response.record(Nanos::from_micros(100 + n)));
        let second = Second {
            t_s,
            completed,
            status_2xx: completed,
            open: 10,
            p50_ns: response.at(0.5).0,
            p95_ns: response.at(0.95).0,
            p99_ns: response.at(0.99).0,
            max_ns: response.max().0,
            ..Second::default()
        };
        let left = Some(Nanos::from_secs(5));
        let row = |phase: &str, kind: &str, count| ErrorRow {
            phase: phase.into(),
            kind: kind.into(),
            count,
            first_at_s: 0.0,
        };
        let kinds = [row("timeout", "reply", 1), row("connect", "ECONNREFUSED", 2)];
        let kinds = &kinds[..if t_s < 50 { 0 } else { 2 }];
        live.second(&Progress {
            durability: None,
            second: &second,
            response: &response,
            steps: None,
            errors: 3,
            kinds,
            left,
            trying_rps: None,
        })
        .to_string()
    }

    #[test]
    fn the_view_fits_the_screen_and_each_is_drawn_over_the_last() {
        for width in [80, 120] {
            let mut live = Live::new(Screen { width, ..SCREEN });
            let mut text = String::new();
            for t_s in 0..100 {
                text = draw(&mut live, t_s, 10 * (t_s + 1));
            }
            assert!(text.starts_with("\r\x1b[7A\x1b[J"), "{text:?}");
            let rows: Vec<&str> = text.trim_start_matches("\r\x1b[7A\x1b[J").split('\n').collect();
            assert_eq!(rows.len(), 8);
            assert!(rows.iter().all(|row| row.chars().count() < width), "{text}");
            assert!(rows[0].contains("100 s measured, 5 s left; 10 open"), "{text}");
            assert!(rows[2].contains("1,000") && rows[4].contains("errors 3   2xx 50,500"), "{text}");
            assert_eq!(rows[5], "      connect ECONNREFUSED 2   timeout reply 1");
            assert!(rows[6].contains('█') && rows[6].ends_with(" 1,000"), "{text}");
        }
    }

    #[test]
    fn kinds_of_errors_for_which_there_is_no_room_are_counted() {
        let live = Live::new(SCREEN);
        let row = |n: u64| ErrorRow {
            phase: "content".into(),
            kind: format!("status-{n}"),
            count: n,
            first_at_s: 0.0,
        };
        let kinds: Vec<ErrorRow> = (500..520).map(row).collect();
        let progress = Progress {
            durability: None,
            second: &Second::default(),
            response: &Histogram::new(),
            steps: None,
            errors: 1,
            kinds: &kinds,
            left: None,
            trying_rps: None,
        };
        let row = live.kinds(&progress);
        assert!(
            row.starts_with("      content status-519 519   content") && row.ends_with(" more kinds"),
            "{row}"
        );
        assert!(row.len() < SCREEN.width, "{row}");
    }

    #[test]
    fn a_small_screen_has_one_line_and_a_plain_one_letters() {
        let mut live = Live::new(Screen { width: 50, ..SCREEN });
        assert!(!draw(&mut live, 0, 10).contains('\n'));
        assert_eq!(
            (live.clear().to_string(), live.clear().to_string()),
            ("\r\x1b[J".to_owned(), String::new())
        );
        let opening = live.preparing(Preparing::Opening { opened: 5, of: 1000 });
        assert_eq!(opening.to_string(), "  opening connections: 5 of 1,000");
        let warm_up = live.preparing(Preparing::WarmUp { left: Nanos::from_secs(3) });
        assert_eq!(warm_up.to_string(), "\r\x1b[J  warm-up: 3 s left");
        let mut live = Live::new(Screen { unicode: false, ..SCREEN });
        assert!(draw(&mut live, 0, 10).is_ascii());
    }
}
