#!/usr/bin/env python3
"""Whether a load on two hosts, over agents, gives what the same plan gives on one.

Three network namespaces, with cables from the first to the others: the server on the first, a load host on each of the
others. The same plan, at a fixed rate and in a closed loop, is run
  one     on one host: server and load in the first namespace, by one agent
  again   the same once more: what two equal runs differ by here
  stdio   on the three, agents over standard input and output
  nats    on the three, agents over a nats-server in the first namespace, with nkeys as credentials
in turn, round by round. Printed are ratios to `one` with the interval of order statistics of at least 95%.

At a fixed rate the throughput must be the same: within --tolerance, or not further off than `again`. In a closed loop packets go over
cables that loopback does not have, so there `nats` is held against `stdio`. Exits with 1 where an interval lies beyond.

Needs root, iproute2 and nats-server (pitot target install nats-server).

    cargo build --release && bench/hosts.py target/release/pitot [--rounds 6] [--duration 2s] [--rate 2000]
"""
import argparse, json, os, pathlib, statistics, subprocess, sys, tempfile

from held import interval
from rig import text, wait_for

HOSTS = ["a", "b", "c"]


def ip(*words):
    subprocess.run(["ip", *words], check=True)


class Network:
    def __init__(self):
        self.names = {host: f"pth{host}{os.getpid()}" for host in HOSTS}
        hub = self.names["a"]
        for name in self.names.values():
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        for host in HOSTS[1:]:
            name, cable = self.names[host], f"v{host}"
            ip("link", "add", cable, "netns", hub, "type", "veth", "peer", "name", "v0", "netns", name)
            for end, own, peer, link in [(hub, "a", host, cable), (name, host, "a", "v0")]:
                ip("-n", end, "addr", "add", self.address(own), "peer", self.address(peer), "dev", link)
                ip("-n", end, "link", "set", link, "up")

    def address(self, host):
        return f"10.19.1.{HOSTS.index(host) + 1}"

    def inside(self, host, *command):
        return ["ip", "netns", "exec", self.names[host], *command]

    def left(self):
        return [pid for name in self.names.values()
                for pid in subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True).stdout.split()]

    def close(self):
        for name in self.names.values():
            subprocess.run(["ip", "netns", "del", name])


class Bus:
    """nats-server in the first namespace, with an agent in each."""

    def __init__(self, options, network, folder):
        self.folder, self.started = folder, []
        public = {side: subprocess.run([options.pitot, "bus-key", f"{side}.nk"], cwd=folder, check=True, capture_output=True,
                                       text=True).stdout.strip() for side in ("agent", "lab", "sign")}
        for side in ("agent", "lab"):
            path = folder / f"{side}.toml"
            path.write_text(f"nkey = '{text(folder / f'{side}.nk').strip()}'\n")
            path.chmod(0o600)
        (folder / "bus.conf").write_text(
            f"authorization {{ users: [ {{ nkey: {public['agent']} }}, {{ nkey: {public['lab']} }} ] }}\n")
        server = network.inside("a", options.server, "-c", "bus.conf", "-a", network.address("a"), "-p", "4222", "-js", "-sd", "js",
                                "-l", "bus.log")
        self.started.append(subprocess.Popen(server, cwd=folder, stderr=subprocess.DEVNULL))
        wait_for("the bus", lambda: "Server is ready" in text(folder / "bus.log"))
        self.url = f"nats://{network.address('a')}:4222"
        for host in HOSTS:
            log = folder / f"{host}.log"
            self.started.append(subprocess.Popen(
                network.inside(host, options.pitot, "agent", "--bus", self.url, "--bus-creds", "agent.toml", "--trust", public["sign"],
                               "--name", host),
                cwd=folder, stderr=log.open("w")))
            wait_for("an agent", lambda log=log: "waits for jobs" in text(log))

    def close(self):
        for process in reversed(self.started):
            process.terminate()
            process.wait()


def plan(options, network, way, load):
    def agent(host):
        if way != "nats":
            return network.inside(host, options.pitot, "agent")
        bus = ["--bus", f"nats://{network.address('a')}:4222", "--bus-creds", "lab.toml", "--sign", "sign.nk"]
        return network.inside("a", options.pitot, "bus-connect", host, *bus)

    cpus = {"a": "0", "b": "1", "c": "1"}
    is_one = way in ("one", "again")
    hosts = "".join(f'[hosts.{host}]\nagent = {json.dumps(agent(host))}\naddress = "{network.address(host)}"\ncpus = "{cpus[host]}"\n'
                    for host in (HOSTS[:1] if is_one else HOSTS))
    where = 'host = "a"' if is_one else 'hosts = ["b", "c"]'
    return f"""
repetitions = 1
warmup = "200ms"
duration = "{options.duration}"
server-cpus = "0"
load-cpus = "1"
{hosts}
[server]
protocol = "http"
model = "loop"
host = "a"
[load]
connections = 8
{load}
{where}
[factors]
server.mechanism = ["epoll-et"]
"""


def measure(options, network, folder, way, load):
    """Throughput of a run, and what its errors were."""
    for old in folder.glob("run.*"):
        old.unlink()
    (folder / "plan.toml").write_text(plan(options, network, way, load))
    run = subprocess.run([options.pitot, "run", "plan.toml", "-o", "run.pitot"], cwd=folder, capture_output=True, text=True)
    if run.returncode:
        raise SystemExit(f"{way}: {run.stderr}")
    report = subprocess.run([options.pitot, "report", "run.pitot", "--format", "json"], cwd=folder, check=True, capture_output=True,
                            text=True)
    [cell] = json.loads(report.stdout)["cells"]
    if cell["errors"]:
        raise SystemExit(f"{way}: errors {cell['errors']}")
    return cell["figures"]["throughput"]["value"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pitot")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--duration", default="2s")
    parser.add_argument("--rate", type=int, default=2000)
    parser.add_argument("--tolerance", type=float, default=0.02)
    cache = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
    parser.add_argument("--server", default=f"{cache}/pitot/targets/nats-server/bin/nats-server")
    options = parser.parse_args()
    options.pitot = os.path.abspath(options.pitot)
    ways, wrong = ["one", "again", "stdio", "nats"], []
    network = Network()
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            bus = Bus(options, network, folder)
            try:
                for title, load in [("fixed rate", f"rate = {options.rate}"), ("closed loop", "")]:
                    seen = {way: [] for way in ways}
                    for number in range(options.rounds):
                        for way in ways[number % 4:] + ways[:number % 4]:
                            seen[way].append(measure(options, network, folder, way, load))
                    print(f"\n{title}: requests/s, and ratios")
                    ratios = lambda way, to: [x / y for x, y in zip(seen[way], seen[to])]
                    noise = max(options.tolerance, *(abs(ratio - 1) for ratio in ratios("again", "one")))
                    for way, to in [("again", "one"), ("stdio", "one"), ("nats", "one"), ("nats", "stdio")]:
                        known = ratios(way, to)
                        low, high = interval(known) or (min(known), max(known))
                        is_judged = way != "again" and (title == "fixed rate" or to == "stdio")
                        is_off = is_judged and (low > 1 + noise or high < 1 - noise)
                        print(f"  {way:>5} : {to:<5} {statistics.median(seen[way]):10.1f} {statistics.median(known):7.3f} "
                              f"[{low:.3f}, {high:.3f}]{'  beyond the noise' if is_off else '' if is_judged else '  (not judged)'}",
                              flush=True)
                        if is_off:
                            wrong.append(f"{title}, {way} : {to}")
                    print(f"  noise {noise:.3f}")
            finally:
                bus.close()
            wait_for("the end of all processes", lambda: not network.left())
    finally:
        network.close()
    if wrong:
        sys.exit("differ beyond the noise: " + "; ".join(wrong))


if __name__ == "__main__":
    main()
