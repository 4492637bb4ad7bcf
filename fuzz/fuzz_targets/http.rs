//! `http`, the server: whatever arrives, and however it is cut, the same sound replies leave, one for each that is
//! counted, and no path leaves the root (the harness checks that).
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use pitot_proto::ProtocolOptions;
use pitot_proto::http::Http;
use pitot_proto_harness::{Files, Outcome, Pump, http};

static SITE: LazyLock<(Http, Files)> = LazyLock::new(|| {
    let options = ProtocolOptions {
        root: true,
        head_bytes_max: 1024,
        request_line_bytes_max: 256,
        content_bytes_max: 2048,
        ..ProtocolOptions::default()
    };
    (Http::new(&options).expect("sound options"), http::files())
});

/// More than this of what is sent is not looked at.
const KEPT_MAX: usize = 16 * 1024;

fn exchange<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Outcome {
    let mut pump = Pump::new(&SITE.0, &SITE.1);
    pump.kept_max = KEPT_MAX;
    for piece in pieces {
        pump.feed(piece);
    }
    pump.outcome()
}

/// What was sent, without the interim replies, which depend on the cuts by nature.
fn final_replies(sent: &[u8]) -> Vec<u8> {
    const INTERIM: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
    let (mut rest, mut replies) = (sent, Vec::new());
    while let Some(at) = rest.windows(INTERIM.len()).position(|w| w == INTERIM) {
        replies.extend_from_slice(&rest[..at]);
        rest = &rest[at + INTERIM.len()..];
    }
    replies.extend_from_slice(rest);
    replies
}

fuzz_target!(|data: &[u8]| {
    let Some((&cut, input)) = data.split_first() else { return };
    let whole = exchange([input]);
    let cut = exchange(input.chunks(usize::from(cut) + 1));
    assert_eq!((whole.end, whole.replies, whole.mid_request), (cut.end, cut.replies, cut.mid_request));
    let all_is_kept = |outcome: &Outcome| outcome.sent.len() as u64 == outcome.sent_len;
    if !all_is_kept(&whole) || !all_is_kept(&cut) {
        return;
    }
    if whole.sent != cut.sent {
        assert_eq!(final_replies(&whole.sent), final_replies(&cut.sent));
    }
    // Whether a reply answers a HEAD cannot be told without a second parser.
    if !input.windows(4).any(|w| matches!(w, b"HEAD")) {
        let replies = http::replies(&whole.sent, &[]);
        let finals = replies.iter().filter(|reply| reply.status != 100).count();
        assert_eq!(finals as u64, whole.replies);
        assert_eq!(
            whole.end.is_some(),
            replies.last().is_some_and(|r| r.field("connection") == Some("close"))
        );
    }
});
