//! `cargo test --release -p pitot-failing -- --nocapture` prints a line for each store.
#![cfg(target_arch = "x86_64")]
#![forbid(unsafe_code)]

use pitot_failing::proof::prove;
use pitot_failing::store;
use pitot_needs::needs;

fn nothing_is_lost(name: &str) {
    let store = store::find(name).expect("a store of that name");
    let proof = prove(env!("CARGO_BIN_EXE_pitot-failing").as_ref(), store);
    println!("{proof}");
    assert!(proof.failures.is_empty(), "{proof}");
}

#[needs("tracing")]
#[test]
fn the_host_journal_loses_nothing() {
    nothing_is_lost("host journal");
}
