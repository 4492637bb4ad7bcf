//! The mail hosts of a domain (RFC 5321 section 5.1).
//!
//! They are the MX records by preference, those of equal preference in a random order per domain, or without MX records the
//! domain itself. A null MX (RFC 7505), a domain that does not exist and one without addresses refuse mail permanently. If a DNS
//! server fails, the lookup is repeated later.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use pitot_meter::Nanos;

use crate::address::literal_of;
use crate::dns::{Finished, Kind, Lookup, Records, Resolver};

/// Bounds on how long an answer is cached, whatever its records say.
const TTL_S_MIN: u32 = 60;
const TTL_S_MAX: u32 = 86_400;

/// The result of the lookup of a domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// Its hosts, best first.
    Hosts(Vec<HostAddress>),
    /// It accepts no mail: a permanent failure.
    Refused(u16, &'static str),
    /// Unknown for now: a temporary failure.
    Failed(String),
}

/// One address of one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostAddress {
    pub(crate) ip: IpAddr,
    /// The host's name, for TLS and messages.
    pub(crate) name: Arc<str>,
}

/// Finds routes, many at once.
#[derive(Debug)]
pub(crate) struct Router {
    pub(crate) resolver: Resolver,
    /// Domains being looked up, by name.
    domains: HashMap<Box<str>, Asking>,
    hosts: HashMap<Arc<str>, Host>,
    /// Answers that have come since.
    finished: Vec<Finished>,
    routed: Vec<(u32, Route, Nanos)>,
    ipv6: bool,
    random: u64,
}

/// A domain whose lookup is in progress.
#[derive(Debug)]
struct Asking {
    id: u32,
    /// Its hosts, once they are known.
    exchanges: Vec<Arc<str>>,
    /// Hosts without known addresses.
    missing: usize,
    expires: Nanos,
}

/// The result of the lookup of a host name.
#[derive(Debug, Default)]
struct Host {
    addresses: Vec<IpAddr>,
    /// Questions that are not answered.
    open: u8,
    failed: Option<String>,
    expires: Nanos,
    /// Domains that wait for it.
    waiting: Vec<Box<str>>,
}

impl Router {
    pub(crate) fn new(resolver: Resolver, ipv6: bool, random: u64) -> Router {
        Router {
            resolver,
            domains: HashMap::new(),
            hosts: HashMap::new(),
            finished: Vec::new(),
            routed: Vec::new(),
            ipv6,
            random: random | 1,
        }
    }

    /// Looks up the route of a domain, which has this `id` in [`Router::take`].
    pub(crate) fn find(&mut self, id: u32, domain: &str, now: Nanos) {
        if let Some(literal) = literal_of(domain.as_bytes()) {
            let route = match literal {
                Some(ip) => Route::Hosts(vec![HostAddress { ip, name: domain.into() }]),
                None => Route::Refused(550, "5.1.2 the domain is not a valid address literal"),
            };
            return self.routed.push((id, route, Nanos::MAX));
        }
        let asking = Asking { id, exchanges: Vec::new(), missing: 0, expires: Nanos::MAX };
        self.domains.insert(domain.into(), asking);
        self.resolver.ask(domain, Kind::Mx, now, &mut self.finished);
    }

    /// The routes found since the last call, each with its expiry.
    pub(crate) fn take(&mut self, now: Nanos, out: &mut Vec<(u32, Route, Nanos)>) {
        while !self.finished.is_empty() {
            for (name, kind, lookup) in std::mem::take(&mut self.finished) {
                match kind {
                    Kind::Mx => self.exchanges_known(name, lookup, now),
                    Kind::A | Kind::Aaaa => self.address_known(&name, kind, lookup, now),
                }
            }
        }
        out.append(&mut self.routed);
    }

    pub(crate) fn receive(&mut self, server: usize, now: Nanos) {
        self.resolver.receive(server, now, &mut self.finished);
    }

    /// Takes answers over TCP, and handles timeouts.
    pub(crate) fn tend(&mut self, now: Nanos) {
        self.resolver.receive_tcp(now, &mut self.finished);
        self.resolver.expire(now, &mut self.finished);
    }

    fn settle(&mut self, domain: &str, route: Route, expires: Nanos) {
        if let Some(asking) = self.domains.remove(domain) {
            self.routed.push((asking.id, route, expires));
        }
    }

    fn exchanges_known(&mut self, domain: Box<str>, lookup: Lookup, now: Nanos) {
        let records = match lookup {
            Lookup::Found(records) => records,
            Lookup::NoData => Records { exchanges: vec![(0, domain.to_string())], ..Records::default() },
            Lookup::NoSuchName => {
                return self.settle(
                    &domain,
                    Route::Refused(550, "5.1.2 the domain does not exist"),
                    Nanos::MAX,
                );
            }
            Lookup::Failed(why) => return self.settle(&domain, Route::Failed(why), now),
        };
        if records.exchanges.iter().all(|(_, name)| name.is_empty()) {
            let refused = Route::Refused(556, "5.1.10 the domain accepts no mail (null MX)");
            return self.settle(&domain, refused, Nanos::MAX);
        }
        let mut exchanges: Vec<(u16, u64, Arc<str>)> = Vec::with_capacity(records.exchanges.len());
        for (preference, name) in records.exchanges {
            if !name.is_empty() && exchanges.iter().all(|(.., known)| **known != *name) {
                exchanges.push((preference, self.draw(), name.into()));
            }
        }
        exchanges.sort();
        let exchanges: Vec<Arc<str>> = exchanges.into_iter().map(|(.., name)| name).collect();
        let expires = lasting(now, records.ttl_s);
        for (name, ip) in records.glue {
            if exchanges.iter().any(|exchange| **exchange == *name) && (self.ipv6 || ip.is_ipv4()) {
                let host = self.hosts.entry(name.into()).or_default();
                if host.open == 0 && !host.addresses.contains(&ip) {
                    if host.expires <= now {
                        *host = Host { expires, ..Host::default() };
                    }
                    host.addresses.push(ip);
                }
            }
        }
        let mut missing = 0;
        for exchange in &exchanges {
            missing += usize::from(!self.host_is_known(exchange, &domain, now));
        }
        if let Some(asking) = self.domains.get_mut(&*domain) {
            (asking.exchanges, asking.missing, asking.expires) = (exchanges, missing, expires);
        }
        if missing == 0 {
            self.assemble(&domain, now);
        }
    }

    /// Whether a host's addresses are known. If not, looks them up, and the domain waits.
    fn host_is_known(&mut self, name: &Arc<str>, domain: &str, now: Nanos) -> bool {
        let host = self.hosts.entry(Arc::clone(name)).or_default();
        if host.open == 0 && host.expires > now {
            return true;
        }
        host.waiting.push(domain.into());
        if host.open == 0 {
            (host.addresses, host.failed, host.expires) = (Vec::new(), None, Nanos::MAX);
            host.open = 1 + u8::from(self.ipv6);
            self.resolver.ask(name, Kind::A, now, &mut self.finished);
            if self.ipv6 {
                self.resolver.ask(name, Kind::Aaaa, now, &mut self.finished);
            }
        }
        false
    }

    fn address_known(&mut self, name: &str, kind: Kind, lookup: Lookup, now: Nanos) {
        let Some(host) = self.hosts.get_mut(name) else { return };
        host.open -= 1;
        match lookup {
            Lookup::Found(records) => {
                host.addresses.extend(records.addresses);
                host.expires = host.expires.min(lasting(now, records.ttl_s));
            }
            Lookup::NoData | Lookup::NoSuchName => {}
            Lookup::Failed(why) => host.failed = Some(why),
        }
        if host.open > 0 {
            return;
        }
        if host.addresses.is_empty() && kind == Kind::A && !self.ipv6 && host.failed.is_none() {
            // Nothing else is left to try.
            host.open = 1;
            return self.resolver.ask(name, Kind::Aaaa, now, &mut self.finished);
        }
        if host.addresses.is_empty() {
            host.expires = now;
        }
        // IPv4 first: most mail servers can still be reached that way only.
        host.addresses.sort_by_key(IpAddr::is_ipv6);
        for domain in std::mem::take(&mut host.waiting) {
            if let Some(asking) = self.domains.get_mut(&*domain) {
                asking.missing -= 1;
                if asking.missing == 0 {
                    self.assemble(&domain, now);
                }
            }
        }
    }

    /// Completes a domain whose lookups are all answered.
    fn assemble(&mut self, domain: &str, now: Nanos) {
        let Some(asking) = self.domains.get(domain) else { return };
        let (mut targets, mut failed) = (Vec::new(), None);
        for exchange in &asking.exchanges {
            let Some(host) = self.hosts.get(exchange) else { continue };
            targets.extend(host.addresses.iter().map(|&ip| HostAddress { ip, name: Arc::clone(exchange) }));
            failed = failed.or_else(|| host.failed.clone());
        }
        let expires = asking.expires;
        match (targets.is_empty(), failed) {
            (false, _) => self.settle(domain, Route::Hosts(targets), expires),
            (true, Some(why)) => self.settle(domain, Route::Failed(why), now),
            (true, None) => {
                let refused = Route::Refused(550, "5.1.2 no host of the domain has an address");
                self.settle(domain, refused, Nanos::MAX);
            }
        }
    }

    /// Marsaglia's xorshift: enough to spread load over equals.
    fn draw(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }
}

fn lasting(now: Nanos, ttl_s: u32) -> Nanos {
    now + Nanos::from_secs(u64::from(ttl_s.clamp(TTL_S_MIN, TTL_S_MAX)))
}
