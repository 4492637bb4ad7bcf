//! Installs a target with the tools of its ecosystem.
//!
//! Everything except Debian packages is installed in the target's folder. The folder counts only after all steps have succeeded: then
//! it has the file [`DONE`].

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pitot_results::Failure;

use crate::definition::{Recipe, Target};
use crate::find::{DONE, Places};

/// A file of a target with all PyPI packages and hashes of their archives (pip documentation, "Secure installs").
const REQUIREMENTS: &str = "requirements.txt";
/// The tool that installs Debian packages.
const APT: &str = "apt-get";
/// The plugin that downloads an archive, with a pinned version.
const MAVEN_COPY: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy";

/// The installation of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    /// The target.
    pub name: String,
    /// The folder that is created again for it; none if only system packages are installed.
    pub folder: Option<PathBuf>,
    /// The steps, in their order.
    pub steps: Vec<Step>,
    /// Missing programs that the steps need and do not install, each with a fix.
    pub missing: Vec<(String, String)>,
    sources: Vec<(String, String)>,
}

/// A program that recipes use.
struct Tool {
    name: &'static str,
    /// The Debian package with a recent enough version; empty if there is none.
    package: &'static str,
    /// How to install it without such a package.
    fix: &'static str,
}

const JAVA: Tool = Tool { name: "java", package: "default-jdk-headless", fix: "" };
const JAR: Tool = Tool { name: "jar", package: "default-jdk-headless", fix: "" };
const MAVEN: Tool = Tool { name: "mvn", package: "maven", fix: "" };
const PYTHON: Tool = Tool { name: "python3", package: "python3-venv", fix: "" };
const NPM: Tool = Tool { name: "npm", package: "npm", fix: "" };
const GO: Tool = Tool { name: "go", package: "", fix: "install Go from go.dev" };
const CARGO: Tool = Tool { name: "cargo", package: "", fix: "install Rust from rustup.rs" };

/// What the steps of a recipe need.
fn tools(recipe: &Recipe) -> &'static [Tool] {
    match recipe {
        Recipe::Debian(_) => &[],
        Recipe::Maven { .. } | Recipe::MavenProject => &[JAVA, JAR, MAVEN],
        Recipe::Pypi(_) => &[PYTHON],
        Recipe::Npm(_) => &[NPM],
        Recipe::Go => &[GO],
        Recipe::Cargo => &[CARGO],
    }
}

/// A step of an installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A command, started in the target's folder if it has one.
    Run(Vec<String>),
    /// Verifies the SHA-256 of a file of the folder, and removes the file if it differs.
    Check {
        /// Its name.
        file: String,
        /// The expected digest, in hexadecimal digits.
        sha256: String,
    },
}

impl Installation {
    /// The steps for a target.
    pub fn of(target: &Target, places: &Places, is_root: bool) -> Installation {
        let is_debian = |recipe: &Recipe| matches!(recipe, Recipe::Debian(_));
        let folder = target.install.iter().any(|r| !is_debian(r)).then(|| places.cache.join(&target.name));
        let has_debian = target.install.iter().any(is_debian);
        let lacking = target.install.iter().flat_map(tools).filter(|tool| !places.has(tool.name));
        let (by_package, by_hand): (Vec<&Tool>, Vec<&Tool>) =
            lacking.partition(|tool| !tool.package.is_empty() && places.has(APT));
        let mut packages: Vec<String> = by_package.iter().map(|tool| tool.package.to_owned()).collect();
        packages.dedup();
        let tools_first = (!packages.is_empty()).then_some(Recipe::Debian(packages));
        let mut missing: Vec<(String, String)> = Vec::new();
        for tool in by_hand {
            let fix = match tool.fix {
                "" => format!("install the Debian package `{}`", tool.package),
                fix => fix.to_owned(),
            };
            missing.push((tool.name.to_owned(), fix));
        }
        if has_debian && !places.has(APT) {
            missing.push((APT.to_owned(), "install it with the package manager of this system".to_owned()));
        }
        let recipes = tools_first.iter().chain(&target.install);
        let steps = recipes.flat_map(|recipe| steps(recipe, target, is_root)).collect();
        Installation { name: target.name.clone(), folder, steps, missing, sources: target.sources.clone() }
    }

    /// The steps for a Go program that is not a target: `sources` are files of its module, including `go.mod` and
    /// `go.sum`, with which go verifies downloads, and `build` is the command that builds it in `folder`.
    pub fn of_go_module(
        name: &str,
        folder: PathBuf,
        sources: &[(&str, &str)],
        build: &[&str],
    ) -> Installation {
        Installation {
            name: name.to_owned(),
            folder: Some(folder),
            missing: Vec::new(),
            steps: vec![Step::Run(build.iter().map(|word| (*word).to_owned()).collect())],
            sources: sources.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect(),
        }
    }

    /// The steps, a line each.
    pub fn lines(&self) -> Vec<String> {
        let folder =
            self.folder.iter().map(|folder| format!("create {} (after removing it)", folder.display()));
        folder.chain(self.steps.iter().map(Step::line)).collect()
    }

    /// Runs the steps. Commands print to the same place as this program.
    ///
    /// # Errors
    /// A missing program, before anything is done; or the first step that fails, after which the folder is removed.
    pub fn carry_out(&self, mut tell: impl FnMut(&str)) -> Result<(), Failure> {
        if let Some((program, fix)) = self.missing.first() {
            return Err(Failure::run(
                format!("{} needs `{program}`, which is not installed", self.name),
                fix.as_str(),
            ));
        }
        let Some(folder) = &self.folder else {
            return self.steps.iter().try_for_each(|step| {
                tell(&step.line());
                step.carry_out(Path::new("/"))
            });
        };
        let outcome = self.make(folder, &mut tell);
        if outcome.is_err() {
            let _ = fs::remove_dir_all(folder);
        }
        outcome
    }

    fn make(&self, folder: &Path, tell: &mut impl FnMut(&str)) -> Result<(), Failure> {
        let cannot = |e: std::io::Error| {
            let what = format!("{} cannot be written: {e}", folder.display());
            Failure::run(what, "check its permissions and the free space, or set XDG_CACHE_HOME")
        };
        if folder.exists() {
            fs::remove_dir_all(folder).map_err(cannot)?;
        }
        fs::create_dir_all(folder).map_err(cannot)?;
        for (path, text) in &self.sources {
            let path = folder.join(path);
            path.parent().map_or(Ok(()), fs::create_dir_all).map_err(cannot)?;
            fs::write(path, text).map_err(cannot)?;
        }
        for step in &self.steps {
            tell(&step.line());
            step.carry_out(folder)?;
        }
        fs::write(folder.join(DONE), "").map_err(cannot)
    }
}

/// The steps of a recipe.
fn steps(recipe: &Recipe, target: &Target, is_root: bool) -> Vec<Step> {
    let name = &target.name;
    let run = |words: &[&str]| Step::Run(words.iter().map(|word| (*word).to_owned()).collect());
    let with = |words: &[&str], packages: &[String]| {
        Step::Run(words.iter().map(|word| (*word).to_owned()).chain(packages.iter().cloned()).collect())
    };
    match recipe {
        Recipe::Debian(packages) => {
            let sudo: &[&str] = if is_root { &[] } else { &["sudo"] };
            let install = ["env", "DEBIAN_FRONTEND=noninteractive", APT, "install", "--yes"];
            vec![
                run(&[sudo, &[APT, "update"]].concat()),
                with(&[sudo, &install[..], &["--no-install-recommends"]].concat(), packages),
            ]
        }
        Recipe::Maven { artifact, sha256 } => {
            let mut parts = artifact.split(':').skip(1);
            let (file, version) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
            let file = format!("{file}-{version}.zip");
            vec![
                run(&[
                    "mvn",
                    "-q",
                    "-B",
                    "-C",
                    MAVEN_COPY,
                    &format!("-Dartifact={artifact}"),
                    "-DoutputDirectory=.",
                ]),
                Step::Check { file: file.clone(), sha256: sha256.clone() },
                run(&["jar", "xf", &file]),
                run(&["rm", &file]),
            ]
        }
        Recipe::MavenProject => vec![run(&["mvn", "-q", "-B", "-C", "package"])],
        Recipe::Go => vec![run(&["go", "build", "-trimpath", "-o", &format!("bin/{name}"), "."])],
        Recipe::Cargo => vec![
            // Build in the folder, whatever the user's settings, so that it can be removed.
            run(&["cargo", "install", "--locked", "--path", ".", "--root", ".", "--target-dir", "target"]),
            run(&["rm", "-r", "target"]),
        ],
        Recipe::Pypi(packages) => {
            let pip = ["bin/pip", "install", "--quiet", "--disable-pip-version-check"];
            let install = match target.sources.iter().any(|(path, _)| path == REQUIREMENTS) {
                true => run(&[&pip[..], &["--require-hashes", "-r", REQUIREMENTS]].concat()),
                false => with(&pip, packages),
            };
            vec![run(&["python3", "-m", "venv", "."]), install]
        }
        Recipe::Npm(packages) => {
            vec![with(&["npm", "install", "--no-audit", "--no-fund", "--prefix", "."], packages)]
        }
    }
}

impl Step {
    /// The step in a line.
    pub fn line(&self) -> String {
        match self {
            Step::Run(argv) => argv.join(" "),
            Step::Check { file, sha256 } => format!("check that the SHA-256 of {file} is {sha256}"),
        }
    }

    fn carry_out(&self, folder: &Path) -> Result<(), Failure> {
        match self {
            Step::Run(argv) => run(argv, folder),
            Step::Check { file, sha256 } => check(&folder.join(file), sha256),
        }
    }
}

fn run(argv: &[String], folder: &Path) -> Result<(), Failure> {
    let program = argv.first().map_or("", String::as_str);
    let below = folder.join(program);
    let mut command = if program.contains('/') { Command::new(below) } else { Command::new(program) };
    let status = command.args(&argv[1..]).current_dir(folder).stdin(Stdio::null()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::run(
            format!("`{}` failed ({status})", argv.join(" ")),
            "see its output above; nothing was installed",
        )),
        Err(e) => {
            Err(Failure::run(format!("`{program}` cannot be started: {e}"), format!("install `{program}`")))
        }
    }
}

fn check(path: &Path, wanted: &str) -> Result<(), Failure> {
    let shown = path.display();
    let unreadable = |e: std::io::Error| {
        Failure::run(format!("{shown} cannot be read: {e}"), "see the output of the previous step")
    };
    let mut file = fs::File::open(path).map_err(unreadable)?;
    let mut context = ring::digest::Context::new(&ring::digest::SHA256);
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer).map_err(unreadable)? {
            0 => break,
            n => context.update(&buffer[..n]),
        }
    }
    let found: String = context.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    if found == wanted {
        return Ok(());
    }
    Err(Failure::run(
        format!("the SHA-256 of {shown} is {found} instead of {wanted}"),
        "the archive differs from the one that this version of Pitot knows, and was removed",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Registry;

    fn places(folder: &Path) -> Places {
        Places { path: Vec::new(), cache: folder.to_owned() }
    }

    #[test]
    fn packages_of_the_system_are_installed_without_a_folder() {
        let registry = Registry::embedded().unwrap();
        let nginx = Installation::of(registry.find("nginx").unwrap(), &places(Path::new("/c")), false);
        assert_eq!(nginx.folder, None);
        assert!(nginx.lines()[1].starts_with("sudo env "), "{:?}", nginx.lines());
        assert!(
            nginx.lines()[1].ends_with("--no-install-recommends nginx-light libnginx-mod-http-echo"),
            "{:?}",
            nginx.lines()
        );
    }

    #[test]
    fn packages_of_pypi_are_checked_by_their_hashes_where_the_target_has_them() {
        let registry = Registry::embedded().unwrap();
        let mut uvicorn = registry.find("uvicorn").unwrap().clone();
        let last = |target: &Target| {
            Installation::of(target, &places(Path::new("/c")), true).lines().pop().unwrap_or_default()
        };
        assert!(last(&uvicorn).ends_with("--require-hashes -r requirements.txt"), "{}", last(&uvicorn));
        let Some(Recipe::Pypi(packages)) = uvicorn.install.first() else { panic!("it is of PyPI") };
        let (_, pinned) = uvicorn.sources.iter().find(|(path, _)| path == REQUIREMENTS).unwrap();
        assert!(packages.iter().all(|package| pinned.contains(package.as_str())), "{packages:?}");
        uvicorn.sources.clear();
        assert!(last(&uvicorn).ends_with("httptools==0.7.1"), "{}", last(&uvicorn));
    }

    #[test]
    fn tools_that_are_missing_are_installed_first_or_named_before_anything_is_done() {
        let registry = Registry::embedded().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let touch = |name: &str| std::fs::write(folder.path().join(name), "").unwrap();
        let here = Places { path: vec![folder.path().to_owned()], cache: "/c".into() };
        let of = |name: &str| Installation::of(registry.find(name).unwrap(), &here, true);
        // Not a system of Debian: nothing can be installed by itself.
        let java: Vec<String> = of("tomcat").missing.into_iter().map(|(name, _)| name).collect();
        assert_eq!(java, ["java", "jar", "mvn"]);
        assert!(of("nginx").missing[0].1.contains("package manager of this system"));
        touch(APT);
        let tomcat = of("tomcat").lines();
        assert!(tomcat[2].ends_with("--no-install-recommends default-jdk-headless maven"), "{tomcat:?}");
        assert!(of("tomcat").missing.is_empty());
        let failure = of("rust-hyper").carry_out(|_| panic!("nothing is done")).unwrap_err();
        assert_eq!(failure.what, "rust-hyper needs `cargo`, which is not installed");
        for tool in ["java", "jar", "mvn", "cargo"] {
            touch(tool);
        }
        assert!(of("tomcat").lines()[1].starts_with("mvn "), "{:?}", of("tomcat").lines());
        assert!(of("rust-hyper").missing.is_empty());
    }

    #[test]
    fn a_folder_counts_once_every_step_has_succeeded() {
        let cache = tempfile::tempdir().unwrap();
        let folder = cache.path().join("one");
        let of = |steps| Installation {
            name: "one".into(),
            folder: Some(folder.clone()),
            steps,
            missing: Vec::new(),
            sources: vec![("a/b.txt".into(), "abc".into())],
        };
        let sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let check = |sha256: &str| Step::Check { file: "a/b.txt".into(), sha256: sha256.into() };
        of(vec![check(sha256)]).carry_out(|_| {}).unwrap();
        assert!(folder.join(DONE).exists());
        let failure = of(vec![check("00")]).carry_out(|_| {}).unwrap_err();
        assert!(failure.what.contains("instead of 00"), "{}", failure.what);
        assert!(!folder.exists(), "nothing of it is kept");
        let failure = of(vec![Step::Run(vec!["false".into()])]).carry_out(|_| {}).unwrap_err();
        assert!(failure.what.contains("`false` failed"), "{}", failure.what);
        let failure = of(vec![Step::Run(vec!["no-such-program".into()])]).carry_out(|_| {}).unwrap_err();
        assert!(failure.fix.contains("install `no-such-program`"), "{}", failure.fix);
    }
}
