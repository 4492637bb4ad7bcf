use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;

use super::play::{IncomingReply, Play};
use super::scripts::Scripts;
use super::take::Taker;
use super::template::{Form, Names, Template, Values};
use super::{SessionSpec, Source, StepSpec, TakeSpec, Turn};
use crate::exchange::{Draw, Verdict};
use crate::protocol::ClientOptions;

const DRAW: Draw = Draw { random: 0, index: 7 };

fn names(list: &[&str]) -> Names {
    let mut names = Names::default();
    for name in list {
        names.add(name).unwrap();
    }
    names
}

fn written(text: &str, form: Form, value: &str) -> String {
    let template = Template::parse(text.as_bytes(), form, &names(&["a"])).unwrap();
    let mut out = Vec::new();
    let values = Values { taken: &[value.as_bytes().to_vec()], number: 7, random: 0 };
    template.write(values, &mut values.draws(), 3, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn values_are_put_in_as_their_place_wants() {
    assert_eq!(written("x{a}{a}-{session}{{a}}{b c}{", Form::Raw, "1"), "x11-7{a}{b c}{");
    assert_eq!(written("/p/{a}", Form::Path, "a b/c?d=\u{e4}\r\n"), "/p/a%20b/c?d=%C3%A4%0D%0A");
    assert_eq!(written("A: {a}", Form::Header, "b\r\nc: d"), "A: b  c: d");
    assert_eq!(written("t={a}", Form::Urlencoded, "a+/=b"), "t=a%2B%2F%3Db");
    assert_eq!(written(r#"{"t": "{a}"}"#, Form::Json, "\"\\\n"), "{\"t\": \"\\\"\\\\\\u000A\"}");
    assert_eq!(written("Content-Length: \u{1}", Form::Header, ""), "Content-Length: 3");
}

#[test]
fn a_name_that_is_not_known_is_refused() {
    let refused = Template::parse(b"/{b}", Form::Path, &names(&["a"])).unwrap_err();
    assert!(refused.contains("`{b}`") && refused.contains("`{{b}}`"), "{refused}");
    for bad in ["", "1a", "a b", "session"] {
        assert!(Names::default().add(bad).is_err(), "{bad}");
    }
}

#[test]
fn values_are_taken_from_every_part_of_a_reply() {
    let head = b"HTTP/1.1 302 Found\r\nX: 1\r\nLocation:  /next \r\nLocation: /other\r\n\r\n";
    let of_head =
        |source| Taker::new(&source).unwrap().in_head(302, head).map(|v| String::from_utf8(v).unwrap());
    assert_eq!(of_head(Source::Status).as_deref(), Some("302"));
    assert_eq!(of_head(Source::Header("location".into())).as_deref(), Some("/next"));
    assert_eq!(of_head(Source::Header("absent".into())), None);
    let of_body = |source, body: &[u8]| {
        Taker::new(&source).unwrap().in_body(body).map(|v| String::from_utf8(v).unwrap())
    };
    let csrf = || Source::Regex(r#"name="csrf" value="([^"]+)""#.into());
    assert_eq!(of_body(csrf(), b"\xff<input name=\"csrf\" value=\"t0\">").as_deref(), Some("t0"));
    assert_eq!(of_body(csrf(), b"nothing"), None);
    assert_eq!(of_body(Source::Regex("l.".into()), b"hello").as_deref(), Some("ll"));
    let json = br#"{"user": {"id": 5, "name": "ann"}, "list": [true]}"#;
    let pointer = |p: &str| of_body(Source::Json(p.into()), json);
    assert_eq!(pointer("/user/id").as_deref(), Some("5"));
    assert_eq!(pointer("/user/name").as_deref(), Some("ann"));
    assert_eq!(pointer("/list").as_deref(), Some("[true]"));
    assert_eq!(pointer("/none"), None);
    assert!(
        Taker::new(&Source::Json("x".into())).is_err() && Taker::new(&Source::Regex("(".into())).is_err()
    );
}

fn step(name: &str) -> StepSpec {
    StepSpec { name: name.into(), ..StepSpec::default() }
}

fn play(steps: Vec<StepSpec>) -> Result<Play, String> {
    let sessions = vec![SessionSpec { name: "s".into(), weight: 1.0, draws: Vec::new(), steps }];
    let scripts = Scripts::new(&ClientOptions { sessions, ..ClientOptions::default() }, |_, _| Ok(()))?;
    Ok(Play::new(Arc::new(scripts)))
}

fn answer(play: &mut Play, step: u16, status: u16) -> (Verdict, Turn) {
    let mut answer = IncomingReply::default();
    play.head(&mut answer, step, status, b"");
    (play.answered(&mut answer, step), play.turn())
}

#[test]
fn the_first_request_of_a_burst_goes_alone_and_the_others_together() {
    let think = Duration::from_secs(2);
    let burst = |name: &str| StepSpec { burst: true, ..step(name) };
    let last = StepSpec { think, ..burst("c") };
    let mut play = play(vec![step("a"), burst("b"), last, step("d")]).unwrap();
    assert_eq!((play.room(), play.next(DRAW), play.room()), (1, 0, 0));
    assert_eq!(answer(&mut play, 0, 200), (Verdict::Right, Turn::GoesOn { think: Duration::ZERO }));
    assert_eq!((play.room(), play.next(DRAW), play.room(), play.next(DRAW), play.room()), (2, 1, 1, 2, 0));
    assert_eq!(answer(&mut play, 1, 200).1, Turn::GoesOn { think: Duration::ZERO });
    assert_eq!(play.room(), 0);
    assert_eq!(answer(&mut play, 2, 200).1, Turn::GoesOn { think });
    assert_eq!((play.room(), play.next(DRAW)), (1, 3));
    assert_eq!(answer(&mut play, 3, 200).1, Turn::Completed { think: Duration::ZERO });
    assert!(play.is_between());
    assert_eq!((play.room(), play.next(DRAW)), (1, 0));
}

#[test]
fn a_failed_step_ends_the_session_when_nothing_is_awaited() {
    let burst = |name: &str| StepSpec { burst: true, ..step(name) };
    let mut play = play(vec![step("a"), burst("b"), burst("c"), step("d")]).unwrap();
    play.next(DRAW);
    answer(&mut play, 0, 200);
    play.next(DRAW);
    play.next(DRAW);
    assert_eq!(
        answer(&mut play, 1, 503),
        (Verdict::Refused("s/b:status-503"), Turn::GoesOn { think: Duration::ZERO })
    );
    assert_eq!(answer(&mut play, 2, 200), (Verdict::Right, Turn::Failed(1)));
    play.next(DRAW);
    assert_eq!((play.abandon(None), play.abandon(None)), (Some(0), None));
    assert!(play.is_between());
}

#[test]
fn a_value_that_is_not_there_fails_its_step() {
    let take = TakeSpec { name: "id".into(), from: Source::Json("/id".into()) };
    let mut play = play(vec![StepSpec { take: vec![take], ..step("a") }, step("b")]).unwrap();
    let mut reply = IncomingReply::default();
    play.next(DRAW);
    play.head(&mut reply, 0, 200, b"");
    play.body(&mut reply, 0, b"{\"id\"");
    play.body(&mut reply, 0, b": 9}");
    assert_eq!(play.answered(&mut reply, 0), Verdict::Right);
    let values = play.values();
    assert_eq!((values.taken, values.number), (&[b"9".to_vec()][..], 7));
    play.next(DRAW);
    answer(&mut play, 1, 200);
    play.next(DRAW);
    play.head(&mut reply, 0, 200, b"");
    assert_eq!((play.answered(&mut reply, 0), play.turn()), (Verdict::Refused("s/a:no-id"), Turn::Failed(0)));
}

#[test]
fn what_cannot_be_played_is_refused() {
    assert!(play(vec![]).is_err());
    assert!(play(vec![StepSpec { burst: true, ..step("a") }]).unwrap_err().contains("first step"));
    let thinking = StepSpec { think: Duration::from_secs(1), ..step("a") };
    assert!(
        play(vec![thinking, StepSpec { burst: true, ..step("b") }])
            .unwrap_err()
            .contains("last step of a burst")
    );
}

proptest! {
    #[test]
    fn no_template_makes_it_panic(text in prop::collection::vec(prop_oneof![Just(b'{'), Just(b'}'), any::<u8>()], 0..60)) {
        if let Ok(template) = Template::parse(&text, Form::Raw, &names(&["a"])) {
            let values = Values { taken: &[b"v".to_vec()], number: 1, random: 3 };
            template.write(values, &mut values.draws(), 2, &mut Vec::new());
        }
    }
}
