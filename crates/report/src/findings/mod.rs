//! What a run found, in sentences: the answer, and up to six findings.

mod answer;
mod contrast;
mod cpu_share;
mod durability;
mod faults;
mod list;
mod order;
mod scaling;

pub(crate) use answer::unlike_words;
pub use answer::{Answer, answer};
pub use list::findings;
