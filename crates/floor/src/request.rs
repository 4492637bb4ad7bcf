//! The floor of a request: the sum of the system calls that no server can avoid.
//!
//! On an open connection the request is received and the reply sent, and with many connections one wait for events serves those that
//! are ready together. Not included are parsing, generating the reply, bookkeeping and cold caches, so it is a floor, not an
//! estimate. The rest of a server's cost is its architecture and code.

/// A kind of request.
#[derive(Debug)]
pub struct Request {
    /// The name in lists and results.
    pub name: &'static str,
    /// What it is.
    pub summary: &'static str,
    /// The primitives that it is made of, and how many of each.
    pub parts: &'static [PrimitiveUse],
}

/// A primitive of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrimitiveUse {
    /// The primitive's name.
    pub primitive: &'static str,
    /// How many of it a request needs.
    pub times: f64,
}

const fn part(primitive: &'static str, times: f64) -> PrimitiveUse {
    PrimitiveUse { primitive, times }
}

/// All kinds.
pub static REQUESTS: &[Request] = &[
    Request {
        name: "keep-alive",
        summary: "a request on an open connection, with 64 connections ready in one wait",
        parts: &[part("recv", 1.0), part("send-1k", 1.0), part("epoll-wait-64-ready", 1.0 / 64.0)],
    },
    Request {
        name: "keep-alive-alone",
        summary: "a request on an open connection, for which the server is woken up",
        parts: &[
            part("recv", 1.0),
            part("send-1k", 1.0),
            part("epoll-wait-10", 1.0),
            part("pipe-switch", 1.0),
        ],
    },
    Request {
        name: "new-connection",
        summary: "a connection for one request",
        parts: &[
            part("accept", 1.0),
            part("epoll-add", 1.0),
            part("recv", 1.0),
            part("send-1k", 1.0),
            part("close", 1.0),
            part("epoll-wait-64-ready", 1.0 / 64.0),
        ],
    },
];

impl Request {
    /// The sum of its parts, from the cost of each by name; `None` if one is not known.
    pub fn floor(&self, cost: impl Fn(&str) -> Option<f64>) -> Option<f64> {
        self.parts.iter().map(|part| cost(part.primitive).map(|each| each * part.times)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_floor_is_the_sum_of_parts_that_exist() {
        for request in REQUESTS {
            assert!(
                request.parts.iter().all(|part| crate::find(part.primitive).is_some()),
                "{}",
                request.name
            );
        }
        let floor = REQUESTS[0].floor(|name| Some(if name == "recv" { 100.0 } else { 640.0 }));
        assert_eq!(floor, Some(100.0 + 640.0 + 10.0));
        assert_eq!(REQUESTS[0].floor(|_| None), None);
    }
}
