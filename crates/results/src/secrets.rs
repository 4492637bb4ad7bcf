//! Secrets in what is shown and stored: the one place that knows them and masks them.
//!
//! A secret is known by where it stands: the name and password of a URL, and the value of a header, a parameter, a field, a
//! variable or an option whose name says so ([`is_secret`]). [`mask`] finds those in any text. [`Secrets`] also remembers the
//! values, and masks them wherever they come again: in what a server prints, say. A value of fewer than `LENGTH_MIN`
//! characters is masked only where it stands as a secret, since it could be a part of any word.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::Value;

/// What stands in the place of a secret.
pub const MASK: &str = "***";

/// A shorter value is not looked for in other texts.
const LENGTH_MIN: usize = 6;

/// Parts of names whose values are secrets.
const SECRET_PARTS: &[&str] =
    &["authorization", "cookie", "credential", "passphrase", "passwd", "password", "secret", "token"];
/// Names that are those of secrets as a whole.
const SECRET_NAMES: &[&str] = &["auth", "basicauth", "pass", "pin", "pwd"];
/// Names of options and settings that only sound like secrets: paths, flags and numbers.
const PLAIN_SETTINGS: &[&str] = &["cookies", "keepsecrets", "key", "pass", "pin", "tlskey"];

/// Whether the value of a header, a field of a form or a parameter of a query is a secret by its name: credentials, cookies,
/// identifiers of sessions, and what calls itself a token, a key or a secret.
pub fn is_secret(name: &str) -> bool {
    let name = plain(name);
    SECRET_PARTS.iter().any(|part| name.contains(part))
        || SECRET_NAMES.contains(&&*name)
        || name.ends_with("key")
        || name.ends_with("sessionid")
}

/// The same of an option, a variable or a setting.
fn is_secret_setting(name: &str) -> bool {
    is_secret(name) && !PLAIN_SETTINGS.contains(&&*plain(name))
}

fn plain(name: &str) -> String {
    name.trim().to_ascii_lowercase().replace(['-', '_'], "")
}

/// A text without the secrets that stand in it as such: a URL, a command line, a plan.
pub fn mask(text: &str) -> Cow<'_, str> {
    replaced(text, &found(text))
}

/// The value of an option of `pitot load`, by its name with or without dashes, without what is secret in it.
pub fn mask_option<'a>(name: &str, value: &'a str) -> Cow<'a, str> {
    replaced(value, &found_of(name, value))
}

fn replaced<'a>(text: &'a str, spans: &[Range<usize>]) -> Cow<'a, str> {
    if spans.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut masked = String::with_capacity(text.len());
    let mut done = 0;
    for span in spans {
        masked.push_str(&text[done..span.start]);
        masked.push_str(MASK);
        done = span.end;
    }
    masked.push_str(&text[done..]);
    Cow::Owned(masked)
}

/// Where secrets stand in the value of an option or a setting.
fn found_of(name: &str, value: &str) -> Vec<Range<usize>> {
    let name = name.trim_start_matches('-');
    let name = name.rsplit('.').next().unwrap_or_default();
    let after = |separator: char| {
        let at = value.find(separator).filter(|at| is_secret(&value[..*at]))? + 1;
        literal(value, at + leading_spaces(&value[at..]))
    };
    let whole = match name {
        "H" | "header" | "headers" => after(':'),
        "form" => after('='),
        name if is_name(name) && is_secret_setting(name) => literal(value, 0),
        _ => None,
    };
    whole.map_or_else(|| found(value), |span| vec![span])
}

fn leading_spaces(text: &str) -> usize {
    text.len() - text.trim_start_matches([' ', '\t']).len()
}

/// The rest of a value, unless nothing secret is there.
fn literal(value: &str, from: usize) -> Option<Range<usize>> {
    let rest = &value[from..];
    let is_placeholder = rest.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).is_some_and(is_name);
    (!rest.is_empty() && !rest.ends_with(MASK) && !is_placeholder).then_some(from..value.len())
}

/// Whether a value is masked, or its last word is a variable of a shell or a placeholder.
fn stands_for_another(value: &str) -> bool {
    let word = value.rsplit(' ').next().unwrap_or_default();
    let braced = |open: &str, close: char| {
        word.strip_prefix(open).and_then(|rest| rest.strip_suffix(close)).is_some_and(is_name)
    };
    let is_variable = word.strip_prefix('$').is_some_and(is_name);
    value.ends_with(MASK) || is_variable || braced("{", '}') || braced("${", '}') || braced("<", '>')
}

/// Where secrets stand in a text, from left to right.
fn found(text: &str) -> Vec<Range<usize>> {
    let mut spans: Vec<Range<usize>> = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find(['=', ':', '-']).map(|at| from + at) {
        let span = match text.as_bytes()[at] {
            b'=' => of_assignment(text, at),
            b':' if text[at..].starts_with("://") => of_url(text, at),
            b':' if text[..at].ends_with('"') => of_assignment(text, at),
            b':' => None,
            _ => of_option(text, at),
        };
        match span.filter(|span| !span.is_empty() && !stands_for_another(&text[span.clone()])) {
            Some(span) => {
                from = span.end;
                spans.push(span);
            }
            None => from = at + 1,
        }
    }
    spans
}

/// Name and password of a URL whose scheme ends at `colon`.
fn of_url(text: &str, colon: usize) -> Option<Range<usize>> {
    let start = colon + "://".len();
    let rest = &text[start..];
    let ends =
        |c: char| matches!(c, '/' | '?' | '#' | '"' | '\'' | '`' | '\\' | '<' | '>') || c.is_whitespace();
    let authority = &rest[..rest.find(ends).unwrap_or(rest.len())];
    Some(start..start + authority.rfind('@')?)
}

/// The value of `name=value`, where the name is a secret's: a parameter of a query, a variable, a setting of TOML; or of
/// `"name": "value"`.
fn of_assignment(text: &str, equals: usize) -> Option<Range<usize>> {
    let before = text[..equals].trim_end_matches([' ', '\t']);
    let quoted_name = before.ends_with(['"', '\'']);
    let before = before.strip_suffix(['"', '\'']).unwrap_or(before);
    let name_at = before.rfind(|c: char| !is_of_name(c)).map_or(0, |at| at + last_len(&before[at..]));
    let (name, lead) = (&before[name_at..], before[..name_at].chars().next_back());
    let rest = &text[equals + 1..];
    let at = equals + 1 + leading_spaces(rest);
    let is_spaced = before.len() + usize::from(quoted_name) != equals || at != equals + 1;
    let of_query = matches!(lead, Some('?' | '&'));
    if name.is_empty() || !(if of_query { is_secret(name) } else { is_secret_setting(name) }) {
        return None;
    }
    match text[at..].chars().next()? {
        // As in TOML, or as a shell quotes a value.
        quote @ ('"' | '\'') => Some(at + 1..at + 1 + quoted_len(&text[at + 1..], quote)),
        _ if is_spaced => None,
        // A word that is quoted as a whole, such as 'name=a value'.
        _ if let (Some(quote @ ('"' | '\'')), false) = (lead, quoted_name) => {
            Some(at..at + quoted_len(&text[at..], quote))
        }
        _ => {
            let ends =
                |c: char| matches!(c, '&' | '#' | '"' | '\'' | '`' | ';' | ',' | ')') || c.is_whitespace();
            Some(at..at + text[at..].find(ends).unwrap_or(text.len() - at))
        }
    }
}

/// The value of an option whose dashes begin at `dash`: `-H 'Name: value'`, `--token value`.
fn of_option(text: &str, dash: usize) -> Option<Range<usize>> {
    let begins =
        text[..dash].chars().next_back().is_none_or(|c| c.is_whitespace() || matches!(c, '"' | '\''));
    let dashes = text[dash..].len() - text[dash..].trim_start_matches('-').len();
    if !begins || dashes > 2 {
        return None;
    }
    let word = &text[dash + dashes..];
    let name = match (dashes, word.strip_prefix('H')) {
        // The value may be attached to it.
        (1, Some(_)) => "H",
        _ => &word[..word.find(|c| !is_of_name(c)).unwrap_or(word.len())],
    };
    let at = dash + dashes + name.len();
    let at = at + text[at..].strip_prefix('=').map_or_else(|| leading_spaces(&text[at..]), |_| 1);
    let (at, quote) = match text[at..].chars().next()? {
        quote @ ('"' | '\'') => (at + 1, Some(quote)),
        '-' => return None,
        _ => (at, None),
    };
    let is_header = matches!((dashes, name), (1, "H") | (2, "header"));
    let end = match quote {
        Some(quote) => quoted_len(&text[at..], quote),
        // The words of a command line that were joined: up to the next option.
        None if is_header => text[at..].find(" -").unwrap_or(text.len() - at),
        None => text[at..].find(char::is_whitespace).unwrap_or(text.len() - at),
    };
    let value = &text[at..at + end];
    match is_header {
        true => {
            let colon = value.find(':').filter(|colon| is_secret(&value[..*colon]))? + 1;
            Some(at + colon + leading_spaces(&value[colon..])..at + end)
        }
        false => (dashes == 2 && is_secret_setting(name)).then_some(at..at + end),
    }
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_of_name)
}

fn last_len(text: &str) -> usize {
    text.chars().next().map_or(0, char::len_utf8)
}

/// The length of what stands before the closing quote, where a backslash (in double quotes) or `'\''` keeps one.
fn quoted_len(text: &str, quote: char) -> usize {
    let mut at = 0;
    while let Some(next) = text[at..].find([quote, '\\']).map(|next| at + next) {
        let rest = &text[next..];
        at = match rest.starts_with('\\') {
            true if quote == '"' => next + 1 + last_len(&rest[1..]),
            true => next + 1,
            false if quote == '\'' && rest.starts_with("'\\''") => next + 4,
            false => return next,
        };
    }
    text.len()
}

/// Secrets by their values, which are masked wherever they come again.
#[derive(Clone, Default)]
pub struct Secrets {
    /// The values in all forms in which they may be written, longest first.
    forms: Vec<String>,
    has_any: bool,
}

// Values are in no message.
impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.has_any { "Secrets(some)" } else { "Secrets(none)" })
    }
}

impl Secrets {
    /// Remembers the secrets that stand in a text such as a command.
    pub fn learn(&mut self, text: &str) {
        for span in found(text) {
            self.add(&text[span]);
        }
        self.sort();
    }

    /// Remembers those in the strings of a value such as a plan.
    pub fn learn_json(&mut self, value: &Value) {
        each_text(&mut value.clone(), "", false, &mut |name, text| {
            for span in found_of(name, text) {
                self.add(&text[span]);
            }
        });
        self.sort();
    }

    fn add(&mut self, value: &str) {
        self.has_any = true;
        // `Basic abc`, `name:password` and `name=value; name=value` are made of parts that are secrets by themselves.
        let mut parts = vec![value];
        parts.extend(value.rsplit_once(' ').map(|(_, word)| word));
        parts.extend(value.split_once(':').map(|(_, password)| password));
        parts.extend(value.split(';').filter_map(|pair| pair.split_once('=')).map(|(_, value)| value.trim()));
        for part in parts.into_iter().filter(|part| part.len() >= LENGTH_MIN) {
            // As in JSON and TOML, and as a shell quotes it.
            let json = serde_json::to_string(part).unwrap_or_default();
            let json = json.get(1..json.len().saturating_sub(1)).unwrap_or_default();
            let forms = [part, json, &part.replace('\'', r"'\''")].map(str::to_owned);
            self.forms.extend(forms.into_iter().filter(|form| form.len() >= LENGTH_MIN));
        }
    }

    fn sort(&mut self) {
        self.forms.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        self.forms.dedup();
    }

    /// A text such as a command without the secrets that stand in it and those that are known.
    pub fn hide<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.hide_values(mask(text))
    }

    /// The value of an option or a level of a factor without them.
    pub fn hide_option<'a>(&self, name: &str, value: &'a str) -> Cow<'a, str> {
        self.hide_values(mask_option(name, value))
    }

    /// What a program printed, without the secrets that are known. What looks like one is none: a server that complains of a
    /// token means its syntax.
    pub fn hide_known<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.hide_values(Cow::Borrowed(text))
    }

    fn hide_values<'a>(&self, text: Cow<'a, str>) -> Cow<'a, str> {
        self.forms.iter().fold(text, |text, form| match text.contains(form.as_str()) {
            true => Cow::Owned(text.replace(form.as_str(), MASK)),
            false => text,
        })
    }

    /// A value without them. One that is not `is_readable` without the values that stand where no secret does (a password is
    /// `slices`, say) keeps those.
    pub fn hide_json(&self, value: &Value, is_readable: impl Fn(&Value) -> bool) -> Value {
        if !self.has_any {
            return value.clone();
        }
        let hidden = |hide: &dyn Fn(&str, &str) -> String| {
            let mut hidden = value.clone();
            each_text(&mut hidden, "", false, &mut |name, text| *text = hide(name, text));
            hidden
        };
        let all = hidden(&|name, text| self.hide_option(name, text).into_owned());
        if is_readable(&all) { all } else { hidden(&|name, text| mask_option(name, text).into_owned()) }
    }
}

/// What the strings of a value are called in which secrets are masked.
pub fn masked_names(value: &Value) -> Vec<String> {
    let mut names = Vec::new();
    each_text(&mut value.clone(), "", false, &mut |name, text| {
        let filled = text.replace(MASK, "x");
        if text.contains(MASK)
            && !found_of(name, &filled).is_empty()
            && !names.iter().any(|known| known == name)
        {
            names.push(name.to_owned());
        }
    });
    names
}

/// Hands out the strings of a value, each with the name of what it is the value of, or an empty one. Names stand before
/// values: as keys of objects, first in a pair (`["header", "X: y"]` within a list), as `name` beside `level` or `levels`, and
/// as options in a list of words.
fn each_text(value: &mut Value, name: &str, is_in_list: bool, visit: &mut impl FnMut(&str, &mut String)) {
    match value {
        Value::String(text) => visit(name, text),
        Value::Array(items) => {
            let is_pair = is_in_list && items.len() == 2;
            let mut before: Option<String> = None;
            for (index, item) in items.iter_mut().enumerate() {
                let of_pair = before.as_deref().filter(|name| is_pair && index == 1 && is_name(name));
                let of_option = before.as_deref().filter(|word| word.starts_with('-') && !word.contains('='));
                let own = of_pair.or(of_option).unwrap_or(name).to_owned();
                each_text(item, &own, true, visit);
                before = item.as_str().map(str::to_owned);
            }
        }
        Value::Object(members) => {
            let named = members.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
            for (key, member) in members.iter_mut() {
                let is_level = key == "level" || key == "levels";
                each_text(member, if is_level { &named } else { key }, false, visit);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
    }

    #[test]
    fn secrets_are_masked_where_they_stand_in_a_text() {
        for (text, masked) in [
            ("http://me:p@ss@h:1/a@b", "http://***@h:1/a@b"),
            ("GET 'http://me@[::1]/' now", "GET 'http://***@[::1]/' now"),
            ("http://h/a?token=x&b=c&key=", "http://h/a?token=***&b=c&key="),
            ("pitot load 'http://h/?api_key=x y'", "pitot load 'http://h/?api_key=*** y'"),
            ("load -H 'X-Api-Key: a b' -c 2", "load -H 'X-Api-Key: ***' -c 2"),
            ("load -H'Cookie: a=b; c=d' -c 2", "load -H'Cookie: ***' -c 2"),
            ("load --header=Authorization: Basic eA== -c 2", "load --header=Authorization: *** -c 2"),
            (r"-H 'X-Token: it'\''s' -c 2", "-H 'X-Token: ***' -c 2"),
            ("--basic-auth me:pw --duration 3s", "--basic-auth *** --duration 3s"),
            ("--form 'password=a b&c' x", "--form 'password=***' x"),
            ("DB_PASSWORD=x ./app --admin-token=y --n=1", "DB_PASSWORD=*** ./app --admin-token=*** --n=1"),
            ("basic-auth = \"u:\\\"p\"\nn = 1", "basic-auth = \"***\"\nn = 1"),
            (
                r#"--body '{"pin":1,"password": "a b","n":2}'"#,
                r#"--body '{"pin":1,"password": "***","n":2}'"#,
            ),
            ("env = { DB_PASSWORD = \"x\", A = \"b\" }", "env = { DB_PASSWORD = \"***\", A = \"b\" }"),
        ] {
            assert_eq!(mask(text), masked);
            assert_eq!(mask(masked), masked, "what is masked stays as it is");
        }
    }

    #[test]
    fn what_only_sounds_like_a_secret_is_left() {
        for text in [
            "key = \"{dir}/key.pem\"",
            "--tls-key key.pem --cookies http://h/",
            "memcache://{address}/?keys=10k&get=0.9",
            "Cookies: what they cost",
            "-H 'Accept: x/y' -H Authorization:$TOKEN --token $TOKEN TOKEN={token}",
            "http://h/a@b?c@d ssh://h mail me@h: token",
            "a-b --n 1 -c -H",
            "passé=ü=é --tokén ä",
        ] {
            assert_eq!(mask(text), text);
        }
    }

    #[test]
    fn a_value_is_masked_wherever_it_comes_again_and_in_every_form() {
        let plan = json!({
            "load": [["url", "http://{address}/"], ["header", ["Accept: x", "X-Api-Key: it's \"9\""]], ["tls-key", "a.pem"]],
            "factors": [{"name": "load.header", "levels": ["Cookie: a=cookie-1", "Cookie: a=cookie-2"]}],
            "servers": [{"env": [["DB_PASSWORD", "hunter22"], ["A", "b"]], "command": ["app", "--token", "tok"]}],
            "title": "hunter22 and others",
            "measure": "slices",
        });
        let mut secrets = Secrets::default();
        secrets.learn_json(&plan);
        let hidden = secrets.hide_json(&plan, |_| true);
        assert_eq!(
            hidden,
            json!({
                "load": [["url", "http://{address}/"], ["header", ["Accept: x", "X-Api-Key: ***"]], ["tls-key", "a.pem"]],
                "factors": [{"name": "load.header", "levels": ["Cookie: ***", "Cookie: ***"]}],
                "servers": [{"env": [["DB_PASSWORD", "***"], ["A", "b"]], "command": ["app", "--token", "***"]}],
                "title": "*** and others",
                "measure": "slices",
            })
        );
        assert_eq!(secrets.hide(r#"header = "X: it's \"9\"""#), r#"header = "X: ***""#);
        assert_eq!(secrets.hide(r#"-H 'X: it'\''s "9"'"#), r"-H 'X: ***'");
        assert_eq!(secrets.hide("got cookie-2, not cookie-1"), "got ***, not ***");
        assert_eq!(secrets.hide("a tok"), "a tok", "it could be a part of any word");
        // The order of keys is that of the file or of the alphabet, as other crates want it of serde_json.
        let mut names = masked_names(&hidden);
        names.sort_unstable();
        assert_eq!(names, ["--token", "DB_PASSWORD", "header", "load.header"]);
        assert!(masked_names(&json!({"title": "***", "url": "http://***/"})).is_empty());
        assert!(!format!("{secrets:?}").contains("hunter"));
    }

    #[test]
    fn a_password_that_is_a_word_of_the_format_does_not_break_it() {
        let plan = json!({"measure": "slices", "url": "http://u:slices@h/", "title": "no slices"});
        let mut secrets = Secrets::default();
        secrets.learn_json(&plan);
        let hidden = secrets.hide_json(&plan, |value| value["measure"] == "slices");
        assert_eq!(hidden, json!({"measure": "slices", "url": "http://***@h/", "title": "no slices"}));
    }
}
