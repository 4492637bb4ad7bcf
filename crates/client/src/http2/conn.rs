use std::sync::Arc;

use super::block::{self, Block, Complete};
use super::codes::{
    self, COMPRESSION_ERROR, ENHANCE_YOUR_CALM, FLOW_CONTROL_ERROR, FRAME_SIZE_ERROR, PROTOCOL_ERROR,
};
use super::counts::Counts;
use super::frame::{self, HEAD, Head, PAYLOAD_MAX};
use super::headers::HeaderReader;
use super::input::{Broken, Data};
use super::settings::{Settings, WINDOW_DEFAULT, WINDOW_MAX};
use super::site::{Coding, Site};
use super::stream::{Stream, Streams};
use super::upload::{self, Allowance};
use super::user::{After, RequestId, UserDriver, Wording};
use super::wording;
use crate::exchange::{Draw, Fault, Opening, Progress, Received, Reply, Tag};
use crate::judgement::{Judgement, has_no_body};
use crate::outgoing::Outgoing;
use crate::page::PageConn;
use crate::protocol::ClientConn;
use crate::session::SessionConn;

/// Bytes received after which a window is extended: a quarter of it.
const WINDOW_OPENED_AT: u32 = 1 << 29;
/// The stream number from which on a connection is replaced. Higher ones are for requests sent before that is noticed.
const STREAM_MAX: u32 = WINDOW_MAX - (1 << 20);

pub(super) struct Http2Conn {
    site: Arc<Site>,
    now: u64,
    /// The server's SETTINGS have come.
    greeted: bool,
    /// No more requests are sent, and this has been reported.
    retiring: bool,
    /// To be reported next.
    due: Option<Progress>,
    coding: Coding,
    settings: Settings,
    next_stream: u32,
    streams: Streams,
    allowance: Allowance,
    /// Streams whose request bodies are incomplete.
    uploading: usize,
    /// Closed streams up to this number may have been cancelled by this side.
    cancelled_to: u32,
    /// When a PING was sent that has no answer, ns; 0 for none.
    asked_at: u64,
    /// Bytes received on all streams since the window of the connection was last extended.
    received: u32,
    data: Option<Data>,
    block: Block,
    headers: HeaderReader,
    counts: Counts,
    /// `None` if the connection only sends the requests of the run.
    user: Option<Box<UserDriver>>,
}

impl ClientConn for Http2Conn {
    fn open(&mut self, out: &mut Outgoing) -> Opening {
        for stream in self.streams.iter_mut() {
            upload::end_stall(stream, self.now, &mut self.counts);
        }
        self.streams.clear();
        self.headers.reset();
        if let Some(user) = &mut self.user {
            user.driver.open();
            user.due.clear();
        }
        *self = Http2Conn {
            now: self.now,
            streams: std::mem::take(&mut self.streams),
            headers: std::mem::take(&mut self.headers),
            counts: std::mem::take(&mut self.counts),
            user: self.user.take(),
            ..Http2Conn::new(Arc::clone(&self.site), None)
        };
        out.fixed(self.site.greeting);
        Opening::Greeting
    }

    fn request(&mut self, draw: Draw, out: &mut Outgoing) -> Tag {
        if let Some(user) = &mut self.user {
            user.text.clear();
            let (id, wording) = user.driver.request(&self.site, draw, &mut user.text);
            self.ask(id, wording, out);
            return id.tag;
        }
        let tag = self.site.choice.next(draw);
        self.send(tag, out);
        tag
    }

    fn repeat(&mut self, tag: Tag, out: &mut Outgoing) {
        let Some(user) = &mut self.user else { return self.send(tag, out) };
        user.text.clear();
        let (id, wording) = user.driver.repeat(tag, &mut user.text);
        self.ask(id, wording, out);
    }

    fn clock(&mut self, now: u64) {
        self.now = now;
    }

    /// Sends a PING with the first, to hear from a server that is stuck in this request only.
    fn cancel(&mut self, nth: u16, silence_max: u64, out: &mut Outgoing) -> bool {
        let is_silent = self.asked_at > 0 && self.now.saturating_sub(self.asked_at) >= silence_max;
        if is_silent || !self.greeted {
            return false;
        }
        let Some(mut stream) = self.streams.remove(usize::from(nth)) else { return false };
        out.bytes(&frame::number(frame::RST_STREAM, stream.id, codes::CANCEL));
        if self.asked_at == 0 {
            self.asked_at = self.now.max(1);
            out.bytes(&frame::head(8, frame::PING, 0, 0));
            out.bytes(&self.asked_at.to_be_bytes());
        }
        self.cancelled_to = self.cancelled_to.max(stream.id);
        self.give_up(&mut stream);
        self.lost(&stream);
        true
    }

    fn receive(&mut self, _: Option<Tag>, input: &[u8], out: &mut Outgoing) -> Result<Received, Fault> {
        self.asked_at = 0;
        let mut consumed = 0;
        match self.take(input, &mut consumed, out) {
            Ok(progress) => Ok(Received { consumed, progress }),
            Err(broken) => {
                // The last stream of the server: it has none.
                out.bytes(&frame::head(8, frame::GOAWAY, 0, 0));
                out.bytes(&0u32.to_be_bytes());
                out.bytes(&broken.code.to_be_bytes());
                Err(broken.fault)
            }
        }
    }

    fn has_layers(&self) -> bool {
        true
    }

    fn pages(&mut self) -> Option<&mut dyn PageConn> {
        self.user.as_mut()?.driver.pages()
    }

    fn session(&mut self) -> Option<&mut dyn SessionConn> {
        self.user.as_mut()?.driver.session()
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        let mut counts = self.counts.list();
        counts.extend(self.user.iter().flat_map(|user| user.driver.counts()));
        counts
    }
}

fn malformed() -> Broken {
    Broken::new(PROTOCOL_ERROR, Fault::Malformed)
}

impl Http2Conn {
    pub(super) fn new(site: Arc<Site>, user: Option<UserDriver>) -> Http2Conn {
        Http2Conn {
            site,
            now: 0,
            greeted: false,
            retiring: false,
            due: None,
            coding: Coding::Filling,
            settings: Settings::INITIAL,
            next_stream: 1,
            streams: Streams::default(),
            allowance: Allowance { window: i64::from(WINDOW_DEFAULT), frame_max: PAYLOAD_MAX },
            uploading: 0,
            cancelled_to: 0,
            asked_at: 0,
            received: 0,
            data: None,
            block: Block::default(),
            headers: HeaderReader::default(),
            counts: Counts::default(),
            user: user.map(Box::new),
        }
    }

    /// Sends a request as encoded before the run.
    fn send(&mut self, tag: Tag, out: &mut Outgoing) {
        let coding = self.next_coding();
        let site = &*self.site;
        let request = &site.requests[tag.0 as usize];
        let id = self.next_stream;
        self.next_stream += 2;
        let (size_update, block) = request.block(coding);
        let end = if request.body.is_empty() { frame::END_STREAM } else { 0 };
        out.bytes(&frame::head(
            size_update.len() + block.len(),
            frame::HEADERS,
            frame::END_HEADERS | end,
            id,
        ));
        out.bytes(size_update);
        out.bytes(block);
        let mut stream = Stream::new(id, tag, self.settings.window, request.body.len());
        if stream.unsent > 0 {
            self.allowance.send(&mut stream, &request.body, self.now, &mut self.counts, out);
            self.uploading += usize::from(stream.unsent > 0);
        }
        self.streams.push(stream);
    }

    /// The encoding of the next request.
    fn next_coding(&mut self) -> Coding {
        let coding = self.coding;
        self.coding = match coding {
            Coding::Filling | Coding::Indexed => Coding::Indexed,
            Coding::GivingUp | Coding::Plain => Coding::Plain,
        };
        coding
    }

    /// Sends the request of the driver, as the last one.
    fn ask(&mut self, id: RequestId, wording: Wording, out: &mut Outgoing) {
        if let Some(stream) = self.write(id, wording, out) {
            self.streams.push(stream);
        }
    }

    /// Sends the request of the driver, on a new stream.
    fn write(&mut self, request: RequestId, wording: Wording, out: &mut Outgoing) -> Option<Stream> {
        let coding = match (wording, self.coding) {
            // This request neither fills nor uses the table.
            (Wording::Whole, Coding::Filling | Coding::Indexed) => Coding::Plain,
            _ => self.next_coding(),
        };
        let UserDriver { driver, scheme, encoder, text, block, .. } = &mut **self.user.as_mut()?;
        let id = self.next_stream;
        self.next_stream += 2;
        let (size_update, known) = self.site.requests[request.tag.0 as usize].block(coding);
        block.clear();
        block.extend_from_slice(size_update);
        let worded = text.payload();
        match wording {
            Wording::Whole => wording::whole(encoder, scheme, worded.as_slice(), block),
            Wording::Known => {
                block.extend_from_slice(known);
                wording::lines(encoder, worded.as_slice(), block);
            }
        }
        let body = driver.upload(&self.site, request);
        frame::write_block(block, id, body.is_empty(), self.allowance.frame_max, out);
        let mut stream =
            Stream { slot: request.slot, ..Stream::new(id, request.tag, self.settings.window, body.len()) };
        if stream.unsent > 0 {
            self.allowance.send(&mut stream, body, self.now, &mut self.counts, out);
            self.uploading += usize::from(stream.unsent > 0);
        }
        Some(stream)
    }

    /// A request has failed.
    fn lost(&mut self, stream: &Stream) {
        if let Some(user) = &mut self.user {
            user.driver.lost(stream.request_id());
        }
    }

    /// Takes frames until one of them matters to the caller.
    fn take(&mut self, input: &[u8], consumed: &mut usize, out: &mut Outgoing) -> Result<Progress, Broken> {
        if self.next_stream > STREAM_MAX && !self.retiring {
            self.retiring = true;
            return Ok(Progress::Retiring(0));
        }
        loop {
            if let Some(due) = self.due.take() {
                return Ok(due);
            }
            if let Some(user) = &mut self.user
                && let Some(due) = user.due.pop_front()
            {
                return Ok(due);
            }
            if let Some(data) = self.data {
                match self.body(data, input, consumed, out) {
                    Some(progress) => return Ok(progress),
                    None if self.data.is_some() => return Ok(Progress::More),
                    None => continue,
                }
            }
            let rest = &input[*consumed..];
            if !self.greeted && rest.starts_with(b"HTTP/") {
                return Err(Broken::new(PROTOCOL_ERROR, Fault::Named("http-1-server")));
            }
            let Some(head) = Head::read(rest) else { return Ok(Progress::More) };
            if head.length > PAYLOAD_MAX {
                return Err(Broken::new(FRAME_SIZE_ERROR, Fault::TooLarge));
            }
            if !self.greeted && (head.kind != frame::SETTINGS || head.has(frame::ACK))
                || self.block.is_open() && head.kind != frame::CONTINUATION
            {
                return Err(malformed());
            }
            if head.kind == frame::DATA {
                match self.begin_body(head, rest, out)? {
                    Some(taken) => *consumed += taken,
                    None => return Ok(Progress::More),
                }
                continue;
            }
            let Some(payload) = rest.get(HEAD..HEAD + head.length) else { return Ok(Progress::More) };
            *consumed += HEAD + head.length;
            if let Some(progress) = self.frame(head, payload, &rest[HEAD + head.length..], out)? {
                return Ok(progress);
            }
        }
    }

    /// Begins a DATA frame; returns the number of bytes before its body, if they are there.
    fn begin_body(&mut self, head: Head, rest: &[u8], out: &mut Outgoing) -> Result<Option<usize>, Broken> {
        let (mut taken, mut padding) = (HEAD, 0);
        if head.has(frame::PADDED) {
            let Some(&length) = rest.get(HEAD) else { return Ok(None) };
            (taken, padding) = (HEAD + 1, usize::from(length));
        }
        let left = (head.length + HEAD).checked_sub(taken + padding).ok_or_else(malformed)?;
        // The whole frame counts (RFC 9113 section 6.9.1). A stream that ends needs no window.
        if let Some(nth) = self.unless_cancelled(head.stream)? {
            let stream = self.streams.get(nth);
            if !stream.has_head {
                return Err(malformed());
            }
            stream.received += head.length as u32;
            if stream.received >= WINDOW_OPENED_AT && !head.has(frame::END_STREAM) {
                out.bytes(&frame::number(frame::WINDOW_UPDATE, head.stream, stream.received));
                stream.received = 0;
            }
        }
        self.received += head.length as u32;
        if self.received >= WINDOW_OPENED_AT {
            out.bytes(&frame::number(frame::WINDOW_UPDATE, 0, self.received));
            self.received = 0;
        }
        self.data =
            Some(Data { stream: head.stream, left, padding, end_stream: head.has(frame::END_STREAM) });
        Ok(Some(taken))
    }

    /// Takes the available part of a DATA frame.
    fn body(
        &mut self,
        mut data: Data,
        input: &[u8],
        consumed: &mut usize,
        out: &mut Outgoing,
    ) -> Option<Progress> {
        let rest = &input[*consumed..];
        let n = data.left.min(rest.len());
        // The rest of a cancelled stream is skipped.
        let nth = self.streams.find(data.stream);
        if let Some(stream) = nth.map(|nth| self.streams.get(nth)).filter(|s| n > 0 && !s.bodiless) {
            stream.judgement.body(&self.site.requests[stream.tag.0 as usize].expected, &rest[..n]);
            if let Some(user) = &mut self.user {
                user.driver.body(stream.request_id(), &rest[..n]);
            }
        }
        data.left -= n;
        let skipped = data.padding.min(rest.len() - n);
        data.padding -= skipped;
        *consumed += n + skipped;
        if data.left > 0 || data.padding > 0 {
            self.data = Some(data);
            return None;
        }
        self.data = None;
        if data.end_stream { self.end(nth?, out) } else { None }
    }

    /// Takes any other frame. `rest` is what follows it.
    fn frame(
        &mut self,
        head: Head,
        payload: &[u8],
        rest: &[u8],
        out: &mut Outgoing,
    ) -> Result<Option<Progress>, Broken> {
        match head.kind {
            frame::HEADERS => {
                let fragment =
                    block::fragment(head, payload).map_err(|fault| Broken::new(PROTOCOL_ERROR, fault))?;
                if !head.has(frame::END_HEADERS) {
                    self.block.begin(head, fragment);
                    return Ok(None);
                }
                self.headers(Block::only(head), fragment, rest, out)
            }
            frame::CONTINUATION => {
                let complete = self.block.add(head, payload).map_err(|fault| match fault {
                    Fault::TooLarge => Broken::new(ENHANCE_YOUR_CALM, fault),
                    _ => Broken::new(PROTOCOL_ERROR, fault),
                })?;
                match complete {
                    Some((complete, bytes)) => self.headers(complete, &bytes, rest, out),
                    None => Ok(None),
                }
            }
            frame::SETTINGS => self.settings(head, payload, out),
            frame::WINDOW_UPDATE => self.window_update(head, payload, out).map(|()| None),
            frame::RST_STREAM => self.reset(head, payload),
            frame::GOAWAY => self.goaway(head, payload),
            frame::PING => {
                if head.stream != 0 {
                    return Err(malformed());
                }
                if payload.len() != 8 {
                    return Err(Broken::new(FRAME_SIZE_ERROR, Fault::Malformed));
                }
                if !head.has(frame::ACK) {
                    out.bytes(&frame::head(8, frame::PING, frame::ACK, 0));
                    out.bytes(payload);
                }
                Ok(None)
            }
            // SETTINGS forbid pushes.
            frame::PUSH_PROMISE => Err(malformed()),
            frame::PRIORITY if payload.len() != 5 => Err(Broken::new(FRAME_SIZE_ERROR, Fault::Malformed)),
            // Extensions are ignored (RFC 9113 section 5.5).
            _ => Ok(None),
        }
    }

    /// The index of an open stream; `None` for one that has ended.
    fn stream(&self, id: u32) -> Result<Option<usize>, Broken> {
        // Even numbers are the server's, which may open none. Odd numbers begin here.
        if id.is_multiple_of(2) || id >= self.next_stream {
            return Err(malformed());
        }
        Ok(self.streams.find(id))
    }

    /// As [`Http2Conn::stream`], but only cancelled streams may have ended: the server may have sent this before it knew.
    fn unless_cancelled(&self, id: u32) -> Result<Option<usize>, Broken> {
        match self.stream(id)? {
            None if id > self.cancelled_to => Err(Broken::new(PROTOCOL_ERROR, Fault::Unasked)),
            place => Ok(place),
        }
    }

    /// A complete block of headers.
    fn headers(
        &mut self,
        of: Complete,
        bytes: &[u8],
        rest: &[u8],
        out: &mut Outgoing,
    ) -> Result<Option<Progress>, Broken> {
        let facts = match &mut self.user {
            None => self.headers.read(bytes),
            Some(user) => self.headers.read_lines(bytes, &mut user.head),
        };
        let facts = facts.map_err(|fault| Broken::new(COMPRESSION_ERROR, fault))?;
        let Some(nth) = self.unless_cancelled(of.stream)? else { return Ok(None) };
        let stream = self.streams.get(nth);
        if stream.has_head {
            // Trailers.
            if !of.end_stream || facts.status.is_some() {
                return Err(malformed());
            }
            return Ok(self.end(nth, out));
        }
        let status = facts.status.ok_or_else(malformed)?;
        if (100..200).contains(&status) {
            // Interim replies precede the final one, and there is no other protocol to switch to.
            return if of.end_stream || status == 101 { Err(malformed()) } else { Ok(None) };
        }
        stream.has_head = true;
        stream.judgement = Judgement::begin(status, &self.site.statuses);
        stream.bodiless = has_no_body(status, self.site.requests[stream.tag.0 as usize].head_only);
        stream.length = facts.length;
        if let Some(user) = &mut self.user {
            user.driver.head(stream.request_id(), status, &user.head);
        }
        if of.end_stream {
            return Ok(self.end(nth, out));
        }
        // A reply that is complete is reported once, at its end.
        let ends_here = Head::read(rest).is_some_and(|next| {
            next.kind == frame::DATA
                && next.stream == of.stream
                && next.has(frame::END_STREAM)
                && rest.len() >= HEAD + next.length
        });
        if ends_here || stream.has_begun {
            return Ok(None);
        }
        stream.has_begun = true;
        Ok(Some(Progress::Began(nth as u16)))
    }

    /// A reply is complete.
    fn end(&mut self, nth: usize, out: &mut Outgoing) -> Option<Progress> {
        let mut stream = self.streams.remove(nth)?;
        let request = &self.site.requests[stream.tag.0 as usize];
        if let Some(length) = stream.length.filter(|_| !stream.bodiless) {
            stream.judgement.announced(length);
        }
        let reply = stream.judgement.reply(&request.expected, request.head_only, true);
        if stream.unsent > 0 {
            // The server has replied without the rest of the body (RFC 9113 section 8.1).
            out.bytes(&frame::number(frame::RST_STREAM, stream.id, codes::CANCEL));
        }
        self.give_up(&mut stream);
        if self.user.is_some() {
            return self.user_end(nth, &stream, reply, out);
        }
        Some(Progress::ReplyTo(nth as u16, reply))
    }

    /// A reply is complete, and the driver decides what follows.
    fn user_end(
        &mut self,
        nth: usize,
        stream: &Stream,
        reply: Reply,
        out: &mut Outgoing,
    ) -> Option<Progress> {
        let user = self.user.as_mut()?;
        user.text.clear();
        match user.driver.replied(stream.request_id(), reply, !self.retiring, &mut user.text) {
            After::Answered(reply) => Some(Progress::ReplyTo(nth as u16, reply)),
            After::Asks(wording) => {
                let next = self.write(stream.request_id(), wording, out)?;
                self.streams.insert(nth, Stream { has_begun: true, ..next });
                // The request has its first byte.
                (!stream.has_begun).then_some(Progress::Began(nth as u16))
            }
        }
    }

    /// The rest of a body is not sent.
    fn give_up(&mut self, stream: &mut Stream) {
        if stream.unsent > 0 {
            self.uploading -= 1;
            upload::end_stall(stream, self.now, &mut self.counts);
        }
    }

    fn settings(
        &mut self,
        head: Head,
        payload: &[u8],
        out: &mut Outgoing,
    ) -> Result<Option<Progress>, Broken> {
        if head.stream != 0 {
            return Err(malformed());
        }
        if !payload.len().is_multiple_of(6) || head.has(frame::ACK) && !payload.is_empty() {
            return Err(Broken::new(FRAME_SIZE_ERROR, Fault::Malformed));
        }
        if head.has(frame::ACK) {
            return Ok(None);
        }
        let before = self.settings;
        self.settings.take(payload)?;
        out.bytes(&frame::head(0, frame::SETTINGS, frame::ACK, 0));
        if self.settings.table_bytes < self.site.table_bytes && self.coding != Coding::Plain {
            self.coding = Coding::GivingUp;
        }
        self.allowance.frame_max = self.settings.frame_max as usize;
        if self.settings.window != before.window {
            let more = i64::from(self.settings.window) - i64::from(before.window);
            for stream in self.streams.iter_mut() {
                stream.window += more;
                if stream.window > i64::from(WINDOW_MAX) {
                    return Err(Broken::new(FLOW_CONTROL_ERROR, Fault::Malformed));
                }
            }
            self.upload(out);
        }
        let ready = (!self.greeted).then_some(Progress::Ready);
        self.greeted = true;
        match self.settings.streams_max {
            Some(max) if before.streams_max != Some(max) => {
                self.counts.streams_max = Some(self.counts.streams_max.map_or(max, |other| other.max(max)));
                self.due = ready;
                Ok(Some(Progress::Limit(max.min(u32::from(u16::MAX)) as u16)))
            }
            _ => Ok(ready),
        }
    }

    fn window_update(&mut self, head: Head, payload: &[u8], out: &mut Outgoing) -> Result<(), Broken> {
        let more = match frame::u32_at(payload, 0) {
            Some(number) if payload.len() == 4 => i64::from(number & WINDOW_MAX),
            _ => return Err(Broken::new(FRAME_SIZE_ERROR, Fault::Malformed)),
        };
        if more == 0 {
            return Err(malformed());
        }
        let window = if head.stream == 0 {
            &mut self.allowance.window
        } else {
            match self.stream(head.stream)? {
                Some(nth) => &mut self.streams.get(nth).window,
                None => return Ok(()),
            }
        };
        *window += more;
        if *window > i64::from(WINDOW_MAX) {
            return Err(Broken::new(FLOW_CONTROL_ERROR, Fault::Malformed));
        }
        self.upload(out);
        Ok(())
    }

    /// Sends what the windows allow after they were extended.
    fn upload(&mut self, out: &mut Outgoing) {
        if self.uploading == 0 {
            return;
        }
        self.uploading = 0;
        for stream in self.streams.iter_mut().filter(|stream| stream.unsent > 0) {
            let body = match &self.user {
                None => &*self.site.requests[stream.tag.0 as usize].body,
                Some(user) => user.driver.upload(&self.site, stream.request_id()),
            };
            self.allowance.send(stream, body, self.now, &mut self.counts, out);
            self.uploading += usize::from(stream.unsent > 0);
        }
    }

    fn reset(&mut self, head: Head, payload: &[u8]) -> Result<Option<Progress>, Broken> {
        let code = match frame::u32_at(payload, 0) {
            Some(code) if payload.len() == 4 => code,
            _ => return Err(Broken::new(FRAME_SIZE_ERROR, Fault::Malformed)),
        };
        let Some(nth) = self.stream(head.stream)? else { return Ok(None) };
        if let Some(mut stream) = self.streams.remove(nth) {
            self.give_up(&mut stream);
            self.lost(&stream);
        }
        self.counts.reset(code);
        Ok(Some(Progress::Failed(nth as u16, codes::reset(code))))
    }

    fn goaway(&mut self, head: Head, payload: &[u8]) -> Result<Option<Progress>, Broken> {
        let (Some(last), Some(code)) = (frame::u32_at(payload, 0), frame::u32_at(payload, 4)) else {
            return Err(Broken::new(FRAME_SIZE_ERROR, Fault::Malformed));
        };
        if head.stream != 0 {
            return Err(malformed());
        }
        self.counts.goaway(code);
        if code != codes::NO_ERROR {
            return Err(Broken::new(codes::NO_ERROR, Fault::Named(codes::goaway(code))));
        }
        let last = last & WINDOW_MAX;
        let mut given_back = 0;
        for mut stream in self.streams.above(last) {
            given_back += 1;
            if stream.unsent > 0 {
                self.uploading -= 1;
                upload::end_stall(&mut stream, self.now, &mut self.counts);
            }
            if let Some(user) = &mut self.user {
                user.driver.given_back(stream.request_id());
            }
        }
        if given_back > 0 {
            self.counts.given_back(given_back);
        }
        self.retiring = true;
        let retiring = Progress::Retiring(given_back as u16);
        if self.user.is_none() {
            return Ok(Some(retiring));
        }
        self.cut_above(last);
        if let Some(user) = &mut self.user {
            user.due.push_back(retiring);
        }
        Ok(None)
    }

    /// Ends requests whose last exchange the server has not processed, but earlier ones it has.
    fn cut_above(&mut self, last: u32) {
        while let Some(nth) = self.streams.first_above(last) {
            let Some(mut stream) = self.streams.remove(nth) else { return };
            self.give_up(&mut stream);
            let Some(user) = &mut self.user else { return };
            let over = match user.driver.cut(stream.request_id()) {
                Some(reply) => Progress::ReplyTo(nth as u16, reply),
                None => Progress::Failed(nth as u16, codes::goaway(codes::NO_ERROR)),
            };
            user.due.push_back(over);
        }
    }
}
