//! A proxy of the environment is not used: a load through it would measure it.

use pitot_client::Url;

/// What is said about a proxy that other clients would use for this target; `None` if they would use none. The variables
/// are those that curl and Go read.
pub(super) fn notice(target: &str, variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let url = Url::parse(target).ok().filter(|url| matches!(&*url.scheme, "http" | "https"))?;
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let upper = url.scheme.to_ascii_uppercase() + "_PROXY";
    let names = [format!("{}_proxy", url.scheme), upper, "all_proxy".into(), "ALL_PROXY".into()];
    let (name, _) = names.iter().find_map(|name| Some((name, set(name)?)))?;
    let excluded = set("no_proxy").or_else(|| set("NO_PROXY")).unwrap_or_default();
    if excluded.split(',').any(|word| excludes(word.trim(), &url.host)) {
        return None;
    }
    Some(format!("{name} is ignored: the load goes to {} directly", url.authority()))
}

/// Whether a word of `no_proxy` is for that host: its name, a domain that it is in, or all.
fn excludes(word: &str, host: &str) -> bool {
    let domain = word.trim_start_matches('.').to_ascii_lowercase();
    let host = host.to_ascii_lowercase();
    let inside = |rest: &str| rest.is_empty() || rest.ends_with('.');
    word == "*" || !domain.is_empty() && host.strip_suffix(&*domain).is_some_and(inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(target: &str, variables: &[(&str, &str)]) -> Option<String> {
        notice(target, |name| {
            variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn a_proxy_that_others_would_use_is_named() {
        let proxy = ("http_proxy", "http://proxy:3128");
        assert_eq!(
            said("http://h:81/x", &[proxy]).unwrap(),
            "http_proxy is ignored: the load goes to h:81 directly"
        );
        assert!(said("https://h/", &[("HTTPS_PROXY", "x")]).unwrap().starts_with("HTTPS_PROXY"));
        assert!(said("http://h/", &[("ALL_PROXY", "x")]).unwrap().starts_with("ALL_PROXY"));
        for (target, variables) in [
            ("http://h/", &[][..]),
            ("http://h/", &[("http_proxy", "")]),
            ("https://h/", &[proxy]),
            ("redis://h/", &[("all_proxy", "x")]),
            ("http://a.example.com/", &[proxy, ("no_proxy", "localhost, example.com")]),
            ("http://a.example.com/", &[proxy, ("NO_PROXY", ".Example.com")]),
            ("http://h/", &[proxy, ("no_proxy", "*")]),
        ] {
            assert_eq!(said(target, variables), None, "{target} {variables:?}");
        }
        assert!(said("http://notexample.com/", &[proxy, ("no_proxy", "example.com")]).is_some());
    }
}
