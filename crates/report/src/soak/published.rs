//! Published figures of a plan.

use pitot_plan::Published;
use pitot_record::Unit;
use pitot_record::metric::find;

use crate::analysis::levels_words;
use crate::number::figure;

/// `Lyris Technologies 2001, mail per hour (two Pentium III): thread 15 a second`.
pub(super) fn lines(table: &Published) -> impl Iterator<Item = String> {
    let metric = find(&table.metric);
    let title = metric.map_or(table.metric.as_str(), |metric| metric.title);
    let about = if table.title.is_empty() { String::new() } else { format!(" ({})", table.title) };
    table.values.iter().map(move |value| {
        let levels = levels_words(&value.levels);
        let of = if levels.is_empty() { String::new() } else { format!("{levels}: ") };
        let shown = match (&table.ratio_to, metric.map(|metric| metric.unit)) {
            (Some(levels), _) => format!("{} times that of {}", value.value, levels_words(levels)),
            (None, Some(Unit::Percent)) => format!("{}%", value.value),
            (None, Some(unit)) => figure(value.value, unit).trim().to_owned(),
            (None, None) => value.value.to_string(),
        };
        format!("{} {}, {title}{about}: {of}{shown}", table.source, table.year)
    })
}
