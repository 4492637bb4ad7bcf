//! The floor as tables.

use pitot_floor::TOPICS;
use pitot_meter::Nanos;
use pitot_meter::units::counted;
use pitot_results::floor::{FloorFigure, FloorPrimitive, FloorResult};

use crate::output::table_with_words;

/// An interval by order statistics takes so many rounds.
const ROUNDS_MIN: u64 = 6;

/// All that was measured, topic by topic.
pub(super) fn text(result: &FloorResult) -> String {
    let options = &result.options;
    let partner = options.other_cpu.map_or(String::new(), |cpu| format!(", partners on CPU {cpu}"));
    let rounds = counted(options.rounds, "round", "rounds");
    let intervals = if options.rounds < ROUNDS_MIN { "too few for intervals" } else { "with 95% intervals" };
    let mut text = format!("CPU {}{partner}; medians of {rounds}, {intervals}\n", options.cpu);
    for topic in TOPICS {
        let rows: Vec<Vec<String>> = topic
            .primitives
            .iter()
            .filter_map(|primitive| result.primitives.iter().find(|figure| figure.name == primitive.name))
            .map(row)
            .collect();
        if !rows.is_empty() {
            text.push('\n');
            text.push_str(&table_with_words(&[topic.title, "time", "95% interval", "CPU", "each"], &rows));
        }
    }
    for missing in &result.missing {
        text.push_str(&format!(
            "\n{} was not measured: {}\n  {}\n",
            missing.name, missing.reason, missing.cure
        ));
    }
    if let Some(threads) = &result.threads {
        let published = threads
            .published_s
            .map_or(String::new(), |s| format!("; published in 2003, on two CPUs of 450 MHz: {s} s"));
        text.push_str(&format!(
            "\n{} threads, at most {} alive: {:.2} s{published}\n",
            pitot_meter::units::grouped(threads.threads),
            threads.alive,
            threads.took_s
        ));
    }
    if !result.requests.is_empty() {
        let rows: Vec<Vec<String>> = result
            .requests
            .iter()
            .map(|request| {
                let summary = summary(&request.name);
                vec![
                    request.name.clone(),
                    time(request.cpu_ns.median),
                    interval(&request.cpu_ns),
                    summary.to_owned(),
                ]
            })
            .collect();
        text.push('\n');
        text.push_str(&table_with_words(&["Floor of a request", "CPU", "95% interval", "made of"], &rows));
    }
    text
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

fn row(figure: &FloorPrimitive) -> Vec<String> {
    vec![
        figure.name.clone(),
        time(figure.wall_ns.median),
        interval(&figure.wall_ns),
        // A lateness costs nothing.
        if figure.operation == "lateness" { String::new() } else { time(figure.cpu_ns.median) },
        figure.operation.clone(),
    ]
}

/// Three significant digits; below a microsecond a tenth of a nanosecond counts.
pub(super) fn time(ns: f64) -> String {
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
