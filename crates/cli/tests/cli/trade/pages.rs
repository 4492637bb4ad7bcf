//! The actions one by one.

use pitot_needs::needs;

use super::client::Client;
use super::server::Server;

/// What every database and setting has to do alike.
fn every_action(options: &[&str], queued: bool) {
    let server = Server::start(options);
    let mut client = Client::new(&server.address);
    assert_eq!(client.see("home")["declined"], "no session");
    assert_eq!(client.act("login", "uid=uid:1&passwd=wrong")["ok"], false);
    let begun = client.act("login", "uid=uid:1&passwd=xxx");
    let (balance, holdings) =
        (begun["account"]["balance"].as_i64().unwrap(), begun["account"]["holdings"].as_i64().unwrap());

    let quotes = client.see("quotes&symbols=s:3,s:4,none");
    assert_eq!(quotes["quotes"].as_array().unwrap().len(), 2);
    let bought = client.act("buy", "symbol=s:3&quantity=7&key=a");
    let order = bought["orders"][0]["id"].as_i64().unwrap();
    let cost = bought["orders"][0]["cost"].as_i64().unwrap();
    assert_eq!(cost, 7 * quotes["quotes"][0]["price"].as_i64().unwrap() + 2495);
    assert_eq!(bought["account"]["balance"], balance - cost);
    // The same key is the same order.
    assert_eq!(client.act("buy", "symbol=s:3&quantity=7&key=a")["orders"][0]["id"], order);
    assert_eq!(client.act("buy", "symbol=s:3&quantity=1000000&key=b")["ok"], false);
    assert_eq!(client.act("buy", "symbol=none&quantity=1&key=c")["ok"], false);
    if queued {
        while client.see(&format!("order&orderID={order}"))["orders"][0]["status"] != "closed" {
            std::thread::yield_now();
        }
    }
    let portfolio = client.see("portfolio");
    let held = portfolio["holdings"].as_array().unwrap();
    assert_eq!(held.len() as i64, holdings + 1);
    let id = held.last().unwrap()["id"].as_i64().unwrap();
    let sold = client.act("sell", &format!("holdingID={id}&key=d"));
    assert_eq!(sold["orders"][0]["kind"], "sell");
    assert_eq!(client.act("sell", &format!("holdingID={id}&key=e"))["ok"], false);
    let sold = sold["orders"][0]["id"].as_i64().unwrap();
    while client.see(&format!("order&orderID={sold}"))["orders"][0]["status"] != "closed" {
        assert!(queued, "an order is open");
    }

    assert_eq!(client.act("update", "fullname=Ann&email=nothing")["ok"], false);
    let changed = client.act("update", "fullname=Ann+%3Cb%3E&email=a@b.test&address=x&creditcard=1");
    assert_eq!(
        (&changed["profile"]["name"], &changed["profile"]["email"]),
        (&"Ann <b>".into(), &"a@b.test".into())
    );
    assert!(client.get("/app?action=account").1.contains("Ann &lt;b&gt;"));
    assert_eq!(client.see("market")["market"]["gainers"].as_array().unwrap().len(), 5);
    assert_eq!(client.act("register", "uid=uid:1&passwd=x&fullname=A&email=a@b")["ok"], false);
    assert_eq!(client.act("logout", "")["ok"], true);
    assert_eq!(client.see("home")["declined"], "no session");
    let new = client.act("register", "uid=new&passwd=p&fullname=N&email=n@b&money=5.50");
    assert_eq!((&new["account"]["balance"], &new["account"]["holdings"]), (&550.into(), &0.into()));

    let audit = client.audit();
    assert_eq!((&audit["holds"], &audit["missing_cents"]), (&true.into(), &0.into()), "{audit}");
    let stats = server.stop();
    assert_eq!(stats["actions"]["buy"]["count"], 4);
    assert!(stats["actions"]["buy"]["statements"].as_u64().unwrap() > 10);
    assert_eq!(stats["audit"]["holds"], true);
}

#[test]
fn every_action_on_sqlite() {
    every_action(&[], false);
}

#[test]
fn every_action_on_sqlite_with_a_queue() {
    every_action(&["--orders", "queued"], true);
}

#[needs("postgres")]
#[test]
fn every_action_on_postgresql() {
    every_action(&["--with-postgres", "--pool", "2"], false);
}

#[needs("postgres")]
#[test]
fn every_action_on_postgresql_serializable_with_a_queue() {
    every_action(&["--with-postgres", "--isolation", "serializable", "--orders", "queued"], true);
}

#[test]
fn pages_embed_files_that_are_there() {
    let server = Server::start(&[]);
    let mut client = Client::new(&server.address);
    client.act("login", "uid=uid:1&passwd=xxx");
    let (status, page) = client.get("/app?action=portfolio");
    assert_eq!(status, 200);
    let files: Vec<&str> = page.split('"').filter(|part| part.starts_with("/files/")).collect();
    assert!(files.len() > 2, "{page}");
    assert!(files.iter().all(|file| client.get(file).0 == 200));
    assert_eq!(client.get("/files/none").0, 404);
    assert_eq!(client.get("/app?action=buy&symbol=s:1&quantity=1").0, 405);
    assert_eq!(client.get("/app?action=nothing").0, 400);
}
