//! Effects of faults on servers: which die with one of their processes, which requests break, and how long service is away.

use pitot_stats::median;

use crate::analysis::Analysis;
use crate::faults::{Row, rows};
use crate::number::{count, span};

const KILL: &str = "kill";
/// Errors of this phase break no request.
const CONNECT: &str = "connect";

/// The sentences, where a run has made faults to several servers.
pub(super) fn faults(a: &Analysis<'_>) -> Vec<String> {
    sentences(&rows(a.run))
}

fn sentences(rows: &[Row<'_>]) -> Vec<String> {
    let made: Vec<&Row<'_>> = rows.iter().filter(|row| row.made.0 > 0).collect();
    let kills: Vec<&Row<'_>> = made.iter().filter(|row| row.kind == KILL).copied().collect();
    let all = [deaths(&kills), errors(&kills), first_back(&kills), outages(&made)];
    all.into_iter().flatten().collect()
}

fn deaths(kills: &[&Row<'_>]) -> Option<String> {
    if kills.len() < 2 {
        return None;
    }
    let (dead, alive): (Vec<&Row<'_>>, Vec<&Row<'_>>) = kills.iter().copied().partition(|row| row.died > 0);
    Some(match (dead.is_empty(), alive.is_empty()) {
        (true, _) => "No server dies when one of its processes is killed.".to_owned(),
        (_, true) => "All servers die when one of their processes is killed.".to_owned(),
        _ => format!("Dies when one process is killed: {}. Survives: {}.", names(&dead), names(&alive)),
    })
}

/// Requests that the kill breaks: its errors without those of connects, which are retried while the server is away.
fn errors(kills: &[&Row<'_>]) -> Option<String> {
    let of = |row: &Row<'_>| {
        let lost = row.effects.iter().map(|effect| {
            let in_flight = effect.errors.iter().filter(|(phase, _, _)| phase != CONNECT);
            in_flight.map(|(_, _, count)| *count as f64).sum()
        });
        Some((row.of.clone(), median(&lost.collect::<Vec<_>>())? as u64))
    };
    let mut all: Vec<(String, u64)> = kills.iter().filter_map(|row| of(row)).collect();
    if all.len() < 2 {
        return None;
    }
    all.sort_by_key(|(_, errors)| *errors);
    let counts: Vec<String> =
        all.iter().map(|(name, errors)| format!("**{name}** {}", count(*errors))).collect();
    Some(format!(
        "Requests and connections broken by the kill of one process, in the median: {}.",
        counts.join(", ")
    ))
}

/// Which servers answer without interruption, and which of the others answers first and last.
fn first_back(kills: &[&Row<'_>]) -> Option<String> {
    let mut away: Vec<(&Row<'_>, f64)> =
        kills.iter().filter_map(|row| Some((*row, first_reply_s(row)?))).collect();
    if away.len() < 2 {
        return None;
    }
    away.sort_by(|a, b| a.1.total_cmp(&b.1));
    let without: Vec<&Row<'_>> = away.iter().filter(|(_, s)| *s == 0.0).map(|(row, _)| *row).collect();
    away.retain(|(_, s)| *s > 0.0);
    let after = |(row, s): &(&Row<'_>, f64)| match s.is_finite() {
        true => format!("**{}** after {}", row.of, span(*s)),
        false => format!("**{}** not before the next fault", row.of),
    };
    let steady = match without.len() {
        0 => String::new(),
        _ => format!("The kill does not interrupt {}. ", names(&without)),
    };
    Some(match &away[..] {
        [] => steady.trim_end().to_owned(),
        [only] => format!("{steady}Answers again: {}.", after(only)),
        [first, .., last] => {
            format!("{steady}First to answer again: {}; last: {}.", after(first), after(last))
        }
    })
}

/// How long clients were without a correct reply, over all faults.
fn outages(made: &[&Row<'_>]) -> Option<String> {
    let mut servers: Vec<&str> = made.iter().map(|row| row.of.as_str()).collect();
    servers.dedup();
    let of = |server: &&str| {
        let own = made.iter().filter(|row| row.of == *server);
        let times: Vec<f64> = own.filter_map(|row| first_reply_s(row)).collect();
        ((*server).to_owned(), times.len(), times.iter().sum::<f64>())
    };
    let mut all: Vec<(String, usize, f64)> = servers.iter().map(of).collect();
    let most = all.iter().map(|(_, faults, _)| *faults).max()?;
    // Sums over fewer faults are not comparable.
    all.retain(|(_, faults, _)| *faults == most);
    if all.len() < 2 || most < 2 {
        return None;
    }
    all.sort_by(|a, b| a.2.total_cmp(&b.2));
    let (least, longest) = (all.first()?, all.last()?);
    let away = |s: f64| match s {
        0.0 => "0 s".to_owned(),
        s if s.is_finite() => span(s),
        _ => "beyond the next fault".to_owned(),
    };
    Some(format!(
        "Time from a fault to the first correct reply, summed over all {most} faults: least **{}**, {}; most **{}**, {}.",
        least.0,
        away(least.2),
        longest.0,
        away(longest.2)
    ))
}

/// Median wait for a correct reply: 0 if service continued, infinite if it did not return.
fn first_reply_s(row: &Row<'_>) -> Option<f64> {
    let services = row.effects.iter().filter_map(|effect| effect.service.as_ref());
    let waits = services.map(|service| service.first_reply_s.unwrap_or(f64::INFINITY));
    median(&waits.collect::<Vec<_>>())
}

/// `**a**, **b** and **c**`
fn names(rows: &[&Row<'_>]) -> String {
    let names: Vec<String> = rows.iter().map(|row| format!("**{}**", row.of)).collect();
    match &names[..] {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use pitot_fault::{Effect, Service};

    use super::*;

    fn row(
        of: &str,
        kind: &'static str,
        died: usize,
        errors: u64,
        first_reply_s: Option<f64>,
    ) -> Row<'static> {
        let service = Service { first_reply_s, ..Service::default() };
        let effect = Effect {
            service: Some(service),
            errors: vec![
                ("receive".into(), "ECONNRESET".into(), errors),
                ("connect".into(), "ECONNREFUSED".into(), 100),
            ],
            ..Effect::default()
        };
        Row {
            of: of.into(),
            kind,
            what: "",
            command: "",
            at_s: None,
            lasted_s: None,
            made: (1, 1),
            times: "repetitions",
            died,
            effects: vec![effect],
            left: Vec::new(),
        }
    }

    #[test]
    fn isolation_is_told_in_sentences() {
        let rows = [
            row("prefork", "kill", 0, 1, Some(0.0)),
            row("prefork", "stop", 0, 0, Some(0.0)),
            row("loop", "kill", 1, 32, Some(0.55)),
            row("loop", "stop", 0, 0, Some(0.75)),
            row("fork", "kill", 0, 0, Some(0.0)),
            row("fork", "stop", 0, 0, Some(0.25)),
            row("thread", "kill", 1, 30, Some(0.65)),
            row("thread", "stop", 0, 0, None),
        ];
        assert_eq!(
            sentences(&rows),
            [
                "Dies when one process is killed: **loop** and **thread**. Survives: **prefork** and **fork**.",
                "Requests and connections broken by the kill of one process, in the median: **fork** 0, **prefork** 1, **thread** 30, \
                 **loop** 32.",
                "The kill does not interrupt **prefork** and **fork**. First to answer again: **loop** after 550 ms; last: **thread** \
                 after 650 ms.",
                "Time from a fault to the first correct reply, summed over all 2 faults: least **prefork**, 0 s; most **thread**, beyond \
                 the next fault.",
            ]
        );
    }

    #[test]
    fn one_server_or_no_kill_is_no_comparison() {
        assert!(sentences(&[row("loop", "kill", 1, 32, Some(0.5))]).is_empty());
        assert!(sentences(&[]).is_empty());
        let both = [row("a", "stop", 0, 0, Some(0.5)), row("b", "stop", 0, 0, Some(0.2))];
        assert!(sentences(&both).is_empty());
    }
}
