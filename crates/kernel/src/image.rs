//! The initramfs of a guest: the running binary, other programs of this machine, and the libraries that they need.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pitot_results::Failure;

use crate::cpio::{Writer, content};
use crate::elf;
use crate::job::{JOB, Job};

/// The path of Pitot in a guest.
pub(crate) const OWN: &str = "/usr/bin/pitot";

/// Maximum size of a program's file.
const FILE_BYTES_MAX: u64 = 512 << 20;
/// Names and users that libraries look up.
const TABLES: [&str; 6] = ["passwd", "group", "nsswitch.conf", "services", "protocols", "mime.types"];
/// Debian's directories of daemons, which are not in a user's `PATH`.
const DAEMONS: [&str; 2] = ["/usr/sbin", "/usr/local/sbin"];
/// Parts of packages that no program reads.
const UNREAD: [&str; 5] =
    ["/usr/share/doc", "/usr/share/man", "/usr/share/locale", "/usr/share/lintian", "/usr/share/bug"];

/// The content of an initramfs.
#[derive(Clone, Debug)]
pub struct Image {
    own: PathBuf,
    programs: Vec<PathBuf>,
}

impl Image {
    /// An initramfs with Pitot, whose file is `own`.
    pub fn new(own: &Path) -> Image {
        Image { own: own.to_owned(), programs: Vec::new() }
    }

    /// Adds a program of this machine with its package, by path, or by name in `PATH`. Returns its path in the guest.
    ///
    /// # Errors
    /// If it does not exist.
    pub fn program(&mut self, name: &str) -> Result<String, Failure> {
        let path = find(name).ok_or_else(|| {
            Failure::misuse(
                format!("the program `{name}`, which the guest needs, is not installed on this machine"),
                "install it, or use its path",
            )
        })?;
        if !self.programs.contains(&path) {
            self.programs.push(path.clone());
        }
        Ok(path.to_string_lossy().into_owned())
    }

    /// Writes the archive.
    ///
    /// # Errors
    /// If a program cannot be read, or the file cannot be written.
    pub fn write(&self, to: &Path) -> Result<(), Failure> {
        let mut parts = Parts {
            archive: Writer::new(BufWriter::new(File::create(to).map_err(|e| cannot_write(to, &e))?)),
            known: BTreeSet::new(),
        };
        self.fill(&mut parts)
            .and_then(|()| parts.archive.finish().map(drop).map_err(|e| (to.to_owned(), e)))
            .map_err(|(path, e)| {
                Failure::run(
                    format!("the initramfs cannot be created: {}: {e}", path.display()),
                    "check the file's permissions and the free space of TMPDIR",
                )
            })
    }

    /// Unpacks the archive into a folder without devices, for a kernel that uses such a folder.
    ///
    /// # Errors
    /// As [`Image::write`].
    pub fn unpack(&self, folder: &Path) -> Result<(), Failure> {
        let archive = folder.with_extension("cpio");
        self.write(&archive)?;
        let unpacked = fs::create_dir_all(folder)
            .and_then(|()| fs::read(&archive))
            .and_then(|archive| crate::cpio::unpack(&archive, folder));
        let _ = fs::remove_file(&archive);
        unpacked.map_err(|e| cannot_write(folder, &e))
    }

    fn fill<W: Write>(&self, parts: &mut Parts<W>) -> Result<(), (PathBuf, io::Error)> {
        let named = |path: &str| {
            let path = PathBuf::from(path);
            move |e| (path.clone(), e)
        };
        for path in
            ["/proc", "/sys", "/dev", "/tmp", "/run", "/root", "/var/log", "/var/lib", "/var/tmp", "/usr/bin"]
        {
            parts.archive.directory(path).map_err(named(path))?;
        }
        // For the standard descriptors of the first process.
        parts.archive.device("/dev/console", 5, 1).map_err(named("/dev/console"))?;
        // /bin, /lib and others are links on most systems.
        for path in ["/bin", "/sbin", "/lib", "/lib64", "/lib32"] {
            if let Ok(target) = fs::read_link(path) {
                parts.archive.link(path, &target.to_string_lossy()).map_err(named(path))?;
            }
        }
        for table in TABLES {
            parts.path(&Path::new("/etc").join(table))?;
        }
        let own = content(&self.own, FILE_BYTES_MAX).map_err(|e| (self.own.clone(), e))?;
        let own = elf::stripped(own).ok_or_else(|| (self.own.clone(), io::ErrorKind::InvalidData.into()))?;
        parts.archive.file(OWN, 0o755, &own).map_err(named(OWN))?;
        parts.libraries_of(&self.own)?;
        for program in &self.programs {
            parts.path(program)?;
            for path in of_package(program) {
                // A file of a package may have been removed.
                if path.exists() {
                    parts.path(&path)?;
                }
            }
        }
        Ok(())
    }
}

fn cannot_write(path: &Path, e: &io::Error) -> Failure {
    Failure::run(format!("{} cannot be written: {e}", path.display()), "check the free space of TMPDIR")
}

/// An initramfs that is being built.
struct Parts<W: Write> {
    archive: Writer<W>,
    known: BTreeSet<PathBuf>,
}

impl<W: Write> Parts<W> {
    /// Adds a file of this machine at the same path; links with their targets, and executables with their libraries.
    fn path(&mut self, path: &Path) -> Result<(), (PathBuf, io::Error)> {
        let named = |e| (path.to_owned(), e);
        // Its real path, since parent folders may be links.
        let Ok(folder) = path.parent().map_or(Ok(PathBuf::from("/")), fs::canonicalize) else {
            return Ok(());
        };
        let Some(name) = path.file_name() else { return Ok(()) };
        let place = folder.join(name);
        if !self.known.insert(place.clone()) {
            return Ok(());
        }
        let shown = place.to_string_lossy().into_owned();
        let Ok(meta) = fs::symlink_metadata(&place) else { return Ok(()) };
        if meta.is_symlink() {
            let target = fs::read_link(&place).map_err(named)?;
            self.archive.link(&shown, &target.to_string_lossy()).map_err(named)?;
            return self.path(&folder.join(target));
        }
        if meta.is_dir() {
            return self.archive.directory(&shown).map_err(named);
        }
        if !meta.is_file() {
            return Ok(());
        }
        let file = content(&place, FILE_BYTES_MAX).map_err(named)?;
        let is_elf = elf::is_elf(&file);
        self.archive.file(&shown, meta.permissions().mode() & 0o777, &file).map_err(named)?;
        if is_elf { self.libraries_of(&place) } else { Ok(()) }
    }

    /// The libraries that ldd(1) lists. It fails for static executables.
    fn libraries_of(&mut self, program: &Path) -> Result<(), (PathBuf, io::Error)> {
        let listed = Command::new("ldd").arg(program).stdin(Stdio::null()).stderr(Stdio::null()).output();
        let listed = listed.map_err(|e| (PathBuf::from("ldd"), e))?;
        let text = String::from_utf8_lossy(&listed.stdout).into_owned();
        libraries(&text).into_iter().try_for_each(|library| self.path(Path::new(library)))
    }
}

/// The paths in what ldd prints: `libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x...)`, `/lib64/ld-linux-x86-64.so.2 (0x...)`.
fn libraries(listed: &str) -> Vec<&str> {
    listed.lines().filter_map(|line| line.split_whitespace().find(|word| word.starts_with('/'))).collect()
}

fn find(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return fs::canonicalize(name).ok().filter(|path| path.is_file()).map(|_| PathBuf::from(name));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(DAEMONS.map(PathBuf::from));
    folders.map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// The files of a program's Debian packages according to dpkg(1): the package that has it, and those of the same source on
/// which it depends (nginx-common of nginx-light).
fn of_package(program: &Path) -> Vec<PathBuf> {
    let place = fs::canonicalize(program).unwrap_or_else(|_| program.to_owned());
    let Some(owner) = dpkg(&["-S", &place.to_string_lossy()]) else { return Vec::new() };
    let Some(package) = owner.split(':').next().map(str::to_owned) else { return Vec::new() };
    let mut packages = vec![package.clone()];
    let depends = ask(&["dpkg-query", "-W", "-f", "${Depends}", &package]).unwrap_or_default();
    let family = package.split('-').next().unwrap_or(&package).trim_end_matches(|c: char| c.is_ascii_digit());
    let names = depends.split([',', '|']).filter_map(|one| one.split_whitespace().next());
    packages.extend(names.filter(|name| name.starts_with(family)).map(str::to_owned));
    let listed = packages.iter().filter_map(|package| dpkg(&["-L", package]));
    let paths: Vec<PathBuf> =
        listed.flat_map(|text| text.lines().map(PathBuf::from).collect::<Vec<_>>()).collect();
    paths.into_iter().filter(|path| !UNREAD.iter().any(|unread| path.starts_with(unread))).collect()
}

fn dpkg(arguments: &[&str]) -> Option<String> {
    ask(&[&["dpkg"], arguments].concat())
}

fn ask(argv: &[&str]) -> Option<String> {
    let mut command = Command::new(argv[0]);
    let said = command.args(&argv[1..]).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    said.status.success().then(|| String::from_utf8_lossy(&said.stdout).into_owned())
}

/// Appends a job and its files to an initramfs, since the kernel unpacks several archives.
pub(crate) fn with_job(base: &Path, job: &Job, files: &[(&str, &[u8])], to: &Path) -> io::Result<()> {
    fs::copy(base, to)?;
    let mut archive = Writer::new(fs::OpenOptions::new().append(true).open(to)?);
    archive.file(JOB, 0o644, &serde_json::to_vec(job)?)?;
    for (path, content) in files {
        archive.file(path, 0o644, content)?;
    }
    archive.finish().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_libraries_are_found_in_what_ldd_prints() {
        let listed = "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f)\n\
                      \t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n\tlibx.so => not found\n";
        assert_eq!(libraries(listed), ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"]);
        assert!(libraries("\tnot a dynamic executable\n").is_empty());
    }

    #[test]
    fn an_initramfs_holds_a_program_with_its_libraries_and_the_job() {
        let folder = tempfile::tempdir().unwrap();
        let (base, whole) = (folder.path().join("base"), folder.path().join("whole"));
        let mut image = Image::new(&std::env::current_exe().unwrap());
        assert_eq!(image.program("sh").unwrap(), find("sh").unwrap().to_string_lossy());
        assert!(image.program("no-such-program-of-pitot").is_err());
        image.write(&base).unwrap();
        let names: Vec<String> =
            crate::cpio::read(&fs::read(&base).unwrap()).unwrap().into_iter().map(|(name, _)| name).collect();
        assert!(names.iter().any(|name| name == "usr/bin/pitot"), "{names:?}");
        assert!(names.iter().any(|name| name.ends_with("/libc.so.6")), "{names:?}");
        let job = Job { argv: vec!["x".into()], result: None };
        with_job(&base, &job, &[("/pitot/part.json", b"{}")], &whole).unwrap();
        let length = fs::metadata(&base).unwrap().len() as usize;
        let added = crate::cpio::read(&fs::read(&whole).unwrap()[length..]).unwrap();
        assert_eq!(added[1], ("pitot/part.json".to_owned(), b"{}".to_vec()));
        assert_eq!(serde_json::from_slice::<Job>(&added[0].1).unwrap(), job);
    }
}
