//! The page of the floor: tables.

use pitot_floor::TOPICS;
use pitot_meter::Nanos;
use pitot_meter::units::counted;
use pitot_report::document::{Block, Column, Document, Item, Table};
use pitot_results::floor::{FloorBeside, FloorFigure, FloorPrimitive, FloorResult, FloorSpent};

/// An interval by order statistics takes so many rounds.
const ROUNDS_MIN: u64 = 6;
/// In what a server takes a smaller share of its time is not shown.
const SPENT_MIN: f64 = 0.02;

/// All that was measured, topic by topic.
pub(super) fn page(result: &FloorResult) -> Document {
    let options = &result.options;
    let partner = options.other_cpu.map_or(String::new(), |cpu| format!(", partners on CPU {cpu}"));
    let rounds = counted(options.rounds, "round", "rounds");
    let intervals = if options.rounds < ROUNDS_MIN { "too few for intervals" } else { "with 95% intervals" };
    let about = format!("CPU {}{partner}; medians of {rounds}, {intervals}", options.cpu);
    let mut blocks = vec![Block::Paragraph(about)];
    for topic in TOPICS {
        let measured = topic
            .primitives
            .iter()
            .filter_map(|primitive| result.primitives.iter().find(|figure| figure.name == primitive.name));
        let rows: Vec<_> = measured.map(row).collect();
        if !rows.is_empty() {
            let columns = ["time", "95% interval", "CPU"].map(Column::of);
            let columns = columns.into_iter().chain([Column::of_words("each")]).collect();
            let table = Table::plain(topic.title, "primitive", columns, rows);
            blocks.push(Block::section("", topic.title, vec![Block::Table(table)]));
        }
    }
    let missing = result.missing.iter().map(|missing| Item {
        more: vec![missing.fix.clone()],
        ..Item::from(format!("{}: {}", missing.name, missing.reason))
    });
    blocks.push(Block::section("missing", "Not measured", vec![Block::list(missing)]));
    if let Some(threads) = &result.threads {
        let published = threads
            .published_s
            .map_or(String::new(), |s| format!("; published in 2003, on two CPUs of 450 MHz: {s} s"));
        let told = format!(
            "{} threads, at most {} alive: {:.2} s{published}",
            pitot_meter::units::grouped(threads.threads),
            threads.alive,
            threads.took_s
        );
        blocks.push(Block::section("threads", "Threads created and ended", vec![Block::Paragraph(told)]));
    }
    if !result.requests.is_empty() {
        let rows = result.requests.iter().map(|request| {
            let cpu = &request.cpu_ns;
            (request.name.clone(), vec![time(cpu.median), interval(cpu), summary(&request.name)])
        });
        let columns = vec![Column::of("CPU"), Column::of("95% interval"), Column::of_words("made of")];
        let table = Table::plain("Floor of a request", "request", columns, rows);
        blocks.push(Block::section("requests", "Floor of a request", vec![Block::Table(table)]));
    }
    blocks.extend(result.beside.as_ref().map(beside));
    Document { blocks, ..Document::default() }
}

fn beside(beside: &FloorBeside) -> Block {
    let title = format!("Servers of {}", beside.run);
    if beside.cells.is_empty() {
        let request = &beside.request;
        let unknown = format!("The floor of {request} is not known: its primitives were not all measured.");
        return Block::section("beside", title, vec![Block::Paragraph(unknown)]);
    }
    let rows = beside.cells.iter().map(|cell| {
        let interval = cell.times.low.zip(cell.times.high);
        let interval = interval.map_or_else(String::new, |(low, high)| format!("{low:.2} to {high:.2}"));
        let times = format!("{:.2}", cell.times.ratio);
        (cell.cell.clone(), vec![time(cell.cpu_ns), times, interval, spent(&cell.spent)])
    });
    let mut columns = ["CPU/request", "x floor", "95% interval"].map(Column::of).to_vec();
    columns.push(Column::of_words("spent in"));
    let table = Table::plain("Servers compared with the floor", "server", columns, rows);
    Block::section("beside", title, vec![Block::Table(table)])
}

/// `sendto 4.1 us, recvfrom 1.2 us, its own code 900 ns`, or how to know.
fn spent(spent: &[FloorSpent]) -> String {
    let all: f64 = spent.iter().map(|spent| spent.cpu_ns).sum();
    let shown = spent.iter().filter(|spent| spent.cpu_ns >= SPENT_MIN * all);
    match shown.map(|spent| format!("{} {}", spent.what, time(spent.cpu_ns))).collect::<Vec<_>>() {
        none if none.is_empty() => "known of runs with --profile cpu".to_owned(),
        parts => parts.join(", "),
    }
}

/// The primitives of a request by name.
fn summary(name: &str) -> String {
    let Some(request) = pitot_floor::request::REQUESTS.iter().find(|request| request.name == name) else {
        return String::new();
    };
    let parts = request.parts.iter().map(|part| {
        if part.times < 1.0 {
            format!("{}/{:.0}", part.primitive, 1.0 / part.times)
        } else {
            part.primitive.to_owned()
        }
    });
    parts.collect::<Vec<_>>().join(" + ")
}

fn row(figure: &FloorPrimitive) -> (String, Vec<String>) {
    let figures = vec![
        time(figure.wall_ns.median),
        interval(&figure.wall_ns),
        if figure.operation == "lateness" { String::new() } else { time(figure.cpu_ns.median) },
        figure.operation.clone(),
    ];
    (figure.name.clone(), figures)
}

/// Three significant digits; below a microsecond a tenth of a nanosecond counts.
fn time(ns: f64) -> String {
    match ns {
        ns if ns < 100.0 => format!("{ns:.1} ns"),
        ns => Nanos(ns.round() as u64).to_string(),
    }
}

fn interval(figure: &FloorFigure) -> String {
    match (figure.low, figure.high) {
        (Some(low), Some(high)) => format!("{} to {}", time(low), time(high)),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_shown_as_what_it_is_made_of() {
        assert_eq!(summary("keep-alive"), "recv + send-1k + epoll-wait-64-ready/64");
    }

    #[test]
    fn short_times_keep_a_tenth() {
        assert_eq!([time(43.21), time(987.6), time(12_340.0)], ["43.2 ns", "988 ns", "12.3 us"]);
    }
}
