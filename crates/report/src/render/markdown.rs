//! A page as Markdown, for an issue or a wiki.

use crate::document::{Block, Document, Item, Mark, Table, Verdict};
use crate::escape::{escape, markdown, markdown_code, markdown_field, markdown_paragraph};
use crate::format::Format;
use crate::scene::Figure;
use crate::svg;
use std::fmt::Write as _;

/// A drawing of a page, as a file beside it.
#[derive(Clone, Debug)]
pub struct Picture {
    /// The name of the file.
    pub name: String,
    /// The drawing, as SVG.
    pub svg: String,
}

/// The text of a page, and its drawings, which it refers to in `folder`; without it there are none.
pub(super) fn render(document: &Document, folder: Option<&str>) -> (String, Vec<Picture>) {
    let mut out = Page { folder, ..Page::default() };
    text(&mut out, document);
    (out.text, out.pictures)
}

/// What was written so far.
#[derive(Default)]
struct Page<'a> {
    text: String,
    folder: Option<&'a str>,
    pictures: Vec<Picture>,
}

fn text(page: &mut Page<'_>, document: &Document) {
    let out = &mut page.text;
    if !document.title.is_empty() {
        heading(out, "#", &document.title);
    }
    if !document.question.is_empty() {
        paragraph(out, &document.question);
    }
    let facts: Vec<String> = document.facts.iter().map(|(name, value)| format!("{name} {value}")).collect();
    if !facts.is_empty() {
        paragraph(out, &facts.join(" · "));
    }
    blocks(page, &document.blocks);
    page.text.truncate(page.text.trim_end().len());
    page.text.push('\n');
}

fn blocks(page: &mut Page<'_>, all: &[Block]) {
    for block in all {
        let out = &mut page.text;
        match block {
            Block::Section(section) => {
                let is_drawn = page.folder.is_some() && has_chart(block);
                if is_drawn || block.is_shown_in(Format::Markdown) {
                    heading(out, "##", &section.title);
                    blocks(page, &section.blocks);
                }
            }
            Block::Heading(text) => heading(out, "###", text),
            Block::Paragraph(text) => paragraph(out, text),
            Block::List(items) => list(out, "- ", items),
            Block::Numbered(items) => list(out, "1. ", items),
            Block::Pairs(pairs) => {
                let named = |(name, item): &(String, Item)| Item {
                    text: format!("{name}: {}", item.text),
                    ..item.clone()
                };
                list(out, "- ", &pairs.iter().map(named).collect::<Vec<_>>());
            }
            Block::Verdict(said) => verdict(out, said),
            Block::Table(of) => table(out, of),
            Block::Commands(commands) => {
                let lines: Vec<&str> = commands.iter().map(|(_, command)| command.as_str()).collect();
                let _ = writeln!(out, "{}", markdown_code("sh", &lines.join("\n")));
            }
            Block::Output(text) => {
                let _ = writeln!(out, "{}", markdown_code("", text));
            }
            Block::Fold(fold) => {
                let kind = fold.verdict.as_ref().map(|(kind, _)| format!(" ({})", kind.name()));
                let kind = kind.unwrap_or_default();
                match (&fold.verdict, fold.is_open) {
                    (_, false) => {
                        let _ = writeln!(
                            out,
                            "<details>\n<summary>{}{kind}</summary>\n",
                            escape(&fold.title.replace("\n", " "))
                        );
                    }
                    (Some(_), true) => paragraph(out, &format!("**{}**{kind}", fold.title)),
                    (None, true) => heading(out, "###", &fold.title),
                }
                blocks(page, &fold.blocks);
                if !fold.is_open {
                    page.text.push_str("</details>\n\n");
                }
            }
            Block::Only(formats, within) if formats.contains(&Format::Markdown) => blocks(page, within),
            Block::Chart(_, figure) => pictures(page, figure),
            Block::Only(..) | Block::Flames(..) | Block::Note(_) => {}
        }
    }
}

fn has_chart(block: &Block) -> bool {
    match block {
        Block::Chart(..) => true,
        Block::Section(section) => section.blocks.iter().any(has_chart),
        Block::Only(formats, within) => formats.contains(&Format::Markdown) && within.iter().any(has_chart),
        _ => false,
    }
}

/// The drawings of a figure, of which a reader sees the last choice first.
fn pictures(page: &mut Page<'_>, figure: &Figure) {
    let (Some(folder), Some(pane)) = (page.folder, figure.panes.last()) else { return };
    for scene in &pane.scenes {
        let letters =
            scene.title.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' });
        let words: String = letters.collect();
        let words: Vec<&str> = words.split('-').filter(|word| !word.is_empty()).collect();
        let name = format!("{:02}-{}.svg", page.pictures.len() + 1, words.join("-"));
        let _ = writeln!(page.text, "![{}]({folder}/{name})\n", markdown(&scene.title));
        page.pictures.push(Picture { name, svg: svg::picture(scene) });
    }
    if !figure.caption.is_empty() {
        paragraph(&mut page.text, &figure.caption);
    }
}

fn heading(out: &mut String, level: &str, text: &str) {
    let _ = writeln!(out, "{level} {}\n", markdown(text));
}

fn paragraph(out: &mut String, text: &str) {
    let _ = writeln!(out, "{}\n", markdown_paragraph(text));
}

fn list(out: &mut String, bullet: &str, items: &[Item]) {
    for item in items {
        let _ = writeln!(out, "{bullet}{}", markdown_paragraph(&item.text));
        for line in &item.more {
            let _ = writeln!(out, "  - {}", markdown_paragraph(line));
        }
    }
    if !items.is_empty() {
        out.push('\n');
    }
}

fn verdict(out: &mut String, said: &Verdict) {
    heading(out, "##", "Answer");
    for (asked, answer) in &said.answers {
        if !asked.is_empty() {
            heading(out, "###", asked);
        }
        paragraph(out, &answer.headline);
        let details: Vec<Item> = answer.details.iter().map(Item::from).collect();
        list(out, "- ", &details);
    }
    let _ = writeln!(out, "**{}.**\n", markdown(&said.title));
    list(out, "- ", &[&*said.reasons, &*said.notes].concat());
}

/// A table; the names of groups are a column.
fn table(out: &mut String, table: &Table) {
    if !table.legend.is_empty() {
        paragraph(out, &table.legend);
    }
    let is_grouped = table.groups.iter().any(|group| !group.name.is_empty());
    let group = is_grouped.then(|| table.grouped_by.clone());
    let heads = table.columns.iter().map(|column| match column.is_ratio {
        true => format!("{} {}", column.title, column.hint),
        false => column.title.clone(),
    });
    let heads: Vec<String> = group.into_iter().chain([table.corner.clone()]).chain(heads).collect();
    line(out, &heads);
    line(out, &heads.iter().map(|_| "---".to_owned()).collect::<Vec<_>>());
    for group in &table.groups {
        for row in &group.rows {
            let gap = if row.mark == Mark::None { "" } else { " " };
            let name = format!("{}{gap}{}", row.name, row.mark.sign());
            let entries = row.entries.iter().map(|entry| match entry.is_best {
                true => format!("**{}**", entry.words()),
                false => entry.words(),
            });
            let group = is_grouped.then(|| group.name.clone());
            line(out, &group.into_iter().chain([name]).chain(entries).collect::<Vec<_>>());
        }
    }
    out.push('\n');
}

fn line(out: &mut String, fields: &[String]) {
    let fields: Vec<String> = fields.iter().map(|field| markdown_field(field)).collect();
    let _ = writeln!(out, "| {} |", fields.join(" | "));
}
