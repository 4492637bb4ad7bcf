//! `smtp`, the server: whatever arrives, and however it is cut, the same replies leave and the same messages are stored;
//! replies are sound, and no message holds what should have ended it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pitot_proto::StoreError;
use pitot_proto::smtp::{Smtp, SmtpOptions};
use pitot_proto_harness as harness;
use pitot_proto_harness::{Files, Pump};

fuzz_target!(|data: &[u8]| {
    let Some((&first, input)) = data.split_first() else { return };
    let (cut, store) = (usize::from(first >> 1) + 1, first & 1 == 1);
    let options = SmtpOptions {
        store,
        message_bytes_max: 1000,
        recipients_max: 3,
        errors_max: 6,
        ..SmtpOptions::default()
    };
    let server = Smtp::new(&options).expect("sound options");
    let files = Files::new();
    let whole = harness::exchange(&server, &files, [input]);
    assert_eq!(harness::exchange(&server, &files, input.chunks(cut)), whole);

    let mut lines = whole.sent.split(|&byte| byte == b'\n');
    assert_eq!(lines.next_back(), Some(&b""[..]), "the last line has no end");
    let mut replies = 0;
    for line in lines {
        let (code, rest) = line.split_at(3);
        assert!((b'2'..=b'5').contains(&code[0]) && code[1..].iter().all(u8::is_ascii_digit));
        assert!(matches!(rest[0], b' ' | b'-') && rest.ends_with(b"\r") && line.len() < 512);
        replies += u64::from(rest[0] == b' ');
    }
    // The greeting answers nothing, and a farewell may follow an answer.
    assert!((1..=2).contains(&(replies - whole.replies)), "{replies} {}", whole.replies);
    assert!(store || whole.uploads.is_empty());
    for message in &whole.uploads {
        assert!(
            message.starts_with(b"Return-Path: <") && message.ends_with(b"\n") && !message.contains(&b'\r')
        );
    }

    // A disk that fails from some point on loses messages and nothing else.
    let mut pump = Pump::new(&server, &files);
    let half = input.len() / 2;
    pump.feed(&input[..half]);
    pump.store_error = Some(StoreError::NoSpace);
    pump.feed(&input[half..]);
    pump.expire();
    assert!(whole.uploads.starts_with(&pump.uploads));
});
