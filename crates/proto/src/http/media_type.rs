//! Media types by the extension of a file's name.
//!
//! A table of the common types rather than the thousand registered ones: other files are sent as
//! `application/octet-stream`, which a browser saves and never executes.

/// The type of files without a known extension.
pub const UNKNOWN: &str = "application/octet-stream";

/// Extensions in lower case, sorted, each with its type.
const TYPES: &[(&str, &str)] = &[
    ("7z", "application/x-7z-compressed"),
    ("aac", "audio/aac"),
    ("atom", "application/atom+xml"),
    ("avif", "image/avif"),
    ("avi", "video/x-msvideo"),
    ("bmp", "image/bmp"),
    ("bz2", "application/x-bzip2"),
    ("css", "text/css; charset=utf-8"),
    ("csv", "text/csv; charset=utf-8"),
    ("doc", "application/msword"),
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("eot", "application/vnd.ms-fontobject"),
    ("epub", "application/epub+zip"),
    ("flac", "audio/flac"),
    ("gif", "image/gif"),
    ("gz", "application/gzip"),
    ("htm", "text/html; charset=utf-8"),
    ("html", "text/html; charset=utf-8"),
    ("ico", "image/vnd.microsoft.icon"),
    ("ics", "text/calendar; charset=utf-8"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript; charset=utf-8"),
    ("json", "application/json"),
    ("jsonld", "application/ld+json"),
    ("jxl", "image/jxl"),
    ("log", "text/plain; charset=utf-8"),
    ("m4a", "audio/mp4"),
    ("m4v", "video/mp4"),
    ("map", "application/json"),
    ("md", "text/markdown; charset=utf-8"),
    ("mjs", "text/javascript; charset=utf-8"),
    ("mkv", "video/matroska"),
    ("mov", "video/quicktime"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("mpeg", "video/mpeg"),
    ("mpg", "video/mpeg"),
    ("odp", "application/vnd.oasis.opendocument.presentation"),
    ("ods", "application/vnd.oasis.opendocument.spreadsheet"),
    ("odt", "application/vnd.oasis.opendocument.text"),
    ("oga", "audio/ogg"),
    ("ogg", "audio/ogg"),
    ("ogv", "video/ogg"),
    ("opus", "audio/ogg"),
    ("otf", "font/otf"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("ppt", "application/vnd.ms-powerpoint"),
    ("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    ("rss", "application/rss+xml"),
    ("rtf", "application/rtf"),
    ("svg", "image/svg+xml; charset=utf-8"),
    ("tar", "application/x-tar"),
    ("tif", "image/tiff"),
    ("tiff", "image/tiff"),
    ("toml", "application/toml"),
    ("ttf", "font/ttf"),
    ("txt", "text/plain; charset=utf-8"),
    ("wasm", "application/wasm"),
    ("wav", "audio/wav"),
    ("weba", "audio/webm"),
    ("webm", "video/webm"),
    ("webmanifest", "application/manifest+json"),
    ("webp", "image/webp"),
    ("woff", "font/woff"),
    ("woff2", "font/woff2"),
    ("xhtml", "application/xhtml+xml"),
    ("xls", "application/vnd.ms-excel"),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ("xml", "text/xml; charset=utf-8"),
    ("xz", "application/x-xz"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("zip", "application/zip"),
    ("zst", "application/zstd"),
];

/// The media type of the file at `path`.
pub fn of(path: &[u8]) -> &'static str {
    let name = path.rsplit(|&b| b == b'/').next().unwrap_or(path);
    let Some(dot) = name.iter().rposition(|&b| b == b'.') else { return UNKNOWN };
    let extension = &name[dot + 1..];
    let found = TYPES.iter().find(|(known, _)| extension.eq_ignore_ascii_case(known.as_bytes()));
    found.map_or(UNKNOWN, |(_, media_type)| media_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_are_found_in_any_case() {
        for (path, media_type) in [
            ("index.html", "text/html; charset=utf-8"),
            ("a/b.tar.GZ", "application/gzip"),
            ("a/PHOTO.JPG", "image/jpeg"),
            ("a.js/b", UNKNOWN),
            ("README", UNKNOWN),
            ("x.", UNKNOWN),
            ("x.unheard-of", UNKNOWN),
            ("", UNKNOWN),
        ] {
            assert_eq!(of(path.as_bytes()), media_type, "{path}");
        }
    }

    #[test]
    fn no_extension_stands_twice_and_text_names_its_charset() {
        for (i, (extension, media_type)) in TYPES.iter().enumerate() {
            assert!(TYPES[..i].iter().all(|(earlier, _)| earlier != extension), "{extension} stands twice");
            assert_eq!(*extension, extension.to_lowercase());
            assert!(
                !media_type.starts_with("text/") || media_type.ends_with("; charset=utf-8"),
                "{media_type}"
            );
        }
    }
}
