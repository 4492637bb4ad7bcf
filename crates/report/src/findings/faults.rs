//! What faults did to servers: which die with one of their processes, what was in flight and lost, and which are back first.

use pitot_stats::median;

use crate::analysis::Analysis;
use crate::faults::{Row, rows};
use crate::number::{count, span};

/// The fault that takes one process away.
const KILL: &str = "kill";
/// The phase of errors that break nothing that was under way.
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

/// Which die as a whole with one process, and which go on.
fn deaths(kills: &[&Row<'_>]) -> Option<String> {
    if kills.len() < 2 {
        return None;
    }
    let (dead, alive): (Vec<&Row<'_>>, Vec<&Row<'_>>) = kills.iter().copied().partition(|row| row.died > 0);
    Some(match (dead.is_empty(), alive.is_empty()) {
        (true, _) => "No server dies as a whole with the process that is killed.".to_owned(),
        (_, true) => "All servers die as a whole with the process that is killed.".to_owned(),
        _ => format!(
            "Dies as a whole with the process that is killed: {}. Goes on: {}.",
            names(&dead),
            names(&alive)
        ),
    })
}

/// What was in flight and lost: errors of the kill but those of connects, which are tried again and again while nobody is there.
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
    let told: Vec<String> =
        all.iter().map(|(name, errors)| format!("**{name}** {}", count(*errors))).collect();
    Some(format!(
        "Requests and connections under way that the kill of one process breaks, in the median: {}.",
        told.join(", ")
    ))
}

/// Whose clients never miss it, and who of the others answers again first and last.
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
        false => format!("**{}** not at all before the next fault", row.of),
    };
    let steady = match without.len() {
        0 => String::new(),
        _ => format!("The kill interrupts no service of {}. ", names(&without)),
    };
    Some(match &away[..] {
        [] => steady.trim_end().to_owned(),
        [only] => format!("{steady}Back is {}.", after(only)),
        [first, .., last] => format!("{steady}Back first is {}, last {}.", after(first), after(last)),
    })
}

/// For how long clients were without a reply, over all faults.
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
    // Of whom fewer faults are known, no sum says anything.
    all.retain(|(_, faults, _)| *faults == most);
    if all.len() < 2 || most < 2 {
        return None;
    }
    all.sort_by(|a, b| a.2.total_cmp(&b.2));
    let (least, longest) = (all.first()?, all.last()?);
    let away = |s: f64| match s {
        0.0 => "no time".to_owned(),
        s if s.is_finite() => span(s),
        _ => "longer than to the next fault".to_owned(),
    };
    Some(format!(
        "From the begin of a fault to the first right reply, over all {most} faults together: **{}** {}, the least; **{}** {}, \
         the most.",
        least.0,
        away(least.2),
        longest.0,
        away(longest.2)
    ))
}

/// How long clients waited for a right reply, in the median: 0 if service went on, infinite if it was not back.
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
                "Dies as a whole with the process that is killed: **loop** and **thread**. Goes on: **prefork** and **fork**.",
                "Requests and connections under way that the kill of one process breaks, in the median: **fork** 0, **prefork** 1, \
                 **thread** 30, **loop** 32.",
                "The kill interrupts no service of **prefork** and **fork**. Back first is **loop** after 550 ms, last **thread** after \
                 650 ms.",
                "From the begin of a fault to the first right reply, over all 2 faults together: **prefork** no time, the least; **thread** \
                 longer than to the next fault, the most.",
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
