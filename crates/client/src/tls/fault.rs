//! Errors by name: the word in the table of errors, a sentence, and the fix.

use rustls::{
    AlertDescription, CertificateError, CipherSuite, Error, OtherError, PeerIncompatible, ProtocolVersion,
};

use super::chain::Named;

/// The explanation of a word in the table of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The word.
    pub word: &'static str,
    /// What has happened, as the rest of a sentence.
    pub what: &'static str,
    /// What to do.
    pub fix: &'static str,
}

const TRUST: &str = "name the file of its authority with --tls-ca, or accept any certificate with --insecure";
const RENEW: &str = "give the server another certificate, or accept any with --insecure";
const ANY_VERSION: &str = "remove --tls-version, or choose the other version";

/// Words without an entry explain themselves.
static EXPLANATIONS: &[Explanation] = &[
    e("expired", "the server's certificate, or its authority's, has expired", RENEW),
    e(
        "not-yet-valid",
        "the server's certificate is not valid yet",
        "check the clocks of both machines, or use --insecure",
    ),
    e("unknown-issuer", "the server's certificate is not issued by a known authority", TRUST),
    e(
        "self-signed",
        "the server's certificate is self-signed",
        "name the file of that certificate with --tls-ca, or accept any with --insecure",
    ),
    e(
        "wrong-name",
        "the server's certificate is not for the host of the URL",
        "set a name of the certificate with --host, or write it in the URL and its address with --resolve, or accept any \
         certificate with --insecure",
    ),
    e("wrong-purpose", "the server's certificate is not for servers", RENEW),
    e("revoked", "the server's certificate is revoked", RENEW),
    e("bad-signature", "a signature of the server's certificate, or one made with its key, is wrong", RENEW),
    e("authority", "the server presents the certificate of an authority as its own", RENEW),
    e("constraints", "an authority of the server's certificate is not allowed to issue it", RENEW),
    e("bad-certificate", "the server's certificate is malformed", RENEW),
    e("unsupported-certificate", "the server's certificate uses an unsupported feature", RENEW),
    e(
        "client-certificate",
        "the server requires a client certificate",
        "name one that it accepts, and its key, with --tls-cert and --tls-key",
    ),
    e("version", "client and server have no version of TLS in common", ANY_VERSION),
    e(
        "no-common-cipher",
        "client and server have no cipher, group or signature algorithm in common",
        "check the configuration of the server: the client offers TLS 1.2 and 1.3 with AES-GCM and ChaCha20",
    ),
    e(
        "plain-http",
        "the server answered in plain HTTP: this port has no TLS",
        "write http://, or name the port for https://",
    ),
    e(
        "no-tls",
        "the server does not support TLS",
        "enable it in the server (ssl = on in postgresql.conf), or write sslmode=disable",
    ),
    e("not-tls", "the server's answer is not TLS", "name a port with TLS"),
    e(
        "closed",
        "the server closed the connection during the handshake",
        "check the log of the server, and that this port has TLS",
    ),
    e(
        "no-http2",
        "the server has not chosen HTTP/2 by ALPN",
        "use --http 1.1, or enable HTTP/2 in the server",
    ),
    e(
        "alert-no-application-protocol",
        "the server supports none of the protocols offered by ALPN",
        "try the other version of HTTP with --http",
    ),
    e(
        "alert-unrecognised-name",
        "the server does not know the host name",
        "set a name that it serves with --host, or write it in the URL and its address with --resolve",
    ),
    e(
        "alert-unknown-ca",
        "the server does not know the authority of the client's certificate",
        "name a certificate that the server accepts with --tls-cert",
    ),
    e(
        "alert-bad-certificate",
        "the server rejects the client's certificate",
        "name a certificate that the server accepts with --tls-cert",
    ),
];

const fn e(word: &'static str, what: &'static str, fix: &'static str) -> Explanation {
    Explanation { word, what, fix }
}

/// The explanation of a word of the phase `handshake`, if it needs one.
pub fn explain(word: &str) -> Option<&'static Explanation> {
    EXPLANATIONS.iter().find(|e| e.word == word)
}

/// The name of a version of TLS, `TLSv1_3`.
pub fn version_name(version: u16) -> &'static str {
    ProtocolVersion::from(version).as_str().unwrap_or("unknown")
}

/// The IANA name of a cipher suite.
pub fn cipher_name(cipher: u16) -> &'static str {
    // Only for TLS 1.3 the library's names begin with TLS13_.
    match CipherSuite::from(cipher) {
        CipherSuite::TLS13_AES_128_GCM_SHA256 => "TLS_AES_128_GCM_SHA256",
        CipherSuite::TLS13_AES_256_GCM_SHA384 => "TLS_AES_256_GCM_SHA384",
        CipherSuite::TLS13_CHACHA20_POLY1305_SHA256 => "TLS_CHACHA20_POLY1305_SHA256",
        other => other.as_str().unwrap_or("unknown"),
    }
}

/// The word of an error. `certificate_missing` is whether the server requested a certificate and got none.
pub(super) fn word(error: &Error, certificate_missing: bool) -> &'static str {
    match error {
        Error::InvalidCertificate(kind) => certificate(kind),
        Error::AlertReceived(AlertDescription::HandshakeFailure | AlertDescription::BadCertificate)
            if certificate_missing =>
        {
            "client-certificate"
        }
        Error::AlertReceived(alert) => alert_word(*alert),
        Error::PeerIncompatible(
            PeerIncompatible::ServerDoesNotSupportTls12Or13
            | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig
            | PeerIncompatible::Tls12NotOfferedOrEnabled,
        ) => "version",
        Error::PeerIncompatible(_) => "no-common-cipher",
        Error::NoApplicationProtocol => "alert-no-application-protocol",
        Error::DecryptError => "bad-record",
        Error::PeerSentOversizedRecord => "record-too-large",
        Error::InvalidMessage(_) => "malformed",
        Error::InappropriateMessage { .. }
        | Error::InappropriateHandshakeMessage { .. }
        | Error::PeerMisbehaved(_) => "violation",
        Error::NoCertificatesPresented => "no-certificate",
        _ => "failed",
    }
}

fn certificate(kind: &CertificateError) -> &'static str {
    match kind {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "expired",
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => "not-yet-valid",
        CertificateError::UnknownIssuer => "unknown-issuer",
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => "wrong-name",
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => "wrong-purpose",
        CertificateError::Revoked => "revoked",
        CertificateError::BadSignature => "bad-signature",
        CertificateError::BadEncoding => "bad-certificate",
        CertificateError::Other(other) => other_certificate(other),
        _ => "unsupported-certificate",
    }
}

fn other_certificate(other: &OtherError) -> &'static str {
    if let Some(Named(word)) = other.0.downcast_ref() {
        return word;
    }
    match other.0.downcast_ref() {
        Some(webpki::Error::CaUsedAsEndEntity) => "authority",
        Some(
            webpki::Error::EndEntityUsedAsCa
            | webpki::Error::NameConstraintViolation
            | webpki::Error::PathLenConstraintViolated,
        ) => "constraints",
        Some(
            webpki::Error::UnsupportedCertVersion
            | webpki::Error::UnsupportedCriticalExtension
            | webpki::Error::UnsupportedNameType,
        ) => "unsupported-certificate",
        _ => "bad-certificate",
    }
}

fn alert_word(alert: AlertDescription) -> &'static str {
    match alert {
        AlertDescription::ProtocolVersion => "version",
        AlertDescription::HandshakeFailure | AlertDescription::InsufficientSecurity => "no-common-cipher",
        AlertDescription::CertificateRequired => "client-certificate",
        AlertDescription::UnexpectedMessage => "alert-unexpected-message",
        AlertDescription::BadRecordMac => "alert-bad-record-mac",
        AlertDescription::RecordOverflow => "alert-record-overflow",
        AlertDescription::BadCertificate => "alert-bad-certificate",
        AlertDescription::UnsupportedCertificate => "alert-unsupported-certificate",
        AlertDescription::CertificateRevoked => "alert-certificate-revoked",
        AlertDescription::CertificateExpired => "alert-certificate-expired",
        AlertDescription::CertificateUnknown => "alert-certificate-unknown",
        AlertDescription::IllegalParameter => "alert-illegal-parameter",
        AlertDescription::UnknownCA => "alert-unknown-ca",
        AlertDescription::AccessDenied => "alert-access-denied",
        AlertDescription::DecodeError => "alert-decode-error",
        AlertDescription::DecryptError => "alert-decrypt-error",
        AlertDescription::InternalError => "alert-internal-error",
        AlertDescription::UserCanceled => "alert-user-canceled",
        AlertDescription::NoRenegotiation => "alert-no-renegotiation",
        AlertDescription::MissingExtension => "alert-missing-extension",
        AlertDescription::UnsupportedExtension => "alert-unsupported-extension",
        AlertDescription::UnrecognisedName => "alert-unrecognised-name",
        AlertDescription::UnknownPSKIdentity => "alert-unknown-psk-identity",
        AlertDescription::NoApplicationProtocol => "alert-no-application-protocol",
        _ => "alert-unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_explanation_has_a_word_of_its_own_a_sentence_and_a_fix() {
        for (i, e) in EXPLANATIONS.iter().enumerate() {
            assert!(EXPLANATIONS[..i].iter().all(|f| f.word != e.word), "{}", e.word);
            assert!(!e.what.ends_with('.') && !e.fix.ends_with('.') && e.what.len() > 10, "{}", e.word);
        }
        assert_eq!(explain("wrong-name").map(|e| e.word), Some("wrong-name"));
        assert_eq!(explain("malformed"), None);
    }

    #[test]
    fn alerts_have_names() {
        for code in 0..=255 {
            let word = word(&Error::AlertReceived(AlertDescription::from(code)), false);
            assert!(
                word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'),
                "{word}"
            );
        }
        let missing = |alert| word(&Error::AlertReceived(alert), true);
        assert_eq!(missing(AlertDescription::HandshakeFailure), "client-certificate");
        assert_eq!(missing(AlertDescription::ProtocolVersion), "version");
    }

    #[test]
    fn versions_and_ciphers_have_the_names_of_the_registry() {
        assert_eq!((version_name(0x0304), cipher_name(0x1302)), ("TLSv1_3", "TLS_AES_256_GCM_SHA384"));
        assert_eq!(cipher_name(0xc02f), "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256");
    }
}
