//! Where this user's kernels are.

use pitot_kernel::Store;
use pitot_target::Places;

/// The kernels of this user, beside what else Pitot installs.
pub(super) fn store() -> Store {
    Store::at(Places::of_this_machine().cache.with_file_name("kernels"))
}
