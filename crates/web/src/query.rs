//! Names of files in paths, and parameters.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// What stands for itself in a path (RFC 3986, section 2.3), and the slash.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// The parameters of a request.
#[derive(Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

/// The most parameters that are read: as many as a list has rows, and some.
const PARAMETERS_MAX: usize = 300;

impl Query {
    pub(crate) fn parse(text: Option<&str>) -> Query {
        let pairs = form_urlencoded::parse(text.unwrap_or_default().as_bytes());
        Query(pairs.into_owned().take(PARAMETERS_MAX).collect())
    }

    /// The first value of that name, or nothing.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.all(name).next().unwrap_or_default()
    }

    /// All values of that name that are not empty.
    pub(crate) fn all<'q>(&'q self, name: &str) -> impl Iterator<Item = &'q str> {
        self.0
            .iter()
            .filter(move |(known, value)| known == name && !value.is_empty())
            .map(|(_, value)| &**value)
    }

    /// The parameters without some, as text.
    pub(crate) fn without(&self, names: &[&str]) -> String {
        let rest = self.0.iter().filter(|(name, value)| !names.contains(&&**name) && !value.is_empty());
        form_urlencoded::Serializer::new(String::new()).extend_pairs(rest).finish()
    }
}

/// The path of a page of a file.
pub(crate) fn link(page: &str, name: &str) -> String {
    format!("/{page}/{}", utf8_percent_encode(name, PLAIN))
}

/// The name of the file in the path of a request. It is only looked up, never opened.
pub(crate) fn name_in<'p>(path: &'p str, page: &str) -> Option<std::borrow::Cow<'p, str>> {
    let name = path.strip_prefix('/')?.strip_prefix(page)?.strip_prefix('/')?;
    percent_decode_str(name).decode_utf8().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_survive_the_way_through_a_path() {
        for name in ["a.pitot", "ü b/ä?#%.pitot", "../x", "a\"<b>.pitot"] {
            let link = link("report", name);
            assert!(link.bytes().all(|b| b.is_ascii_graphic() && b != b'"' && b != b'<'), "{link}");
            assert_eq!(name_in(&link, "report").unwrap(), name);
        }
        assert_eq!(name_in("/plan/a", "report"), None);
        assert_eq!(name_in("/report/%ff", "report"), None);
    }

    #[test]
    fn parameters_are_decoded_and_can_be_left_out() {
        let query = Query::parse(Some("q=a+b%26&page=2&run=x&run=&run=y&token=t"));
        assert_eq!((query.get("q"), query.get("none")), ("a b&", ""));
        assert_eq!(query.all("run").collect::<Vec<_>>(), ["x", "y"]);
        assert_eq!(query.without(&["token", "run"]), "q=a+b%26&page=2");
    }
}
