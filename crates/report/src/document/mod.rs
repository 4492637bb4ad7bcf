//! A page of results before it is rendered: blocks as plain data.
//!
//! A page is a function that returns a [`Document`]. Each renderer (`render`) has one arm for each kind of block, and escapes control
//! characters and markup. In sentences names are between `**`, and code is between back quotes.

mod flames;
mod table;

pub use flames::Flame;
pub use table::{Choice, Column, Entry, Group, Mark, Row, Table};

use crate::findings::Answer;
use crate::format::Format;
use crate::scene::Figure;
use crate::tone::Tone;
use crate::trust::{Grade, Trust};
use pitot_results::VerdictKind;

/// A page of results.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// Its title; empty if it has none.
    pub title: String,
    /// The question that it answers.
    pub question: String,
    /// When, where and how much, as names and values.
    pub facts: Vec<(String, String)>,
    /// Its content, the answer first.
    pub blocks: Vec<Block>,
    /// Version and run file, at the foot of a page of HTML.
    pub origin: String,
}

/// The forms that are read as a whole page.
pub const PAGES: &[Format] = &[Format::Markdown, Format::Html];

/// A piece of a page.
#[derive(Clone, Debug)]
pub enum Block {
    /// Blocks under a heading; not shown without a block to show.
    Section(Section),
    /// The heading of the blocks that follow.
    Heading(String),
    /// Sentences.
    Paragraph(String),
    /// Items in any order.
    List(Vec<Item>),
    /// Items that are counted.
    Numbered(Vec<Item>),
    /// Names and values; a name has the tone of its item.
    Pairs(Vec<(String, Item)>),
    /// The answers, and whether to trust them.
    Verdict(Box<Verdict>),
    /// Figures in rows and columns.
    Table(Table),
    /// How to read a chart, and the chart, in HTML only.
    Chart(String, Box<Figure>),
    /// A flame graph, and what it is compared with or an empty name. A terminal shows it as a tree, Markdown not at all.
    Flames(Box<Flame>, String),
    /// Commands to type, each with its purpose or an empty name.
    Commands(Vec<(String, String)>),
    /// What a program has printed.
    Output(String),
    /// Blocks that HTML folds away.
    Fold(Fold),
    /// An annotation of GitHub Actions.
    Note(Note),
    /// Blocks for readers of some forms.
    Only(&'static [Format], Vec<Block>),
}

impl Block {
    /// A section that the contents list, if `id` is not empty.
    pub fn section(id: &'static str, title: impl Into<String>, blocks: Vec<Block>) -> Block {
        Block::Section(Section { id, title: title.into(), blocks })
    }

    /// Blocks that HTML folds away.
    pub(crate) fn folded(title: &str, blocks: Vec<Block>) -> Block {
        Block::Fold(Fold { title: title.to_owned(), verdict: None, is_open: false, blocks })
    }

    /// A list of items.
    pub fn list<T: Into<Item>>(items: impl IntoIterator<Item = T>) -> Block {
        Block::List(items.into_iter().map(Into::into).collect())
    }

    /// Names and values.
    pub fn pairs<T: Into<Item>>(pairs: impl IntoIterator<Item = (String, T)>) -> Block {
        Block::Pairs(pairs.into_iter().map(|(name, value)| (name, value.into())).collect())
    }

    /// Whether a form shows anything of it.
    pub(crate) fn is_shown_in(&self, format: Format) -> bool {
        let any = |blocks: &[Block]| blocks.iter().any(|block| block.is_shown_in(format));
        match self {
            Block::Section(section) => any(&section.blocks),
            Block::Only(formats, within) => formats.contains(&format) && any(within),
            Block::List(items) | Block::Numbered(items) => !items.is_empty(),
            Block::Pairs(pairs) => !pairs.is_empty(),
            Block::Chart(..) => format == Format::Html,
            Block::Flames(..) => [Format::Terminal, Format::Html].contains(&format),
            Block::Note(_) => format == Format::Github,
            _ => true,
        }
    }

    /// A paragraph.
    pub fn paragraph(text: impl Into<String>) -> Block {
        Block::Paragraph(text.into())
    }
}

/// Blocks under a heading.
#[derive(Clone, Debug)]
pub struct Section {
    /// The anchor of its entry in the contents; empty for none.
    pub id: &'static str,
    /// Its heading.
    pub title: String,
    /// What it holds.
    pub blocks: Vec<Block>,
}

/// An item of a list.
#[derive(Clone, Debug, Default)]
pub struct Item {
    /// Its sentence.
    pub text: String,
    /// Its colour, if any.
    pub tone: Option<Tone>,
    /// Sentences that belong to it.
    pub more: Vec<String>,
}

impl<T: Into<String>> From<T> for Item {
    fn from(text: T) -> Item {
        Item { text: text.into(), ..Item::default() }
    }
}

/// The answers of a page, and whether to trust them.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The question, empty if there is only one, and the answer.
    pub answers: Vec<(String, Answer)>,
    /// The cell of the tiles of a single answer.
    pub tiles_of: String,
    /// The grade in words.
    pub title: String,
    /// The colour of the grade.
    pub tone: Tone,
    /// Why, the worst first.
    pub reasons: Vec<Item>,
    /// What else matters to judge.
    pub notes: Vec<Item>,
    /// How many cells have which verdict.
    pub tally: Vec<(VerdictKind, usize)>,
}

impl Verdict {
    /// One or several answers with the trust in them.
    pub fn of(answers: Vec<(String, Answer)>, trust: Trust) -> Verdict {
        Verdict {
            answers,
            tiles_of: String::new(),
            title: trust.grade.title().to_owned(),
            tone: match trust.grade {
                Grade::Good => Tone::Good,
                Grade::Care => Tone::Care,
                Grade::Bad | Grade::Untrusted => Tone::Bad,
            },
            reasons: trust.reasons.into_iter().map(Item::from).collect(),
            notes: trust.notes.into_iter().map(Item::from).collect(),
            tally: Vec::new(),
        }
    }
}

/// Blocks that are folded away under a title. One that holds folds is a group of them.
#[derive(Clone, Debug)]
pub struct Fold {
    /// Its title.
    pub title: String,
    /// The verdict of a cell, with how many of its repetitions failed.
    pub verdict: Option<(VerdictKind, String)>,
    /// Whether it is open at first.
    pub is_open: bool,
    /// What it holds.
    pub blocks: Vec<Block>,
}

/// An annotation.
#[derive(Clone, Debug)]
pub struct Note {
    /// An error, a warning, or a notice.
    pub tone: Tone,
    /// Its title.
    pub title: String,
    /// Its text.
    pub text: String,
}
