//! Bodies of forms: URL-encoded, or in parts if one of them is a file.

use std::fmt::Write as _;
use std::path::Path;

use form_urlencoded::byte_serialize;
use pitot_results::Failure;

use super::content;

/// The body of a form, and its content type.
pub fn encode(fields: &[String]) -> Result<(Vec<u8>, String), Failure> {
    let fields = fields.iter().map(|text| Field::parse(text)).collect::<Result<Vec<_>, _>>()?;
    if fields.iter().any(|field| field.file.is_some()) {
        return Ok(parts(&fields));
    }
    fn encoded(bytes: &[u8]) -> String {
        byte_serialize(bytes).collect()
    }
    let pair = |field: &Field<'_>| format!("{}={}", encoded(field.name.as_bytes()), encoded(&field.value));
    let body = fields.iter().map(pair).collect::<Vec<_>>().join("&");
    Ok((body.into_bytes(), "application/x-www-form-urlencoded".into()))
}

struct Field<'a> {
    name: &'a str,
    value: Vec<u8>,
    /// The name of the file that the value comes from.
    file: Option<String>,
}

impl Field<'_> {
    fn parse(text: &str) -> Result<Field<'_>, Failure> {
        let Some((name, value)) = text.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            return Err(Failure::misuse(
                format!("`{text}` is not a form field"),
                "write --form name=value, or --form name=@file",
            ));
        };
        // A value that begins with an at sign itself has two.
        Ok(match value.strip_prefix('@') {
            Some(rest) if !rest.starts_with('@') => {
                let path = Path::new(rest);
                let file =
                    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
                Field { name, value: content::read(path)?, file: Some(file) }
            }
            Some(rest) => Field { name, value: rest.as_bytes().to_vec(), file: None },
            None => Field { name, value: value.as_bytes().to_vec(), file: None },
        })
    }
}

/// `multipart/form-data` (RFC 7578).
fn parts(fields: &[Field<'_>]) -> (Vec<u8>, String) {
    let boundary = boundary(fields);
    let mut body = Vec::new();
    for field in fields {
        let mut head =
            format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"", quoted(field.name));
        if let Some(file) = &field.file {
            let _ = write!(head, "; filename=\"{}\"\r\nContent-Type: application/octet-stream", quoted(file));
        }
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(b"\r\n\r\n");
        body.extend_from_slice(&field.value);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    (body, format!("multipart/form-data; boundary={boundary}"))
}

/// A line that occurs in no value. The same form has the same body in every run.
fn boundary(fields: &[Field<'_>]) -> String {
    let stands = |boundary: &str| {
        let mut values = fields.iter().map(|field| &field.value);
        values.any(|value| value.windows(boundary.len()).any(|window| window == boundary.as_bytes()))
    };
    let mut candidates = (0u64..).map(|n| format!("pitot-form-{n}"));
    candidates.find(|candidate| !stands(candidate)).unwrap_or_default()
}

/// A name between quotes (HTML standard, section 4.10.21.8).
fn quoted(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn fields(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&text| text.to_owned()).collect()
    }

    #[test]
    fn names_and_values_are_encoded() {
        let (body, kind) = encode(&fields(&["a=b c", "é&=x=y/*", "at=@@home", "empty="])).unwrap();
        assert_eq!(String::from_utf8(body).unwrap(), "a=b+c&%C3%A9%26=x%3Dy%2F*&at=%40home&empty=");
        assert_eq!(kind, "application/x-www-form-urlencoded");
    }

    #[test]
    fn a_file_makes_parts_whose_boundary_is_in_none_of_them() {
        let mut file = tempfile::NamedTempFile::with_prefix("a\"b").unwrap();
        write!(file, "--pitot-form-0\r\n").unwrap();
        let name = file.path().file_name().unwrap().to_str().unwrap().replace('"', "%22");
        let (body, kind) = encode(&fields(&["x=1", &format!("f=@{}", file.path().display())])).unwrap();
        assert_eq!(kind, "multipart/form-data; boundary=pitot-form-1");
        let expected = format!(
            "--pitot-form-1\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\n1\r\n\
             --pitot-form-1\r\nContent-Disposition: form-data; name=\"f\"; filename=\"{name}\"\r\n\
             Content-Type: application/octet-stream\r\n\r\n--pitot-form-0\r\n\r\n--pitot-form-1--\r\n"
        );
        assert_eq!(String::from_utf8(body).unwrap(), expected);
    }

    #[test]
    fn what_is_no_field_is_refused() {
        for wrong in ["x", "=x", "f=@/nonexistent/file"] {
            assert!(encode(&fields(&[wrong])).is_err(), "{wrong}");
        }
    }
}
