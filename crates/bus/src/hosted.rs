//! The agent's end of a stream to a lab: a program whose standard input and output the stream is.

use std::io::{Read, Write};
use std::process::Child;
use std::time::{Duration, Instant};

use futures_util::{FutureExt, StreamExt};
use tokio::sync::mpsc::{Receiver, channel};

use crate::agent::{Agent, Work};
use crate::lease::Lease;
use crate::session::{
    Opening, OpeningReply, Order, PIECE_BYTES_MAX, Turn, down, numbered, openings, up, verified,
};

/// How often one looks whether the agent is to end.
const POLL: Duration = Duration::from_millis(200);
/// So much may wait for a program: twice the longest message of a lab, which asks one question at a time.
const INPUT_PIECES_MAX: usize = 512;
/// How long a lab may say nothing at first: it asks at once, unless it did not hear that there is a stream.
const FIRST_MAX: Duration = Duration::from_secs(15);
/// How long a program may take to end after its input, before it is killed.
const END_MAX: Duration = Duration::from_secs(5);

/// Where labs ask for streams.
pub(crate) struct Openings {
    subscriber: Option<async_nats::Subscriber>,
    /// Sessions that were asked for: none is opened twice.
    seen: Vec<String>,
}

impl Openings {
    pub(crate) async fn of(agent: &Agent<'_>) -> Openings {
        let subscriber = agent.connection.client.subscribe(openings(agent.name)).await.ok();
        Openings { subscriber, seen: Vec::new() }
    }

    /// Serves the stream that was asked for, to its end. False if none was. An agent in a stream takes no jobs.
    pub(crate) async fn serve(
        &mut self,
        agent: &Agent<'_>,
        lease: &mut Lease<'_>,
        work: &mut dyn Work,
        stop: &dyn Fn() -> bool,
    ) -> bool {
        let Some(message) = self.subscriber.as_mut().and_then(|s| s.next().now_or_never()).flatten() else {
            return false;
        };
        let Some(reply) = message.reply else { return false };
        let client = &agent.connection.client;
        let opened = self.check(agent, &lease.instance, &message.payload);
        let started = match opened {
            // Before the answer, so that nothing is missed.
            Ok(session) => match client.subscribe(down(&session)).await {
                Ok(sent) => work.open().map(|child| (session, sent, child)),
                Err(e) => Err(format!("the bus refused the subscription: {e}")),
            },
            Err(why) => Err(why.to_owned()),
        };
        let refused = started.as_ref().err().cloned();
        match &refused {
            None => (agent.tell)("a lab is served"),
            Some(why) => (agent.tell)(&format!("refused a lab: {why}")),
        }
        let answer = serde_json::to_vec(&OpeningReply { refused }).expect("plain data has a JSON form");
        // The subscription must be known to the server before the lab sends.
        agent.connection.flush().await;
        let _ = client.publish(reply, answer.into()).await;
        if let Ok((session, sent, child)) = started {
            let mut program = Program::new(child);
            let why = stream(agent, lease, &session, sent, &mut program, stop).await;
            drop(program);
            agent.connection.flush().await;
            (agent.tell)(&format!("the stream to the lab has ended: {why}"));
        }
        true
    }

    fn check(&mut self, agent: &Agent<'_>, instance: &str, message: &[u8]) -> Result<String, &'static str> {
        let opening = Opening::open(message, agent.trusted)?;
        if opening.agent != agent.name || opening.instance != instance {
            return Err("it was signed for another agent");
        }
        if self.seen.contains(&opening.session) || !crate::is_name(&opening.session) {
            return Err("it is a repeated request");
        }
        self.seen.push(opening.session.clone());
        Ok(opening.session)
    }
}

/// Passes on what comes, until either end is reached. Returns why it ended.
async fn stream(
    agent: &Agent<'_>,
    lease: &mut Lease<'_>,
    session: &str,
    mut sent: async_nats::Subscriber,
    program: &mut Program,
    stop: &dyn Fn() -> bool,
) -> &'static str {
    let client = &agent.connection.client;
    let (mut number, mut order, mut renewed) = (0, Order::default(), None::<Instant>);
    let (begun, mut has_heard) = (Instant::now(), false);
    loop {
        if stop() {
            return "the agent is stopping";
        }
        if !has_heard && begun.elapsed() >= FIRST_MAX {
            return "the lab is silent";
        }
        if renewed.is_none_or(|at| at.elapsed() >= agent.connection.places().times.progress) {
            let _ = lease.keep(Some(&format!("stream.{session}"))).await;
            renewed = Some(Instant::now());
        }
        tokio::select! {
            message = sent.next() => {
                let Some(message) = message else { return "the bus ended it" };
                // What nobody trusted has signed is as if it were not there.
                let Some((number, bytes)) = verified(agent.trusted, session, &message.payload) else { continue };
                has_heard = true;
                match order.turn(number) {
                    Turn::Again => {}
                    Turn::TooFar => return "the bus lost a message",
                    Turn::Next if bytes.is_empty() => program.close_input(),
                    Turn::Next if program.write(bytes) => {}
                    Turn::Next => return "its program does not read any more",
                }
            }
            piece = program.output.recv() => {
                let piece = piece.unwrap_or_default();
                let _ = client.publish(up(session), numbered(number, &piece).into()).await;
                number += 1;
                if piece.is_empty() {
                    return "it has ended";
                }
            }
            () = tokio::time::sleep(POLL) => {}
        }
    }
}

/// A program with its input and output. It is killed when it is dropped, unless it ends at the end of its input.
struct Program {
    child: Child,
    input: Option<std::sync::mpsc::SyncSender<Vec<u8>>>,
    output: Receiver<Vec<u8>>,
}

impl Program {
    fn new(mut child: Child) -> Program {
        let (input, written) = std::sync::mpsc::sync_channel::<Vec<u8>>(INPUT_PIECES_MAX);
        if let Some(mut stdin) = child.stdin.take() {
            std::thread::spawn(move || {
                while let Ok(piece) = written.recv() {
                    if stdin.write_all(&piece).and_then(|()| stdin.flush()).is_err() {
                        return;
                    }
                }
            });
        }
        let (read, output) = channel(16);
        if let Some(mut stdout) = child.stdout.take() {
            std::thread::spawn(move || {
                let mut buffer = vec![0; PIECE_BYTES_MAX];
                while let Ok(n @ 1..) = stdout.read(&mut buffer) {
                    if read.blocking_send(buffer[..n].to_vec()).is_err() {
                        return;
                    }
                }
            });
        }
        Program { child, input: Some(input), output }
    }

    fn write(&self, bytes: &[u8]) -> bool {
        self.input.as_ref().is_some_and(|input| input.try_send(bytes.to_vec()).is_ok())
    }

    fn close_input(&mut self) {
        self.input = None;
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.close_input();
        let until = Instant::now() + END_MAX;
        while Instant::now() < until && matches!(self.child.try_wait(), Ok(None)) {
            self.output.close();
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
