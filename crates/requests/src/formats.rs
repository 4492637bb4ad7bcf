use super::format::Format;
use super::{access_log, har, lines, sql, toml, vegeta};

/// All formats, in the order in which they are tried; the last accepts any file.
pub static FORMATS: &[Format] =
    &[har::FORMAT, vegeta::FORMAT, toml::FORMAT, access_log::FORMAT, sql::FORMAT, lines::FORMAT];

/// The part of a file that is examined to recognise its format, bytes.
const BEGINNING: usize = 64 * 1024;

impl Format {
    /// The format of that name.
    pub fn named(name: &str) -> Option<&'static Format> {
        FORMATS.iter().find(|format| format.name == name)
    }

    /// The format that the content is in.
    pub fn of(content: &[u8]) -> &'static Format {
        let beginning = &content[..content.len().min(BEGINNING)];
        FORMATS.iter().find(|format| (format.looks_like)(beginning)).unwrap_or(&lines::FORMAT)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use pitot_client::Url;

    #[test]
    fn the_format_shows_in_the_content() {
        for (content, name) in [
            ("# mine\n\nGET /x\n", "lines"),
            ("http://h/x\n", "lines"),
            ("", "lines"),
            (r#"{"method": "GET", "url": "http://h/"}"#, "vegeta"),
            ("{\n  \"log\": {\"entries\": []}}", "har"),
            (r#"{"log":{"version":"1.2"}}"#, "har"),
            ("# ours\n[[request]]\nurl = '/'", "toml"),
            ("[[session]]", "toml"),
            ("[[sessions]]\nname = 'misspelt'", "toml"),
            ("-- transfer\n\nbegin;\nSELECT 1;", "sql"),
            ("\\set x random(1, 2)\nSELECT :x;", "sql"),
            ("/* a comment */ SELECT(1)", "sql"),
            ("DELETE FROM t", "sql"),
            ("\u{feff}COPY t FROM STDIN;", "sql"),
            ("DELETE /t", "lines"),
            ("LOCK http://h/t", "lines"),
            (r#"1.2.3.4 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.0" 200 2326"#, "log"),
            ("garbage\n::1 - a [10/Oct/2000:13:55:36 +0000] \"-\" 408 0 \"-\" \"-\"\n", "log"),
        ] {
            assert_eq!(Format::of(content.as_bytes()).name, name, "{content}");
        }
    }

    #[test]
    fn every_format_has_a_name_of_its_own() {
        for format in FORMATS {
            assert!(std::ptr::eq(Format::named(format.name).unwrap(), format));
            assert!(!format.summary.is_empty());
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_a_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let target = Url::parse("http://h/").unwrap();
            Format::of(&bytes);
            for format in FORMATS {
                let _ = format.parse(&bytes, &target);
            }
        }

        #[test]
        fn no_text_makes_a_parser_panic(text in r#"[\[\]{}":,/ \n\\a-z0-9+-]{0,200}"#) {
            let target = Url::parse("http://h/").unwrap();
            for format in FORMATS {
                let _ = format.parse(text.as_bytes(), &target);
            }
        }
    }
}
