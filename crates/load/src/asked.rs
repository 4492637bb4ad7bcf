//! What was asked of the server, for the result: method, headers, paths, and the body by its digest.

use pitot_proto::client::{ClientOptions, RequestSpec};
use serde_json::{Value, json};

use crate::digest::digest_of;
use crate::options::Options;

/// What stands in a result in the place of a secret.
pub const MASK: &str = "***";

/// Parts of names whose values are secrets.
const SECRET_PARTS: &[&str] =
    &["authorization", "cookie", "credential", "passphrase", "passwd", "password", "secret", "token"];
/// Names that are those of secrets as a whole.
const SECRET_NAMES: &[&str] = &["auth", "pass", "pin", "pwd"];

/// Whether the value of a header, a field of a form or a parameter of a query is a secret by its name: credentials, cookies,
/// identifiers of sessions, and what calls itself a token, a key or a secret.
pub fn is_secret(name: &str) -> bool {
    let name = name.trim().to_ascii_lowercase().replace(['-', '_'], "");
    SECRET_PARTS.iter().any(|part| name.contains(part))
        || SECRET_NAMES.contains(&&*name)
        || name.ends_with("key")
        || name.ends_with("sessionid")
}

/// A path or a URL with its query, without the values of parameters that are secrets.
pub fn without_secrets(target: &str) -> String {
    let Some((path, query)) = target.split_once('?') else { return target.to_owned() };
    let mask = |parameter: &str| match parameter.split_once('=') {
        Some((name, value)) if is_secret(name) && !value.is_empty() => format!("{name}={MASK}"),
        _ => parameter.to_owned(),
    };
    let masked: Vec<String> = query.split('&').map(mask).collect();
    format!("{path}?{}", masked.join("&"))
}

/// The requests that the command line names. Those of a file (`from_file`) are described by where they come from.
pub(crate) fn asked(options: &Options, path: &str, from_file: bool, built: &ClientOptions) -> Value {
    let header = |(name, value): &(String, String)| match is_secret(name) && !options.keep_secrets {
        true => format!("{name}: {MASK}"),
        false => format!("{name}: {value}"),
    };
    let own = built.requests.first().filter(|_| !from_file);
    let headers = built.headers.iter().chain(own.iter().flat_map(|spec| &spec.headers));
    let mut paths = if options.paths.is_empty() { vec![path.to_owned()] } else { options.paths.clone() };
    if !options.keep_secrets {
        paths.iter_mut().for_each(|path| *path = without_secrets(path));
    }
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
        let shown = asked(&options, "/a", false, &built);
        assert!(!shown.to_string().contains("s3cret"), "{shown}");
        assert_eq!(shown["headers"][1], "authorization: ***");
        assert_eq!((&shown["method"], &shown["paths"][0]), (&json!("GET"), &json!("/a")));
        let sha = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(shown["body"], json!({"bytes": 3, "sha256": sha}));
        let shown = asked(&options, "/a?q=1&api_key=s3cret&b", false, &built);
        assert_eq!(shown["paths"][0], "/a?q=1&api_key=***&b");
        let shown = asked(&options, "/a", true, &built);
        assert_eq!((&shown["paths"], &shown["method"]), (&Value::Null, &Value::Null));
        options.keep_secrets = true;
        assert_eq!(asked(&options, "/a", false, &built)["headers"][1], "authorization: Basic s3cret");
    }

    #[test]
    fn secrets_are_known_by_their_names() {
        for name in [
            "Authorization",
            "Cookie",
            "X-Auth-Token",
            "X-Session-Id",
            "sessionid",
            "X-Amz-Access-Key",
            "key",
            "Api_Key",
            "password",
            "user_password",
            "PWD",
            "client-secret",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in ["Accept", "keyword", "page", "X-Request-Id", "passenger", "author", "session"] {
            assert!(!is_secret(name), "{name}");
        }
        assert_eq!(without_secrets("http://h/a?token=x&b=c&key="), "http://h/a?token=***&b=c&key=");
        assert_eq!(without_secrets("/a&token=x"), "/a&token=x");
    }
}
