//! Keys that sign jobs, by which agents accept them (Ed25519, as nkeys: <https://docs.nats.io/running-a-nats-service/nats_admin/security/nkeys>).

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nkeys::{KeyPair, KeyPairType};
use pitot_results::Failure;

use crate::credentials::read_secret;

/// Prefix of what is signed, so that a signature for another purpose is not valid for a job.
const PURPOSE: &[u8] = b"pitot job 1\n";

/// The key that signs jobs.
pub struct SigningKey(KeyPair);

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SigningKey({})", self.public())
    }
}

impl SigningKey {
    /// Creates a key and writes its seed to a new file of mode 600.
    ///
    /// # Errors
    /// If the file exists or cannot be written.
    pub fn create(path: &Path) -> Result<SigningKey, Failure> {
        let key = KeyPair::new_user();
        let seed =
            key.seed().map_err(|e| Failure::run(format!("no key could be created: {e}"), "try again"))?;
        let cannot = |e: std::io::Error| {
            Failure::misuse(
                format!("{} cannot be written: {e}", path.display()),
                "choose a file that does not exist",
            )
        };
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(cannot)?;
        file.write_all(format!("{seed}\n").as_bytes()).map_err(cannot)?;
        Ok(SigningKey(key))
    }

    /// Reads the seed of a key.
    ///
    /// # Errors
    /// If the file cannot be read, others can read it, or it has no seed.
    pub fn read(path: &Path) -> Result<SigningKey, Failure> {
        let text = read_secret(path)?;
        let key = KeyPair::from_seed(text.trim()).ok().filter(|key| key.key_pair_type() == KeyPairType::User);
        key.map(SigningKey).ok_or_else(|| {
            Failure::misuse(
                format!("{} is not the seed of a user's nkey, which begins with SU", path.display()),
                "create one: pitot bus-key FILE",
            )
        })
    }

    /// What agents name to trust it: `U...`.
    pub fn public(&self) -> String {
        self.0.public_key()
    }

    /// Whether `seed` is this key's. A key with which one logs in signs what the server chooses, so it must sign no jobs.
    pub fn is_of(&self, seed: &str) -> bool {
        KeyPair::from_seed(seed.trim()).is_ok_and(|other| other.public_key() == self.public())
    }

    pub(crate) fn sign(&self, body: &[u8]) -> Vec<u8> {
        self.sign_as(PURPOSE, body)
    }

    /// Signs for a purpose other than a job.
    pub(crate) fn sign_as(&self, purpose: &[u8], body: &[u8]) -> Vec<u8> {
        self.0.sign(&[purpose, body].concat()).expect("a key that was made of a seed can sign")
    }
}

/// A key whose jobs are taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedKey(String);

impl TrustedKey {
    /// Reads a public key.
    ///
    /// # Errors
    /// If it is none.
    pub fn parse(text: &str) -> Result<TrustedKey, Failure> {
        let key = KeyPair::from_public_key(text).ok();
        if key.is_none_or(|key| key.key_pair_type() != KeyPairType::User) {
            let fix = "run pitot bus-key FILE to create a key; it prints the public key, which begins with U";
            return Err(Failure::misuse(format!("`{text}` is not the public key of a user"), fix));
        }
        Ok(TrustedKey(text.to_owned()))
    }

    /// Whether this key has signed the body of a job.
    pub(crate) fn has_signed(&self, body: &[u8], signature: &[u8]) -> bool {
        self.has_signed_as(PURPOSE, body, signature)
    }

    /// Whether it has signed something for a purpose other than a job.
    pub(crate) fn has_signed_as(&self, purpose: &[u8], body: &[u8], signature: &[u8]) -> bool {
        let key = KeyPair::from_public_key(&self.0);
        key.is_ok_and(|key| key.verify(&[purpose, body].concat(), signature).is_ok())
    }
}

/// Whether a text can be a name of an agent, a run or a job: a token of a subject and of a key.
pub fn is_name(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_of_one_key_and_one_body() {
        let dir = tempfile::tempdir().unwrap();
        let made = SigningKey::create(&dir.path().join("a")).unwrap();
        let key = SigningKey::read(&dir.path().join("a")).unwrap();
        assert_eq!(made.public(), key.public());
        assert!(SigningKey::create(&dir.path().join("a")).is_err(), "a key is never overwritten");
        let trusted = TrustedKey::parse(&key.public()).unwrap();
        let signature = key.sign(b"body");
        assert!(trusted.has_signed(b"body", &signature));
        assert!(!trusted.has_signed(b"bodz", &signature));
        assert!(!trusted.has_signed(b"body", &signature[1..]));
        let other = SigningKey::create(&dir.path().join("b")).unwrap();
        assert!(!trusted.has_signed(b"body", &other.sign(b"body")));
        let plain = key.0.sign(b"body").unwrap();
        assert!(!trusted.has_signed(b"body", &plain), "a signature for another purpose");
        assert!(key.is_of(&key.0.seed().unwrap()) && !other.is_of(&key.0.seed().unwrap()));
        for text in ["", "U", "SUAB", &key.public()[1..], &key.0.seed().unwrap()] {
            assert!(TrustedKey::parse(text).is_err(), "{text}");
        }
    }
}
