//! `smtp`, through its core alone: transcripts, messages, limits, and that no cut of the input changes an answer.

mod cuts;
mod limits;
mod messages;
mod support;
mod transcripts;
