//! System calls, as safe functions and types. The only crate of Pitot with unsafe code.
