//! The values of `--format`: the forms in which a command shows results, each with one name and one help text.

use clap::ValueEnum;
use clap::builder::ValueParser;
use pitot_report::Format;

use crate::choice::{one_of, word};

/// Those of what is no report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TextOrJson {
    Text,
    Json,
}

/// Those of a report.
pub(crate) fn of_reports() -> ValueParser {
    among(&Format::ALL)
}

/// Those of a comparison.
pub(crate) fn of_comparisons() -> ValueParser {
    among(&[Format::Terminal, Format::Markdown, Format::Json, Format::Html, Format::Github, Format::Junit])
}

/// Those of a history.
pub(crate) fn of_histories() -> ValueParser {
    among(&[Format::Terminal, Format::Html, Format::Markdown, Format::Json, Format::Github, Format::Csv])
}

fn among(formats: &[Format]) -> ValueParser {
    one_of(formats.iter().map(|format| {
        let of_word = match format {
            Format::Terminal => word("terminal", "Text as wide as the terminal, or COLUMNS, or 80 columns"),
            Format::Html => word("html", "One self-contained page with charts"),
            Format::Markdown => word("md", "Markdown, for an issue or a wiki").alias("markdown"),
            Format::Csv => word("csv", "One line for each figure"),
            Format::CsvSlices => {
                word("csv-slices", "One line for each slice of what was measured in slices")
            }
            Format::Json => word("json", "One JSON object"),
            Format::Github => word(
                "github",
                "Annotations of GitHub Actions; the same as Markdown goes to the job summary ($GITHUB_STEP_SUMMARY)",
            ),
            Format::Junit => word(
                "junit",
                "JUnit XML: a test case for each cell, which fails if the cell did, and one for each condition and cell",
            ),
        };
        (of_word, *format)
    }))
}
