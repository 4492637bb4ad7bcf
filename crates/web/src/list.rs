//! The list of runs and soaks.

use std::sync::Arc;

use pitot_history::Digest;
use pitot_meter::units::counted;
use pitot_report::Tone;
use pitot_report::document::{Block, Choice, Column, Document, Entry, Item as Line, Row, Table};
use pitot_report::history::{COMMIT_TIME, shortened};
use pitot_report::served::{Field, Form, Input, Link, Progress, Served};

use crate::query::{Query, link};
use crate::shelf::Item;

/// Rows of a page.
const PAGE_ROWS: usize = 200;
/// Files that cannot be read are named up to this number.
const UNREADABLE_MAX: usize = 50;

/// Orders of the list, with their names.
const ORDERS: [(&str, &str); 4] = [
    ("newest", "newest first"),
    ("oldest", "oldest first"),
    ("name", "name"),
    ("trust", "trust, worst first"),
];

/// What is being measured, by the name of its file.
pub(crate) struct Running {
    pub(crate) name: String,
    pub(crate) title: String,
    /// How far it is, or why that cannot be read.
    pub(crate) progress: Result<Progress, String>,
}

/// The page of the list.
pub(crate) fn page(
    items: &[(String, Item)],
    running: &[Running],
    places: &str,
    query: &Query,
) -> (Document, Served) {
    let read = items.iter().filter_map(|(name, item)| Some((&**name, item.digest.as_ref()?.as_ref().ok()?)));
    let mut shown: Vec<(&str, &Arc<Digest>)> =
        read.filter(|(name, digest)| is_found(name, digest, query.get("q"))).collect();
    sort(&mut shown, query.get("sort"));
    let pages = shown.len().div_ceil(PAGE_ROWS).max(1);
    let page = query.get("page").parse::<usize>().unwrap_or(1).clamp(1, pages);
    let rows = &shown[(page - 1) * PAGE_ROWS..(page * PAGE_ROWS).min(shown.len())];
    let unread = items.iter().filter(|(_, item)| item.digest.is_none() && !item.is_running).count();

    let mut blocks = Vec::new();
    if !running.is_empty() {
        blocks.push(Block::section("", "In progress", vec![Block::Table(in_progress(running))]));
    }
    let is_asked = !query.get("q").is_empty();
    blocks.push(match (rows.is_empty(), is_asked, unread) {
        (false, ..) if !running.is_empty() => Block::section("", "Ended", vec![Block::Table(table(rows))]),
        (false, ..) => Block::Table(table(rows)),
        (true, true, _) => Block::paragraph(
            "Nothing matches. Every word must occur in the name, the answer, the machine or a label.",
        ),
        (true, false, 0) if running.is_empty() => Block::paragraph(
            "There are no run files here yet: `pitot run quick -o quick.pitot` makes one in half a minute.",
        ),
        (true, false, 0) => Block::paragraph("No other run is here."),
        (true, false, _) => Block::paragraph("The files are being read."),
    });
    blocks.extend(failures(items));

    let mut facts = vec![("in".to_owned(), places.to_owned())];
    facts.push((
        if is_asked { "found" } else { "files" }.to_owned(),
        match is_asked {
            true => format!("{} of {}", shown.len(), items.len()),
            false => items.len().to_string(),
        },
    ));
    if unread > 0 {
        facts.push(("still to be read".to_owned(), unread.to_string()));
    }
    let unreadable = items.iter().filter(|(_, item)| matches!(item.digest, Some(Err(_)))).count();
    if unreadable > 0 {
        facts.push(("cannot be read".to_owned(), unreadable.to_string()));
    }
    let document = Document { title: "Runs".into(), facts, blocks, ..Document::default() };
    let can_compare = rows.iter().any(|(_, digest)| !digest.is_soak);
    let served = Served {
        before: vec![find(query)],
        after: if can_compare { vec![compare()] } else { Vec::new() },
        pages: links(page, pages, query),
        ..Served::default()
    };
    (document, served)
}

fn find(query: &Query) -> Form {
    let orders = ORDERS.map(|(value, text)| (value.to_owned(), text.to_owned())).to_vec();
    Form {
        id: "find",
        to: "/".into(),
        fields: vec![
            Field { name: "q", label: "Find", input: Input::Search(query.get("q").to_owned()) },
            Field {
                name: "sort",
                label: "Sort by",
                input: Input::Select(orders, query.get("sort").to_owned()),
            },
        ],
        button: "Show",
        ..Form::default()
    }
}

fn compare() -> Form {
    Form { id: "compare", to: "/compare".into(), button: "Compare the chosen two", ..Form::default() }
}

/// Every word is somewhere in what the list says of the file.
fn is_found(name: &str, digest: &Digest, words: &str) -> bool {
    let Digest { title, question, answer, trust, machine, state, version, .. } = digest;
    let labels: Vec<String> = digest.labels.iter().map(|(label, value)| format!("{label}={value}")).collect();
    let all =
        [name, &digest.name, title, question, answer, trust, machine, state, version, &labels.join(" ")]
            .join("\n")
            .to_lowercase();
    words.to_lowercase().split_whitespace().all(|word| all.contains(word))
}

fn sort(shown: &mut [(&str, &Arc<Digest>)], order: &str) {
    // Names come in order, and sorting is stable.
    match order {
        "name" => {}
        "oldest" => shown.sort_by(|(_, a), (_, b)| a.started_at.cmp(&b.started_at)),
        "trust" => shown.sort_by_key(|(_, digest)| match digest.tone {
            Some(Tone::Bad) => 0,
            Some(Tone::Care) => 1,
            _ => 2,
        }),
        _ => shown.sort_by(|(_, a), (_, b)| b.started_at.cmp(&a.started_at)),
    }
}

fn in_progress(running: &[Running]) -> Table {
    let columns = ["What is measured", "Done", "Time"].map(Column::of_words).to_vec();
    let mut table = Table::plain("In progress", "File", columns, Vec::<(String, Vec<String>)>::new());
    table.groups[0].rows = running
        .iter()
        .map(|Running { name, title, progress }| {
            let (done, time) = match progress {
                Ok(progress) => (progress.sentence.replace("In progress: ", ""), progress.time.clone()),
                Err(reason) => (reason.clone(), String::new()),
            };
            let entries = vec![Entry::from(title.clone()), done.into(), time.into()];
            Row { link: Some(link("report", name)), entries, ..Row::of(stem(name)) }
        })
        .collect();
    table
}

fn table(rows: &[(&str, &Arc<Digest>)]) -> Table {
    let has_labels = rows.iter().any(|(_, digest)| !digest.labels.is_empty());
    let mut titles = vec!["Answer", "Trust", "Measured (UTC)", "Machine"];
    titles.extend(has_labels.then_some("Labels"));
    let columns = titles.into_iter().map(Column::of_words).collect();
    let mut table = Table::plain("Runs and soaks", "File", columns, Vec::<(String, Vec<String>)>::new());
    table.groups[0].rows = rows.iter().map(|(name, digest)| row(name, digest, has_labels)).collect();
    table
}

fn row(name: &str, digest: &Digest, has_labels: bool) -> Row {
    let title = if digest.title.is_empty() { &digest.name } else { &digest.title };
    let note = digest.question.clone();
    let mut entries = vec![
        Entry { note, ..Entry::from(format!("**{}:** {}", title.replace("**", ""), digest.answer)) },
        trust(digest),
        date(&digest.started_at).into(),
        digest.machine.clone().into(),
    ];
    if has_labels {
        // The date of the run is enough beside its commit.
        let shown = digest.labels.iter().filter(|(name, _)| name != COMMIT_TIME);
        let labels = shown.map(|(name, value)| format!("{name}={}", shortened(value)));
        entries.push(labels.collect::<Vec<_>>().join(", ").into());
    }
    // Comparisons are of runs.
    let choice = Choice { form: "compare", name: "run", value: name.to_owned() };
    Row {
        link: Some(link("report", name)),
        choice: (!digest.is_soak).then_some(choice),
        entries,
        ..Row::of(stem(name))
    }
}

fn trust(digest: &Digest) -> Entry {
    let words = match digest.tone {
        Some(Tone::Good) => "can be trusted",
        Some(Tone::Care) => "read with care",
        Some(Tone::Bad) => "do not rely on it",
        None => "–",
    };
    // What is still said to be running was killed: what runs is above.
    let note = match &*digest.state {
        "complete" => "",
        "interrupted" => "stopped early",
        _ => "killed",
    };
    Entry { tone: digest.tone, note: note.to_owned(), ..Entry::from(words) }
}

/// An RFC 3339 time to the minute.
fn date(rfc3339: &str) -> String {
    rfc3339.get(..16).unwrap_or(rfc3339).replace('T', " ")
}

fn stem(name: &str) -> &str {
    name.strip_suffix(".pitot").unwrap_or(name)
}

fn failures(items: &[(String, Item)]) -> Option<Block> {
    let failed: Vec<Line> = items
        .iter()
        .filter_map(|(name, item)| {
            let reason = item.digest.as_ref()?.as_ref().err()?;
            Some(Line::from(format!("**{}**: {reason}", name.replace("**", ""))))
        })
        .collect();
    let more = failed.len().saturating_sub(UNREADABLE_MAX);
    let heading = match failed.len() {
        0 => return None,
        n => counted(n as u64, "file that cannot be read", "files that cannot be read"),
    };
    let mut lines: Vec<Line> = failed.into_iter().take(UNREADABLE_MAX).collect();
    lines.extend((more > 0).then(|| Line::from(format!("and {more} more"))));
    Some(Block::section("", heading, vec![Block::List(lines)]))
}

/// The pages around this one, the first and the last.
fn links(page: usize, pages: usize, query: &Query) -> Vec<Link> {
    if pages == 1 {
        return Vec::new();
    }
    let rest = query.without(&["page"]);
    let and = if rest.is_empty() { "" } else { "&" };
    let near = |number: &usize| *number == 1 || *number == pages || number.abs_diff(page) <= 2;
    let link = |number: usize| Link {
        text: number.to_string(),
        to: format!("/?{rest}{and}page={number}"),
        is_here: number == page,
    };
    (1..=pages).filter(near).map(link).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pitot_history::Stamp;

    fn item(digest: Digest) -> Item {
        let path = std::path::Path::new("x").into();
        Item { path, stamp: Stamp::default(), is_running: false, digest: Some(Ok(Arc::new(digest))) }
    }

    fn digest(title: &str, day: u32, tone: Tone) -> Digest {
        let started_at = format!("2026-01-{day:02}T10:00:00.000Z");
        let labels = vec![("commit".to_owned(), format!("abc{day}"))];
        Digest {
            title: title.into(),
            started_at,
            tone: Some(tone),
            labels,
            state: "complete".into(),
            ..Digest::default()
        }
    }

    fn some() -> Vec<(String, Item)> {
        let of = |name: &str, digest| (name.to_owned(), item(digest));
        let bad = Item { digest: Some(Err("it is damaged".into())), ..item(Digest::default()) };
        vec![
            of("a.pitot", digest("Quick <b>", 3, Tone::Good)),
            of("b.pitot", digest("Slow", 5, Tone::Bad)),
            ("bad.pitot".to_owned(), bad),
            of("soak.pitot", Digest { is_soak: true, ..digest("Soak: app", 4, Tone::Care) }),
        ]
    }

    fn shown(query: &str) -> String {
        let (document, served) = page(&some(), &[], "runs", &Query::parse(Some(query)));
        document.serve(&served)
    }

    /// Where the names stand, in the order of the page.
    fn order(page: &str) -> Vec<&str> {
        let links = page.split("href=\"/report/").skip(1);
        links.map(|rest| rest.split('"').next().unwrap()).collect()
    }

    #[test]
    fn the_newest_is_first_and_other_orders_can_be_asked_for() {
        assert_eq!(order(&shown("")), ["b.pitot", "soak.pitot", "a.pitot"]);
        assert_eq!(order(&shown("sort=oldest")), ["a.pitot", "soak.pitot", "b.pitot"]);
        assert_eq!(order(&shown("sort=name")), ["a.pitot", "b.pitot", "soak.pitot"]);
        assert_eq!(order(&shown("sort=trust")), ["b.pitot", "soak.pitot", "a.pitot"]);
        assert_eq!(order(&shown("sort='--")), ["b.pitot", "soak.pitot", "a.pitot"]);
    }

    #[test]
    fn every_word_must_be_found_and_only_runs_can_be_compared() {
        assert_eq!(order(&shown("q=ABC3+quick")), ["a.pitot"]);
        assert!(shown("q=quick+abc5").contains("Nothing matches"));
        let page = shown("");
        assert!(page.contains("name=\"run\" value=\"a.pitot\"") && !page.contains("value=\"soak.pitot\""));
        assert!(
            page.contains("Quick &lt;b&gt;") && page.contains("<strong>bad.pitot</strong>: it is damaged")
        );
    }

    #[test]
    fn a_long_list_has_pages_that_keep_what_was_asked_for() {
        let many: Vec<(String, Item)> =
            (0..1000).map(|n| (format!("{n:04}.pitot"), item(digest("t", 1, Tone::Good)))).collect();
        let page = |query: &str| {
            let (document, served) = page(&many, &[], "runs", &Query::parse(Some(query)));
            document.serve(&served)
        };
        assert_eq!(order(&page("sort=name")).len(), PAGE_ROWS);
        let last = page("sort=name&page=5");
        assert_eq!(order(&last).last().unwrap(), &"0999.pitot");
        assert!(last.contains("<a aria-current=\"page\" href=\"/?sort=name&amp;page=5\">5</a>"), "{last}");
        assert_eq!(order(&page("page=99999999999999999999&sort=name"))[0], "0000.pitot");
        assert_eq!(order(&page("page=77&sort=name"))[0], "0800.pitot");
    }
}
