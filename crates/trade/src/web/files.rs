//! What pages embed: a style sheet and four small pictures, made once.

use std::sync::LazyLock;

/// A file.
pub(super) struct File {
    pub(super) kind: &'static str,
    pub(super) bytes: &'static [u8],
}

const STYLE: &str = include_str!("style.css");

/// The pictures, by name and the colours of their gradient.
const PICTURES: [(&str, [u8; 3], [u8; 3]); 4] = [
    ("banner.bmp", [0x12, 0x2b, 0x4a], [0x4a, 0x90, 0xd9]),
    ("up.bmp", [0x0b, 0x5d, 0x1e], [0x7a, 0xd6, 0x8c]),
    ("down.bmp", [0x6b, 0x0f, 0x0f], [0xe0, 0x7a, 0x7a]),
    ("bell.bmp", [0x5a, 0x4a, 0x00], [0xf2, 0xd1, 0x3d]),
];

/// The file of a path.
pub(super) fn find(path: &str) -> Option<File> {
    static MADE: LazyLock<Vec<(&str, Vec<u8>)>> =
        LazyLock::new(|| PICTURES.iter().map(|(name, from, to)| (*name, gradient(*from, *to))).collect());
    let name = path.strip_prefix("/files/")?;
    if name == "style.css" {
        return Some(File { kind: "text/css", bytes: STYLE.as_bytes() });
    }
    let (_, bytes) = MADE.iter().find(|(known, _)| *known == name)?;
    Some(File { kind: "image/bmp", bytes })
}

/// A bitmap of 48 by 16 pixels from one colour to another (BITMAPINFOHEADER, 24 bits a pixel).
fn gradient(from: [u8; 3], to: [u8; 3]) -> Vec<u8> {
    const WIDTH: u32 = 48;
    const HEIGHT: u32 = 16;
    const HEADER: u32 = 54;
    let size = HEADER + WIDTH * HEIGHT * 3;
    let mut out = b"BM".to_vec();
    for word in [size, 0, HEADER, 40, WIDTH, HEIGHT, 1 | 24 << 16, 0, WIDTH * HEIGHT * 3, 2835, 2835, 0, 0] {
        out.extend(word.to_le_bytes());
    }
    for _ in 0..HEIGHT {
        for x in 0..WIDTH {
            let mix = |i: usize| ((u32::from(from[i]) * (WIDTH - x) + u32::from(to[i]) * x) / WIDTH) as u8;
            out.extend([mix(2), mix(1), mix(0)]);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_pages_embed_is_there() {
        assert!(PICTURES.iter().all(|(name, ..)| {
            find(&format!("/files/{name}")).is_some_and(|file| file.bytes.len() == 54 + 48 * 16 * 3)
        }));
        assert!(find("/files/style.css").is_some() && find("/files/../x").is_none() && find("/").is_none());
    }
}
