//! Which cells send other replies than the cells with the same load: different work is not ranked.

use super::cell::{Cell, Unlike};
use pitot_plan::Replies;
use pitot_record::{CellRecord, Repetition, Run};
use pitot_stats::median;

/// Contents that differ by less, on average, are alike: they may hold a date, a name or a request number.
const APART_BYTES: f64 = 64.0;
/// The same as a share of the larger one.
const APART_SHARE: f64 = 0.01;
/// Factors that say what is asked of the servers begin with this.
const LOAD: &str = "load.";

/// Marks the cells whose replies differ from those of most cells with the same load. Of two that differ, both are marked.
pub(super) fn mark_unlike(run: &Run, cells: &mut [Cell<'_>]) {
    if run.plan.replies == Replies::MayDiffer {
        return;
    }
    // The output of commands is compared with that of their baseline.
    let known: Vec<Known<'_>> = cells
        .iter()
        .enumerate()
        .filter(|(_, cell)| !cell.failed() && !cell.record.repetitions.iter().any(Repetition::is_executed))
        .filter_map(|(index, cell)| {
            let content = Content::of(cell.record)?;
            Some(Known { index, series: cell.series, asked: asked(cell.record), content })
        })
        .collect();
    for own in &known {
        let (like, unlike): (Vec<&Known<'_>>, Vec<&Known<'_>>) = known
            .iter()
            .filter(|other| other.asked == own.asked)
            .partition(|other| !own.content.is_apart(other.content));
        if let Some(other) = unlike.first().filter(|_| unlike.len() >= like.len()) {
            cells[own.index].unlike = Some(Unlike::Content {
                bytes: own.content.middle,
                other: other.series,
                other_bytes: other.content.middle,
            });
        }
    }
}

pub(crate) fn are_unlike(a: &CellRecord, b: &CellRecord) -> bool {
    Content::of(a).zip(Content::of(b)).is_some_and(|(a, b)| a.is_apart(b))
}

/// A cell whose content is known.
struct Known<'r> {
    index: usize,
    series: usize,
    /// Its levels of the factors that say what is asked.
    asked: Vec<(&'r str, &'r str)>,
    content: Content,
}

fn asked(record: &CellRecord) -> Vec<(&str, &str)> {
    let levels = record.factors.iter().map(|f| (f.name.as_str(), f.level.as_str()));
    levels.filter(|(name, _)| name.starts_with(LOAD)).collect()
}

/// Bytes of the content of a reply: the least and the most of its repetitions' means, and their median.
#[derive(Clone, Copy, Debug)]
struct Content {
    least: f64,
    middle: f64,
    most: f64,
}

impl Content {
    fn of(record: &CellRecord) -> Option<Content> {
        let loads = record.repetitions.iter().filter_map(|repetition| repetition.load.as_ref());
        let means: Vec<f64> = loads.filter_map(|load| load.content_per_reply()).collect();
        Some(Content {
            least: means.iter().copied().reduce(f64::min)?,
            middle: median(&means)?,
            most: means.iter().copied().reduce(f64::max)?,
        })
    }

    /// Whether all repetitions of one have more content than all of the other: if small and large requests are drawn at random,
    /// the means of equal servers overlap.
    fn is_apart(self, other: Content) -> bool {
        let gap = (self.least - other.most).max(other.least - self.most);
        let is_empty_beside = gap > 0.0 && (self.most == 0.0 || other.most == 0.0);
        is_empty_beside || gap > APART_BYTES.max(APART_SHARE * self.middle.max(other.middle))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(least: f64, most: f64) -> Content {
        Content { least, middle: f64::midpoint(least, most), most }
    }

    #[test]
    fn a_date_or_a_random_choice_of_requests_does_not_make_replies_unlike() {
        let of = |a: (f64, f64), b: (f64, f64)| {
            let (a, b) = (content(a.0, a.1), content(b.0, b.1));
            assert_eq!(a.is_apart(b), b.is_apart(a));
            a.is_apart(b)
        };
        assert!(!of((1000.0, 1000.0), (1064.0, 1064.0)), "an id in a small page");
        assert!(of((1000.0, 1000.0), (1065.0, 1065.0)));
        assert!(!of((100_000.0, 100_000.0), (101_000.0, 101_000.0)), "1% of a large one");
        assert!(of((100_000.0, 100_000.0), (101_100.0, 101_100.0)));
        assert!(!of((400_000.0, 600_000.0), (550_000.0, 700_000.0)), "1 KiB or 1 MiB, as it comes");
        assert!(of((0.0, 0.0), (13.0, 13.0)), "nothing is not the same as little");
    }
}
