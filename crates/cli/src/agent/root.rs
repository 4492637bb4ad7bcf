//! `pitot agent --root DIR`: the agent runs in another root directory, with its libraries and programs.

use std::convert::Infallible;
use std::ffi::OsString;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use pitot_results::Failure;
use pitot_sys::spawn::enter_own_mounts;
use rustix::mount::{MountFlags, mount, mount_bind, mount_bind_recursive};

/// What the kernel shows of itself, and what programs need of it.
const OF_KERNEL: [&str; 3] = ["proc", "sys", "dev"];
/// Below `run`, which is empty there: the program itself.
const PROGRAM: &str = "pitot";

/// Becomes an agent in `root`. Only this process and its children see the mounts, which end with them.
pub(super) fn enter(root: &Path) -> Result<Infallible, Failure> {
    let unready = |what: String| {
        Failure::misuse(
            format!("{} cannot be entered: {what}", root.display()),
            "name the root directory of a system, such as one made by debootstrap(8)",
        )
    };
    let root = fs::canonicalize(root).map_err(|e| unready(e.to_string()))?;
    if let Some(missing) = OF_KERNEL.iter().chain(&["run", "tmp"]).find(|name| !root.join(name).is_dir()) {
        return Err(unready(format!("it has no directory `{missing}`")));
    }
    let not_changed = |e: std::io::Error| {
        Failure::run(
            format!("cannot mount for {}: {e}", root.display()),
            "start the agent as root, and in a container with CAP_SYS_ADMIN",
        )
    };
    // Afterwards the path would be relative to the new root.
    let program = std::env::current_exe().map_err(not_changed)?;
    enter_own_mounts().map_err(not_changed)?;
    prepare(&root, &program).map_err(not_changed)?;
    rustix::process::chroot(&root).map_err(|e| not_changed(e.into()))?;
    let again = Command::new(Path::new("/run").join(PROGRAM))
        .args(without_root(std::env::args_os().skip(1)))
        .current_dir("/")
        .env_remove("TMPDIR")
        .exec();
    Err(Failure::run(
        format!("Pitot cannot be started in {}: {again}", root.display()),
        "it needs the GNU C library there, for the same architecture and at least as new as here",
    ))
}

/// Mounts what an agent needs.
fn prepare(root: &Path, program: &Path) -> std::io::Result<()> {
    for name in OF_KERNEL {
        mount_bind_recursive(Path::new("/").join(name), root.join(name))?;
    }
    mount("tmpfs", root.join("run"), "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, None)?;
    let own = root.join("run").join(PROGRAM);
    fs::File::create(&own)?;
    Ok(mount_bind(program, &own)?)
}

/// The command line with which the agent goes on.
fn without_root(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut left = Vec::new();
    let mut is_value = false;
    for word in arguments {
        let is_option = word == "--root";
        let is_both = word.to_string_lossy().starts_with("--root=");
        if !is_value && !is_option && !is_both {
            left.push(word);
        }
        is_value = is_option && !is_value;
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agent_goes_on_with_its_other_options() {
        let of = |line: &str| -> Vec<String> {
            let words = without_root(line.split(' ').map(OsString::from));
            words.into_iter().map(|word| word.into_string().unwrap()).collect()
        };
        assert_eq!(of("agent --root /srv/a --user nobody"), ["agent", "--user", "nobody"]);
        assert_eq!(of("agent --user nobody --root=/srv/a"), ["agent", "--user", "nobody"]);
    }
}
