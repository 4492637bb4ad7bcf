//! The lab's end of a stream to an agent: standard input and output of this process, which a plan's host names as its `agent`.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use pitot_results::Failure;
use tokio::sync::mpsc::{Receiver, channel};

use crate::agent::Announcement;
use crate::connection::Connection;
use crate::entry::sentence;
use crate::keys::SigningKey;
use crate::session::{
    Opening, OpeningReply, Order, PIECE_BYTES_MAX, Turn, down, drawn, openings, signed, unnumbered, up,
};

/// How long an agent may take to be there and to answer. A lab waits for 30 s.
const OPENING_MAX: Duration = Duration::from_secs(20);
/// Between two tries.
const RETRY: Duration = Duration::from_millis(500);
/// How long an agent may take to end, once its input has.
const END_MAX: Duration = Duration::from_secs(5);

/// Passes `input` on to the agent of this name, and what it answers to `output`, until either ends.
///
/// # Errors
/// If no such agent is there, it is at work, it does not trust the key, or the bus loses a message.
pub fn reach(
    connection: &Connection,
    key: &SigningKey,
    agent: &str,
    input: impl Read + Send + 'static,
    output: &mut dyn Write,
) -> Result<(), Failure> {
    connection.block_on(async {
        let (session, mut answers) = open(connection, key, agent).await?;
        let mut pieces = pieces(input);
        let (mut number, mut order) = (0, Order::default());
        loop {
            let message = tokio::select! {
                piece = pieces.recv() => {
                    // The end of the input is an empty piece.
                    let piece = piece.unwrap_or_default();
                    let message = signed(key, &session, number, &piece);
                    number += 1;
                    connection.client.publish(down(&session), message.into()).await.map_err(|e| lost(&e))?;
                    if piece.is_empty() {
                        let _ = tokio::time::timeout(END_MAX, connection.client.flush()).await;
                        let ending = async { while answers.next().await.is_some_and(|m| m.payload.len() > 8) {} };
                        let _ = tokio::time::timeout(END_MAX, ending).await;
                        return Ok(());
                    }
                    continue;
                }
                message = answers.next() => message,
            };
            let Some(message) = message else { return Err(lost(&"the subscription ended")) };
            let Some((number, bytes)) = unnumbered(&message.payload) else { continue };
            match order.turn(number) {
                Turn::Again => {}
                Turn::TooFar => return Err(lost(&"a message of the agent did not arrive")),
                Turn::Next if bytes.is_empty() => return Ok(()),
                Turn::Next => output.write_all(bytes).and_then(|()| output.flush()).map_err(|e| {
                    Failure::run(format!("the connection to the lab was closed: {e}"), "see the lab's output")
                })?,
            }
        }
    })
}

/// The session that the agent has opened, and what comes in it. Each try has a session of its own: an agent whose answer was lost has
/// opened one of which nobody knows, and it opens none twice.
async fn open(
    connection: &Connection,
    key: &SigningKey,
    agent: &str,
) -> Result<(String, async_nats::Subscriber), Failure> {
    let until = Instant::now() + OPENING_MAX;
    loop {
        let found = connection.places().agents.get(agent).await.map_err(|e| lost(&e))?;
        let found = found.and_then(|bytes| serde_json::from_slice::<Announcement>(&bytes).ok());
        let Some(found) = found else {
            if Instant::now() < until {
                tokio::time::sleep(RETRY).await;
                continue;
            }
            return Err(Failure::run(
                format!("no agent `{agent}` is on the bus"),
                "start it on its host: pitot agent --bus URL --trust KEY --name NAME",
            ));
        };
        // What is asked of it while it is at work it would read when nobody waits for it any more.
        if found.running.is_some() && Instant::now() < until {
            tokio::time::sleep(RETRY).await;
            continue;
        }
        let session = drawn()?;
        let answers = connection.client.subscribe(up(&session)).await.map_err(|e| lost(&e))?;
        let opening = Opening { session: session.clone(), agent: agent.to_owned(), instance: found.instance };
        let ask = connection.client.request(openings(agent), opening.sealed(key).into()).await;
        let told = ask.ok().and_then(|message| serde_json::from_slice::<OpeningReply>(&message.payload).ok());
        let why = match (told, found.running) {
            (Some(OpeningReply { refused: None }), _) => return Ok((session, answers)),
            (Some(OpeningReply { refused: Some(why) }), _) => why,
            // One that is gone is announced for a while, and one that has come instead waits for that.
            _ if Instant::now() < until => {
                tokio::time::sleep(RETRY).await;
                continue;
            }
            (None, Some(running)) => format!("it is running {running}"),
            (None, None) => "it does not reply".to_owned(),
        };
        let what = format!("the agent `{agent}` could not be reached: {}", sentence(&why));
        return Err(Failure::run(what, "see its output on its host"));
    }
}

/// What is read, piece by piece; closed at the end.
fn pieces(mut input: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel(16);
    std::thread::spawn(move || {
        let mut buffer = vec![0; PIECE_BYTES_MAX];
        while let Ok(n @ 1..) = input.read(&mut buffer) {
            if sender.blocking_send(buffer[..n].to_vec()).is_err() {
                return;
            }
        }
    });
    receiver
}

fn lost(why: &dyn std::fmt::Display) -> Failure {
    Failure::run(format!("the stream over the bus was lost: {why}"), "check whether nats-server is running")
}
