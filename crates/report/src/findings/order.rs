//! The order of groups of servers, if every comparison between them is declared.

use crate::analysis::{Analysis, Cell, Groups, groups};
use crate::number::ratio;
use crate::phrase::comparative;
use crate::text::{list, sentence};
use pitot_record::Better;
use pitot_record::Metric;
use pitot_stats::Decision;

/// `Every event loop used less CPU time per request than every server with a process or thread per connection at 64 connections and
/// at 512 connections: ratios from 0.31 to 0.57`, at the load levels at which every pair is declared.
pub(super) fn group_order(a: &Analysis<'_>, metric: &'static Metric) -> Option<String> {
    let mut range: Option<(f64, f64)> = None;
    let (mut loads, mut names) = (Vec::new(), None);
    for level in 0..a.load.levels.len() {
        let Some(groups) = groups(a.at_level(level, metric).map(|(cell, _)| cell)) else { continue };
        let Some((low, high)) = range_of_ratios(a, &groups, metric) else { continue };
        range = Some(range.map_or((low, high), |(l, h)| (low.min(l), high.max(h))));
        loads.push(a.load_words(level));
        let series = |cells: &[&Cell<'_>]| -> Vec<String> {
            cells.iter().map(|c| a.series_of(c).to_owned()).collect()
        };
        names = Some((series(&groups.loops), series(&groups.per_connection)));
    }
    let ((low, high), (loops, per_connection)) = (range?, names?);
    let at = match loads.join(" and at ") {
        words if words.is_empty() => words,
        words => format!(" at {words}"),
    };
    let refs = |names: &[String]| list(&names.iter().map(String::as_str).collect::<Vec<_>>());
    Some(sentence(&format!(
        "every event loop ({}) {} than every server with a process or thread per connection ({}){at}: ratios from {} \
         to {}",
        refs(&loops),
        comparative(metric),
        refs(&per_connection),
        ratio(low),
        ratio(high),
    )))
}

/// The smallest and the largest ratio of an event loop to another server, if each is declared to be for the better.
fn range_of_ratios(a: &Analysis<'_>, groups: &Groups<'_, '_>, metric: &Metric) -> Option<(f64, f64)> {
    let better = if metric.better == Better::Higher { Decision::Higher } else { Decision::Lower };
    let mut ratios = Vec::new();
    for one in &groups.loops {
        for other in &groups.per_connection {
            let c = a.compare(one.record, other.record, metric).filter(|c| c.decision == better)?;
            ratios.push(c.ratio);
        }
    }
    let low = ratios.iter().copied().reduce(f64::min)?;
    Some((low, ratios.iter().copied().reduce(f64::max)?))
}
