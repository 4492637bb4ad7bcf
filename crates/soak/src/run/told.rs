//! Sentences for the events and faults of a soak.

use pitot_record::soak::{Event, EventKind, Fault};

/// An event as it is shown when it comes about. A hang is told when it begins and when it is over.
pub(super) fn told(event: &Event) -> String {
    match event.until_s {
        Some(until_s) if event.kind.is_hang() || event.kind == EventKind::LoadUnanswered => {
            format!("{}: over after {:.1} s", event.sentence, until_s - event.at_s)
        }
        _ => event.sentence.clone(),
    }
}

/// A fault as it is shown: when it begins, when it is over, and when it is known what clients saw of it.
pub(super) fn told_of_fault(fault: &Fault, server: &str) -> String {
    let Fault { kind, what, .. } = fault;
    let Some(until_s) = fault.until_s else { return format!("fault {kind}: {server}") };
    if !fault.was_made {
        return format!("fault {kind}: {server}: not made: {what}");
    }
    let Some(effect) = &fault.effect else {
        let died = if fault.server_died { "; the server died of it and was started again" } else { "" };
        return format!("fault {kind}: {server}: over after {:.2} s: {what}{died}", until_s - fault.at_s);
    };
    let service = match &effect.service {
        None => "too few replies before it".to_owned(),
        Some(service) => match service.first_reply_s {
            Some(0.0) => "service went on".to_owned(),
            Some(back_s) => format!("the first right reply came after {back_s:.2} s"),
            None => "no right reply came before the next fault, or within a minute".to_owned(),
        },
    };
    format!("fault {kind}: {server}: {service}, {} errors", effect.error_count())
}
