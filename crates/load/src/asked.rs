//! What was asked of the server, for the result: method, headers, paths, and the body by its digest.

use pitot_proto::client::{ClientOptions, RequestSpec};
use ring::digest;
use serde_json::{Value, json};

use crate::options::Options;

/// What stands in a result in the place of a secret.
pub const MASK: &str = "***";

/// Whether the value of a header is a secret: credentials, cookies, and what calls itself a token, a key or a secret.
pub fn is_secret(header: &str) -> bool {
    let name = header.trim().to_ascii_lowercase();
    let parts = ["authorization", "cookie", "token", "secret", "password", "api-key", "apikey"];
    parts.iter().any(|part| name.contains(part))
}

/// The length of bytes and their SHA-256 in hexadecimal digits.
/// The length of some bytes, and their SHA-256, hexadecimal.
pub(crate) fn digest_of(bytes: &[u8]) -> (usize, String) {
    let digest = digest::digest(&digest::SHA256, bytes);
    (bytes.len(), digest.as_ref().iter().map(|b| format!("{b:02x}")).collect())
}

/// The requests that the command line names. Requests of a file are described by where they come from.
pub(crate) fn asked(options: &Options, path: &str, built: &ClientOptions) -> Value {
    let header = |(name, value): &(String, String)| match is_secret(name) && !options.keep_secrets {
        true => format!("{name}: {MASK}"),
        false => format!("{name}: {value}"),
    };
    let own = built.requests.first().filter(|_| options.requests_file.is_none() && options.replay.is_none());
    let headers = built.headers.iter().chain(own.iter().flat_map(|spec| &spec.headers));
    let paths = if options.paths.is_empty() { vec![path.to_owned()] } else { options.paths.clone() };
    let body = |spec: &&RequestSpec| {
        let (bytes, sha256) = digest_of(&spec.body);
        (bytes > 0).then(|| json!({ "bytes": bytes, "sha256": sha256 }))
    };
    json!({
        "method": own.map(|spec| &spec.method),
        "paths": own.map(|_| paths),
        "headers": headers.map(header).collect::<Vec<_>>(),
        "body": own.as_ref().and_then(body),
        "cookies": options.visit.cookies,
        "follow": options.visit.follow,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_unless_they_are_to_be_kept() {
        let mut options = Options::new("http://h/a");
        let headers = [("Accept", "x/y"), ("authorization", "Basic s3cret"), ("X-Api-Key", "s3cret")];
        let built = ClientOptions {
            requests: vec![RequestSpec { body: b"abc".to_vec(), ..RequestSpec::default() }],
            headers: headers.map(|(name, value)| (name.into(), value.into())).into(),
            ..ClientOptions::default()
        };
        let shown = asked(&options, "/a", &built);
        assert!(!shown.to_string().contains("s3cret"), "{shown}");
        assert_eq!(shown["headers"][1], "authorization: ***");
        assert_eq!((&shown["method"], &shown["paths"][0]), (&json!("GET"), &json!("/a")));
        let sha = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(shown["body"], json!({"bytes": 3, "sha256": sha}));
        options.keep_secrets = true;
        assert_eq!(asked(&options, "/a", &built)["headers"][1], "authorization: Basic s3cret");
    }
}
