//! Network interfaces: driver, queues, offloads, and the congestion control.

use crate::files::{names, read};
use crate::fingerprint::Fingerprint;

pub(crate) fn collect(print: &mut Fingerprint) {
    let mut add = |name: String, value: Option<String>| {
        if let Some(value) = value {
            print.push("network", name, value);
        }
    };
    let ipv4 = "/proc/sys/net/ipv4";
    add("congestion control".into(), read(format!("{ipv4}/tcp_congestion_control")));
    add("congestion controls".into(), read(format!("{ipv4}/tcp_available_congestion_control")));
    add("queueing discipline".into(), read("/proc/sys/net/core/default_qdisc"));
    add("ephemeral ports".into(), read(format!("{ipv4}/ip_local_port_range")).map(|v| v.replace('\t', "-")));
    for interface in names("/sys/class/net") {
        let dir = format!("/sys/class/net/{interface}");
        let Some(mtu) = read(format!("{dir}/mtu")) else { continue };
        add(format!("{interface} MTU"), Some(mtu));
        add(format!("{interface} state"), read(format!("{dir}/operstate")));
        // Reading the speed of a virtual interface is an error, and -1 means that it has none.
        add(format!("{interface} Mbit/s"), read(format!("{dir}/speed")).filter(|v| v != "-1"));
        let link = |name: &str| {
            let target = std::fs::read_link(format!("{dir}/device/{name}")).ok()?;
            Some(target.file_name()?.to_string_lossy().into_owned())
        };
        let driver = link("driver");
        if let Some(driver) = &driver {
            add(format!("{interface} driver"), Some(driver.clone()));
            add(format!("{interface} driver version"), read(format!("/sys/module/{driver}/version")));
        }
        let queues = names(format!("{dir}/queues"));
        let count = |prefix: &str| queues.iter().filter(|q| q.starts_with(prefix)).count();
        add(
            format!("{interface} queues"),
            Some(format!("{} receive, {} transmit", count("rx-"), count("tx-"))),
        );
        add(format!("{interface} transmit queue length"), read(format!("{dir}/tx_queue_len")));
        if interface != "lo" && driver.is_none() {
            continue;
        }
        for queue in &queues {
            let file = if queue.starts_with("rx-") { "rps_cpus" } else { "xps_cpus" };
            let mask = read(format!("{dir}/queues/{queue}/{file}"));
            add(format!("{interface} {queue} {file}"), mask.filter(|m| m.chars().any(|c| !"0,".contains(c))));
        }
        for file in ["gro_flush_timeout", "napi_defer_hard_irqs", "threaded"] {
            add(format!("{interface} {file}"), read(format!("{dir}/{file}")));
        }
        let offloads = pitot_sys::ethtool::offloads(&interface);
        let settings: Vec<String> =
            offloads.iter().map(|(name, on)| format!("{name} {}", if *on { "on" } else { "off" })).collect();
        add(format!("{interface} offloads"), (!settings.is_empty()).then(|| settings.join(", ")));
    }
}
