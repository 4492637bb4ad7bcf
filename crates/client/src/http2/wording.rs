//! Translates a head of HTTP/1.1 into fields of HTTP/2 during a run.
//!
//! Nothing goes into the server's table: paths and values written during a run rarely repeat.

use httlib_hpack::Encoder;

use crate::fields::fields;

/// Headers of the connection, which HTTP/2 does not allow (RFC 9113 section 8.2.2).
pub(super) const OF_THE_CONNECTION: [&str; 5] =
    ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"];

const FLAGS: u8 = Encoder::HUFFMAN_NAME | Encoder::HUFFMAN_VALUE | Encoder::BEST_FORMAT;

/// Appends the block of a whole head.
pub(super) fn whole(encoder: &mut Encoder<'_>, scheme: &str, head: &[u8], block: &mut Vec<u8>) {
    let end = memchr::memchr(b'\n', head).map_or(head.len(), |at| at + 1);
    let (line, rest) = head.split_at(end);
    let mut words = line.trim_ascii_end().split(|&b| b == b' ');
    let mut word = || words.next().unwrap_or_default();
    field(encoder, b":method", word(), block);
    field(encoder, b":scheme", scheme.as_bytes(), block);
    field(encoder, b":path", word(), block);
    // Pseudo-header fields come first (RFC 9113 section 8.3).
    for (_, value) in fields(rest).filter(|(name, _)| name.eq_ignore_ascii_case(b"host")) {
        field(encoder, b":authority", value, block);
    }
    lines(encoder, rest, block);
}

/// Appends the fields of these lines of a head.
pub(super) fn lines(encoder: &mut Encoder<'_>, lines: &[u8], block: &mut Vec<u8>) {
    for (name, value) in fields(lines) {
        let is = |other: &str| name.eq_ignore_ascii_case(other.as_bytes());
        if !is("host") && !OF_THE_CONNECTION.into_iter().any(is) {
            field(encoder, &name.to_ascii_lowercase(), value, block);
        }
    }
}

fn field(encoder: &mut Encoder<'_>, name: &[u8], value: &[u8], block: &mut Vec<u8>) {
    // It fails only for indexed fields outside the table.
    let _ = encoder.encode((name.to_vec(), value.to_vec(), FLAGS), block);
}

#[cfg(test)]
mod tests {
    use httlib_hpack::Decoder;

    use super::*;

    #[test]
    fn a_head_of_one_version_means_the_same_in_the_other() {
        let head = b"POST /a?b HTTP/1.1\r\nUser-Agent: x\r\nHost: h:81\r\nConnection: close\r\nCookie: a=\xff; b=c\r\n\
                     \r\nbody: no";
        let mut block = Vec::new();
        whole(&mut Encoder::default(), "https", head, &mut block);
        let mut seen = Vec::new();
        Decoder::default().decode(&mut block, &mut seen).unwrap();
        let seen: Vec<(&[u8], &[u8])> = seen.iter().map(|(name, value, _)| (&**name, &**value)).collect();
        let wanted: [(&[u8], &[u8]); 6] = [
            (b":method", b"POST"),
            (b":scheme", b"https"),
            (b":path", b"/a?b"),
            (b":authority", b"h:81"),
            (b"user-agent", b"x"),
            (b"cookie", b"a=\xff; b=c"),
        ];
        assert_eq!(seen, wanted);
    }
}
