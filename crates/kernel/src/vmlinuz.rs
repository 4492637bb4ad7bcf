//! Reads the header of a kernel image (Documentation/arch/x86/boot.rst).

/// The release of a bzImage, as uname(1) prints it; none if the file is not one.
pub(crate) fn release(file: &[u8]) -> Option<String> {
    if file.get(0x202..0x206)? != b"HdrS" {
        return None;
    }
    let pointer = file.get(0x20e..0x210)?;
    let at = 0x200 + usize::from(u16::from_le_bytes([pointer[0], pointer[1]]));
    let text = file.get(at..)?;
    let end = text.iter().take(256).position(|byte| !(0x21..0x7f).contains(byte))?;
    let release = std::str::from_utf8(&text[..end]).ok()?;
    release.starts_with(|first: char| first.is_ascii_digit()).then(|| release.to_owned())
}

/// `6.12` of `6.12.117+deb12-cloud-amd64`.
pub(crate) fn short(release: &str) -> String {
    let numbers = release.split(|c: char| c != '.' && !c.is_ascii_digit()).next().unwrap_or_default();
    numbers.split('.').take(2).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_read_from_the_head_of_a_kernel() {
        let mut file = vec![0; 0x400];
        file[0x202..0x206].copy_from_slice(b"HdrS");
        file[0x20e..0x210].copy_from_slice(&0x100_u16.to_le_bytes());
        file[0x300..0x30c].copy_from_slice(b"6.1.0-56 (x)");
        assert_eq!(release(&file).as_deref(), Some("6.1.0-56"));
        assert_eq!(release(&file[..0x300]), None);
        assert_eq!(release(b"#!/bin/sh"), None);
        assert_eq!(short("6.12.117+deb12-cloud-amd64"), "6.12");
        assert_eq!(short("7.0-rc1"), "7.0");
    }
}
