//! What a thread has counted of TLS.

use pitot_client::Handshake;
use pitot_client::tls::{cipher_name, version_name};
use pitot_meter::{Histogram, Nanos};
use pitot_results::load::{HandshakeCounts, Tls, TlsSession};
use serde::{Deserialize, Serialize};

use crate::histogram_text as text;

/// TLS handshakes, from the first that was made, before the measured part too.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Handshakes {
    pub(crate) counts: HandshakeCounts,
    full: Times,
    resumed: Times,
    /// What was agreed on, and how often.
    agreed: Vec<Agreed>,
}

/// Times of handshakes; no histogram before the first, as a load without TLS has none, and its start would pay for it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
struct Times(Option<Recorded>);

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
struct Recorded(#[serde(with = "text")] Histogram);

impl Times {
    fn record(&mut self, elapsed: Nanos) {
        self.0.get_or_insert_default().0.record(elapsed);
    }

    fn merge(&mut self, other: &Times) {
        if let Some(recorded) = &other.0 {
            self.0.get_or_insert_default().0.merge(&recorded.0);
        }
    }

    fn histogram(&self) -> Option<&Histogram> {
        self.0.as_ref().map(|recorded| &recorded.0)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Agreed {
    version: u16,
    cipher: u16,
    alpn: Option<String>,
    count: u64,
}

impl Handshakes {
    /// Whether one has begun and ended.
    pub fn is_any(&self) -> bool {
        self.counts != HandshakeCounts::default()
    }

    /// A handshake is over.
    pub fn done(&mut self, elapsed: Nanos, handshake: Handshake) {
        if handshake.resumed {
            self.counts.resumed += 1;
            self.resumed.record(elapsed);
        } else {
            self.counts.full += 1;
            self.full.record(elapsed);
        }
        let same = |a: &&mut Agreed| {
            (a.version, a.cipher, a.alpn.as_deref()) == (handshake.version, handshake.cipher, handshake.alpn)
        };
        match self.agreed.iter_mut().find(same) {
            Some(agreed) => agreed.count += 1,
            None => self.agreed.push(Agreed {
                version: handshake.version,
                cipher: handshake.cipher,
                alpn: handshake.alpn.map(str::to_owned),
                count: 1,
            }),
        }
    }

    /// Adds what another thread or process counted in the same run.
    pub fn merge(&mut self, other: &Handshakes) {
        self.counts.full += other.counts.full;
        self.counts.resumed += other.counts.resumed;
        self.counts.failed += other.counts.failed;
        self.full.merge(&other.full);
        self.resumed.merge(&other.resumed);
        for theirs in &other.agreed {
            let same = |a: &&mut Agreed| Agreed { count: theirs.count, ..(**a).clone() } == *theirs;
            match self.agreed.iter_mut().find(same) {
                Some(agreed) => agreed.count += theirs.count,
                None => self.agreed.push(theirs.clone()),
            }
        }
    }

    /// Times of full handshakes, if there were any.
    pub fn full(&self) -> Option<&Histogram> {
        self.full.histogram()
    }

    /// Times of resumed handshakes, if there were any.
    pub fn resumed(&self) -> Option<&Histogram> {
        self.resumed.histogram()
    }

    /// The counts by the names of IANA's registries, the most frequent first.
    pub fn result(&self) -> Tls {
        let mut sessions: Vec<TlsSession> = self
            .agreed
            .iter()
            .map(|a| TlsSession {
                version: version_name(a.version).to_owned(),
                cipher: cipher_name(a.cipher).to_owned(),
                alpn: a.alpn.clone(),
                count: a.count,
            })
            .collect();
        sessions.sort_by_key(|session| std::cmp::Reverse(session.count));
        Tls { handshakes: self.counts, sessions }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TLS13: Handshake = Handshake { version: 0x0304, cipher: 0x1302, alpn: Some("h2"), resumed: false };

    #[test]
    fn full_and_resumed_handshakes_are_apart_and_what_was_agreed_on_adds_up() {
        let (mut a, mut b) = (Handshakes::default(), Handshakes::default());
        a.done(Nanos(5), TLS13);
        a.done(Nanos(2), Handshake { resumed: true, ..TLS13 });
        b.done(Nanos(3), TLS13);
        b.done(Nanos(4), Handshake { version: 0x0303, cipher: 0xc02f, alpn: None, resumed: false });
        b.counts.failed = 7;
        a.merge(&b);
        assert_eq!(a.counts, HandshakeCounts { full: 3, resumed: 1, failed: 7 });
        assert_eq!((a.full().unwrap().count(), a.resumed().unwrap().max()), (3, Nanos(2)));
        let tls = a.result();
        let sessions: Vec<(&str, u64)> = tls.sessions.iter().map(|s| (&*s.version, s.count)).collect();
        assert_eq!(sessions, [("TLSv1_3", 3), ("TLSv1_2", 1)]);
    }
}
