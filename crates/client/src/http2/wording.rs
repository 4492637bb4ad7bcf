//! From a head of HTTP/1.1 to the fields of one of HTTP/2, while a run goes on.
//!
//! Nothing of it goes into the server's table: what is worded during a run is a path, or values, that rarely come again.

use httlib_hpack::Encoder;

/// Headers that speak of the connection, which this version has other means for (RFC 9113 section 8.2.2).
pub(super) const OF_THE_CONNECTION: [&str; 5] =
    ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"];

const FLAGS: u8 = Encoder::HUFFMAN_NAME | Encoder::HUFFMAN_VALUE | Encoder::BEST_FORMAT;

/// Appends the block of a whole head, up to the empty line that ends it or to its end.
pub(super) fn whole(encoder: &mut Encoder<'_>, scheme: &str, head: &[u8], block: &mut Vec<u8>) {
    let end = memchr::memchr(b'\n', head).map_or(head.len(), |at| at + 1);
    let (line, rest) = head.split_at(end);
    let mut words = line.trim_ascii_end().split(|&b| b == b' ');
    let mut word = || words.next().unwrap_or_default();
    field(encoder, b":method", word(), block);
    field(encoder, b":scheme", scheme.as_bytes(), block);
    field(encoder, b":path", word(), block);
    // Those that begin with a colon come before all others (RFC 9113 section 8.3).
    for (_, value) in fields(rest).filter(|(name, _)| name.eq_ignore_ascii_case(b"host")) {
        field(encoder, b":authority", value, block);
    }
    lines(encoder, rest, block);
}

/// Appends the fields of these lines of a head, up to the empty line that ends it or to their end.
pub(super) fn lines(encoder: &mut Encoder<'_>, lines: &[u8], block: &mut Vec<u8>) {
    for (name, value) in fields(lines) {
        let is = |other: &str| name.eq_ignore_ascii_case(other.as_bytes());
        if !is("host") && !OF_THE_CONNECTION.into_iter().any(is) {
            field(encoder, &name.to_ascii_lowercase(), value, block);
        }
    }
}

fn fields(lines: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let lines = lines.split(|&b| b == b'\n').map(<[u8]>::trim_ascii).take_while(|line| !line.is_empty());
    lines.filter_map(|line| {
        let colon = memchr::memchr(b':', line)?;
        Some((&line[..colon], line[colon + 1..].trim_ascii()))
    })
}

fn field(encoder: &mut Encoder<'_>, name: &[u8], value: &[u8], block: &mut Vec<u8>) {
    // It fails for fields that are given by a number that is none of the table, and here are none.
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
