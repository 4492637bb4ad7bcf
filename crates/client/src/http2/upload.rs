//! Request bodies, as far as the server's windows allow.

use super::counts::Counts;
use super::frame;
use super::stream::Stream;
use crate::outgoing::Outgoing;

/// The server's limits for request bodies on one connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowance {
    /// Bytes on all streams.
    pub(super) window: i64,
    /// Bytes in one frame.
    pub(super) frame_max: usize,
}

impl Allowance {
    /// Sends as much of a body as the windows allow, and notes if it has to wait.
    pub(super) fn send(
        &mut self,
        stream: &mut Stream,
        body: &[u8],
        now: u64,
        counts: &mut Counts,
        out: &mut Outgoing,
    ) {
        while stream.unsent > 0 {
            let window = usize::try_from(self.window.min(stream.window)).unwrap_or(0);
            let n = stream.unsent.min(self.frame_max).min(window);
            if n == 0 {
                if stream.stalled_since == 0 {
                    stream.stalled_since = now.max(1);
                    counts.stall();
                }
                return;
            }
            let at = body.len() - stream.unsent;
            stream.unsent -= n;
            stream.window -= n as i64;
            self.window -= n as i64;
            let end = if stream.unsent == 0 { frame::END_STREAM } else { 0 };
            out.bytes(&frame::head(n, frame::DATA, end, stream.id));
            out.bytes(&body[at..at + n]);
        }
        end_stall(stream, now, counts);
    }
}

/// A body no longer waits: it is sent or given up.
pub(super) fn end_stall(stream: &mut Stream, now: u64, counts: &mut Counts) {
    let since = std::mem::take(&mut stream.stalled_since);
    if since > 0 {
        counts.stalled(now.saturating_sub(since));
    }
}
