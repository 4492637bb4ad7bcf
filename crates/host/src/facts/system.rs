//! The system: hardware, distribution and kernel.

use super::set::Facts;
use super::values::field;
use crate::kernel_config;
use crate::machine::Machine;
use crate::setting;

const CLOCK: &str = "/sys/devices/system/clocksource/clocksource0";

pub(super) fn collect(facts: &mut Facts, machine: &Machine, cpu_info: &str) {
    let release = machine.read("/etc/os-release").unwrap_or_default();
    let pretty = release.lines().find_map(|l| l.strip_prefix("PRETTY_NAME="));
    let build = machine.read("/proc/version");
    facts.add("kernel.preempt", preemption(machine, build.as_deref()));
    let mut record = |name: &str, value: Option<String>| facts.record("system", name, value);
    record("host name", machine.read("/proc/sys/kernel/hostname"));
    record("distribution", pretty.map(|name| name.trim_matches('"').to_owned()));
    record("architecture", Some(std::env::consts::ARCH.to_owned()));
    record("kernel", machine.read("/proc/sys/kernel/osrelease"));
    record("kernel build", build);
    record("kernel command line", machine.read("/proc/cmdline"));
    for (option, value) in kernel_config::cpu_time_options(machine) {
        record(&format!("kernel option {option}"), Some(value.to_owned()));
    }
    for (name, file) in [("maker", "sys_vendor"), ("product", "product_name"), ("firmware", "bios_version")] {
        record(name, machine.read(&format!("/sys/class/dmi/id/{file}")));
    }
    let guest = field(cpu_info, "flags").is_some_and(|flags| flags.split(' ').any(|f| f == "hypervisor"));
    let kind = || machine.read("/sys/hypervisor/type").unwrap_or_else(|| "a virtual machine".into());
    let virtualisation = if guest { kind() } else { NOT_VIRTUAL.into() };
    record("virtualisation", (!cpu_info.is_empty()).then_some(virtualisation));
    record("clock source", machine.read(&format!("{CLOCK}/current_clocksource")));
    record("clock sources", machine.read(&format!("{CLOCK}/available_clocksource")));
    record("security modules", machine.read("/sys/kernel/security/lsm"));
    facts.add("qdiscs", setting::queueing_disciplines(machine).map(|known| known.join(" ")));
    match pitot_sys::ring::probe() {
        Ok(_) => facts.add("io-uring.works", Some("true".to_owned())),
        Err(unavailable) => {
            facts.add("io-uring.refused", Some(unavailable.cause));
            facts.add("io-uring.fix", Some(unavailable.fix));
        }
    }
    facts.add("time.synchronised", pitot_sys::clock::is_synchronised().map(|yes| yes.to_string()));
}

/// What stands for the hypervisor of a machine that has none.
const NOT_VIRTUAL: &str = "none seen";

impl Facts {
    /// Whether the machine is a guest of another.
    pub(crate) fn is_virtual(&self) -> Option<bool> {
        self.word("system.virtualisation").map(|kind| kind != NOT_VIRTUAL)
    }
}

/// The preemption in force, where this user may see it, or what the kernel was built with.
fn preemption(machine: &Machine, build: Option<&str>) -> Option<String> {
    let debug = machine.read("/sys/kernel/debug/sched/preempt");
    let chosen = debug.and_then(|text| {
        let word = text.split_whitespace().find_map(|word| word.strip_prefix('(')?.strip_suffix(')'));
        word.map(str::to_owned)
    });
    let build = build?;
    let built = ["PREEMPT_RT", "PREEMPT_DYNAMIC", "PREEMPT_LAZY", "PREEMPT"];
    chosen.or_else(|| {
        Some(built.iter().find(|word| build.contains(*word)).map_or("none", |word| word).to_lowercase())
    })
}
