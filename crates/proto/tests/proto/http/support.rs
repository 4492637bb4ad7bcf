//! What the tests of `http` share.

use pitot_proto::http::Http;
use pitot_proto::{ProtocolOptions, ViolationKind};
use pitot_proto_harness as harness;
pub(crate) use pitot_proto_harness::http::{MODIFIED, Reply, digits, etag, files, replies};
use pitot_proto_harness::{End, Outcome};

pub(crate) fn options() -> ProtocolOptions {
    ProtocolOptions { root: true, ..ProtocolOptions::default() }
}

pub(crate) fn site() -> Http {
    Http::new(&options()).unwrap()
}

/// Sends `pieces` one after the other to the site with a root.
pub(crate) fn exchange<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Outcome {
    harness::exchange(&site(), &files(), pieces)
}

/// Sends `request` and returns its only reply and whether the connection goes on.
pub(crate) fn ask(request: &str) -> (Reply, bool) {
    let outcome = exchange([request.as_bytes()]);
    let mut replies = replies(&outcome.sent, &[request.starts_with("HEAD ")]);
    assert_eq!((replies.len(), outcome.replies), (1, 1), "{request:?} gave {replies:?}");
    let reply = replies.remove(0);
    if outcome.end.is_some() {
        assert_eq!(reply.field("connection"), Some("close"), "{request:?}: {reply:?}");
    } else {
        assert_ne!(reply.field("connection"), Some("close"), "{request:?}: {reply:?}");
        assert!(!outcome.mid_request, "{request:?} is not over");
    }
    (reply, outcome.end.is_none())
}

/// Sends a GET with these header lines (each with its line end) beside Host.
pub(crate) fn get(path: &str, lines: &str) -> Reply {
    ask(&format!("GET {path} HTTP/1.1\r\nHost: h\r\n{lines}\r\n")).0
}

/// The end of a connection that was refused as malformed.
pub(crate) const MALFORMED: Option<End> = Some(End::Violation(ViolationKind::Malformed));
/// The end of a connection on which something was longer than its limit.
pub(crate) const TOO_LARGE: Option<End> = Some(End::Violation(ViolationKind::TooLarge));
