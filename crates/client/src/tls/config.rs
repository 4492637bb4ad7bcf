//! From the options to the configuration of the library.

use std::path::Path;
use std::sync::Arc;

use pitot_results::Failure;
use rustls::client::{Resumption, VerifierBuilderError, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, SupportedProtocolVersion};

use super::chain::Chain;
use super::options::{TlsOptions, TlsVersion};
use pitot_tls::trust::{self, AnyCertificate};

/// The configuration that all connections start from, without resumption.
///
/// # Errors
/// Options that contradict each other, or an unusable file.
pub(super) fn config(options: &TlsOptions) -> Result<ClientConfig, Failure> {
    // Errors of the command line come before those of the system.
    let identity = match (&options.certificate, &options.key) {
        (None, None) => None,
        (Some(certificate), Some(key)) => Some((certificate, key)),
        (Some(_), None) => {
            return Err(Failure::misuse("--tls-cert without the key of the certificate", "add --tls-key"));
        }
        (None, Some(_)) => {
            return Err(Failure::misuse("--tls-key without the certificate of the key", "add --tls-cert"));
        }
    };
    let provider = Arc::new(ring::default_provider());
    let versions: &[&SupportedProtocolVersion] = match options.version {
        Some(TlsVersion::V1_2) => &[&TLS12],
        Some(TlsVersion::V1_3) => &[&TLS13],
        None => &[&TLS13, &TLS12],
    };
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(versions)
        .map_err(|e| Failure::run(format!("TLS cannot be set up: {e}"), "remove --tls-version"))?
        .dangerous();
    let builder = if options.insecure {
        let refused = [("--tls-ca", &options.authorities), ("--tls-crl", &options.revoked)];
        if let Some((option, _)) = refused.iter().find(|(_, file)| file.is_some()) {
            return Err(Failure::misuse(
                format!("--insecure accepts any certificate and cannot be combined with {option}"),
                "remove one of them",
            ));
        }
        builder.with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
    } else {
        builder.with_custom_certificate_verifier(Arc::new(chain(options, &provider)?))
    };
    let mut config = match identity {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            let chain = trust::certificates(certificate)?;
            builder.with_client_auth_cert(chain, private_key(key)?).map_err(|e| {
                let what = format!(
                    "the certificate in {} and the key in {} cannot be used: {e}",
                    certificate.display(),
                    key.display()
                );
                Failure::misuse(what, "name a certificate and its own private key, both in PEM")
            })?
        }
    };
    config.resumption = Resumption::disabled();
    Ok(config)
}

fn chain(options: &TlsOptions, provider: &Arc<CryptoProvider>) -> Result<Chain, Failure> {
    let (roots, named) = match options.authorities.as_deref() {
        Some(file) => (trust::of_file(file)?, trust::certificates(file)?),
        None => (trust::of_the_system("--insecure")?, Vec::new()),
    };
    let mut verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
    if let Some(file) = options.revoked.as_deref() {
        // Authorities without a list count as having revoked nothing.
        verifier = verifier.with_crls(trust::revoked(file)?).allow_unknown_revocation_status();
    }
    let verifier = verifier.build().map_err(|e| match e {
        e @ VerifierBuilderError::InvalidCrl(_) => trust::no_lists(options.revoked.as_deref(), &e),
        e => Failure::run(format!("certificates cannot be checked: {e}"), "use --insecure"),
    })?;
    Ok(Chain::new(verifier, named))
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, Failure> {
    PrivateKeyDer::from_pem_file(path).map_err(|e| {
        Failure::misuse(
            format!("the private key in {} cannot be used: {e}", path.display()),
            "name a PEM file with an unencrypted private key",
        )
    })
}
