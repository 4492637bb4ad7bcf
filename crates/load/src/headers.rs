//! The headers of all requests: what the user gives, and what follows from other options.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;
use pitot_client::{ClientEntry, Url};
use pitot_results::Failure;

use crate::options::Options;

/// How the client calls itself if the user says nothing else.
const USER_AGENT: &str = concat!("pitot/", env!("CARGO_PKG_VERSION"));

/// All headers that requests have in common. Those that the user writes take precedence over what is sent by default,
/// and contradict what other options ask for.
pub(crate) fn headers(
    options: &Options,
    url: &Url,
    client: &ClientEntry,
) -> Result<Vec<(String, String)>, Failure> {
    let mut headers = options.headers.iter().map(|text| parse(text)).collect::<Result<Vec<_>, _>>()?;
    if !client.has_methods {
        return Ok(headers);
    }
    let given = |name: &str| headers.iter().any(|(n, _)| n.eq_ignore_ascii_case(name));
    let twice = |one: &str, other: &str| {
        Err(Failure::misuse(format!("{one} and {other} set the same header"), "remove one of them"))
    };
    let user_agent = match &options.content.user_agent {
        Some(_) if given("user-agent") => return twice("--user-agent", "-H User-Agent"),
        Some(name) => Some(name.clone()).filter(|name| !name.is_empty()),
        None => (!given("user-agent")).then(|| USER_AGENT.to_owned()),
    };
    let credentials = match (&options.content.basic_auth, &url.user_info) {
        (Some(_), Some(_)) => return twice("--basic-auth", "the name in the URL"),
        (Some(_), None) if given("authorization") => return twice("--basic-auth", "-H Authorization"),
        (None, Some(_)) if given("authorization") => return twice("the name in the URL", "-H Authorization"),
        (Some(text), None) if !text.contains(':') => {
            return Err(Failure::misuse(
                format!("`{text}` has no password"),
                "write --basic-auth USER:PASSWORD; an empty password is USER:",
            ));
        }
        (Some(text), None) => Some(text.as_bytes().to_vec()),
        (None, Some(text)) => {
            let mut decoded: Vec<u8> = percent_decode_str(text).collect();
            // The first colon divides, and one is needed (RFC 7617 section 2).
            if !text.contains(':') {
                decoded.push(b':');
            }
            Some(decoded)
        }
        (None, None) => None,
    };
    if let Some(credentials) = credentials {
        headers.push(("Authorization".into(), format!("Basic {}", STANDARD.encode(credentials))));
    }
    if let Some(name) = user_agent {
        headers.push(("User-Agent".into(), name));
    }
    Ok(headers)
}

fn parse(text: &str) -> Result<(String, String), Failure> {
    let (name, value) = text.split_once(':').ok_or_else(|| {
        Failure::misuse(format!("`{text}` is not a header"), "write it as -H 'Name: value'")
    })?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use pitot_client::find;

    use super::*;

    fn of(url: &str, change: impl FnOnce(&mut Options)) -> Result<Vec<(String, String)>, Failure> {
        let mut options = Options::new(url);
        change(&mut options);
        headers(&options, &Url::parse(url).unwrap(), find("http").unwrap())
    }

    fn value<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
        headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    #[test]
    fn credentials_come_from_the_option_or_the_url() {
        let basic = |headers: &[(String, String)]| {
            let text = value(headers, "Authorization").unwrap().strip_prefix("Basic ").unwrap().to_owned();
            String::from_utf8(STANDARD.decode(text).unwrap()).unwrap()
        };
        let option = of("http://h/", |o| o.content.basic_auth = Some("me:se:cret".into())).unwrap();
        assert_eq!(basic(&option), "me:se:cret");
        assert_eq!(basic(&of("http://me%40home:p%zz%3A@h/", |_| ()).unwrap()), "me@home:p%zz:");
        assert_eq!(basic(&of("http://me@h/", |_| ()).unwrap()), "me:");
        let twice = of("http://me@h/", |o| o.content.basic_auth = Some("me:x".into())).unwrap_err();
        assert!(twice.what.contains("the same header"), "{twice}");
        assert!(of("http://me@h/", |o| o.headers = vec!["authorization: x".into()]).is_err());
        assert!(of("http://h/", |o| o.content.basic_auth = Some("me".into())).is_err());
    }

    #[test]
    fn the_client_has_a_name_that_can_be_changed_or_left_out() {
        let name = |change: fn(&mut Options)| {
            value(&of("http://h/", change).unwrap(), "User-Agent").map(str::to_owned)
        };
        assert_eq!(name(|_| ()).as_deref(), Some(USER_AGENT));
        assert_eq!(name(|o| o.content.user_agent = Some("x".into())).as_deref(), Some("x"));
        assert_eq!(name(|o| o.content.user_agent = Some(String::new())), None);
        assert_eq!(name(|o| o.headers = vec!["user-agent: mine".into()]), None);
        assert!(
            of("http://h/", |o| {
                o.headers = vec!["User-Agent: mine".into()];
                o.content.user_agent = Some("x".into());
            })
            .is_err()
        );
    }
}
