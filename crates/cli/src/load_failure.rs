//! Why a load ends with exit code 1, as one line on what has happened and one on what to do.

use pitot_load::Report;
use pitot_results::load::LoadResult;
use pitot_results::{Failure, VerdictKind};

/// What standard error says of a run that was no success; `None` if it was one.
pub(crate) fn of(report: &Report) -> Option<Failure> {
    let result = &report.result;
    if report.is_success() {
        return None;
    }
    if result.client.verdict == Some(VerdictKind::Failed) {
        return Some(Failure::run(result.client.reason.clone(), fix(result)));
    }
    if let Some(why) = &result.ended_early {
        return Some(Failure::run(
            format!("the run ended early: {why}"),
            match result.gates.is_empty() {
                true => "the figures cover the time until then",
                false => "--fail-if needs a whole run: run it again",
            },
        ));
    }
    if let Some(search) = result.search.as_ref().filter(|search| search.found_rps.is_none()) {
        return Some(Failure::run(
            format!("no rate that was tried meets {}", search.conditions),
            "start at a lower rate with -R, or loosen the conditions",
        ));
    }
    if let Some(gate) = result.gates.iter().find(|gate| gate.failed) {
        return Some(Failure::run(
            format!("the run was to fail if {}, and {}", gate.fail_if, gate.figure),
            "the summary shows all conditions; --json has them as `gates`",
        ));
    }
    let storm = result.storm.unwrap_or_default();
    Some(Failure::run(
        format!("only {} of {} connections were established", storm.established, storm.requested),
        "see the errors in the summary and the listen queue of the server, or give it more time with -d",
    ))
}

/// What to look at after a run in which no more replies were correct.
fn fix(result: &LoadResult) -> String {
    let url = &result.target;
    let scheme = url.split("://").next().unwrap_or_default();
    if result.unanswered_since_s.is_some() && result.requests.completed > 0 {
        return "see the log of the server, which answered at first; the rate is that of the whole run"
            .into();
    }
    if let Some(said) =
        result.server_said.as_ref().filter(|_| result.requests.ok > 0 && result.connections.unanswered > 0)
    {
        return format!("the server says: {said}; raise its limit, or load it with fewer connections (-c)");
    }
    if result.requests.ok > 0 && result.connections.unanswered > 0 {
        return "see the log of the server and its limits on connections, workers and descriptors, or load it with fewer \
                connections (-c)"
            .into();
    }
    let most = result.errors.iter().max_by_key(|e| e.count);
    // The database of a brokerage that is not as large as the scenario has it.
    if let Some((option, usual)) = most.and_then(|e| match e.kind.as_str() {
        "login:declined" => Some(("users", 500)),
        kind if kind.ends_with("quotes-missing") => Some(("quotes", 1000)),
        _ => None,
    }) {
        return format!(
            "does the server have as many {option} as the load? write their number behind the URL, ?{option}=N ({usual} if it names none), \
             or give the server more: pitot serve trade --{option}"
        );
    }
    if let Some(said) = &result.server_said {
        return format!("the server says: {said}");
    }
    if result.connections.opened == 0 {
        return match result.options["address"].as_str().and_then(|address| address.strip_prefix("unix:")) {
            Some(socket) => format!("is the server running, and does it listen on the socket {socket}?"),
            None => format!("is the server running, and is {url} its address?"),
        };
    }
    match most.map_or("", |e| e.phase.as_str()) {
        "content" if most.is_some_and(|e| e.kind.starts_with("status-5")) => {
            "the server reports an error: see its log, or accept the status with --expect-status".into()
        }
        // What a server says that takes TLS at this port.
        "content" if scheme == "http" && result.statuses.keys().eq(&[400]) => {
            "check the path and the method, and what --expect-status asks for; or does this port take https://?"
                .into()
        }
        "content" if most.is_some_and(|e| e.kind == "redirect-limit") => {
            "there are more redirects: follow them with --follow N, or load their target".into()
        }
        "content" => {
            "check the path and the method, and what --expect-status and --expect-body ask for".into()
        }
        "protocol" if most.is_some_and(|e| e.kind == "http-1-server") => {
            "it speaks HTTP/1.1 at this port: omit --http 2, or name a port that takes HTTP/2 \
             without TLS"
                .into()
        }
        "protocol" if most.is_some_and(|e| e.kind == "http-2-server") => {
            "it speaks HTTP/2 without TLS at this port: add --http 2".into()
        }
        "protocol" if most.is_some_and(|e| e.kind == "switched-protocol") => {
            "it answered 101 and switched to another protocol: omit the header Upgrade, since there is no WebSocket here".into()
        }
        "protocol" if most.is_some_and(|e| e.kind == "no-password") => {
            format!("it requires a password: write {scheme}://USER:PASSWORD@host/")
        }
        "protocol" if most.is_some_and(|e| e.kind == "login-method") => {
            "it requires an authentication method that is not supported: let the user log in by scram-sha-256, md5 or a password \
             (pg_hba.conf)"
                .into()
        }
        "protocol" if most.is_some_and(|e| e.kind == "scram") => {
            "it did not prove that it knows the password: is it the right server?".into()
        }
        "protocol" if most.is_some_and(|e| e.kind == "unasked-bytes") => {
            "it sends more than was asked for: is a reply longer than its Content-Length, or does it have a body where none is allowed?"
                .into()
        }
        "protocol" if scheme.starts_with("http") && most.is_some_and(|e| e.kind == "too-large") => {
            "the head of a reply, or a line of one in chunks, exceeds 64 KiB: see it with curl -v".into()
        }
        "protocol" => format!("it answered with something else: does it speak {scheme} at this port?"),
        "handshake" => most
            .and_then(|e| pitot_load::explain(&e.kind))
            .map_or("see the log of the server".into(), |explained| explained.fix.into()),
        "timeout" if most.is_some_and(|e| e.kind == "handshake") => {
            let plain = scheme.strip_suffix('s').unwrap_or(scheme);
            format!("it accepts connections: does it speak TLS at this port, or is {plain}:// meant? else give it more time with --timeout")
        }
        "timeout" => "it accepts connections: give it more time with --timeout, or see its log".into(),
        "receive" if most.is_some_and(|e| e.kind == "truncated") => {
            "it closed connections in the middle of replies: see its log".into()
        }
        "send" | "receive" => {
            format!(
                "it closed the connection: does it speak {scheme} at this port? see its log"
            )
        }
        "connect" => "it accepted connections at first: see its log".into(),
        _ => "it accepts connections: give it more time with -d".into(),
    }
}

#[cfg(test)]
mod tests {
    use pitot_results::load::ErrorRow;

    use super::*;

    fn of_kind(kind: &str, said: Option<&str>) -> String {
        let error = ErrorRow { phase: "protocol".into(), kind: kind.into(), count: 3, first_at_s: 0.0 };
        let mut result =
            LoadResult { target: "postgres://h/".into(), errors: vec![error], ..LoadResult::default() };
        result.connections.opened = 3;
        result.server_said = said.map(str::to_owned);
        fix(&result)
    }

    #[test]
    fn a_login_that_fails_is_not_taken_for_another_protocol() {
        assert!(of_kind("no-password", None).contains("postgres://USER:PASSWORD@host/"));
        for (kind, word) in [("login-method", "pg_hba.conf"), ("scram", "knows the password")] {
            assert!(of_kind(kind, None).contains(word), "{kind}");
        }
        let failed = "password authentication failed for user \"ann\"";
        assert_eq!(of_kind("sqlstate-28P01", Some(failed)), format!("the server says: {failed}"));
        assert!(of_kind("malformed", None).contains("does it speak postgres at this port?"));
    }

    #[test]
    fn a_server_that_speaks_http_and_errs_is_not_taken_for_another() {
        let of = |target: &str, phase: &str, kind: &str| {
            let error = ErrorRow { phase: phase.into(), kind: kind.into(), count: 3, first_at_s: 0.0 };
            let mut result =
                LoadResult { target: target.into(), errors: vec![error], ..LoadResult::default() };
            result.connections.opened = 3;
            fix(&result)
        };
        assert!(of("http://h/", "protocol", "unasked-bytes").contains("Content-Length"));
        assert!(of("http://h/", "protocol", "too-large").contains("64 KiB"));
        assert!(of("https://h/", "timeout", "handshake").contains("or is http:// meant?"));
    }
}
