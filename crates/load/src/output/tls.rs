//! What the summary says of TLS.

use std::fmt::Write as _;

use pitot_client::tls::explain;
use pitot_meter::units::{counted, grouped};
use pitot_results::load::LoadResult;

/// Why handshakes failed, in words and with what fixes it.
pub(super) fn trouble(text: &mut String, result: &LoadResult) {
    let handshakes = result.errors.iter().filter(|e| e.phase == "handshake");
    let Some(most) = handshakes.max_by_key(|e| e.count) else { return };
    let count = counted(most.count, "handshake", "handshakes");
    let _ = match explain(&most.kind) {
        Some(known) => writeln!(text, "  {count} failed: {}; {}", known.what, known.fix),
        None => writeln!(text, "  {count} failed: {}", most.kind),
    };
}

/// How many handshakes there were of each kind, and what was agreed on.
pub(super) fn handshakes(text: &mut String, result: &LoadResult) {
    let Some(tls) = &result.tls else { return };
    let counts = tls.handshakes;
    let _ = writeln!(
        text,
        "  {}, {} resumed, {} failed",
        counted(counts.full, "full TLS handshake", "full TLS handshakes"),
        grouped(counts.resumed),
        grouped(counts.failed)
    );
    for session in &tls.sessions {
        let alpn = session.alpn.as_deref().unwrap_or("no ALPN");
        let times =
            if tls.sessions.len() > 1 { format!(" ({})", grouped(session.count)) } else { String::new() };
        let _ =
            writeln!(text, "    {}, {}, {alpn}{times}", session.version.replace('_', "."), session.cipher);
    }
}
