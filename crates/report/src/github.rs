//! Workflow commands of GitHub Actions, which it shows as annotations of a job.
//!
//! The form is `::error title=...::message`; see "Workflow commands for GitHub Actions" in its documentation.

use crate::Question;
use crate::analysis::Analysis;
use crate::findings::answer;
use crate::text::unmarked;
use crate::trust::trust;
use pitot_results::VerdictKind;
use std::fmt::Write as _;

/// The kinds of annotations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// It is wrong.
    Error,
    /// It needs a look.
    Warning,
    /// It is good to know.
    Notice,
}

/// Appends an annotation. What would end it or its title early is escaped.
pub(crate) fn annotation(out: &mut String, level: Level, title: &str, message: &str) {
    let word = match level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Notice => "notice",
    };
    let escaped = |text: &str| text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let title = escaped(title).replace(':', "%3A").replace(',', "%2C");
    let _ = writeln!(out, "::{word} title={title}::{}", escaped(message));
}

/// The annotations of a run: its cells that failed are errors, others that are not valid warnings, and each answer a notice.
pub(crate) fn render(a: &Analysis<'_>, questions: &[Question<'_>]) -> String {
    let mut out = String::new();
    for cell in a.cells.iter().filter(|c| c.verdict.kind != VerdictKind::Valid) {
        let level = if cell.failed() { Level::Error } else { Level::Warning };
        let title = format!("{} {}", unmarked(&a.name_of(cell)), cell.verdict.kind.name());
        annotation(&mut out, level, &title, &cell.verdict.reason);
    }
    let grade = trust(a).grade.title();
    for question in questions {
        let asked = if question.asked.is_empty() { String::new() } else { format!("{}: ", question.asked) };
        let message = format!("{asked}{} {grade}.", unmarked(&answer(question.analysis).headline));
        annotation(&mut out, Level::Notice, &a.run.plan.name, &message);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_annotation_is_one_line_whatever_it_says() {
        let mut out = String::new();
        annotation(&mut out, Level::Error, "a: b, c", "100% of\nall: x, y");
        assert_eq!(out, "::error title=a%3A b%2C c::100%25 of%0Aall: x, y\n");
    }
}
