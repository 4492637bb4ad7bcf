//! The pages, as documents with what a server adds to them.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use axum::http::StatusCode;
use pitot_record::{METRICS, metric};
use pitot_report::document::{Block, Document};
use pitot_report::history::History;
use pitot_report::served::{Field, Form, Input, Link, Progress, Served};
use pitot_report::{Format, Gate, Gated, Reported, compare, compare_within};
use pitot_results::Failure;

use crate::list::{self, Running};
use crate::query::{Query, link};
use crate::shelf::{Item, Opened, Shelf};

/// Files in progress that the list shows.
const RUNNING_MAX: usize = 20;
/// Runs of a history, the newest.
const HISTORY_MAX: usize = 1000;

/// A page, in HTML.
pub(crate) struct Page {
    pub(crate) status: StatusCode,
    pub(crate) html: String,
}

impl Page {
    fn of(document: &Document, served: &Served) -> Page {
        Page { status: StatusCode::OK, html: document.serve(served) }
    }

    /// A page that says why there is no other.
    pub(crate) fn failure(status: StatusCode, failure: &Failure) -> Page {
        let sentence = |text: &str| format!("{}.", text.trim_end_matches('.'));
        let blocks =
            vec![Block::paragraph(sentence(&failure.what)), Block::paragraph(sentence(&failure.fix))];
        let title = match status {
            StatusCode::NOT_FOUND => "Not found",
            StatusCode::FORBIDDEN | StatusCode::MISDIRECTED_REQUEST => "Not allowed",
            _ => "This cannot be shown",
        };
        let document = Document { title: title.into(), blocks, ..Document::default() };
        let served = Served { navigation: ways(""), ..Served::default() };
        Page { status, ..Page::of(&document, &served) }
    }
}

/// The ways to the pages that are not of one file; `here` is the path of this page.
fn ways(here: &str) -> Vec<Link> {
    let way = |(text, to): (&str, &str)| Link { text: text.into(), to: to.into(), is_here: to == here };
    [("Runs", "/"), ("History", "/history")].map(way).to_vec()
}

/// Those and the pages of a file.
fn ways_of(name: &str, opened: &Opened, here: &str) -> Vec<Link> {
    let mut ways = ways("");
    let mut add = |text: &str, page: &str| {
        ways.push(Link { text: text.into(), to: link(page, name), is_here: page == here });
    };
    add("Report", "report");
    add(if opened.is_soak { "Command" } else { "Plan" }, "plan");
    if opened.has_baseline {
        let mut query = form_urlencoded::Serializer::new(String::from("/compare?"));
        let to = query.append_pair("run", name).finish();
        ways.push(Link { text: "With its baseline".into(), to, is_here: here == "compare" });
    }
    ways
}

/// The page of a failure to read a known file, or of a name that is not known.
fn of_failure(failure: &Failure, is_known: bool) -> Page {
    let status = if is_known { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::NOT_FOUND };
    Page::failure(status, failure)
}

/// The list of runs.
pub(crate) fn list(shelf: &Shelf, query: &Query) -> Page {
    let items = shelf.items();
    let count = running(&items).count();
    let shown: Vec<Running> =
        running(&items).take(RUNNING_MAX).map(|name| in_progress(shelf, name)).collect();
    let places: Vec<String> = shelf.named().iter().map(|path| place(path)).collect();
    let (document, mut served) = list::page(&items, &shown, &places.join(", "), query);
    served.navigation = ways("/");
    served.progress = Some(Progress {
        events: format!("/events/?have={:016x}", list_hash(&items)),
        sentence: if count == 0 { "Nothing in progress".to_owned() } else { format!("{count} in progress") },
        is_over: count == 0,
        ..Progress::default()
    });
    Page::of(&document, &served)
}

/// What the list shows of the files that are there and of those that are being written.
pub(crate) fn list_hash(items: &[(String, Item)]) -> u64 {
    let mut hasher = DefaultHasher::new();
    items.len().hash(&mut hasher);
    items.iter().all(|(_, item)| item.digest.is_some() || item.is_running).hash(&mut hasher);
    running(items).for_each(|name| name.hash(&mut hasher));
    hasher.finish()
}

/// The names of what is being measured.
fn running(items: &[(String, Item)]) -> impl Iterator<Item = &str> {
    items.iter().filter(|(_, item)| item.is_running).map(|(name, _)| &**name)
}

/// A directory as it is called: `.` says nothing to a reader of a page.
fn place(path: &Path) -> String {
    let path =
        if path == Path::new(".") { std::path::absolute(path).unwrap_or_default() } else { path.to_owned() };
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

fn in_progress(shelf: &Shelf, name: &str) -> Running {
    let opened = shelf.open(name);
    Running {
        name: name.to_owned(),
        title: opened.as_ref().map_or_else(|_| String::new(), |opened| opened.document.title.clone()),
        progress: opened.map(|opened| opened.progress()).map_err(|failure| failure.what),
    }
}

/// The report of a run or soak. While it is being measured, the page has events, and a button for those who may stop it.
pub(crate) fn report(shelf: &Shelf, name: &str, may_stop: bool, query: &Query) -> Page {
    let opened = match shelf.open(name) {
        Ok(opened) => opened,
        Err(failure) => return of_failure(&failure, shelf.path(name).is_some()),
    };
    let progress = opened.is_running.then(|| {
        let mut progress = opened.progress();
        progress.events = format!("{}?have={:016x}", link("events", name), opened.hash);
        let what = if opened.is_soak { "Stop this soak" } else { "Stop this run" };
        let form =
            Form { id: "stop", to: link("stop", name), changes: true, button: what, ..Form::default() };
        progress.stop = may_stop.then_some(form);
        progress
    });
    let note = match query.get("stop") {
        "asked" => "It was asked to stop. What it has finished is kept.",
        "over" => "Nothing was stopped: no run or soak of this user is writing the file.",
        _ => "",
    };
    let served = Served {
        navigation: ways_of(name, &opened, "report"),
        progress,
        note: note.to_owned(),
        ..Served::default()
    };
    Page::of(&opened.document, &served)
}

/// The plan of a run as it was written, or the command of a soak.
pub(crate) fn plan(shelf: &Shelf, name: &str) -> Page {
    let opened = match shelf.open(name) {
        Ok(opened) => opened,
        Err(failure) => return of_failure(&failure, shelf.path(name).is_some()),
    };
    let what = match (opened.is_soak, opened.source.is_empty()) {
        (true, _) => "The command that began it.",
        (false, true) => "The file does not have the text of the plan.",
        (false, false) => "The plan as it was written.",
    };
    let commands = Block::Commands(vec![(String::new(), opened.source.clone())]);
    let shown = (!opened.source.is_empty()).then_some(commands);
    let document = Document {
        title: opened.document.title.clone(),
        question: opened.document.question.clone(),
        blocks: std::iter::once(Block::paragraph(what)).chain(shown).collect(),
        ..Document::default()
    };
    Page::of(&document, &Served { navigation: ways_of(name, &opened, "plan"), ..Served::default() })
}

/// Two runs, the earlier first, or one with its baseline.
pub(crate) fn comparison(shelf: &Shelf, query: &Query) -> Page {
    let named: Vec<&str> = ["a", "b", "run"].iter().flat_map(|name| query.all(name)).collect();
    let is_in_order = query.all("run").next().is_none();
    let known = named.iter().all(|name| shelf.path(name).is_some());
    match compared(shelf, &named, is_in_order) {
        Ok((document, navigation)) => Page::of(&document, &Served { navigation, ..Served::default() }),
        Err(failure) if known => Page::failure(StatusCode::UNPROCESSABLE_ENTITY, &failure),
        Err(failure) => Page::failure(StatusCode::NOT_FOUND, &failure),
    }
}

fn compared(shelf: &Shelf, named: &[&str], is_in_order: bool) -> Result<(Document, Vec<Link>), Failure> {
    match named {
        [name] => {
            let run = shelf.run(name)?;
            if run.plan.baseline.is_none() {
                return Err(Failure::misuse(
                    format!("the plan of {name} has no baseline to compare with"),
                    "choose a second run in the list",
                ));
            }
            let comparison = compare_within(&run, &[]);
            let page = Gated::new(&comparison, Vec::new(), Gate::judge).page(Format::Html);
            Ok((page, ways_of(name, &*shelf.open(name)?, "compare")))
        }
        [a, b] => {
            let mut runs = [(a, shelf.run(a)?), (b, shelf.run(b)?)];
            if !is_in_order {
                runs.sort_by(|(_, a), (_, b)| a.info.started_at.cmp(&b.info.started_at));
            }
            let [(a, of_a), (b, of_b)] = &runs;
            let comparison = compare(of_a, of_b, &[]);
            let mut navigation = ways("");
            navigation.extend([("A", a), ("B", b)].map(|(letter, name)| Link {
                text: format!("{letter}: {}", name.strip_suffix(".pitot").unwrap_or(name)),
                to: link("report", name),
                is_here: false,
            }));
            Ok((Gated::new(&comparison, Vec::new(), Gate::judge).page(Format::Html), navigation))
        }
        [] => Err(Failure::misuse("no run is chosen", "check the boxes of two runs in the list")),
        _ => Err(Failure::misuse(
            format!("{} runs are chosen, and two are compared", named.len()),
            "go back and choose two; the history shows more",
        )),
    }
}

/// The cells of a plan over all its runs.
pub(crate) fn history(shelf: &Shelf, query: &Query) -> Page {
    let mut runs: Vec<_> = shelf
        .items()
        .into_iter()
        .filter_map(|(name, item)| Some((name, item.path, item.digest?.ok()?)))
        .filter(|(.., digest)| !digest.is_soak)
        .collect();
    runs.sort_by(|(.., a), (.., b)| b.started_at.cmp(&a.started_at));
    let mut plans: Vec<String> = runs.iter().map(|(.., digest)| digest.name.clone()).collect();
    plans.sort();
    plans.dedup();
    // One plan at a time: the newest, if none is asked for.
    let plan = match query.get("plan") {
        "" => runs.first().map_or_else(String::new, |(.., digest)| digest.name.clone()),
        asked => asked.to_owned(),
    };
    runs.retain(|(.., digest)| digest.name == plan);
    runs.truncate(HISTORY_MAX);
    let metric = metric::find(query.get("metric")).filter(|metric| metric.is_of_runs());
    let (mut figures, mut left_out) = (Vec::new(), Vec::new());
    for (_, path, _) in &runs {
        match shelf.figures(path, metric) {
            Ok(of_run) => figures.push(of_run),
            Err(failure) => left_out.push(failure.what),
        }
    }
    let document = if figures.is_empty() {
        let blocks = vec![Block::paragraph("There are no runs of this plan, or they are still to be read.")];
        Document { title: "History".into(), blocks, ..Document::default() }
    } else {
        let mut history = History::of(figures, None);
        history.left_out = left_out;
        history.reports =
            runs.iter().map(|(name, path, _)| (path.to_path_buf(), link("report", name))).collect();
        history.explain(|path| shelf.run_at(path));
        history.page(Format::Html)
    };
    let options = |all: Vec<String>| all.into_iter().map(|name| (name.clone(), name)).collect::<Vec<_>>();
    let metrics =
        METRICS.iter().filter(|metric| metric.is_of_runs()).map(|metric| metric.name.to_owned()).collect();
    let metrics = [vec![(String::new(), "that of the plan".to_owned())], options(metrics)].concat();
    let choose = Form {
        id: "choose",
        to: "/history".into(),
        fields: vec![
            Field { name: "plan", label: "Plan", input: Input::Select(options(plans), plan) },
            Field {
                name: "metric",
                label: "Metric",
                input: Input::Select(metrics, query.get("metric").to_owned()),
            },
        ],
        button: "Show",
        ..Form::default()
    };
    Page::of(&document, &Served { navigation: ways("/history"), before: vec![choose], ..Served::default() })
}
