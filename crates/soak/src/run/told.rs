//! Sentences for the events and faults of a soak.

use pitot_record::soak::{Event, EventKind, Fault};

/// An event for the terminal. A hang is shown when it begins and when it ends.
pub(super) fn told(event: &Event) -> String {
    match event.until_s {
        Some(until_s) if event.kind.is_hang() || event.kind == EventKind::LoadUnanswered => {
            format!("{}: over after {:.1} s", event.sentence, until_s - event.at_s)
        }
        _ => event.sentence.clone(),
    }
}

/// A fault for the terminal: when it begins, when it ends, and when its effect is known.
pub(super) fn told_of_fault(fault: &Fault, server: &str) -> String {
    let Fault { kind, what, .. } = fault;
    let Some(until_s) = fault.until_s else { return format!("fault {kind}: {server}") };
    if !fault.was_made {
        return format!("fault {kind}: {server}: not made: {what}");
    }
    let Some(effect) = &fault.effect else {
        let died = if fault.server_died { "; the server died and was restarted" } else { "" };
        return format!("fault {kind}: {server}: over after {:.2} s: {what}{died}", until_s - fault.at_s);
    };
    let service = match &effect.service {
        None => "too few replies before it".to_owned(),
        Some(service) => match service.first_reply_s {
            Some(0.0) => "no interruption".to_owned(),
            Some(back_s) => format!("the first right reply came after {back_s:.2} s"),
            None => "no right reply before the next fault or within a minute".to_owned(),
        },
    };
    format!("fault {kind}: {server}: {service}, {} errors", effect.error_count())
}
