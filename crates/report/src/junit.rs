//! The XML of JUnit, for continuous integration.

use crate::analysis::Analysis;
use crate::escape::escape;
use crate::text::unmarked;
use pitot_results::VerdictKind;
use std::fmt::Write as _;

pub(crate) struct Suite {
    pub(crate) name: String,
    pub(crate) cases: Vec<Case>,
}

pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) outcome: CaseOutcome,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CaseOutcome {
    Passed,
    Failed(String),
    Error(String),
}

pub(crate) fn document(name: &str, suites: &[Suite]) -> String {
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let all = || suites.iter().flat_map(|s| &s.cases);
    let _ = writeln!(xml, "<testsuites name=\"{}\" {}>", plain(name), counts(all()));
    for suite in suites {
        let name = plain(&suite.name);
        let _ = writeln!(xml, "  <testsuite name=\"{name}\" {}>", counts(suite.cases.iter()));
        for case in &suite.cases {
            let _ = write!(xml, "    <testcase classname=\"{name}\" name=\"{}\"", plain(&case.name));
            let _ = match &case.outcome {
                CaseOutcome::Passed => writeln!(xml, "/>"),
                CaseOutcome::Failed(why) => {
                    writeln!(xml, ">\n      <failure message=\"{}\"/>\n    </testcase>", plain(why))
                }
                CaseOutcome::Error(why) => {
                    writeln!(xml, ">\n      <error message=\"{}\"/>\n    </testcase>", plain(why))
                }
            };
        }
        xml.push_str("  </testsuite>\n");
    }
    xml.push_str("</testsuites>\n");
    xml
}

fn counts<'a>(cases: impl Iterator<Item = &'a Case> + Clone) -> String {
    let count = |is: fn(&CaseOutcome) -> bool| cases.clone().filter(|c| is(&c.outcome)).count();
    format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\"",
        cases.clone().count(),
        count(|o| matches!(o, CaseOutcome::Failed(_))),
        count(|o| matches!(o, CaseOutcome::Error(_)))
    )
}

/// The text of an attribute, without control characters, which XML forbids.
fn plain(text: &str) -> String {
    escape(&text.replace(char::is_control, " "))
}

/// A test case for each cell.
pub(crate) fn render(a: &Analysis<'_>) -> String {
    let cases = a.cells.iter().map(|cell| Case {
        name: unmarked(&a.name_of(cell)),
        outcome: match cell.verdict.kind {
            VerdictKind::Failed => CaseOutcome::Failed(cell.verdict.reason.clone()),
            _ if cell.record.repetitions.is_empty() => CaseOutcome::Error("it was not measured".into()),
            _ => CaseOutcome::Passed,
        },
    });
    document("pitot report", &[Suite { name: a.run.plan.name.clone(), cases: cases.collect() }])
}
