//! What the summary says of HTTP/2.

use std::fmt::Write as _;

use pitot_meter::Nanos;
use pitot_meter::units::{counted, grouped};
use pitot_results::load::LoadResult;

/// What kept requests from being sent at once, if anything did.
pub(super) fn limits(text: &mut String, result: &LoadResult) {
    let Some(streams) = result.options["streams"].as_u64() else { return };
    let count = |name: &str| result.protocol.get(name).copied().unwrap_or(0);
    let allowed = count("max-concurrent-streams");
    if allowed > 0 && allowed < streams {
        let _ = writeln!(
            text,
            "  the server allows {} on a connection, fewer than the {} that were asked for",
            counted(allowed, "stream", "streams"),
            grouped(streams)
        );
    }
    let stalls = count("window-stalls");
    if stalls > 0 {
        let _ = writeln!(
            text,
            "  the server's windows held up the bodies of {}, for {} together",
            counted(stalls, "request", "requests"),
            Nanos(count("window-stalled-ns"))
        );
    }
}
