//! Content codings (RFC 9110 section 8.4.1) of precompressed files, and those that a client accepts (`Accept-Encoding`,
//! section 12.5.3).

use super::syntax::{elements, trim};

/// A content coding, in the order of preference among equally accepted ones: the best compression first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// RFC 7932.
    Brotli,
    /// RFC 8878.
    Zstd,
    /// RFC 1952.
    Gzip,
}

impl Coding {
    /// All of them, the preferred one first.
    pub const ALL: [Coding; 3] = [Coding::Brotli, Coding::Zstd, Coding::Gzip];

    /// The name in `Content-Encoding`.
    pub const fn name(self) -> &'static str {
        match self {
            Coding::Brotli => "br",
            Coding::Zstd => "zstd",
            Coding::Gzip => "gzip",
        }
    }

    /// The suffix of a compressed file.
    pub const fn suffix(self) -> &'static str {
        match self {
            Coding::Brotli => ".br",
            Coding::Zstd => ".zst",
            Coding::Gzip => ".gz",
        }
    }
}

/// A set of codings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Codings(u8);

impl Codings {
    /// Adds one.
    pub fn insert(&mut self, coding: Coding) {
        self.0 |= 1 << coding as u8;
    }

    /// True if it is among them.
    pub fn contains(self, coding: Coding) -> bool {
        self.0 & 1 << coding as u8 != 0
    }
}

/// The weight of each coding in thousandths; `None` for one that the client has not named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accepted {
    named: [Option<u16>; Coding::ALL.len()],
    identity: Option<u16>,
    any: Option<u16>,
}

impl Accepted {
    /// Adds the value of an `Accept-Encoding` field. Malformed codings are not accepted.
    pub fn add(&mut self, value: &[u8]) {
        for element in elements(value) {
            let mut parts = element.split(|&b| b == b';').map(trim);
            let name = parts.next().unwrap_or_default();
            let weight = parts.next().map_or(Some(1000), weight).filter(|_| parts.next().is_none());
            let weight = Some(weight.unwrap_or(0));
            let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
            if let Some(coding) = Coding::ALL.into_iter().find(|coding| is(coding.name())) {
                self.named[coding as usize] = weight;
            } else if is("x-gzip") {
                self.named[Coding::Gzip as usize] = weight;
            } else if is("identity") {
                self.identity = weight;
            } else if is("*") {
                self.any = weight;
            }
        }
    }

    /// The coding to try next: the best one for the client that is not among `tried`; `None` if it prefers the content uncoded.
    pub fn best(&self, tried: Codings) -> Option<Coding> {
        let weight = |coding: Coding| self.named[coding as usize].or(self.any).unwrap_or(0);
        let left = Coding::ALL.into_iter().filter(|&coding| !tried.contains(coding) && weight(coding) > 0);
        // `max_by_key` returns the last of equal ones.
        let best = left.rev().max_by_key(|&coding| weight(coding))?;
        (weight(best) >= self.identity.unwrap_or(0)).then_some(best)
    }
}

/// The weight in a parameter `q=0.5`, in thousandths (RFC 9110 section 12.4.2).
fn weight(parameter: &[u8]) -> Option<u16> {
    let [b'q' | b'Q', b'=', value @ ..] = parameter else { return None };
    let (whole, decimals) = match value {
        [whole @ (b'0' | b'1')] => (whole, &[][..]),
        [whole @ (b'0' | b'1'), b'.', decimals @ ..] if decimals.len() <= 3 => (whole, decimals),
        _ => return None,
    };
    let mut thousandths = u16::from(whole - b'0') * 1000;
    for (digit, unit) in decimals.iter().zip([100, 10, 1]) {
        thousandths += u16::from(digit.is_ascii_digit().then(|| digit - b'0')?) * unit;
    }
    (thousandths <= 1000).then_some(thousandths)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of the codings that are tried for a client, in their order.
    fn tried(values: &[&str]) -> Vec<&'static str> {
        let mut accepted = Accepted::default();
        values.iter().for_each(|value| accepted.add(value.as_bytes()));
        let (mut tried, mut names) = (Codings::default(), Vec::new());
        while let Some(coding) = accepted.best(tried) {
            tried.insert(coding);
            names.push(coding.name());
        }
        names
    }

    #[test]
    fn the_client_decides_and_the_server_between_equals() {
        for (value, expected) in [
            ("gzip", &["gzip"][..]),
            ("gzip, deflate, br, zstd", &["br", "zstd", "gzip"]),
            ("GZIP;Q=1.000 , X-gzip;q=0.1", &["gzip"]),
            ("x-gzip", &["gzip"]),
            ("gzip;q=0.5, br;q=0.4", &["gzip", "br"]),
            ("br;q=0, *", &["zstd", "gzip"]),
            ("*;q=0.1, gzip", &["gzip", "br", "zstd"]),
            ("*;q=0, zstd", &["zstd"]),
            ("gzip;q=0", &[]),
            ("gzip;q=0.000", &[]),
            ("identity, gzip;q=0.5", &[]),
            ("identity;q=0.5, gzip", &["gzip"]),
            ("identity;q=0, gzip;q=0.1", &["gzip"]),
            ("", &[]),
            ("deflate, compress", &[]),
        ] {
            assert_eq!(tried(&[value]), expected, "{value}");
        }
        assert_eq!(tried(&["br;q=0.1", "gzip"]), ["gzip", "br"]);
    }

    #[test]
    fn what_is_malformed_is_not_accepted() {
        for value in [
            "gzip;q=",
            "gzip;q=2",
            "gzip;q=1.001",
            "gzip;q=0.0001",
            "gzip;q=.5",
            "gzip;q=-1",
            "gzip;q=1;x",
            "gzip;x=1",
            "gz ip",
            "\"gzip\"",
            ";q=1",
            "gzip;q=0,5",
        ] {
            assert_eq!(tried(&[value]), Vec::<&str>::new(), "{value}");
        }
    }
}
