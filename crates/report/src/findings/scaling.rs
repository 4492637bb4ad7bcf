//! How the servers scale with the load.

use crate::analysis::{Analysis, Cell};
use crate::phrase::times;
use crate::text::sentence;
use pitot_record::Better;
use pitot_stats::{Comparison, Decision};

/// A series at its peak and at the highest load.
struct Peak<'a, 'r> {
    peak: &'a Cell<'r>,
    last: &'a Cell<'r>,
    /// The highest load over the peak; none if the peak is at the highest load.
    fall: Option<Comparison>,
}

/// The server that fell furthest below its peak at the highest load, next to the best there. Costs have no peak: they rise with the
/// load.
pub(super) fn scaling(a: &Analysis<'_>) -> Option<String> {
    if a.load.factor.is_none() || a.headline.better == Better::Lower {
        return None;
    }
    let top = a.top_level().filter(|top| *top > 0)?;
    let peaks = peaks(a, top);
    let falls = peaks.iter().filter_map(|p| Some((p, p.fall.as_ref()?)));
    let (worst, fall) = falls
        .filter(|(_, fall)| fall.decision == Decision::Lower)
        .reduce(|x, y| if y.1.ratio < x.1.ratio { y } else { x })?;
    let mut text = format!(
        "**{}** fell furthest below its peak: its {} at {} were {} those at {}",
        a.series_of(worst.last),
        a.headline.words.noun,
        a.load_words(top),
        times(fall),
        a.load_words(worst.peak.level)
    );
    if let Some(best) = a.best_at(top, a.headline).filter(|best| best.series != worst.last.series) {
        let name = a.series_of(best);
        let fall = peaks.iter().find(|p| p.last.series == best.series).and_then(|p| p.fall.as_ref());
        text.push_str(&fall.map_or_else(
            || format!("; **{name}** was at its peak there"),
            |fall| format!("; those of **{name}** were {}", times(fall)),
        ));
    }
    Some(sentence(&text))
}

/// The peak of each series that has a figure at `top`, and how far it fell from there.
fn peaks<'a, 'r>(a: &'a Analysis<'r>, top: usize) -> Vec<Peak<'a, 'r>> {
    (0..a.series.len())
        .filter_map(|series| {
            let (peak, last) = a.peak(series, top)?;
            Some(Peak { peak, last, fall: a.compare(last.record, peak.record, a.headline) })
        })
        .collect()
}
