//! A job as a message: a line with the signature, and what is signed.

use std::time::SystemTime;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::keys::{SigningKey, TrustedKey};

/// What is signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Job {
    /// Of the run; with the job's name it is the job's subject and key.
    pub(crate) run: String,
    pub(crate) job: String,
    /// How often it was handed out again because the bus had lost it.
    pub(crate) epoch: u64,
    /// Nobody begins it after this second of Unix time, so that an old job cannot be played back for ever.
    pub(crate) until_unix_s: u64,
    /// What is to be done: the caller's.
    pub(crate) text: String,
}

/// The clock that [`Job::until_unix_s`] is compared with.
pub(crate) fn now_unix_s() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Signature {
    signature: String,
}

impl Job {
    pub(crate) fn sealed(&self, key: &SigningKey) -> Vec<u8> {
        Job::signed(&serde_json::to_vec(self).expect("plain data has a JSON form"), key)
    }

    /// A message with this body.
    pub(crate) fn signed(body: &[u8], key: &SigningKey) -> Vec<u8> {
        let signature = Signature { signature: STANDARD.encode(key.sign(body)) };
        let mut message = serde_json::to_vec(&signature).expect("plain data has a JSON form");
        message.push(b'\n');
        message.extend(body);
        message
    }

    /// The job that a message is, if one of these keys has signed it, and it is the one that its subject says. Nothing of it
    /// is read before the signature is known to be right. The error is a sentence.
    pub(crate) fn open(
        message: &[u8],
        trusted: &[TrustedKey],
        (run, job): (&str, &str),
        now_unix_s: u64,
    ) -> Result<Job, &'static str> {
        let split = message.iter().position(|b| *b == b'\n').ok_or("it is not signed")?;
        let (head, body) = (&message[..split], &message[split + 1..]);
        let signature = serde_json::from_slice::<Signature>(head).map_err(|_| "it is not signed")?;
        let signature = STANDARD.decode(signature.signature).map_err(|_| "it is not signed")?;
        if !trusted.iter().any(|key| key.has_signed(body, &signature)) {
            return Err("it is not signed by a trusted key");
        }
        let found: Job =
            serde_json::from_slice(body).map_err(|_| "it is signed, but by another version of Pitot")?;
        if (found.run.as_str(), found.job.as_str()) != (run, job) {
            return Err("the signature is for another job");
        }
        if found.until_unix_s < now_unix_s {
            return Err("it has expired");
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_job_that_is_signed_for_its_subject_and_time_is_opened() {
        let dir = tempfile::tempdir().unwrap();
        let key = SigningKey::create(&dir.path().join("a")).unwrap();
        let other = SigningKey::create(&dir.path().join("b")).unwrap();
        let trusted = [TrustedKey::parse(&key.public()).unwrap()];
        let job = Job { run: "r".into(), job: "j".into(), epoch: 0, until_unix_s: 100, text: "x".into() };
        let message = job.sealed(&key);
        let open = |message: &[u8], at, now| Job::open(message, &trusted, at, now);
        assert_eq!(open(&message, ("r", "j"), 100), Ok(job.clone()));
        assert!(open(&message, ("r", "j"), 101).unwrap_err().contains("expired"));
        assert!(open(&message, ("r", "k"), 1).unwrap_err().contains("another job"));
        assert!(open(&job.sealed(&other), ("r", "j"), 1).unwrap_err().contains("trusted"));
        let mut forged = message.clone();
        let at = forged.len() - 3;
        forged[at] ^= 1;
        assert!(open(&forged, ("r", "j"), 1).unwrap_err().contains("trusted"));
        for text in [&b""[..], b"\n", b"{}\n{}", b"{\"signature\":\"\"}\n", b"{\"signature\":\"AA\"}\n{}"] {
            assert!(open(text, ("r", "j"), 1).is_err());
        }
        assert!(Job::open(&message, &[], ("r", "j"), 1).is_err(), "nobody is trusted");
    }
}
