#!/usr/bin/env python3
"""CPU time per query, rate and latency of `pitot load postgres://` and pgbench against the same PostgreSQL, in turn.

    cargo build --release && python3 bench/postgres_clients.py [ROUNDS [SECONDS [same]]]

PostgreSQL serves a table of 100,000 accounts (pgbench -i -s 1) from one CPU, the client with one thread and 16 connections on another,
or with `same` on the same one, so that each finds all work of the other done when it looks. Both ask for an account by chance, the query
of `pgbench -S`, by simple, extended and prepared queries. Each round runs every client once; the table has the median of the rounds. CPU
time is the client's own, user and system, from wait4(2), with its start and with its connects; the server's is that of all its processes,
from a control group where one can be made (cgroups(7)). Percentiles of pgbench are computed from its log (--log), of which one in ten
queries has a line (--sampling-rate=0.1), in a run of its own, so that writing it is not part of its CPU time.

Needs PostgreSQL with pgbench (Debian: postgresql). Root runs the server as the user `postgres`. Traffic stays on 127.0.0.1. On a machine
that has other work, run it with a priority (`nice -n -10`).
"""
import glob, json, os, pathlib, pwd, re, shutil, statistics, subprocess, sys, tempfile, time

from rig import free_port

PITOT = os.environ.get("PITOT") or str(pathlib.Path(__file__).resolve().parent.parent / "target/release/pitot")
ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 5
SECONDS = int(sys.argv[2]) if len(sys.argv) > 2 else 5
CPUS = sorted(os.sched_getaffinity(0))
SERVER_CPU, CLIENT_CPU = CPUS[-1 if sys.argv[3:] == ["same"] else 0], CPUS[-1]
CONNECTIONS = 16
ACCOUNT = "SELECT+abalance+FROM+pgbench_accounts+WHERE+aid=$1&param=1-100000&rows=1"
PROTOCOLS = ["simple", "extended", "prepared"]
# Version 1 of control groups has the counter in a hierarchy of its own, version 2 in every group.
ACCOUNTS = [("/sys/fs/cgroup/cpuacct", "cpuacct.usage"), ("/sys/fs/cgroup", "cpu.stat")]
HIERARCHY, COUNTER = next(((h, c) for h, c in ACCOUNTS if os.path.isdir(h)), ACCOUNTS[-1])
GROUP = pathlib.Path(f"{HIERARCHY}/pitot-bench-{os.getpid()}")


def programs():
    versions = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda p: int(p.split("/")[-2]), reverse=True)
    found = [p for p in versions + [os.path.dirname(shutil.which("postgres") or "")] if os.path.exists(f"{p}/pgbench")]
    return found[0] if found else sys.exit("PostgreSQL with pgbench is not installed: apt-get install postgresql")


class Server:
    def __init__(self, bin, folder):
        self.port = free_port()
        user = pwd.getpwnam("postgres") if os.geteuid() == 0 else None
        if user:
            os.chown(folder, user.pw_uid, user.pw_gid)
        become = dict(user=user.pw_uid, group=user.pw_gid) if user else {}
        quiet = dict(cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **become)
        subprocess.run([f"{bin}/initdb", "-D", "data", "-U", "postgres", "-A", "trust", "--no-sync"], check=True, **quiet)
        self.group = False
        try:
            GROUP.mkdir()
            self.group = True
        except OSError:
            pass
        settings = [f"port={self.port}", "listen_addresses=127.0.0.1", "unix_socket_directories=", "autovacuum=off"]
        command = [f"{bin}/postgres", "-D", "data"] + [w for s in settings for w in ("-c", s)]
        self.process = subprocess.Popen(command, preexec_fn=lambda: os.sched_setaffinity(0, {SERVER_CPU}), **quiet)
        if self.group:
            (GROUP / "cgroup.procs").write_text(str(self.process.pid))
        while subprocess.run([f"{bin}/pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]).returncode:
            time.sleep(0.05)
        subprocess.run([f"{bin}/pgbench", "-i", "-q", "-s", "1", *self.address(), "postgres"], check=True, capture_output=True)

    def address(self):
        return ["-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres"]

    def cpu_us(self):
        if not self.group:
            return 0
        text = (GROUP / COUNTER).read_text()
        return int(text) / 1000 if COUNTER == "cpuacct.usage" else int(re.search(r"usage_usec (\d+)", text).group(1))

    def stop(self):
        self.process.send_signal(2)
        self.process.wait(60)
        if self.group:
            GROUP.rmdir()


def measure(server, command, cwd):
    """Microseconds of the client and of the server, and the client's standard output."""
    with tempfile.TemporaryFile() as out:
        before = server.cpu_us()
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, cwd=cwd,
                                 preexec_fn=lambda: os.sched_setaffinity(0, {CLIENT_CPU}))
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read().decode()
        if child.returncode:
            sys.exit(f"{command}: {text}")
        return (usage.ru_utime + usage.ru_stime) * 1e6, server.cpu_us() - before, text


def pgbench(bin, server, protocol, folder, log=False):
    command = [f"{bin}/pgbench", "-S", "-n", "-M", protocol, "-c", str(CONNECTIONS), "-j", "1", "-T", str(SECONDS),
               *server.address(), "postgres"] + (["--log", "--sampling-rate=0.1"] if log else [])
    client, own, text = measure(server, command, folder)
    queries = int(re.search(r"actually processed: (\d+)", text).group(1))
    result = {"client": client / queries, "server": own / queries, "rate": float(re.search(r"tps = ([\d.]+)", text).group(1))}
    if log:
        times = sorted(int(line.split()[2]) for f in folder.glob("pgbench_log.*") for line in f.read_text().splitlines())
        for f in folder.glob("pgbench_log.*"):
            f.unlink()
        result = {p: times[int(len(times) * q)] for p, q in (("p50", .5), ("p99", .99))}
    return result


def pitot(server, protocol, engine, folder):
    url = f"postgres://127.0.0.1:{server.port}/postgres?query={ACCOUNT}&protocol={protocol}"
    command = [PITOT, "load", url, "-c", str(CONNECTIONS), "-d", f"{SECONDS}s", "--engine", engine, "--fail-if", "errors > 0", "--json", "-"]
    client, own, text = measure(server, command, folder)
    result = json.loads(text)
    queries, response = result["requests"]["ok"], result["latency_ns"]["response"]
    return {"client": client / queries, "server": own / queries, "rate": result["throughput_rps"],
            "p50": response["p50"] / 1e3, "p99": response["p99"] / 1e3}


def main():
    bin = programs()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        (folder / "client").mkdir()
        (folder / "db").mkdir()
        server = Server(bin, folder / "db")
        try:
            print(f"{ROUNDS} rounds of {SECONDS} s, {CONNECTIONS} connections; server on CPU {SERVER_CPU}, client on CPU {CLIENT_CPU}")
            for protocol in PROTOCOLS:
                compare(bin, server, protocol, folder / "client")
        finally:
            server.stop()


def compare(bin, server, protocol, folder):
    seen = {"pgbench": [], "epoll": [], "uring": []}
    for _ in range(ROUNDS):
        seen["pgbench"].append(pgbench(bin, server, protocol, folder) | pgbench(bin, server, protocol, folder, log=True))
        for engine in ("epoll", "uring"):
            seen[engine].append(pitot(server, protocol, engine, folder))
    print(protocol)
    for name, runs in seen.items():
        m = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
        print(f"    {name:8} client {m['client']:6.2f} us, server {m['server']:6.2f} us, {m['rate']:8.0f}/s, "
              f"p50 {m['p50']:6.0f} us, p99 {m['p99']:6.0f} us")
    for engine in ("epoll", "uring"):
        # In turn means that a ratio is of neighbours.
        for key in ("client", "server", "rate", "p50", "p99"):
            ratios = [a[key] / b[key] for a, b in zip(seen[engine], seen["pgbench"]) if b[key]]
            if ratios:
                print(f"    {engine} {key}: {statistics.median(ratios):.3f} of pgbench ({min(ratios):.3f} .. {max(ratios):.3f})", flush=True)


if __name__ == "__main__":
    main()
