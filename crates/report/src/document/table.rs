//! Tables of a document.

use crate::tone::Tone;
use pitot_results::VerdictKind;

/// Rows of a name and an entry for each column.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Its caption, read by screen readers.
    pub caption: String,
    /// What the names of the rows are.
    pub corner: String,
    /// What the names of the groups are.
    pub grouped_by: String,
    /// The columns behind the names.
    pub columns: Vec<Column>,
    /// The rows, in groups.
    pub groups: Vec<Group>,
    /// What its marks mean.
    pub legend: String,
}

impl Table {
    /// A table in one group and without marks, of a name and the texts of each row.
    pub fn plain<T: Into<Entry>>(
        caption: &str,
        corner: &str,
        columns: Vec<Column>,
        rows: impl IntoIterator<Item = (String, Vec<T>)>,
    ) -> Table {
        let row = |(name, texts): (String, Vec<T>)| Row {
            entries: texts.into_iter().map(Into::into).collect(),
            ..Row::of(name)
        };
        let groups = vec![Group { rows: rows.into_iter().map(row).collect(), ..Group::default() }];
        Table { caption: caption.into(), corner: corner.into(), columns, groups, ..Table::default() }
    }

    /// Whether it has only words: lines may wrap.
    pub fn is_of_words(&self) -> bool {
        self.columns.iter().all(|column| column.is_words)
    }
}

/// A column.
#[derive(Clone, Debug, Default)]
pub struct Column {
    /// Its heading.
    pub title: String,
    /// Which way is better, or what it is compared with.
    pub hint: String,
    /// If there is no room, columns of a higher rank are dropped first; rank 0 is never dropped.
    pub rank: usize,
    /// Whether it holds ratios to what the hint says.
    pub is_ratio: bool,
    /// Whether it holds words. Those of the last column move below their row if there is no room.
    pub is_words: bool,
}

impl Column {
    /// A column of figures.
    pub fn of(title: impl Into<String>) -> Column {
        Column { title: title.into(), ..Column::default() }
    }

    /// A column of words.
    pub fn of_words(title: impl Into<String>) -> Column {
        Column { is_words: true, ..Column::of(title) }
    }
}

/// Rows that belong together.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// What they have in common; empty if all rows are in one group.
    pub heading: String,
    /// The same in a column of such names.
    pub name: String,
    /// The rows.
    pub rows: Vec<Row>,
}

/// A row.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Its rank among the others.
    pub mark: Mark,
    /// The index of its series, whose colour it has in charts.
    pub series: Option<usize>,
    /// One for each column.
    pub entries: Vec<Entry>,
    /// Where its name leads to, in HTML: a path of the server that shows the page, or a file relative to it.
    pub link: Option<String>,
    /// Whether it can be chosen in a form of a page that a server shows.
    pub choice: Option<Choice>,
}

impl Row {
    /// A row without entries yet.
    pub fn of(name: impl Into<String>) -> Row {
        Row {
            name: name.into(),
            mark: Mark::None,
            series: None,
            entries: Vec::new(),
            link: None,
            choice: None,
        }
    }
}

/// A box to check.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The form ([`crate::served::Form::id`]).
    pub form: &'static str,
    /// The name that the form sends.
    pub name: &'static str,
    /// The value that it sends.
    pub value: String,
}

/// The rank of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The best of its group.
    Best,
    /// Not shown to be worse than the best by more than the tolerance.
    Level,
    /// Shown for comparison, and not ranked.
    Aside,
    /// None of these, or not ranked.
    None,
}

impl Mark {
    /// Its sign.
    pub fn sign(self) -> &'static str {
        match self {
            Mark::Best => "★",
            Mark::Level => "≈",
            Mark::Aside => "(",
            Mark::None => "",
        }
    }
}

/// One field of a table.
#[derive(Clone, Debug, Default)]
pub struct Entry {
    /// The figure, or words.
    pub text: String,
    /// Its interval.
    pub note: String,
    /// Whether it is the best figure of its column and group.
    pub is_best: bool,
    /// Its colour.
    pub tone: Option<Tone>,
    /// The figure as a part of the column's largest, 0 to 1.
    pub part: f64,
    /// The verdict in the text; the note is then the number of failed repetitions.
    pub verdict: Option<VerdictKind>,
}

impl Entry {
    /// A field without a figure.
    pub fn dash() -> Entry {
        Entry::from("–")
    }

    /// A verdict, with `2 of 6 failed`, or nothing.
    pub fn verdict(kind: VerdictKind, failures: String) -> Entry {
        let is_fine = kind == VerdictKind::Valid && failures.is_empty();
        let tone = if kind == VerdictKind::Valid { Tone::Care } else { kind.into() };
        Entry {
            text: kind.name().into(),
            note: failures,
            tone: (!is_fine).then_some(tone),
            verdict: Some(kind),
            ..Entry::default()
        }
    }

    /// All of it in words.
    pub fn words(&self) -> String {
        let gap = match (self.note.is_empty(), self.verdict) {
            (true, _) => "",
            (false, Some(_)) => ", ",
            (false, None) => " ",
        };
        format!("{}{gap}{}", self.text, self.note)
    }
}

impl<T: Into<String>> From<T> for Entry {
    fn from(text: T) -> Entry {
        Entry { text: text.into(), ..Entry::default() }
    }
}
