//! The data of the responder: generated mail domains, their mail hosts, and a few domains that misbehave.

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr};

use hickory_proto::rr::rdata::{A, AAAA, MX, SOA};
use hickory_proto::rr::{Name, RData, Record, RecordType};

/// The lifetime of all answers, seconds.
const TTL_S: u32 = 300;
/// Mail hosts of the domain that has many.
const MANY: u16 = 60;
/// A loopback address on which nothing should listen.
const NOT_LISTENING: Ipv4Addr = Ipv4Addr::new(127, 255, 255, 254);

/// The contents of the zone.
#[derive(Clone, Debug)]
pub struct ZoneOptions {
    /// The number of generated domains.
    pub domains: u64,
    /// Their names, with `{}` for the number, from 0.
    pub pattern: String,
    /// How many of the last ones have only an address and no MX record.
    pub without_mx: u64,
    /// The mail hosts; domain `i` has number `i` modulo their count.
    pub hosts: Vec<MailHost>,
}

/// A mail host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MailHost {
    /// The name of the host.
    pub name: String,
    /// The addresses of the host.
    pub addresses: Vec<IpAddr>,
}

impl MailHost {
    /// `count` hosts `mx0.sink.test`, `mx1.sink.test` ..., with the addresses 127.0.0.1, 127.0.0.2 ...
    ///
    /// # Errors
    /// One line if there are not enough loopback addresses.
    pub fn many(count: u32) -> Result<Vec<MailHost>, String> {
        let first = u32::from(Ipv4Addr::LOCALHOST);
        if !(1..0x00ff_0000).contains(&count) {
            return Err(format!("{count} mail hosts: use 1 to 16711679, as many as there are addresses"));
        }
        let host = |n| MailHost {
            name: format!("mx{n}.sink.test"),
            addresses: vec![IpAddr::V4(Ipv4Addr::from(first + n))],
        };
        Ok((0..count).map(host).collect())
    }
}

/// What there is for a question.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Found {
    /// Records, or none of this type.
    Records(Vec<Record>),
    /// No such name.
    NoName,
    /// The server is to fail.
    Failure,
    /// No answer.
    Silence,
}

/// The names and their records.
#[derive(Debug)]
pub(crate) struct Zone {
    domains: u64,
    with_mx: u64,
    prefix: Vec<u8>,
    suffix: Vec<u8>,
    hosts: Vec<Host>,
    /// Places in `hosts`, by name in lower case without its root.
    places: HashMap<String, usize>,
    /// Names that have names below them, beside those of the pattern's: they exist (RFC 8020).
    parents: HashSet<String>,
    apex: Name,
}

#[derive(Debug)]
struct Host {
    name: Name,
    addresses: Vec<RData>,
}

impl Zone {
    pub(crate) fn new(options: &ZoneOptions) -> Result<Zone, String> {
        let (prefix, suffix) =
            options.pattern.split_once("{}").filter(|(_, suffix)| !suffix.contains('{')).ok_or_else(
                || format!("`{}` has no placeholder `{{}}` for the number of a domain", options.pattern),
            )?;
        let last = format!("{prefix}{}{suffix}", options.domains.saturating_sub(1));
        name(&last)?;
        if options.hosts.is_empty() {
            return Err("no mail host is given".into());
        }
        if options.without_mx > options.domains {
            return Err(format!(
                "{} of {} domains without an MX are too many",
                options.without_mx, options.domains
            ));
        }
        let hosts = options.hosts.iter().map(Host::new).collect::<Result<Vec<_>, _>>()?;
        let places = hosts.iter().enumerate().map(|(place, host)| (lower(&host.name), place)).collect();
        let mut parents: HashSet<String> = ["", "test", "sink.test"].map(String::from).into();
        let generated = (options.domains > 0).then_some(suffix.to_ascii_lowercase());
        for below in hosts.iter().map(|host| lower(&host.name)).chain(generated) {
            let below = below.trim_end_matches('.');
            parents.extend(below.match_indices('.').map(|(at, _)| below[at + 1..].to_owned()));
        }
        Ok(Zone {
            parents,
            domains: options.domains,
            with_mx: options.domains - options.without_mx,
            prefix: prefix.to_ascii_lowercase().into_bytes(),
            suffix: suffix.trim_end_matches('.').to_ascii_lowercase().into_bytes(),
            hosts,
            places,
            apex: name("test")?,
        })
    }

    pub(crate) fn find(&self, asked: &Name, record_type: RecordType) -> Found {
        let text = lower(asked);
        if let Some(number) = self.number(text.as_bytes()) {
            let host = &self.hosts[(number % self.hosts.len() as u64) as usize];
            return Found::Records(if number < self.with_mx {
                mx(asked, record_type, [(10, host.name.clone())])
            } else {
                host.addresses(asked, record_type)
            });
        }
        let first = &self.hosts[0];
        match text.as_str() {
            "a-only.test" => return Found::Records(first.addresses(asked, record_type)),
            "null-mx.test" => return Found::Records(mx(asked, record_type, [(0, Name::root())])),
            "no-mail.test" => return Found::Records(Vec::new()),
            "servfail.test" => return Found::Failure,
            "silent.test" => return Found::Silence,
            "dangling-mx.test" => return self.special_mx(asked, record_type, &[(10, "gone.sink.test")]),
            "refusing-mx.test" => return self.special_mx(asked, record_type, &[(10, "refusing.sink.test")]),
            "backup-mx.test" => {
                let Ok(refusing) = name("refusing.sink.test") else { return Found::Failure };
                let hosts = [(20, first.name.clone()), (10, refusing)];
                return Found::Records(mx(asked, record_type, hosts));
            }
            "many-mx.test" => {
                let hosts = (0..MANY).filter_map(|n| Some((n, name(&format!("many{n}.sink.test")).ok()?)));
                return Found::Records(mx(asked, record_type, hosts));
            }
            "refusing.sink.test" => {
                let address = Host::record_of(IpAddr::V4(NOT_LISTENING));
                return Found::Records(of_type(asked, record_type, [address]));
            }
            _ => {}
        }
        let is_of_many = text
            .strip_prefix("many")
            .and_then(|rest| rest.strip_suffix(".sink.test")?.parse().ok())
            .is_some_and(|n: u16| n < MANY);
        if is_of_many {
            return Found::Records(first.addresses(asked, record_type));
        }
        match self.places.get(&text) {
            Some(&place) => Found::Records(self.hosts[place].addresses(asked, record_type)),
            None if self.has_children(&text) => Found::Records(Vec::new()),
            None => Found::NoName,
        }
    }

    /// Whether there are names below this one. It then exists, without records.
    fn has_children(&self, text: &str) -> bool {
        let dots = self.prefix.iter().enumerate().filter(|(_, b)| **b == b'.');
        self.parents.contains(text)
            || dots
                .into_iter()
                .any(|(at, _)| self.number_after(&self.prefix[at + 1..], text.as_bytes()).is_some())
    }

    /// The record with the time for which the absence of a name may be cached (RFC 2308).
    pub(crate) fn authority(&self) -> Record {
        let soa = SOA::new(self.apex.clone(), self.apex.clone(), 1, 3600, 600, 86_400, TTL_S);
        Record::from_rdata(self.apex.clone(), TTL_S, RData::SOA(soa))
    }

    /// The number of a generated domain.
    fn number(&self, text: &[u8]) -> Option<u64> {
        self.number_after(&self.prefix, text)
    }

    fn number_after(&self, prefix: &[u8], text: &[u8]) -> Option<u64> {
        let digits = text.strip_prefix(prefix)?.strip_suffix(&self.suffix[..])?;
        let canonical = digits == b"0" || digits.first().is_some_and(|digit| (b'1'..=b'9').contains(digit));
        let number = str::from_utf8(digits).ok()?.parse().ok()?;
        (canonical && number < self.domains).then_some(number)
    }

    fn special_mx(&self, asked: &Name, record_type: RecordType, hosts: &[(u16, &str)]) -> Found {
        let hosts = hosts.iter().filter_map(|(preference, host)| Some((*preference, name(host).ok()?)));
        Found::Records(mx(asked, record_type, hosts))
    }
}

impl Host {
    fn new(host: &MailHost) -> Result<Host, String> {
        if host.addresses.is_empty() {
            return Err(format!("mail host {} has no address", host.name));
        }
        let name = name(&host.name)?;
        let addresses = host.addresses.iter().copied().map(Host::record_of).collect();
        Ok(Host { name, addresses })
    }

    fn record_of(address: IpAddr) -> RData {
        match address {
            IpAddr::V4(address) => RData::A(A(address)),
            IpAddr::V6(address) => RData::AAAA(AAAA(address)),
        }
    }

    fn addresses(&self, asked: &Name, record_type: RecordType) -> Vec<Record> {
        of_type(asked, record_type, self.addresses.iter().cloned())
    }
}

fn mx(asked: &Name, record_type: RecordType, hosts: impl IntoIterator<Item = (u16, Name)>) -> Vec<Record> {
    if record_type != RecordType::MX {
        return Vec::new();
    }
    let of = |(preference, host)| RData::MX(MX::new(preference, host));
    of_type(asked, record_type, hosts.into_iter().map(of))
}

fn of_type(asked: &Name, record_type: RecordType, data: impl IntoIterator<Item = RData>) -> Vec<Record> {
    let data = data.into_iter().filter(|data| data.record_type() == record_type);
    data.map(|data| Record::from_rdata(asked.clone(), TTL_S, data)).collect()
}

/// A name as text in lower case without its root.
fn lower(name: &Name) -> String {
    let mut text = name.to_ascii();
    if text.ends_with('.') {
        text.pop();
    }
    text.make_ascii_lowercase();
    text
}

/// A name from text, with its root.
fn name(text: &str) -> Result<Name, String> {
    let mut name = Name::from_ascii(text).map_err(|_| format!("`{text}` is not a domain name"))?;
    name.set_fqdn(true);
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> ZoneOptions {
        ZoneOptions {
            domains: 10,
            pattern: "d{}.test".into(),
            without_mx: 2,
            hosts: MailHost::many(3).unwrap(),
        }
    }

    fn found(text: &str, record_type: RecordType) -> Vec<String> {
        match Zone::new(&options()).unwrap().find(&name(text).unwrap(), record_type) {
            Found::Records(records) => records.iter().map(|record| record.data.to_string()).collect(),
            other => vec![format!("{other:?}")],
        }
    }

    #[test]
    fn generated_domains_share_the_mail_hosts() {
        assert_eq!(found("d0.test", RecordType::MX), ["10 mx0.sink.test."]);
        assert_eq!(found("D7.Test", RecordType::MX), ["10 mx1.sink.test."]);
        assert!(found("d7.test", RecordType::A).is_empty());
        assert!(found("d8.test", RecordType::MX).is_empty());
        assert_eq!(found("d8.test", RecordType::A), ["127.0.0.3"]);
        assert_eq!(found("mx1.sink.test", RecordType::A), ["127.0.0.2"]);
        assert!(found("mx1.sink.test", RecordType::AAAA).is_empty());
        for none in ["d10.test", "d00.test", "d.test", "x.d1.test", "d1.test.test", "mx3.sink.test"] {
            assert_eq!(found(none, RecordType::MX), ["NoName"], "{none}");
        }
    }

    #[test]
    fn names_that_have_others_below_them_exist() {
        for parent in [".", "test", "TEST", "sink.test"] {
            assert!(found(parent, RecordType::A).is_empty(), "{parent}");
        }
        let options = ZoneOptions { pattern: "mail.d{}.a.Example".into(), ..options() };
        let zone = Zone::new(&options).unwrap();
        let found = |text: &str| zone.find(&name(text).unwrap(), RecordType::MX);
        for parent in ["example", "a.example", "d9.a.example"] {
            assert_eq!(found(parent), Found::Records(Vec::new()), "{parent}");
        }
        for none in ["d10.a.example", "b.example", "le", "1.a.example"] {
            assert_eq!(found(none), Found::NoName, "{none}");
        }
    }

    #[test]
    fn domains_that_misbehave() {
        assert_eq!(found("null-mx.test", RecordType::MX), ["0 ."]);
        assert_eq!(found("a-only.test", RecordType::A), ["127.0.0.1"]);
        assert!(found("a-only.test", RecordType::MX).is_empty());
        assert!(
            found("no-mail.test", RecordType::MX).is_empty()
                && found("no-mail.test", RecordType::A).is_empty()
        );
        assert_eq!(found("servfail.test", RecordType::A), ["Failure"]);
        assert_eq!(found("silent.test", RecordType::MX), ["Silence"]);
        assert_eq!(found("dangling-mx.test", RecordType::MX), ["10 gone.sink.test."]);
        assert_eq!(found("gone.sink.test", RecordType::A), ["NoName"]);
        assert_eq!(found("backup-mx.test", RecordType::MX), ["20 mx0.sink.test.", "10 refusing.sink.test."]);
        assert_eq!(found("refusing.sink.test", RecordType::A), ["127.255.255.254"]);
        assert_eq!(found("many-mx.test", RecordType::MX).len(), 60);
        assert_eq!(found("many59.sink.test", RecordType::A), ["127.0.0.1"]);
        assert_eq!(found("many60.sink.test", RecordType::A), ["NoName"]);
    }

    #[test]
    fn options_that_make_no_zone_are_refused() {
        let wrong = [
            ZoneOptions { pattern: "d.test".into(), ..options() },
            ZoneOptions { pattern: "{}{}.test".into(), ..options() },
            ZoneOptions { pattern: "d{}..test".into(), ..options() },
            ZoneOptions { pattern: format!("{{}}.{}", "x".repeat(64)), ..options() },
            ZoneOptions { without_mx: 11, ..options() },
            ZoneOptions { hosts: Vec::new(), ..options() },
            ZoneOptions { hosts: vec![MailHost { name: "a".into(), addresses: Vec::new() }], ..options() },
        ];
        for wrong in wrong {
            assert!(Zone::new(&wrong).is_err(), "{wrong:?}");
        }
        assert!(MailHost::many(0).is_err());
    }
}
