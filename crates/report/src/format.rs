//! The forms of a report.

/// The forms of a report and of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Plain text of 80 columns ([`crate::Screen::PLAIN`]).
    Terminal,
    /// One self-contained page.
    Html,
    /// Markdown.
    Markdown,
    /// One line for each cell and metric.
    Csv,
    /// One line for each slice.
    CsvSlices,
    /// One JSON object.
    Json,
    /// Annotations of GitHub Actions, one to a line.
    Github,
    /// The XML of JUnit, which most systems for continuous integration read.
    Junit,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 8] = [
        Format::Terminal,
        Format::Html,
        Format::Markdown,
        Format::Csv,
        Format::CsvSlices,
        Format::Json,
        Format::Github,
        Format::Junit,
    ];
}
