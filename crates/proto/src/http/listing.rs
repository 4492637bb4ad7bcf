//! Directory listings.
//!
//! A driver that opens a directory passes its entries as content, in the form that [`Entries`] writes. The page is rendered
//! once per read of the directory. It contains names only: sizes and times would cost a system call per entry. It has no
//! validator, since a directory's modification time does not distinguish two changes within a tick of the kernel's clock.

use std::sync::Arc;

use super::options::DotFiles;
use super::reply::{self, Status, Terms};
use super::target;
use crate::{Context, Exchange, Next, Opened};

/// The most entries of a directory that are read; the page reports if there are more.
pub const ENTRIES_MAX: usize = 10_000;

/// The entries of a directory, as a driver passes them: for each a byte with its kind, the name, and a NUL.
#[derive(Debug, Default)]
pub struct Entries {
    bytes: Vec<u8>,
    count: usize,
}

const DIRECTORY: u8 = b'/';
const FILE: u8 = b' ';
/// Without a name: there are more entries.
const MORE: u8 = b'+';

impl Entries {
    /// Adds an entry. False if the limit is reached and no other need be read.
    pub fn push(&mut self, name: &[u8], is_directory: bool) -> bool {
        if self.count == ENTRIES_MAX {
            self.bytes.extend_from_slice(&[MORE, 0]);
            return false;
        }
        self.count += 1;
        self.bytes.push(if is_directory { DIRECTORY } else { FILE });
        self.bytes.extend_from_slice(name);
        self.bytes.push(0);
        true
    }

    /// The content of the directory.
    pub fn into_content(self) -> Arc<[u8]> {
        self.bytes.into()
    }
}

/// A rendered page.
struct Page(Arc<[u8]>);

/// Replies with the listing of a directory, whose path ends with a slash unless it is the root.
pub(super) fn reply(
    exchange: &mut Exchange,
    cx: &Context<'_>,
    terms: Terms,
    dot_files: DotFiles,
    opened: &Opened,
) -> Next {
    let content = opened.meta.content.as_deref().unwrap_or_default();
    let page = opened.derived.get_or_make(|| Page(render(&exchange.path, content, dot_files).into()));
    exchange.out.write_with(|buf| {
        reply::start(buf, Status::Ok, cx);
        reply::content_length(buf, page.0.len() as u64);
        reply::field(buf, "Content-Type", b"text/html; charset=utf-8");
        reply::finish(buf, terms.connection);
    });
    if !terms.head_only {
        exchange.out.shared(&page.0, 0..page.0.len());
    }
    exchange.replied(Status::Ok.code(), terms.content(page.0.len() as u64));
    terms.next()
}

fn render(path: &[u8], content: &[u8], dot_files: DotFiles) -> Vec<u8> {
    let mut entries: Vec<&[u8]> =
        content.split(|&b| b == 0).filter(|entry| is_shown(entry, path, dot_files)).collect();
    // Directories first: a slash is greater than a blank.
    entries.sort_unstable_by(|a, b| b[0].cmp(&a[0]).then_with(|| a.cmp(b)));
    let has_more = content.ends_with(&[MORE, 0]);

    let mut page =
        b"<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>Index of /".to_vec();
    write_text(path, &mut page);
    page.extend_from_slice(b"</title></head>\n<body>\n<h1>Index of /");
    write_text(path, &mut page);
    page.extend_from_slice(b"</h1>\n<ul>\n");
    if !path.is_empty() {
        page.extend_from_slice(b"<li><a href=\"../\">../</a></li>\n");
    }
    for entry in entries {
        let (kind, name) = (entry[0], &entry[1..]);
        let slash: &[u8] = if kind == DIRECTORY { b"/" } else { b"" };
        page.extend_from_slice(b"<li><a href=\"");
        // Relative to the directory. Colons are encoded, so that a name cannot look like a scheme.
        target::encode_component(name, &mut page);
        page.extend_from_slice(slash);
        page.extend_from_slice(b"\">");
        write_text(name, &mut page);
        page.extend_from_slice(slash);
        page.extend_from_slice(b"</a></li>\n");
    }
    page.extend_from_slice(b"</ul>\n");
    if has_more {
        page.extend_from_slice(
            format!("<p>There are more entries: only the first {ENTRIES_MAX} were read.</p>\n").as_bytes(),
        );
    }
    page.extend_from_slice(b"</body>\n</html>\n");
    page
}

/// True for an entry that a request can reach.
fn is_shown(entry: &[u8], directory: &[u8], dot_files: DotFiles) -> bool {
    let Some((&kind, name)) = entry.split_first() else { return false };
    kind != MORE
        && !matches!(name, b"." | b"..")
        && !dot_files.hides(name, directory.is_empty())
        && !name.contains(&b'\\')
}

/// Escapes text for HTML. Invalid UTF-8 and control characters are replaced.
fn write_text(text: &[u8], out: &mut Vec<u8>) {
    for c in String::from_utf8_lossy(text).chars() {
        match c {
            '&' => out.extend_from_slice(b"&amp;"),
            '<' => out.extend_from_slice(b"&lt;"),
            '>' => out.extend_from_slice(b"&gt;"),
            '"' => out.extend_from_slice(b"&quot;"),
            '\'' => out.extend_from_slice(b"&#39;"),
            c => {
                let c = if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(path: &str, names: &[(&[u8], bool)], dot_files: DotFiles) -> String {
        let mut entries = Entries::default();
        for (name, is_directory) in names {
            assert!(entries.push(name, *is_directory));
        }
        String::from_utf8(render(path.as_bytes(), &entries.into_content(), dot_files)).unwrap()
    }

    fn links(page: &str) -> Vec<&str> {
        page.lines().filter_map(|line| line.strip_prefix("<li><a href=\"")?.split('"').next()).collect()
    }

    #[test]
    fn directories_come_first_and_names_are_sorted() {
        let names: [(&[u8], bool); 6] =
            [(b"b", false), (b"z", true), (b"a", false), (b"y", true), (b".", true), (b"..", true)];
        assert_eq!(links(&page("", &names, DotFiles::All)), ["y/", "z/", "a", "b"]);
        assert_eq!(links(&page("sub/", &names, DotFiles::All)), ["../", "y/", "z/", "a", "b"]);
    }

    #[test]
    fn names_are_text_and_never_markup() {
        let names: [(&[u8], bool); 4] = [
            (b"<script>\"&'.html", false),
            (b"javascript:alert(1)", false),
            (b"\xff\r\n\x1b[2J", false),
            (b"a b?c#d%e", true),
        ];
        let page = page("<b>/", &names, DotFiles::All);
        assert!(page.contains("Index of /&lt;b&gt;/</title>"));
        assert!(page.contains(">&lt;script&gt;&quot;&amp;&#39;.html</a>"));
        assert!(
            !page.contains("<script>")
                && !page.contains("<b>")
                && !page.contains('\x1b')
                && !page.contains('\r')
        );
        let expected = [
            "../",
            "a%20b%3Fc%23d%25e/",
            "%3Cscript%3E%22%26%27.html",
            "javascript%3Aalert%281%29",
            "%FF%0D%0A%1B%5B2J",
        ];
        assert_eq!(links(&page), expected);
    }

    #[test]
    fn names_that_are_not_served_are_not_listed() {
        let names: [(&[u8], bool); 4] =
            [(b".git", true), (b".well-known", true), (b"a\\b", false), (b"shown", false)];
        assert_eq!(links(&page("", &names, DotFiles::None)), ["shown"]);
        assert_eq!(links(&page("", &names, DotFiles::WellKnown)), [".well-known/", "shown"]);
        assert_eq!(links(&page("sub/", &names, DotFiles::WellKnown)), ["../", "shown"]);
        assert_eq!(links(&page("", &names, DotFiles::All)), [".git/", ".well-known/", "shown"]);
    }

    #[test]
    fn a_page_says_if_there_are_more_entries() {
        let mut entries = Entries::default();
        for i in 0..ENTRIES_MAX {
            assert!(entries.push(i.to_string().as_bytes(), false));
        }
        assert!(!entries.push(b"one more", false));
        let page = render(b"", &entries.into_content(), DotFiles::None);
        let page = String::from_utf8(page).unwrap();
        assert_eq!(links(&page).len(), ENTRIES_MAX);
        assert!(page.contains("There are more") && !page.contains("one more"));
    }
}
