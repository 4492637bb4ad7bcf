//! Brings the page cache of a set into the state of the plan.

use std::sync::Arc;

use super::plan::{BenchError, CacheState, HOT_SHARE_MIN, failed};
use crate::DiskFile;
use crate::cache::{self, Residency};

/// How much of the set is in memory.
pub(super) fn residency(files: &[Arc<DiskFile>]) -> Result<Residency, BenchError> {
    cache::residency(files.iter().map(AsRef::as_ref)).map_err(failed("querying the page cache"))
}

/// Brings the page cache into a state and verifies it.
pub(super) fn establish(state: CacheState, files: &[Arc<DiskFile>]) -> Result<Residency, BenchError> {
    for file in files {
        match state {
            CacheState::Hot => cache::make_hot(file).map_err(failed("reading the set"))?,
            CacheState::ColdByDrop => cache::make_cold(file).map_err(failed("dropping pages"))?,
            CacheState::AsIs | CacheState::ColdByDirect | CacheState::ColdByLimit => {}
        }
    }
    let found = residency(files)?;
    let right = match state {
        CacheState::Hot => found.share() >= HOT_SHARE_MIN,
        CacheState::ColdByDrop => found.share() <= cache::COLD_SHARE_MAX,
        CacheState::AsIs | CacheState::ColdByDirect | CacheState::ColdByLimit => true,
    };
    if right {
        return Ok(found);
    }
    let witness = found.witness.name();
    Err(BenchError::CacheState { wanted: state.name(), share: found.share() * 100.0, witness })
}
