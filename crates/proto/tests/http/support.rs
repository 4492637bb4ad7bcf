//! What the tests of `http` share: a small site, and a reader of replies.

use pitot_proto::harness::{End, Files, Held, MODIFIED_S, Pump};
use pitot_proto::http::Http;
use pitot_proto::{OpenError, ProtocolOptions, ViolationKind};

/// The entity tag of a file of the harness.
pub(crate) fn etag(size: usize) -> String {
    format!("\"11-{size:x}-{:x}\"", u128::from(MODIFIED_S) * 1_000_000_000 + 5)
}

/// When the files were modified.
pub(crate) const MODIFIED: &str = "Sat, 05 Nov 1994 01:46:40 GMT";

/// 200 bytes, each its own position.
pub(crate) fn digits() -> Vec<u8> {
    (0..200u8).collect()
}

pub(crate) fn files() -> Files {
    let mut files = Files::new();
    files
        .add("index.html", b"<h1>root</h1>", Held::InMemory)
        .add("hello.txt", b"hello, world\n", Held::InMemory)
        .add("disk.bin", &digits(), Held::OnDisk)
        .add("memory.bin", &digits(), Held::InMemory)
        .add("empty.txt", b"", Held::InMemory)
        .add("large.bin", &vec![b'x'; 100_000], Held::InMemory)
        .add("a b.txt", b"blank", Held::InMemory)
        .add("dir/index.html", b"<h1>dir</h1>", Held::OnDisk)
        .add_error("dir", OpenError::IsDirectory)
        .add_error("bare", OpenError::IsDirectory)
        .add_error("nested/index.html", OpenError::IsDirectory)
        .add_error("secret.txt", OpenError::Forbidden)
        .add_error("pipe", OpenError::NotRegular)
        .add_error("long", OpenError::NameTooLong)
        .add_error("busy.txt", OpenError::Unavailable)
        .add_error("torn.txt", OpenError::Failed);
    files
}

pub(crate) fn options() -> ProtocolOptions {
    ProtocolOptions { root: true, ..ProtocolOptions::default() }
}

pub(crate) fn site() -> Http {
    Http::new(&options()).unwrap()
}

/// What came of one connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) sent: Vec<u8>,
    pub(crate) sent_len: u64,
    pub(crate) replies: u64,
    pub(crate) end: Option<End>,
    pub(crate) mid_request: bool,
}

/// Sends `pieces` one after the other to the site with a root.
pub(crate) fn exchange<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Outcome {
    let (http, files) = (site(), files());
    let mut pump = Pump::new(&http, &files);
    for piece in pieces {
        pump.feed(piece);
    }
    outcome(&pump)
}

pub(crate) fn outcome(pump: &Pump<'_>) -> Outcome {
    Outcome {
        sent: pump.sent.clone(),
        sent_len: pump.sent_len,
        replies: pump.replies,
        end: pump.end,
        mid_request: pump.mid_request(),
    }
}

/// One reply, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) content: Vec<u8>,
}

impl Reply {
    /// The value of a field, which must not stand twice.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let mut values =
            self.fields.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str());
        let value = values.next();
        assert_eq!(values.next(), None, "{name} stands twice");
        value
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.content).unwrap()
    }
}

/// Takes the replies apart; `head_only[i]` says that reply i answers a HEAD. Panics if they are not sound.
pub(crate) fn replies(mut sent: &[u8], head_only: &[bool]) -> Vec<Reply> {
    let mut replies: Vec<Reply> = Vec::new();
    while !sent.is_empty() {
        let end = sent.windows(4).position(|w| w == b"\r\n\r\n").expect("a head ends") + 4;
        let head = std::str::from_utf8(&sent[..end - 4]).unwrap();
        sent = &sent[end..];
        let mut lines = head.split("\r\n");
        let line = lines.next().unwrap();
        let status: u16 = line.strip_prefix("HTTP/1.1 ").unwrap()[..3].parse().unwrap();
        let fields: Vec<(String, String)> = lines
            .map(|line| {
                assert!(!line.contains(['\r', '\n']), "{line:?}");
                let (name, value) = line.split_once(": ").unwrap();
                (name.to_string(), value.to_string())
            })
            .collect();
        let mut reply = Reply { status, fields, content: Vec::new() };
        let without_content = status == 100
            || status == 204
            || status == 304
            || head_only.get(replies.len()).copied().unwrap_or(false);
        if !without_content {
            let len: usize = reply.field("content-length").expect("a length").parse().unwrap();
            reply.content = sent[..len].to_vec();
            sent = &sent[len..];
        }
        if status != 100 {
            assert_eq!(reply.field("server"), Some("pitot"));
            assert_eq!(reply.field("date"), Some(pitot_proto::harness::DATE));
            assert!(matches!(status, 204 | 304) == reply.field("content-length").is_none());
        }
        replies.push(reply);
    }
    replies
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
