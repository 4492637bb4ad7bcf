//! The pages of all HTTP targets and of `pitot serve http`: the same content at the same paths.

/// A page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Its path without the slash, which is also its name.
    pub name: &'static str,
    /// Bytes of its file; none if it is not a file.
    pub file_bytes: Option<u64>,
    /// What it is.
    pub doc: &'static str,
}

/// The pages.
pub static PAGES: &[Page] = &[
    Page { name: "1k", file_bytes: Some(1 << 10), doc: "a file of 1 KiB" },
    Page { name: "16k", file_bytes: Some(16 << 10), doc: "a file of 16 KiB" },
    Page { name: "1m", file_bytes: Some(1 << 20), doc: "a file of 1 MiB" },
    Page { name: "dynamic", file_bytes: None, doc: "a page generated for each request, with the time in it" },
    Page { name: "echo", file_bytes: None, doc: "the body of a POST request" },
];

/// The folder of the private directory with the file pages.
pub const FILES: &str = "html";

/// The dynamic page. `{time}` is the time of the request in RFC 3339, in UTC and without a fraction:
/// `2026-01-02T03:04:05+00:00`.
pub const DYNAMIC: &str = "<!DOCTYPE html>\n<title>A page made for this request</title>\n<p>{time}</p>\n";
