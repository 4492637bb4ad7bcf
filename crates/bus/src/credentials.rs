//! Credentials of a client, from a file.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use pitot_results::Failure;
use serde::Deserialize;

use crate::address::Address;

/// What the file of `--bus-creds` says, in TOML. Paths are relative to its folder.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Credentials {
    /// A token that all clients share.
    pub token: Option<String>,
    /// A user's name ...
    pub user: Option<String>,
    /// ... and password.
    pub password: Option<String>,
    /// The seed of a user's nkey: `SU...`. Only its signature goes to the server.
    pub nkey: Option<String>,
    /// The authority that has signed the server's certificate, PEM.
    pub tls_ca: Option<PathBuf>,
    /// The client's certificate, PEM.
    pub tls_cert: Option<PathBuf>,
    /// Its private key, PEM.
    pub tls_key: Option<PathBuf>,
}

// Secrets are in no message.
impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Credentials { .. }")
    }
}

impl Credentials {
    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, other users can read it, or it says something else.
    pub fn read(path: &Path) -> Result<Credentials, Failure> {
        let text = read_secret(path)?;
        let wrong = |what: String| {
            Failure::misuse(
                format!("{}: {what}", path.display()),
                "write token, or user and password, or nkey, or tls-cert and tls-key; and optionally tls-ca (docs/bus.md)",
            )
        };
        // The error of the parser would show the line, which may be a password.
        let mut found: Credentials = toml::from_str(&text)
            .map_err(|e| wrong(format!("it is not a file of credentials: {}", e.message())))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        for file in [&mut found.tls_ca, &mut found.tls_cert, &mut found.tls_key].into_iter().flatten() {
            *file = folder.join(&*file);
            if !file.is_file() {
                return Err(wrong(format!("the file {} does not exist", file.display())));
            }
        }
        if let Some(key) = &found.tls_key {
            check_mode(key)?;
        }
        for (is_whole, what) in [
            (found.user.is_some() == found.password.is_some(), "user and password must both be set"),
            (found.tls_cert.is_some() == found.tls_key.is_some(), "tls-cert and tls-key must both be set"),
            (found.shows_who(), "it has neither token, user, nkey nor tls-cert"),
        ] {
            if !is_whole {
                return Err(wrong(what.into()));
            }
        }
        Ok(found)
    }

    fn shows_who(&self) -> bool {
        [self.token.is_some(), self.user.is_some(), self.nkey.is_some(), self.tls_cert.is_some()]
            .contains(&true)
    }

    /// Whether these may be used for this address.
    ///
    /// # Errors
    /// If there are none and others can reach the address, or if they would go over a network in clear.
    pub fn check(credentials: Option<&Credentials>, address: &Address) -> Result<(), Failure> {
        if address.is_loopback() {
            return Ok(());
        }
        let Some(credentials) = credentials else {
            return Err(Failure::misuse(
                format!(
                    "{} is not a loopback address, and there are no credentials for it",
                    address.as_str()
                ),
                "name a file with them: --bus-creds FILE (docs/bus.md)",
            ));
        };
        let is_tls = address.is_tls() || credentials.tls_ca.is_some() || credentials.tls_cert.is_some();
        if !is_tls && (credentials.token.is_some() || credentials.password.is_some()) {
            return Err(Failure::misuse(
                format!("a token or password would be sent to {} unencrypted", address.as_str()),
                "use TLS (tls://HOST:PORT), or an nkey, whose seed is not sent (docs/bus.md)",
            ));
        }
        Ok(())
    }
}

/// The text of a file that nobody else can read.
pub(crate) fn read_secret(path: &Path) -> Result<String, Failure> {
    check_mode(path)?;
    fs::read_to_string(path).map_err(|e| cannot_read(path, &e))
}

fn check_mode(path: &Path) -> Result<(), Failure> {
    let mode = fs::metadata(path).map_err(|e| cannot_read(path, &e))?.permissions().mode();
    if mode & 0o077 == 0 {
        return Ok(());
    }
    Err(Failure::misuse(
        format!(
            "{} contains a secret, and its mode {:o} gives other users access",
            path.display(),
            mode & 0o777
        ),
        format!("chmod 600 {}", path.display()),
    ))
}

fn cannot_read(path: &Path, e: &std::io::Error) -> Failure {
    Failure::misuse(format!("{} cannot be read: {e}", path.display()), "check the path and its permissions")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(dir: &Path, text: &str, mode: u32) -> PathBuf {
        let path = dir.join("creds.toml");
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    #[test]
    fn credentials_are_whole_and_private() {
        let dir = tempfile::tempdir().unwrap();
        let read = |text: &str, mode| Credentials::read(&file(dir.path(), text, mode));
        assert_eq!(read("token = 'abc'", 0o600).unwrap().token.as_deref(), Some("abc"));
        for (text, mode, said) in [
            ("token = 'abc'", 0o640, "mode 640"),
            ("user = 'a'", 0o600, "must both be set"),
            ("", 0o600, "neither token"),
            ("pass = 'abc'", 0o600, "unknown field"),
            ("tls-cert = 'none.pem'\ntls-key = 'none.pem'", 0o600, "does not exist"),
        ] {
            let failure = read(text, mode).unwrap_err();
            assert!(failure.what.contains(said), "{text}: {}", failure.what);
            assert_eq!(failure.exit_code(), 2);
        }
        let secret = read("token = 'abc'\npassword = 3", 0o600).unwrap_err();
        assert!(!secret.what.contains("abc"), "{}", secret.what);
        assert!(!format!("{:?}", read("token = 'abc'", 0o600).unwrap()).contains("abc"));
    }

    #[test]
    fn no_credentials_are_fine_for_loopback_alone_and_none_go_in_clear() {
        let address = |text: &str| Address::parse(text).unwrap();
        let (here, there) = (address("nats://127.0.0.1:4222"), address("nats://10.0.0.1:4222"));
        let token = Credentials { token: Some("abc".into()), ..Credentials::default() };
        let nkey = Credentials { nkey: Some("SU".into()), ..Credentials::default() };
        assert!(Credentials::check(None, &here).is_ok());
        assert_eq!(Credentials::check(None, &there).unwrap_err().exit_code(), 2);
        assert!(Credentials::check(Some(&token), &there).unwrap_err().what.contains("unencrypted"));
        assert!(Credentials::check(Some(&token), &address("tls://10.0.0.1:4222")).is_ok());
        assert!(Credentials::check(Some(&nkey), &there).is_ok());
    }
}
