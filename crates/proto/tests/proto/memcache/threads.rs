//! Many threads on one cache.

use std::thread;

use super::support::{ask, cache, connect, stat};

#[test]
fn a_counter_counts_every_thread_and_one_of_many_cas_wins() {
    const THREADS: usize = 4;
    const EACH: usize = 2000;
    let cache = cache();
    assert_eq!(ask(&mut connect(&cache), "set n 0 0 1\r\n0\r\nset c 0 0 1\r\n0\r\n"), "STORED\r\nSTORED\r\n");
    let stored: usize = thread::scope(|scope| {
        let work = || {
            let mut pump = connect(&cache);
            let mut stored = 0;
            for _ in 0..EACH {
                ask(&mut pump, "incr n 1\r\n");
                let item = ask(&mut pump, "gets c\r\n");
                let mut words = item.split_ascii_whitespace();
                let (cas, value) = (words.nth(4).unwrap(), words.next().unwrap());
                let new = (value.parse::<u64>().unwrap() + 1).to_string();
                let reply = ask(&mut pump, format!("cas c 0 0 {} {cas}\r\n{new}\r\n", new.len()));
                stored += usize::from(reply == "STORED\r\n");
            }
            stored
        };
        let handles: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
        handles.into_iter().map(|handle| handle.join().unwrap()).sum()
    });
    let mut pump = connect(&cache);
    let total = THREADS * EACH;
    assert_eq!(ask(&mut pump, "get n\r\n"), format!("VALUE n 0 4\r\n{total}\r\nEND\r\n"));
    let counted = ask(&mut pump, "get c\r\n");
    assert_eq!(counted.lines().nth(1), Some(stored.to_string().as_str()), "{counted}");
    assert_eq!(stat(&mut pump, "incr_hits"), total as u64);
    assert_eq!(stat(&mut pump, "cas_hits") + stat(&mut pump, "cas_badval"), total as u64);
    assert_eq!(stat(&mut pump, "curr_connections"), 1);
}
