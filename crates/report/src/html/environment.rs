//! Where the run was measured.

use super::changes::changes_table;
use super::hosts::hosts;
use crate::analysis::Analysis;
use crate::escape::escape;
use pitot_host::Fingerprint;
use std::fmt::Write as _;

pub(super) fn environment(a: &Analysis<'_>) -> String {
    let run = a.run;
    let mut html = String::from("<section id=\"environment\"><h2>Environment</h2><dl class=\"pairs\">");
    let mut pair = |name: &str, value: &str| {
        if !value.is_empty() {
            let _ = write!(html, "<dt>{}</dt><dd>{}</dd>", escape(name), escape(value));
        }
    };
    pair("Server CPUs", &run.info.server_cpus);
    pair("Load generator CPUs", &run.info.load_cpus);
    pair("Pitot", &run.info.version);
    for (name, version) in run.info.server_versions.iter().filter(|(name, _)| name != "pitot") {
        pair(name, version);
    }
    html.push_str("</dl>");
    if run.host_after.is_some() && run.host_changes.is_empty() {
        html.push_str("<p class=\"under\">The machine was the same before and after the run.</p>");
    }
    if !run.host_changes.is_empty() {
        html.push_str("<h3>Changed during the run</h3>");
        html.push_str(&changes_table(&run.host_changes, "before", "after"));
    }
    html.push_str(&hosts(&run.hosts_side_by_side()));
    html.push_str(&machine(&run.host_before));
    html.push_str("</section>");
    html
}

/// The facts of a machine, group by group.
pub(crate) fn machine(facts: &Fingerprint) -> String {
    let mut html = String::from("<h3>The machine</h3>");
    for (group, facts) in facts.groups() {
        let _ = write!(
            html,
            "<details><summary>{} ({})</summary><dl class=\"pairs\">",
            escape(group),
            facts.len()
        );
        for fact in facts {
            let _ = write!(html, "<dt>{}</dt><dd>{}</dd>", escape(&fact.name), escape(&fact.value));
        }
        html.push_str("</dl></details>");
    }
    html
}
