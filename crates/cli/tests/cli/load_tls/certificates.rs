//! An authority, and certificates of it, in files.

use std::path::Path;

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, CertificateRevocationListParams, DnType,
    ExtendedKeyUsagePurpose, IsCa, Issuer, KeyIdMethod, KeyPair, RevocationReason, RevokedCertParams,
    date_time_ymd,
};
use tempfile::TempDir;

pub struct Pki {
    folder: TempDir,
    issuer: Issuer<'static, KeyPair>,
    paths: Vec<String>,
}

/// A server's certificate and key.
pub struct Identity {
    pub certificate: String,
    pub key: String,
}

impl Pki {
    pub fn new() -> Pki {
        let folder = tempfile::tempdir().unwrap();
        let mut params = CertificateParams::default();
        // No two authorities have the same name: else the signature would be wrong, and not the issuer.
        params.distinguished_name.push(DnType::CommonName, folder.path().to_str().unwrap());
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let authority = params.self_signed(&key).unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let paths: Vec<String> = ["authority.pem", "client.pem", "client.key"].map(path).into();
        std::fs::write(&paths[0], authority.pem()).unwrap();
        let pki = Pki { issuer: Issuer::new(params, key), folder, paths };
        let mut client = CertificateParams::new(["client".to_owned()]).unwrap();
        client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        pki.issue("client", &client);
        pki
    }

    fn issue(&self, name: &str, params: &CertificateParams) -> Identity {
        self.write(name, |key| params.signed_by(key, &self.issuer).unwrap())
    }

    fn write(&self, name: &str, sign: impl FnOnce(&KeyPair) -> Certificate) -> Identity {
        let key = KeyPair::generate().unwrap();
        let certificate = sign(&key);
        let path = |end: &str| self.folder.path().join(format!("{name}.{end}")).to_str().unwrap().to_owned();
        let identity = Identity { certificate: path("pem"), key: path("key") };
        std::fs::write(&identity.certificate, certificate.pem()).unwrap();
        std::fs::write(&identity.key, key.serialize_pem()).unwrap();
        // What HAProxy wants: both in one file.
        std::fs::write(path("both"), certificate.pem() + &key.serialize_pem()).unwrap();
        identity
    }

    /// The file with the authority's certificate.
    pub fn authority(&self) -> &str {
        &self.paths[0]
    }

    /// The files with a client's certificate and key.
    pub fn client(&self) -> (&str, &str) {
        (&self.paths[1], &self.paths[2])
    }

    /// The identity of a server called localhost.
    pub fn server(&self) -> Identity {
        self.issue("server", &CertificateParams::new(["localhost".to_owned()]).unwrap())
    }

    /// One whose certificate is another than it should be.
    pub fn changed(&self, name: &str, change: impl FnOnce(&mut CertificateParams)) -> Identity {
        let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
        change(&mut params);
        self.issue(name, &params)
    }

    /// One that is valid in these years only.
    pub fn valid_in(&self, years: std::ops::Range<i32>) -> Identity {
        self.changed(&format!("from-{}", years.start), |params| {
            params.not_before = date_time_ymd(years.start, 1, 1);
            params.not_after = date_time_ymd(years.end, 1, 1);
        })
    }

    /// One whose certificate has expired.
    pub fn expired(&self) -> Identity {
        self.valid_in(2001..2002)
    }

    /// One that is for clients only.
    pub fn for_clients(&self) -> Identity {
        self.changed("purpose", |params| {
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        })
    }

    /// One whose certificate is that of an authority.
    pub fn of_an_authority(&self) -> Identity {
        self.changed("intermediate", |params| params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained))
    }

    /// One that somebody has signed who only bears the authority's name.
    pub fn forged(&self) -> Identity {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, self.folder.path().to_str().unwrap());
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let forger = Issuer::new(params, KeyPair::generate().unwrap());
        self.write("forged", |key| {
            CertificateParams::new(["localhost".to_owned()]).unwrap().signed_by(key, &forger).unwrap()
        })
    }

    /// One that has signed its certificate itself.
    pub fn self_signed(&self) -> Identity {
        self.write("own", |key| {
            CertificateParams::new(["localhost".to_owned()]).unwrap().self_signed(key).unwrap()
        })
    }

    /// The same with a serial number, and the file of a list of the authority that has the numbers in `revoked`.
    pub fn numbered(&self, serial: u64, revoked: &[u64]) -> (Identity, String) {
        let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
        params.serial_number = Some(serial.into());
        let entry = |serial: &u64| RevokedCertParams {
            serial_number: (*serial).into(),
            revocation_time: date_time_ymd(2025, 1, 1),
            reason_code: Some(RevocationReason::KeyCompromise),
            invalidity_date: None,
        };
        let list = CertificateRevocationListParams {
            this_update: date_time_ymd(2025, 1, 2),
            next_update: date_time_ymd(2999, 1, 1),
            crl_number: 1u64.into(),
            issuing_distribution_point: None,
            revoked_certs: revoked.iter().map(entry).collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        let path = self.folder.path().join("revoked.pem");
        std::fs::write(&path, list.signed_by(&self.issuer).unwrap().pem().unwrap()).unwrap();
        (self.issue("numbered", &params), path.to_str().unwrap().to_owned())
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}
