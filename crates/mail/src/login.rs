//! Who logs in at the relay (RFC 4954): a user and a password, as PLAIN (RFC 4616) or LOGIN.

use std::fmt;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pitot_results::Failure;

const CURE: &str = "it must contain one line, USER:PASSWORD";

/// A user and a password. They come from a file or from the environment: all users of a machine can read command lines.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Login {
    user: String,
    password: String,
    /// Allow to send them without TLS, or to a host whose certificate is not checked.
    pub(crate) insecure: bool,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").field("insecure", &self.insecure).finish_non_exhaustive()
    }
}

impl Login {
    /// Reads the first and only line of a file.
    pub(crate) fn from_file(path: &Path, insecure: bool) -> Result<Login, Failure> {
        let name = format!("the credentials file {}", path.display());
        let text = std::fs::read_to_string(path)
            .map_err(|e| Failure::misuse(format!("{name} cannot be read: {e}"), CURE))?;
        Login::parse(text.trim_end_matches(['\r', '\n']), &name, insecure)
    }

    /// Reads an environment variable.
    pub(crate) fn from_env(variable: &str, insecure: bool) -> Result<Login, Failure> {
        let name = format!("the environment variable {variable}");
        match std::env::var(variable) {
            Ok(text) => Login::parse(&text, &name, insecure),
            Err(e) => Err(Failure::misuse(format!("{name} cannot be used: {e}"), CURE)),
        }
    }

    /// Error messages must not contain the text.
    pub(crate) fn parse(text: &str, name: &str, insecure: bool) -> Result<Login, Failure> {
        let Some((user, password)) = text.split_once(':') else {
            return Err(Failure::misuse(format!("{name} has no colon"), CURE));
        };
        if user.is_empty() || password.is_empty() {
            return Err(Failure::misuse(format!("{name} has no user or no password"), CURE));
        }
        if text.contains(char::is_control) {
            return Err(Failure::misuse(format!("{name} has several lines or a control character"), CURE));
        }
        Ok(Login { user: user.to_owned(), password: password.to_owned(), insecure })
    }

    /// What PLAIN sends.
    pub(crate) fn plain(&self) -> String {
        STANDARD.encode(format!("\0{}\0{}", self.user, self.password))
    }

    /// What LOGIN sends, challenge by challenge.
    pub(crate) fn login(&self) -> [String; 2] {
        [&self.user, &self.password].map(|text| STANDARD.encode(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_may_have_colons_and_is_never_shown() {
        let login = Login::parse("tim:tanstaaf:tanstaaf", "it", false).unwrap();
        assert_eq!(login.plain(), "AHRpbQB0YW5zdGFhZjp0YW5zdGFhZg==");
        assert_eq!(login.login(), ["dGlt", "dGFuc3RhYWY6dGFuc3RhYWY="]);
        assert!(!format!("{login:?}").contains("tan"));
        for wrong in ["secret", ":secret", "secret:", "tim:secret\nmore", "tim:se\0cret"] {
            let failure = Login::parse(wrong, "the file", false).unwrap_err();
            assert!(!failure.what.contains("ecret"), "{failure}");
        }
    }
}
