//! Merges the replies of several held load generators to one command.

use pitot_results::hold::{Answer, Closed, Opened, Refused, Slice};
use pitot_results::load::Window;
use pitot_results::merge::slices;

/// Merges the replies of hosts, each with its name and how far its clock is ahead of the lab's. If one host refuses,
/// so does the result, with its name.
pub(super) fn merge(answers: Vec<(String, i64, String)>) -> String {
    let merged = try_merge(answers).unwrap_or_else(|what| {
        Answer::Error(Refused {
            what,
            fix: "see the output of its load generator".into(),
            ..Refused::default()
        })
    });
    serde_json::to_string(&merged).unwrap_or_default()
}

fn try_merge(answers: Vec<(String, i64, String)>) -> Result<Answer, String> {
    let mut opened: Vec<Opened> = Vec::new();
    let mut parts: Vec<Slice> = Vec::new();
    let mut closed: Vec<Closed> = Vec::new();
    let count = answers.len();
    for (host, offset_ns, text) in answers {
        let answer: Answer = serde_json::from_str(&text)
            .map_err(|e| format!("a reply of the host `{host}` cannot be read: {e}"))?;
        match answer {
            Answer::Opened(one) => opened.push(one),
            Answer::Slice(mut slice) => {
                let here = |at_ns: u64| at_ns.wrapping_sub(offset_ns as u64);
                slice.clock_ns = Window { start: here(slice.clock_ns.start), end: here(slice.clock_ns.end) };
                parts.push(*slice);
            }
            Answer::Closed(one) => closed.push(one),
            Answer::Error(refused) => {
                let what = format!("{} (on the host `{host}`)", refused.what);
                return Ok(Answer::Error(Refused { what, ..refused }));
            }
            Answer::Quit => return Ok(Answer::Quit),
        }
    }
    if opened.len() == count {
        let sum = |a: Opened, b: Opened| Opened {
            connections: a.connections + b.connections,
            failed: a.failed + b.failed,
            connect_ms: a.connect_ms.max(b.connect_ms),
            ..a
        };
        return opened
            .into_iter()
            .reduce(sum)
            .map(Answer::Opened)
            .ok_or_else(|| "no host replied".to_owned());
    }
    if parts.len() == count {
        return Ok(Answer::Slice(Box::new(slices(parts)?)));
    }
    if closed.len() == count {
        let sum = |a: Closed, b: Closed| Closed { connections: a.connections + b.connections, ..a };
        return closed
            .into_iter()
            .reduce(sum)
            .map(Answer::Closed)
            .ok_or_else(|| "no host replied".to_owned());
    }
    Err("the load generators of the hosts replied to different commands".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(answers: &[(&str, i64, Answer)]) -> Answer {
        let text = |(host, offset, answer): &(&str, i64, Answer)| {
            ((*host).to_owned(), *offset, serde_json::to_string(answer).unwrap())
        };
        serde_json::from_str(&merge(answers.iter().map(text).collect())).unwrap()
    }

    fn opened(connections: u64) -> Answer {
        Answer::Opened(Opened { group: "c1".into(), connections, ..Opened::default() })
    }

    fn slice(start: u64) -> Answer {
        let clock_ns = Window { start, end: start + 50 };
        Answer::Slice(Box::new(Slice { clock_ns, requests: 1, ..Slice::default() }))
    }

    #[test]
    fn answers_to_one_question_are_one() {
        let Answer::Opened(both) = merged(&[("b", 0, opened(3)), ("c", 0, opened(4))]) else { panic!() };
        assert_eq!((both.group.as_str(), both.connections), ("c1", 7));
        // The clock of c is a hundred ahead.
        let Answer::Slice(both) = merged(&[("b", 0, slice(1000)), ("c", 100, slice(1110))]) else { panic!() };
        assert_eq!((both.requests, both.clock_ns), (2, Window { start: 1000, end: 1060 }));
    }

    #[test]
    fn what_one_host_refuses_is_refused_with_its_name() {
        let refused = Answer::Error(Refused { what: "no".into(), ..Refused::default() });
        for answers in
            [[("b", 0, opened(3)), ("c", 0, refused.clone())], [("c", 0, refused), ("b", 0, opened(1))]]
        {
            let Answer::Error(refused) = merged(&answers) else { panic!() };
            assert_eq!(refused.what, "no (on the host `c`)");
        }
        assert!(matches!(merged(&[("b", 0, opened(3)), ("c", 0, slice(1))]), Answer::Error(_)));
    }
}
