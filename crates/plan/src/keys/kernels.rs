//! The table `kernels` of a plan.

use crate::kernels::{GVISOR_KERNEL, HOST_KERNEL, KernelUse};
use crate::source::{Item, PlanError};
use crate::value::Value;

use super::key::{Key, Kind, Presence, apply};
use super::known::Known;

/// What a table of `kernels` is read into.
#[derive(Default)]
pub(crate) struct Description {
    kernel: String,
    append: String,
}

/// Keys of a table in `kernels`.
pub(crate) static KERNEL: &[Key<Description>] = &[
    Key {
        name: "kernel",
        kind: Kind::Text(|d, text| d.kernel = text),
        presence: Presence::Optional,
        doc: "The installed kernel (`pitot kernel list`), or `gvisor`. Default: the table's name.",
    },
    Key {
        name: "append",
        kind: Kind::Text(|d, text| d.append = text),
        presence: Presence::Optional,
        doc: "Additional boot parameters: `init_on_alloc=1`.",
    },
];

/// Reads the kernels.
pub(super) fn kernels(known: &mut Known<'_>, item: &Item<'_>) -> Result<Vec<KernelUse>, PlanError> {
    item.section("`kernels`")?.items().iter().map(|one| kernel(known, one)).collect()
}

fn kernel(known: &mut Known<'_>, item: &Item<'_>) -> Result<KernelUse, PlanError> {
    if item.key == HOST_KERNEL {
        let what = format!("`{HOST_KERNEL}` is the name of this machine's kernel");
        return Err(item.key_error(what, "give the kernel another name"));
    }
    let section = item.section(format!("`kernels.{}`", item.key))?;
    section.check_keys(KERNEL.iter().map(|key| key.name))?;
    let mut read = Description::default();
    apply(KERNEL, known, &section, &mut read)?;
    if read.append.split_whitespace().any(|word| word == "--") {
        let what =
            "`append` contains `--`, which begins the arguments of the first process, and that is Pitot";
        return Err(item.error(what, "write boot parameters only"));
    }
    let name = item.key.clone();
    if !read.append.is_empty()
        && (read.kernel == GVISOR_KERNEL || name == GVISOR_KERNEL && read.kernel.is_empty())
    {
        let what = format!("`{GVISOR_KERNEL}` has no boot parameters");
        return Err(item.error(what, "remove `append`"));
    }
    Ok(KernelUse {
        kernel: if read.kernel.is_empty() { name.clone() } else { read.kernel },
        append: read.append,
        name,
    })
}

/// Checks a level of the factor. Whether the kernel is installed is checked when guests are started.
pub(super) fn check_level(element: &Item<'_>, level: &Value) -> Result<(), PlanError> {
    match level {
        Value::Text(_) => Ok(()),
        _ => Err(element.error(
            format!("`{level}` is a number, so that 6.10 would be 6.1"),
            format!("write it as a text: \"{level}\""),
        )),
    }
}
