//! Numbers that are drawn or counted for each request: `{rand:1..100}` and `{seq:1}`.

use std::collections::BTreeSet;

use super::server::{Server, ok};
use super::{load, refused};

#[test]
fn each_number_of_a_sequence_comes_once_over_all_threads_and_connections() {
    let server = Server::start(|_| ok());
    let url = format!("{}/k/{{rand:1..50}}?n={{seq:1}}", server.url());
    let arguments = [&*url, "-n", "200", "-c", "4", "-t", "2", "--body", "id={seq:1000}", "--seed", "7"];
    let (result, code) = load(&arguments);
    assert_eq!((code, &result["requests"]["ok"]), (0, &200.into()), "{result}");
    let seen = server.seen();
    let mut numbers = BTreeSet::new();
    let mut drawn = BTreeSet::new();
    for request in &seen {
        let (path, number) = request.path.split_once("?n=").unwrap();
        let number: u64 = number.parse().unwrap();
        assert_eq!(request.body, format!("id={}", number + 999));
        drawn.insert(path.strip_prefix("/k/").unwrap().parse::<u64>().unwrap());
        assert!(numbers.insert(number), "{number} came twice");
    }
    assert_eq!(numbers, (1..=200).collect());
    assert!(drawn.iter().all(|n| (1..=50).contains(n)) && drawn.len() > 30, "{drawn:?}");
    // The same seed draws the same numbers.
    load(&arguments);
    let again = server.seen().split_off(seen.len());
    let paths = |requests: &[super::server::Request]| {
        requests.iter().map(|request| request.path.clone()).collect::<BTreeSet<_>>()
    };
    assert_eq!(paths(&seen), paths(&again));
}

#[test]
fn a_range_that_is_none_is_refused_with_the_way_to_write_it() {
    let said = refused(&["http://127.0.0.1:1/{rand:9..1}", "-n", "1"]);
    assert!(said.contains("{rand:9..1}") && said.contains("write {rand:1..100}"), "{said}");
}
