//! Lists of recipients: whatever the file holds, an address that is taken can stand in a command and ends none early; and
//! journals: whatever a file holds, a line that counts is whole.
#![no_main]

use std::io::BufReader;

use libfuzzer_sys::fuzz_target;
use pitot_mail::address::{Address, BadAddress};
use pitot_mail::journal::record::settled_of;
use pitot_mail::list::List;

fn rows(text: &[u8], buffer: usize) -> Vec<(u64, Result<String, BadAddress>)> {
    let mut list = List::new(BufReader::with_capacity(buffer, text));
    let mut rows = Vec::new();
    while let Some(entry) = list.next_entry().expect("memory can be read") {
        rows.push((entry.line, entry.address.map(|a| format!("{}@{}", a.local, a.domain))));
    }
    rows
}

fuzz_target!(|data: &[u8]| {
    let [buffer, text @ ..] = data else { return };
    let all = rows(text, 1 << 16);
    assert_eq!(rows(text, usize::from(*buffer) + 1), all);
    assert!(all.windows(2).all(|pair| pair[0].0 < pair[1].0));
    for address in all.iter().filter_map(|(_, address)| address.as_ref().ok()) {
        assert!(address.bytes().all(|b| b > b' ' && b != 0x7f && b != b'<' && b != b'>'));
        assert!(address.len() <= 64 + 1 + 253 + 2);
        let again = Address::parse(address.as_bytes()).expect("what was taken once is taken again");
        assert_eq!(format!("{}@{}", again.local, again.domain), *address);
    }
    for line in text.split(|b| *b == b'\n') {
        if let Some((address, _)) = settled_of(line) {
            assert!(!address.is_empty() && line.len() > 9 + address.len());
        }
    }
});
