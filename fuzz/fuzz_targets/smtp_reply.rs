//! Replies of an SMTP server: whatever comes, and however it is cut, the lines are the same, and every line that is
//! handed out is one that stands in the input.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pitot_client::Fault;
use pitot_client::smtp::{EnhancedCode, Extensions, LINE_BYTES_MAX, ReplyReader};

type Lines = Vec<(u16, bool, Vec<u8>, Option<EnhancedCode>)>;

fn read<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Lines, Result<usize, Fault>, Extensions) {
    let (mut reader, mut said) = (ReplyReader::default(), Extensions::default());
    let (mut tail, mut lines) = (Vec::new(), Vec::new());
    for piece in pieces {
        tail.extend_from_slice(piece);
        loop {
            match reader.line(&tail) {
                Ok(Some((used, line))) => {
                    assert!(used <= LINE_BYTES_MAX && (200..600).contains(&line.code));
                    assert!(!line.text.contains(&b'\n') && line.text.len() < used);
                    assert_eq!(&tail[..3], line.code.to_string().as_bytes());
                    assert_eq!(reader.is_within(), !line.last);
                    let enhanced = EnhancedCode::of(&line);
                    assert!(enhanced.is_none_or(|e| {
                        line.text.starts_with([e.class.to_string().as_bytes(), b"."].concat().as_slice())
                    }));
                    said.note(line.text);
                    lines.push((line.code, line.last, line.text.to_vec(), enhanced));
                    tail.drain(..used);
                }
                Ok(None) => {
                    assert!(tail.len() < LINE_BYTES_MAX);
                    break;
                }
                Err(fault) => return (lines, Err(fault), said),
            }
        }
    }
    (lines, Ok(tail.len()), said)
}

fuzz_target!(|data: &[u8]| {
    let [cut, input @ ..] = data else { return };
    assert_eq!(read(input.chunks(usize::from(*cut) + 1)), read([input].into_iter()));
});
