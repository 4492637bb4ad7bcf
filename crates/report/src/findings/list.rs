//! The findings that accompany the answer.

use super::answer::answers_by_cpu;
use super::contrast::{Contrast, contrast};
use super::cpu_share::cpu_share;
use super::durability::durability;
use super::faults::faults;
use super::order::group_order;
use super::scaling::scaling;
use crate::analysis::Analysis;
use crate::control::control_metrics;
use crate::phrase::shown_to_exceed;
use crate::text::sentence;
use pitot_record::METRICS;
use pitot_record::metric::Section;

const FINDINGS_MAX: usize = 6;

/// Up to six findings: durability, faults, differences between servers, CPU time in the kernel, scaling, and metrics without a shown
/// difference.
pub fn findings(a: &Analysis<'_>) -> Vec<String> {
    let mut found: Vec<String> = durability(a).into_iter().chain(faults(a)).collect();
    let Some(level) = a.top_level() else { return found };
    let metrics = METRICS.iter().filter(|m| m.is_shown_in(Section::Finding) && m.name != a.headline.name);
    let (mut undeclared, mut open) = (Vec::new(), Vec::new());
    let answered = answers_by_cpu(a, level).map(|m| m.name);
    let metrics = metrics.filter(|m| Some(m.name) != answered);
    found.extend(control_metrics(a).into_iter().skip(1).filter_map(|m| group_order(a, m)));
    for contrast in metrics.filter_map(|metric| contrast(a, level, metric)) {
        match contrast {
            Contrast::Difference(text) => found.push(text),
            Contrast::Open(text) => open.push(text),
            Contrast::Undeclared { metric, ratio } => {
                undeclared.push(format!("{} ({ratio})", metric.words.noun));
            }
        }
    }
    found.extend(cpu_share(a, level));
    found.extend(scaling(a).filter(|_| answered.is_none()));
    found.extend(open);
    if !undeclared.is_empty() {
        let metrics = undeclared.join(", nor in ");
        let exceeds = shown_to_exceed(a.run.plan.tolerance);
        found.push(sentence(&format!("no difference{} is {exceeds} in {metrics}", a.at_load(level))));
    }
    found.truncate(FINDINGS_MAX);
    found
}
