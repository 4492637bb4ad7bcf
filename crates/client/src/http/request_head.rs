//! The head of a request as text, and the checks of HTTP's rules.

use super::chunked::Chunked;
use crate::protocol::ClientOptions;
use crate::request::RequestSpec;
use crate::url::Url;
use pitot_proto::http::syntax::is_token_byte;

pub(super) fn check_method(method: &str) -> Result<(), String> {
    let is_one = !method.is_empty() && method.bytes().all(is_token_byte);
    if is_one { Ok(()) } else { Err(format!("`{method}` is not a method")) }
}

pub(super) fn check_headers<'a>(
    headers: impl IntoIterator<Item = &'a (String, String)>,
) -> Result<(), String> {
    for (name, value) in headers {
        if name.is_empty() || !name.bytes().all(is_token_byte) {
            return Err(format!("`{name}` is not the name of a header"));
        }
        if value.bytes().any(|b| b < b' ' && b != b'\t' || b == 0x7f) {
            return Err(format!("the value of the header `{name}` contains a control character"));
        }
    }
    Ok(())
}

/// The head of a request with a body of `length`.
pub(super) fn head(
    url: &Url,
    options: &ClientOptions,
    spec: &RequestSpec,
    length: &str,
) -> Result<String, String> {
    let path = if spec.path.is_empty() { "/" } else { &spec.path };
    let mut text = format!("{} {path} HTTP/1.1\r\n", spec.method);
    let headers = options.headers_of(spec);
    let given = |name: &str| headers.clone().any(|(n, _)| n.eq_ignore_ascii_case(name));
    if !given("host") {
        text += &format!("Host: {}\r\n", url.authority());
    }
    for (name, value) in headers.clone() {
        text += &format!("{name}: {value}\r\n");
    }
    // A wrong length breaks the framing of all later requests.
    for (name, value) in headers.clone() {
        if name.eq_ignore_ascii_case("content-length") && value != length {
            return Err(format!(
                "the header `{name}: {value}` is not the length of the body of {} {path}, {length} bytes: remove the \
                 header, and the right one is sent",
                spec.method
            ));
        }
    }
    if options.single_request && !given("connection") {
        text += "Connection: close\r\n";
    }
    let has_body = !spec.body.is_empty() || matches!(&*spec.method, "POST" | "PUT" | "PATCH");
    if has_body && !given("content-length") && !given("transfer-encoding") {
        text += &format!("Content-Length: {length}\r\n");
    }
    Ok(text + "\r\n")
}

/// Checks that the body has the coding of the user's headers; a wrong one breaks the framing.
pub(super) fn check_transfer_encoding(options: &ClientOptions, spec: &RequestSpec) -> Result<(), String> {
    let values = |wanted: &str| {
        let headers = options.headers_of(spec).filter(move |(name, _)| name.eq_ignore_ascii_case(wanted));
        headers.map(|(_, value)| value).collect::<Vec<_>>()
    };
    if !values("content-length").is_empty() {
        return Err("`Transfer-Encoding` cannot be combined with `Content-Length`: remove one of them".into());
    }
    let codings = values("transfer-encoding").join(",");
    let last = codings.rsplit(',').next().unwrap_or_default().trim();
    if !last.eq_ignore_ascii_case("chunked") {
        return Err(format!("the last transfer coding of a request must be `chunked`, not `{last}`"));
    }
    if !is_chunked(&spec.body) {
        return Err("`Transfer-Encoding: chunked` needs a body in chunks: remove the header to send this body with its \
                    length"
            .into());
    }
    Ok(())
}

/// Whether these bytes are exactly one chunked body.
fn is_chunked(mut body: &[u8]) -> bool {
    let mut chunked = Chunked::new();
    loop {
        match chunked.step(body) {
            Ok(step) if step.ended => return step.consumed == body.len(),
            Ok(step) if step.consumed > 0 => body = &body[step.consumed..],
            Ok(_) | Err(_) => return false,
        }
    }
}
