//! The findings that accompany the answer.

use super::answer::answers_by_cpu;
use super::contrast::{Contrast, contrast};
use super::cpu_share::cpu_share;
use super::faults::faults;
use super::kept::kept;
use super::order::group_order;
use super::scaling::scaling;
use crate::analysis::Analysis;
use crate::control::control_metrics;
use crate::phrase::shown_to_exceed;
use crate::text::sentence;
use pitot_record::METRICS;
use pitot_record::metric::Section;

/// So many findings at most: more would be a table.
const FINDINGS_MAX: usize = 6;

/// Up to six findings: what the servers have kept, what faults did to them, how they differ, where the CPU time goes, how they scale, and in what
/// they do not differ.
pub fn findings(a: &Analysis<'_>) -> Vec<String> {
    let mut found: Vec<String> = kept(a).into_iter().chain(faults(a)).collect();
    let Some(level) = a.top_level() else { return found };
    let metrics = METRICS.iter().filter(|m| m.is_shown_in(Section::Finding) && m.name != a.headline.name);
    let (mut not_significant, mut open) = (Vec::new(), Vec::new());
    let answered = answers_by_cpu(a, level).map(|m| m.name);
    let metrics = metrics.filter(|m| Some(m.name) != answered);
    found.extend(control_metrics(a).into_iter().skip(1).filter_map(|m| group_order(a, m)));
    for contrast in metrics.filter_map(|metric| contrast(a, level, metric)) {
        match contrast {
            Contrast::Difference(text) => found.push(text),
            Contrast::Open(text) => open.push(text),
            Contrast::NotSignificant { metric, ratio } => {
                not_significant.push(format!("{} ({ratio})", metric.words.noun));
            }
        }
    }
    found.extend(cpu_share(a, level));
    // Where the plan's metric decides nothing at its highest load, neither does it show that nothing fell.
    found.extend(scaling(a).filter(|_| answered.is_none()));
    found.extend(open);
    if !not_significant.is_empty() {
        let metrics = not_significant.join(", nor in ");
        let exceeds = shown_to_exceed(a.run.plan.tolerance);
        found.push(sentence(&format!("no difference{} is {exceeds} in {metrics}", a.at_load(level))));
    }
    found.truncate(FINDINGS_MAX);
    found
}
