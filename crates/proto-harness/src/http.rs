//! A small site for `http`, and a reader of its replies.

use crate::{Files, Held, MODIFIED_S};
use pitot_proto::OpenError;

/// When the files were modified, as a date.
pub const MODIFIED: &str = "Sat, 05 Nov 1994 01:46:40 GMT";

/// The entity tag of a file of that size.
pub fn etag(size: usize) -> String {
    format!("\"11-{size:x}-{:x}\"", u128::from(MODIFIED_S) * 1_000_000_000 + 5)
}

/// The content of `disk.bin` and `memory.bin`: 200 bytes, each its own position.
pub fn digits() -> Vec<u8> {
    (0..200).collect()
}

/// Files and directories of every kind, and one path for each way in which a file cannot be opened.
pub fn files() -> Files {
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

/// One reply, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Its status code.
    pub status: u16,
    /// Its fields, names and values.
    pub fields: Vec<(String, String)>,
    /// Its content.
    pub content: Vec<u8>,
}

impl Reply {
    /// The value of a field.
    ///
    /// # Panics
    /// If it stands twice.
    pub fn field(&self, name: &str) -> Option<&str> {
        let mut values =
            self.fields.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str());
        let value = values.next();
        assert_eq!(values.next(), None, "{name} stands twice");
        value
    }

    /// The content as text.
    ///
    /// # Panics
    /// If it is none.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.content).unwrap()
    }
}

/// Takes the replies apart; `head_only[i]` says that reply i answers a HEAD.
///
/// # Panics
/// If they are not sound.
pub fn replies(mut sent: &[u8], head_only: &[bool]) -> Vec<Reply> {
    let mut replies: Vec<Reply> = Vec::new();
    while !sent.is_empty() {
        let end = sent.windows(4).position(|w| matches!(w, b"\r\n\r\n")).expect("a head ends") + 4;
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
            assert_eq!(reply.field("date"), Some(super::DATE));
            assert!(matches!(status, 204 | 304) == reply.field("content-length").is_none());
        }
        replies.push(reply);
    }
    replies
}
