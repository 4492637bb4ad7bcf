//! `pitot kernel`.

mod run;

use std::process::ExitCode;

use pitot_kernel::{GVISOR, GVISOR_BUILD, GVISOR_MODULE, InstallPlan, Kernel, Origin, Sandbox, Store};
use pitot_results::{Failure, stderr};
use pitot_target::Installation;
use serde_json::{Value, json};

use super::kernel_store::store;
use crate::formats::TextOrJson;
use crate::kernel::{Action, Add, Guest, Install, KernelCommand};
use crate::output::{print, print_line};
use crate::runs::guardian;

impl Guest {
    pub(crate) fn run(&self) -> Result<ExitCode, Failure> {
        let done = match &self.answer {
            Some(answer) => pitot_kernel::first_process_of_sandbox(answer),
            None => pitot_kernel::first_process(),
        };
        done.map_err(|e| Failure::misuse(e.to_string(), "use pitot kernel run")).map(|()| ExitCode::SUCCESS)
    }
}

impl KernelCommand {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        match self.command {
            Action::List { format: TextOrJson::Text } => list(),
            Action::List { format: TextOrJson::Json } => list_as_json(),
            Action::Install(install) => install.run(),
            Action::Add(add) => add.run(),
            Action::Remove { name } if name == GVISOR => {
                remove_gvisor()?;
                print_line(format_args!("removed {GVISOR}"));
                Ok(ExitCode::SUCCESS)
            }
            Action::Remove { name } => {
                let removed = store().remove(&name)?;
                print_line(format_args!("removed {}", shown(&removed)));
                Ok(ExitCode::SUCCESS)
            }
            Action::Run(run) => run.run(),
        }
    }
}

fn shown(kernel: &Kernel) -> String {
    format!("{}: Linux {} ({})", kernel.name, kernel.release, kernel.from)
}

fn list() -> Result<ExitCode, Failure> {
    let kernels = store().list();
    for kernel in &kernels {
        print_line(format_args!("{}", shown(kernel)));
    }
    let sandbox = Sandbox::find(&store());
    if let Some(sandbox) = &sandbox {
        print_line(format_args!("{GVISOR}: gVisor {} ({})", sandbox.version(), sandbox.program().display()));
    }
    if kernels.is_empty() && sandbox.is_none() {
        print_line(format_args!(
            "no kernel is installed; to install one: pitot kernel install debian:6.12-cloud --yes"
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// The kernels as one JSON object: `kernels`, by their names in plans, and `gvisor`, null where it is not.
fn list_as_json() -> Result<ExitCode, Failure> {
    let kernel = |kernel: &Kernel| {
        let Kernel { name, release, from, sha256, image } = kernel;
        json!({"name": name, "release": release, "from": from, "sha256": sha256, "image": image})
    };
    let kernels: Vec<Value> = store().list().iter().map(kernel).collect();
    let gvisor = Sandbox::find(&store())
        .map(|sandbox| json!({"name": GVISOR, "version": sandbox.version(), "program": sandbox.program()}));
    print(&format!("{:#}\n", json!({"kernels": kernels, "gvisor": gvisor}))).map(|()| ExitCode::SUCCESS)
}

impl Install {
    fn run(&self) -> Result<ExitCode, Failure> {
        let store = store();
        let (plans, with_gvisor) = self.plans(&store)?;
        if with_gvisor {
            self.install_gvisor()?;
        }
        for plan in &plans {
            self.install(plan, &store)?;
        }
        if !self.yes {
            let name = self.name.iter().map(|name| format!(" --name {name}"));
            let options: String = name.chain(self.replace.then(|| " --replace".to_owned())).collect();
            print_line(format_args!(
                "nothing was installed; to install: pitot kernel install {}{options} --yes",
                self.origins.join(" ")
            ));
        }
        Ok(ExitCode::SUCCESS)
    }

    /// What is asked for, found to be possible before any of it is done: kernels of Debian, and whether gVisor is among it.
    fn plans(&self, store: &Store) -> Result<(Vec<InstallPlan>, bool), Failure> {
        if self.name.is_some() && self.origins.len() > 1 {
            return Err(Failure::misuse("several kernels cannot have one name", "install them one by one"));
        }
        let (gvisor, others): (Vec<&String>, Vec<&String>) =
            self.origins.iter().partition(|text| *text == GVISOR);
        if self.name.is_some() && !gvisor.is_empty() {
            return Err(Failure::misuse(format!("`{GVISOR}` cannot have another name"), "omit --name"));
        }
        let origins = others.into_iter().map(|text| Origin::parse(text)).collect::<Result<Vec<_>, _>>()?;
        let plans = origins
            .iter()
            .map(|origin| InstallPlan::of(origin, self.name.as_deref()))
            .collect::<Result<Vec<_>, _>>()?;
        for (number, plan) in plans.iter().enumerate() {
            if plans[..number].iter().any(|other| other.name == plan.name) {
                return Err(Failure::misuse(
                    format!("two of these kernels would have the name `{}`", plan.name),
                    "install them one by one, and name one of them: --name NAME",
                ));
            }
            if !self.replace {
                plan.check_name(store)?;
            }
        }
        Ok((plans, !gvisor.is_empty()))
    }

    fn install(&self, plan: &InstallPlan, store: &Store) -> Result<(), Failure> {
        print_line(format_args!("{}:", plan.name));
        for line in plan.lines(store) {
            print_line(format_args!("  {line}"));
        }
        if self.yes {
            let guardian = guardian()?;
            let installed = plan.carry_out(store, guardian.dir(), self.replace)?;
            print_line(format_args!("installed {}", shown(&installed)));
        }
        Ok(())
    }

    fn install_gvisor(&self) -> Result<(), Failure> {
        let folder = store().folder().join(GVISOR);
        let installation = Installation::of_go_module(GVISOR, folder, &GVISOR_MODULE, &GVISOR_BUILD);
        print_line(format_args!("{GVISOR}:"));
        for line in installation.lines() {
            print_line(format_args!("  {line}"));
        }
        if self.yes {
            installation.carry_out(|step| stderr::line(format_args!("{GVISOR}: {step}")))?;
            print_line(format_args!("installed {GVISOR}"));
        }
        Ok(())
    }
}

/// Removes what Pitot has installed of it.
fn remove_gvisor() -> Result<(), Failure> {
    let store = store();
    if !Sandbox::is_installed(&store) {
        return Err(Failure::misuse(
            format!("`{GVISOR}` was not installed by Pitot"),
            "`pitot kernel list` says where it is",
        ));
    }
    let folder = store.folder().join(GVISOR);
    std::fs::remove_dir_all(&folder).map_err(|e| {
        Failure::run(format!("{} cannot be removed: {e}", folder.display()), "check its permissions")
    })
}

impl Add {
    fn run(&self) -> Result<ExitCode, Failure> {
        let guardian = guardian()?;
        let added = store().add_file(&self.file, self.name.as_deref(), guardian.dir(), self.replace)?;
        print_line(format_args!("added {}", shown(&added)));
        Ok(ExitCode::SUCCESS)
    }
}
