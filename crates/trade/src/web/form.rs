//! Parameters of a query or a form (URL-encoded).

/// Names and values; those of the form come first.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Form(Vec<(String, String)>);

/// The most parameters of a request.
const PARAMETERS_MAX: usize = 200;

impl Form {
    pub(super) fn parse(query: &str, body: &[u8]) -> Form {
        let pairs = body.split(|&b| b == b'&').chain(query.as_bytes().split(|&b| b == b'&'));
        let pair = |pair: &[u8]| {
            let at = pair.iter().position(|&b| b == b'=').unwrap_or(pair.len());
            (decoded(&pair[..at]), decoded(pair.get(at + 1..).unwrap_or_default()))
        };
        Form(pairs.filter(|pair| !pair.is_empty()).take(PARAMETERS_MAX).map(pair).collect())
    }

    /// The value of the first of these names that is there; empty if none is.
    pub(super) fn get(&self, names: &[&str]) -> &str {
        let find =
            |name: &&str| self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        names.iter().find_map(find).unwrap_or_default()
    }
}

fn decoded(text: &[u8]) -> String {
    let digit = |b: Option<&u8>| char::from(*b?).to_digit(16).map(|d| d as u8);
    let mut bytes = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(&b) = text.get(at) {
        let code = digit(text.get(at + 1)).zip(digit(text.get(at + 2)));
        match (b, code) {
            (b'%', Some((high, low))) => {
                bytes.push(high << 4 | low);
                at += 2;
            }
            (b'+', _) => bytes.push(b' '),
            _ => bytes.push(b),
        }
        at += 1;
    }
    // PostgreSQL does not allow NUL in text.
    String::from_utf8_lossy(&bytes).replace('\0', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded_and_a_form_goes_before_the_query() {
        let form = Form::parse("action=buy&symbol=s%3A1&q=%zz%4", b"symbol=s%3a2&Full+Name=Ann+%c3%a4&x");
        assert_eq!(form.get(&["action"]), "buy");
        assert_eq!(form.get(&["symbol"]), "s:2");
        assert_eq!(form.get(&["fullname", "Full Name"]), "Ann \u{e4}");
        assert_eq!((form.get(&["x"]), form.get(&["none"]), form.get(&["q"])), ("", "", "%zz%4"));
    }
}
