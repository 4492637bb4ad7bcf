//! The login of a connection (PostgreSQL documentation, "Start-up"; RFC 1321, 5802 and 7677).

use std::fmt;

use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};

use super::write;
use crate::exchange::Fault;

#[derive(Debug)]
pub(super) struct Account {
    pub(super) user: String,
    pub(super) password: Option<String>,
}

/// The state of a login.
pub(super) enum Login {
    /// The server has not named a method yet.
    Begun,
    /// The password, or a hash of it, was sent.
    Sent,
    /// Both sides prove that they know the password; the server has done so once `finished`.
    Scram {
        scram: Box<ScramSha256>,
        finished: bool,
    },
    Done,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Login::Begun => "begun",
            Login::Sent => "sent",
            Login::Scram { .. } => "scram",
            Login::Done => "done",
        })
    }
}

impl Login {
    /// Takes a step that the server asks for.
    ///
    /// # Errors
    /// The password is missing, the method is not supported, or the server does not know the password.
    pub(super) fn step(
        &mut self,
        account: &Account,
        method: u32,
        data: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let password = || account.password.as_deref().ok_or(Fault::Named("no-password"));
        let mut send = |text: &str| write::message(out, b'p', |out| write::string(out, text));
        match (&mut *self, method) {
            (Login::Begun | Login::Sent | Login::Scram { finished: true, .. }, 0) => *self = Login::Done,
            (Login::Begun, 3) => {
                send(password()?);
                *self = Login::Sent;
            }
            (Login::Begun, 5) => {
                let salt = data.try_into().map_err(|_| Fault::Malformed)?;
                send(&md5_hash(account.user.as_bytes(), password()?.as_bytes(), salt));
                *self = Login::Sent;
            }
            (Login::Begun, 10) => {
                if !data.split(|&b| b == 0).any(|name| name == SCRAM_SHA_256.as_bytes()) {
                    return Err(Fault::Named("login-method"));
                }
                let scram = Box::new(ScramSha256::new(password()?.as_bytes(), ChannelBinding::unsupported()));
                write::message(out, b'p', |out| {
                    write::string(out, SCRAM_SHA_256);
                    out.extend_from_slice(&(scram.message().len() as u32).to_be_bytes());
                    out.extend_from_slice(scram.message());
                });
                *self = Login::Scram { scram, finished: false };
            }
            (Login::Scram { scram, finished: false }, 11) => {
                scram.update(data).map_err(|_| Fault::Named("scram"))?;
                write::message(out, b'p', |out| out.extend_from_slice(scram.message()));
            }
            (Login::Scram { scram, finished: finished @ false }, 12) => {
                scram.finish(data).map_err(|_| Fault::Named("scram"))?;
                *finished = true;
            }
            // Kerberos, GSSAPI and SSPI.
            (Login::Begun, 2 | 6..=9) => return Err(Fault::Named("login-method")),
            _ => return Err(Fault::Malformed),
        }
        Ok(())
    }
}
