//! Session tickets (RFC 5077, RFC 8446 section 4.6.1) that any process of a server can read.
//!
//! rustls's own ticketer draws keys at random and draws new ones every six hours, in each process for itself. Here the key of
//! each six hours is derived from one secret, which a server draws before it has processes; tickets of the current and of the
//! previous key are taken.

use std::fmt;
use std::sync::{PoisonError, RwLock};

use pitot_results::Failure;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Salt};
use ring::rand::{SecureRandom, SystemRandom};
use rustls::server::ProducesTickets;
use rustls::time_provider::{DefaultTimeProvider, TimeProvider};

/// Bytes of a secret.
pub const SECRET_BYTES: usize = 32;
/// How long a key creates tickets, and then only accepts its own.
const PERIOD_S: u64 = 6 * 60 * 60;
/// Bytes before the sealed part of a ticket: the number of the period, and a nonce.
const HEAD_BYTES: usize = 8 + NONCE_LEN;
/// Longer tickets are not from this server.
const TICKET_BYTES_MAX: usize = 64 << 10;

/// What the keys of tickets are derived from.
#[derive(Clone)]
pub struct Secret([u8; SECRET_BYTES]);

impl Secret {
    /// A new one.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn random() -> Result<Secret, Failure> {
        let mut bytes = [0; SECRET_BYTES];
        SystemRandom::new().fill(&mut bytes).map_err(|_| {
            Failure::run("the system has no random numbers", "see getrandom(2); has the machine just booted?")
        })?;
        Ok(Secret(bytes))
    }

    /// That of another process of the server.
    pub fn from_bytes(bytes: [u8; SECRET_BYTES]) -> Secret {
        Secret(bytes)
    }

    /// For another process of the server.
    pub fn as_bytes(&self) -> &[u8; SECRET_BYTES] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// The tickets of a server.
pub(super) struct Tickets {
    secret: Secret,
    clock: fn() -> u64,
    keys: RwLock<Keys>,
}

/// The keys of a period and of the one before.
struct Keys {
    period: u64,
    current: LessSafeKey,
    previous: LessSafeKey,
}

impl Keys {
    fn of(secret: &Secret, period: u64) -> Keys {
        let previous = key(secret, period.wrapping_sub(1));
        Keys { period, current: key(secret, period), previous }
    }
}

fn key(secret: &Secret, period: u64) -> LessSafeKey {
    let extracted = Salt::new(HKDF_SHA256, b"pitot tickets").extract(&secret.0);
    let info = period.to_be_bytes();
    let key = extracted.expand(&[&info[..]], &AES_256_GCM).map(UnboundKey::from);
    LessSafeKey::new(key.expect("HKDF yields the length of one key"))
}

fn unix_s() -> u64 {
    DefaultTimeProvider.current_time().map_or(0, |time| time.as_secs())
}

impl Tickets {
    pub(super) fn new(secret: &Secret) -> Tickets {
        Tickets::with_clock(secret, unix_s)
    }

    fn with_clock(secret: &Secret, clock: fn() -> u64) -> Tickets {
        let keys = RwLock::new(Keys::of(secret, clock() / PERIOD_S));
        Tickets { secret: secret.clone(), clock, keys }
    }

    /// Uses the keys of this time.
    fn with_keys<T>(&self, work: impl FnOnce(&Keys) -> T) -> T {
        let period = (self.clock)() / PERIOD_S;
        {
            let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
            if keys.period == period {
                return work(&keys);
            }
        }
        let mut keys = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        if keys.period != period {
            *keys = Keys::of(&self.secret, period);
        }
        work(&keys)
    }
}

impl ProducesTickets for Tickets {
    fn enabled(&self) -> bool {
        true
    }

    fn lifetime(&self) -> u32 {
        PERIOD_S as u32
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce).ok()?;
        self.with_keys(|keys| {
            let mut ticket = Vec::with_capacity(HEAD_BYTES + plain.len() + AES_256_GCM.tag_len());
            ticket.extend(keys.period.to_be_bytes());
            ticket.extend(nonce);
            ticket.extend(plain);
            let sealed = &mut ticket[HEAD_BYTES..];
            let nonce = Nonce::assume_unique_for_key(nonce);
            let tag = keys.current.seal_in_place_separate_tag(nonce, Aad::empty(), sealed).ok()?;
            ticket.extend(tag.as_ref());
            Some(ticket)
        })
    }

    fn decrypt(&self, ticket: &[u8]) -> Option<Vec<u8>> {
        if ticket.len() > TICKET_BYTES_MAX {
            return None;
        }
        let (period, rest) = ticket.split_first_chunk::<8>()?;
        let (nonce, sealed) = rest.split_first_chunk::<NONCE_LEN>()?;
        let period = u64::from_be_bytes(*period);
        self.with_keys(|keys| {
            let key = match keys.period.wrapping_sub(period) {
                0 => &keys.current,
                1 => &keys.previous,
                _ => return None,
            };
            let mut plain = sealed.to_vec();
            let nonce = Nonce::assume_unique_for_key(*nonce);
            let len = key.open_in_place(nonce, Aad::empty(), &mut plain).ok()?.len();
            plain.truncate(len);
            Some(plain)
        })
    }
}

impl fmt::Debug for Tickets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tickets")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(unix_s: fn() -> u64) -> Tickets {
        Tickets::with_clock(&Secret::from_bytes([7; SECRET_BYTES]), unix_s)
    }

    #[test]
    fn another_process_of_the_server_reads_a_ticket_and_another_server_does_not() {
        let ticket = at(|| 0).encrypt(b"session").unwrap();
        assert_eq!(at(|| 0).decrypt(&ticket).unwrap(), b"session");
        let other = Tickets::with_clock(&Secret::random().unwrap(), || 0);
        assert_eq!(other.decrypt(&ticket), None);
    }

    #[test]
    fn a_ticket_is_taken_for_its_lifetime_and_no_longer_than_two_periods() {
        let ticket = at(|| PERIOD_S - 1).encrypt(b"session").unwrap();
        let (after_lifetime, after_both) = (at(|| PERIOD_S - 1 + PERIOD_S), at(|| 2 * PERIOD_S));
        assert_eq!(after_lifetime.decrypt(&ticket).unwrap(), b"session");
        assert_eq!(after_both.decrypt(&ticket), None);
        // A clock that is set back.
        assert_eq!(at(|| 0).decrypt(&at(|| 3 * PERIOD_S).encrypt(b"session").unwrap()), None);
    }

    #[test]
    fn what_is_no_ticket_is_none() {
        let tickets = at(|| 0);
        let sound = tickets.encrypt(b"session").unwrap();
        for len in 0..sound.len() {
            assert_eq!(tickets.decrypt(&sound[..len]), None);
        }
        for i in 0..sound.len() {
            let mut forged = sound.clone();
            forged[i] ^= 1;
            assert_eq!(tickets.decrypt(&forged), None);
        }
        assert_eq!(tickets.decrypt(&[0; TICKET_BYTES_MAX + 1]), None);
    }
}
