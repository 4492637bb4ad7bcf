use ring::digest;

/// The length of some bytes, and their SHA-256, hexadecimal.
pub fn digest_of(bytes: &[u8]) -> (usize, String) {
    let digest = digest::digest(&digest::SHA256, bytes);
    (bytes.len(), digest.as_ref().iter().map(|b| format!("{b:02x}")).collect())
}
