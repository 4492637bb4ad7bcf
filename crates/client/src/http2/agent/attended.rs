use std::collections::VecDeque;
use std::sync::Arc;

use httlib_hpack::Encoder;

use super::contract::{AgentPlan, Driver};
use crate::exchange::Progress;
use crate::outgoing::Outgoing;

/// An agent with what its connection needs for it.
pub(in crate::http2) struct Attended {
    pub(in crate::http2) agent: Box<dyn Driver>,
    pub(in crate::http2) scheme: Arc<str>,
    pub(in crate::http2) encoder: Encoder<'static>,
    /// What is asked, as HTTP/1.1 has it.
    pub(in crate::http2) text: Outgoing,
    /// The same, encoded.
    pub(in crate::http2) block: Vec<u8>,
    /// The head of a reply as text.
    pub(in crate::http2) head: Vec<u8>,
    /// What is to be said next.
    pub(in crate::http2) due: VecDeque<Progress>,
}

impl Attended {
    pub(in crate::http2) fn new(plan: &dyn AgentPlan, scheme: &Arc<str>) -> Attended {
        Attended {
            agent: plan.agent(),
            scheme: Arc::clone(scheme),
            encoder: Encoder::default(),
            text: Outgoing::new(),
            block: Vec::new(),
            head: Vec::new(),
            due: VecDeque::new(),
        }
    }
}
