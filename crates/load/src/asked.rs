//! What was asked of the server, for the result: method, headers, paths, and the body by its digest.

use pitot_client::{ClientOptions, RequestSpec};
use pitot_requests::digest_of;
use pitot_results::secrets::{mask, mask_option};
use serde_json::{Value, json};

use crate::options::Options;

/// The requests that the command line names. Those of a file (`from_file`) are described by where they come from.
pub(crate) fn asked(options: &Options, path: &str, from_file: bool, built: &ClientOptions) -> Value {
    let header = |(name, value): &(String, String)| {
        let header = format!("{name}: {value}");
        if options.keep_secrets { header } else { mask_option("header", &header).into_owned() }
    };
    let own = built.requests.first().filter(|_| !from_file);
    let headers = built.headers.iter().chain(own.iter().flat_map(|spec| &spec.headers));
    let mut paths = if options.paths.is_empty() { vec![path.to_owned()] } else { options.paths.clone() };
    if !options.keep_secrets {
        paths.iter_mut().for_each(|path| *path = mask(path).into_owned());
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
}
