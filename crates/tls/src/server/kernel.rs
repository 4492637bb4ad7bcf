//! The keys of a connection in the kernel's layout: `struct tls12_crypto_info_aes_gcm_128` and similar ones in
//! include/uapi/linux/tls.h, which consist of bytes and two 16-bit numbers, without gaps.

use pitot_proto::KernelKeys;
use rustls::crypto::cipher::{AeadKey, Iv};
use rustls::{
    CipherSuite, ConnectionTrafficSecrets, ExtractedSecrets, ProtocolVersion, SupportedCipherSuite,
};

/// Bytes of the first four that a nonce of AES-GCM has, which the kernel calls the salt (RFC 5288 section 3).
const SALT_BYTES: usize = 4;

/// Ciphers that a kernel may have of those that servers have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelCipher {
    /// AES-GCM with a key of 128 bits.
    Aes128Gcm,
    /// AES-GCM with a key of 256 bits.
    Aes256Gcm,
    /// ChaCha20-Poly1305; since Linux 5.11.
    ChaCha20Poly1305,
}

impl KernelCipher {
    /// All of them.
    pub const ALL: [KernelCipher; 3] =
        [KernelCipher::Aes128Gcm, KernelCipher::Aes256Gcm, KernelCipher::ChaCha20Poly1305];

    /// The name that RFC 5116 and RFC 8439 have for it.
    pub fn name(self) -> &'static str {
        match self {
            KernelCipher::Aes128Gcm => "AES-128-GCM",
            KernelCipher::Aes256Gcm => "AES-256-GCM",
            KernelCipher::ChaCha20Poly1305 => "ChaCha20-Poly1305",
        }
    }

    /// `TLS_CIPHER_AES_GCM_128` and its like.
    fn number(self) -> u16 {
        match self {
            KernelCipher::Aes128Gcm => 51,
            KernelCipher::Aes256Gcm => 52,
            KernelCipher::ChaCha20Poly1305 => 54,
        }
    }

    fn key_bytes(self) -> usize {
        match self {
            KernelCipher::Aes128Gcm => 16,
            KernelCipher::Aes256Gcm | KernelCipher::ChaCha20Poly1305 => 32,
        }
    }

    /// All-zero keys for TLS 1.2 and TLS 1.3, to probe a kernel.
    pub fn samples(self) -> [Vec<u8>; 2] {
        [Version::Tls12, Version::Tls13]
            .map(|version| info(version, self, &[0; 32][..self.key_bytes()], [0; 12], 0))
    }
}

/// `TLS_1_2_VERSION`, `TLS_1_3_VERSION`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    Tls12 = 0x0303,
    Tls13 = 0x0304,
}

/// The cipher of a suite.
pub(super) fn cipher_of(suite: SupportedCipherSuite) -> Option<KernelCipher> {
    use CipherSuite as S;
    Some(match suite.suite() {
        S::TLS13_AES_128_GCM_SHA256
        | S::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256
        | S::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 => KernelCipher::Aes128Gcm,
        S::TLS13_AES_256_GCM_SHA384
        | S::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384
        | S::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 => KernelCipher::Aes256Gcm,
        S::TLS13_CHACHA20_POLY1305_SHA256
        | S::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256
        | S::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 => KernelCipher::ChaCha20Poly1305,
        _ => return None,
    })
}

/// The keys of both directions, with the numbers of the records that come next.
pub(super) fn keys(version: ProtocolVersion, secrets: &ExtractedSecrets) -> Option<KernelKeys> {
    let version = match version {
        ProtocolVersion::TLSv1_2 => Version::Tls12,
        ProtocolVersion::TLSv1_3 => Version::Tls13,
        _ => return None,
    };
    let of = |(number, secrets): &(u64, ConnectionTrafficSecrets)| {
        let (cipher, key, iv): (_, &AeadKey, &Iv) = match secrets {
            ConnectionTrafficSecrets::Aes128Gcm { key, iv } => (KernelCipher::Aes128Gcm, key, iv),
            ConnectionTrafficSecrets::Aes256Gcm { key, iv } => (KernelCipher::Aes256Gcm, key, iv),
            ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } => {
                (KernelCipher::ChaCha20Poly1305, key, iv)
            }
            _ => return None,
        };
        let (key, iv) = (key.as_ref(), iv.as_ref().try_into().ok()?);
        (key.len() == cipher.key_bytes()).then(|| info(version, cipher, key, iv, *number))
    };
    Some(KernelKeys { send: of(&secrets.tx)?, receive: of(&secrets.rx)? })
}

/// Version, cipher, nonce, key, salt and the number of the next record, in this order.
fn info(version: Version, cipher: KernelCipher, key: &[u8], iv: [u8; 12], number: u64) -> Vec<u8> {
    let mut info = Vec::with_capacity(56);
    info.extend((version as u16).to_ne_bytes());
    info.extend(cipher.number().to_ne_bytes());
    if cipher == KernelCipher::ChaCha20Poly1305 {
        info.extend(iv);
        info.extend(key);
    } else {
        let (salt, rest) = iv.split_at(SALT_BYTES);
        let mut nonce = [0; 8];
        nonce.copy_from_slice(rest);
        if version == Version::Tls12 {
            nonce = fresh_nonce(u64::from_be_bytes(nonce), number).to_be_bytes();
        }
        info.extend(nonce);
        info.extend(key);
        info.extend(salt);
    }
    info.extend(number.to_be_bytes());
    info
}

/// The explicit nonce of the next record in TLS 1.2, where both sides may choose it. The library has used `first` combined with its
/// record numbers in the lowest bits (exclusive or). The kernel counts up from its start value, which must not meet any of those.
fn fresh_nonce(first: u64, records: u64) -> u64 {
    if records == 0 {
        return first;
    }
    let span = records.next_power_of_two();
    (first & !(span - 1)).wrapping_add(span)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::mem::offset_of;

    use super::*;

    /// What the header has, as the library of C declares it.
    #[test]
    fn keys_are_laid_out_as_the_header_has_them() {
        let iv = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
        let number = 0x1122_3344_5566_7788_u64;
        macro_rules! check {
            ($cipher:expr, $layout:ident, $number:ident, $nonce:expr, $salt:expr) => {
                type Layout = libc::$layout;
                let key: Vec<u8> = (100..100 + $cipher.key_bytes() as u8).collect();
                let made = info(Version::Tls13, $cipher, &key, iv, number);
                assert_eq!(made.len(), size_of::<Layout>());
                assert_eq!(made[..2], libc::TLS_1_3_VERSION.to_ne_bytes());
                assert_eq!(made[2..4], libc::$number.to_ne_bytes());
                assert!(made[offset_of!(Layout, iv)..].starts_with($nonce));
                assert!(made[offset_of!(Layout, key)..].starts_with(&key));
                assert!(made[offset_of!(Layout, salt)..].starts_with($salt));
                assert_eq!(made[offset_of!(Layout, rec_seq)..], number.to_be_bytes());
                let [old, new] = $cipher.samples();
                assert_eq!((old.len(), new.len()), (made.len(), made.len()));
                assert_eq!(old[..2], libc::TLS_1_2_VERSION.to_ne_bytes());
            };
        }
        {
            check!(
                KernelCipher::Aes128Gcm,
                tls12_crypto_info_aes_gcm_128,
                TLS_CIPHER_AES_GCM_128,
                &iv[4..],
                &iv[..4]
            );
        }
        {
            check!(
                KernelCipher::Aes256Gcm,
                tls12_crypto_info_aes_gcm_256,
                TLS_CIPHER_AES_GCM_256,
                &iv[4..],
                &iv[..4]
            );
        }
        {
            check!(
                KernelCipher::ChaCha20Poly1305,
                tls12_crypto_info_chacha20_poly1305,
                TLS_CIPHER_CHACHA20_POLY1305,
                &iv,
                &[]
            );
        }
    }

    #[test]
    fn the_kernel_begins_behind_all_nonces_that_the_library_has_used() {
        for first in [0, 1, 6, 0xffff_ffff_ffff_fff0, u64::MAX] {
            for records in [0, 1, 2, 3, 8, 13] {
                let used: BTreeSet<u64> = (0..records).map(|number| first ^ number).collect();
                let next = fresh_nonce(first, records);
                let met = (0..1000).any(|number| used.contains(&next.wrapping_add(number)));
                assert!(!met, "{first:#x} {records}");
            }
        }
    }

    #[test]
    fn all_suites_of_the_library_have_a_cipher_that_a_kernel_may_have() {
        for suite in rustls::crypto::ring::ALL_CIPHER_SUITES {
            assert!(cipher_of(*suite).is_some(), "{suite:?}");
        }
    }
}
