#!/usr/bin/env python3
"""Compares `pitot serve` with nginx on this machine and prints ratios.

    cargo build --release && python3 bench/serve.py [requests|connections|memory|idle|all] [--rounds N] [--seconds S]

requests     server CPU time per request, 1 KiB file, 64 and 256 keep-alive connections (wrk)
connections  requests per server CPU second with a new connection for each (wrk, Connection: close)
memory       resident memory per idle keep-alive connection, 15,000 of them; 50,000 on preloop
idle         server CPU time per request with 15,000 idle connections beside 64 active ones

Servers run on the first CPU and clients on the last; runs are interleaved, and every figure is a median over rounds.
nginx and wrk are Debian packages: apt-get install nginx-light wrk. Traffic stays on 127.0.0.1.
"""
import argparse, contextlib, json, os, pathlib, resource, signal, socket, statistics, subprocess, sys, tempfile, time

from rig import free_port

PITOT = pathlib.Path(__file__).resolve().parent.parent / "target/release/pitot"
CPUS = sorted(os.sched_getaffinity(0))
SERVER_CPU, CLIENT_CPU = CPUS[0], CPUS[-1]
IP_BIND_ADDRESS_NO_PORT = 24  # ip(7): many connections from one address
NGINX = """
daemon off; master_process on; worker_processes 1; pid {dir}/nginx.pid; error_log stderr crit;
worker_rlimit_nofile 20000;
events {{ worker_connections 19500; use epoll; multi_accept on; }}
http {{
  access_log off; sendfile on; tcp_nodelay on; keepalive_timeout 300s; keepalive_requests 100000000;
  open_file_cache max=1000 inactive=60s; open_file_cache_valid 60s; open_file_cache_min_uses 1;
  client_body_temp_path {dir}/body; proxy_temp_path {dir}/proxy; fastcgi_temp_path {dir}/fastcgi;
  uwsgi_temp_path {dir}/uwsgi; scgi_temp_path {dir}/scgi;
  server {{ listen 127.0.0.1:{port} backlog=4096; root {site}; }}
}}
"""


def processes_of(pid):
    """The process and its descendants."""
    children = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
                children.setdefault(int(fields[1]), []).append(int(entry.name))
    found, queue = [], [pid]
    while queue:
        found.append(queue.pop())
        queue += children.get(found[-1], [])
    return found


def cpu_seconds(pid):
    """CPU time (all, user) of a process tree, with the nanoseconds of schedstat if available."""
    user = system = total = 0
    tick = os.sysconf("SC_CLK_TCK")
    for p in processes_of(pid):
        with contextlib.suppress(OSError):
            fields = pathlib.Path(f"/proc/{p}/stat").read_text().rsplit(")", 1)[1].split()
            user += int(fields[11]) + int(fields[13])
            system += int(fields[12]) + int(fields[14])
            living = sum(int((task / "schedstat").read_text().split()[0])
                         for task in pathlib.Path(f"/proc/{p}/task").iterdir())
            # Threads that have ended are in the process's ticks only.
            total += max(living, (int(fields[11]) + int(fields[12])) * 10**9 // tick)
    share = user / max(1, user + system)
    return total / 1e9, share * total / 1e9


def rss_bytes(pid):
    total = 0
    for p in processes_of(pid):
        for line in pathlib.Path(f"/proc/{p}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1]) * 1024
    return total


class Server:
    def __init__(self, name, command, port=None):
        self.name = name
        self.process = subprocess.Popen(
            ["taskset", "-c", str(SERVER_CPU), *map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        if port is None:
            line = self.process.stdout.readline().decode()
            if not line.startswith("ready "):
                sys.exit(f"{name} did not start: {' '.join(map(str, command))}")
            port = int(line.rsplit(":", 1)[1])
        self.port = port
        for _ in range(200):
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port)).close()
                return
            time.sleep(0.02)
        sys.exit(f"{name} does not listen on port {port}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def pitot(site, model, mechanism, *more):
    command = [PITOT, "serve", "http", "--root", site, "--model", model, "--mechanism", mechanism, *more]
    if "--idle-timeout" not in more:
        command += ["--idle-timeout", "300s"]
    return Server(f"{model}+{mechanism}", command)


def nginx(site, directory):
    port = free_port()
    conf = pathlib.Path(directory) / "nginx.conf"
    conf.write_text(NGINX.format(dir=directory, site=site, port=port))
    return Server("nginx", ["nginx", "-p", directory, "-e", "stderr", "-c", conf], port)


def wrk(port, connections, seconds, close=False):
    """Requests done. Errors end the benchmark: a reply that fails is no throughput."""
    script = tempfile.NamedTemporaryFile("w", suffix=".lua")
    script.write('done = function(s) io.write(string.format("RESULT %d %d %d\\n", s.requests, '
                 "s.errors.status + s.errors.read + s.errors.write + s.errors.timeout + s.errors.connect, s.duration)) end\n")
    script.flush()
    command = ["taskset", "-c", str(CLIENT_CPU), "wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-s", script.name]
    if close:
        command += ["-H", "Connection: close"]
    out = subprocess.run([*command, f"http://127.0.0.1:{port}/1k.txt"], capture_output=True, text=True, check=True).stdout
    requests, errors, micros = map(int, next(l for l in out.splitlines() if l.startswith("RESULT")).split()[1:])
    # wrk counts the end of a connection that was announced as a read error; replies are counted all the same.
    if errors and not close:
        sys.exit(f"wrk reports {errors} errors:\n{out}")
    return requests, micros / 1e6


def measure(server, connections, seconds, close=False):
    """(CPU seconds per request, user CPU seconds per request, requests per second)."""
    wrk(server.port, connections, 1, close)
    before = cpu_seconds(server.process.pid)
    requests, elapsed = wrk(server.port, connections, seconds, close)
    after = cpu_seconds(server.process.pid)
    return (after[0] - before[0]) / requests, (after[1] - before[1]) / requests, requests / elapsed


def table(title, rows, baseline):
    print(f"\n{title}")
    base = statistics.median(c for c, _, _ in rows[baseline])
    print(f"  {'server':18}{'CPU us/request':>15}{'user us':>9}{'requests/s':>12}{'CPU ratio':>11}")
    for name, runs in rows.items():
        cpu, user, rate = (statistics.median(values) for values in zip(*runs))
        paired = statistics.median(a[0] / b[0] for a, b in zip(runs, rows[baseline]))
        print(f"  {name:18}{cpu * 1e6:15.2f}{user * 1e6:9.2f}{rate:12.0f}{paired:11.3f}")


def compare(site, directory, pairs, connections, rounds, seconds, close=False):
    rows = {}
    for _ in range(rounds):
        starts = [lambda: nginx(site, directory)] + [lambda p=p: pitot(site, *p) for p in pairs]
        for start in starts:
            with start() as server:
                rows.setdefault(server.name, []).append(measure(server, connections, seconds, close))
    return rows


def hold(port, count, batch=500):
    """Opens connections, gets one reply on each, and keeps them. In batches: a scan per batch is dear enough."""
    sockets = []
    while len(sockets) < count:
        fresh = []
        for i in range(len(sockets), min(count, len(sockets) + batch)):
            s = socket.socket()
            s.setsockopt(socket.IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
            s.bind((f"127.0.{os.getpid() % 250 + 1}.{2 + i // 10000}", 0))
            s.connect(("127.0.0.1", port))
            s.sendall(b"GET /1k.txt HTTP/1.1\r\nHost: x\r\n\r\n")
            fresh.append(s)
        for s in fresh:
            if len(s.recv(65536)) < 1024:
                s.recv(65536)
        sockets += fresh
    return sockets


def memory(site, directory, count, servers):
    print(f"\nresident memory per idle keep-alive connection, {count} of them, each after one request")
    results = {}
    for start in servers:
        with start() as server:
            hold(server.port, 50)  # buffers that any traffic needs are not the connections' cost
            before = rss_bytes(server.process.pid)
            # Several holders, as one process may have too few descriptors.
            parts = max(1, -(-count // 10000))
            pids = []
            for _ in range(parts):
                read, write = os.pipe()
                pid = os.fork()
                if pid == 0:
                    try:
                        kept = hold(server.port, count // parts)
                        os.write(write, b"x" if kept else b"-")
                        signal.pause()
                    finally:
                        os._exit(1)
                os.close(write)
                pids.append((pid, read))
            for _, read in pids:
                if os.read(read, 1) != b"x":
                    print("  a holder of connections failed")
            after = rss_bytes(server.process.pid)
            for pid, read in pids:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                os.close(read)
            results[server.name] = (after - before) / count
            ratio = results[server.name] / results.get("nginx", float("nan"))
            print(f"  {server.name:18}{results[server.name]:8.0f} bytes   ratio to nginx {ratio:.2f}")


def idle(site, rounds, seconds, pairs, count):
    print(f"\nCPU per request with {count} idle connections beside 64 active ones")
    rows = {}
    for _ in range(rounds):
        for model, mechanism in pairs:
            with pitot(site, model, mechanism) as server:
                alone = measure(server, 64, seconds)[0]
                kept = hold(server.port, count)
                beside = measure(server, 64, seconds)[0]
                rows.setdefault(server.name, []).append((alone, beside, beside / alone))
            # After the server, which would otherwise scan once for each.
            for s in kept:
                s.close()
    print(f"  {'server':18}{'alone us':>10}{'beside idle us':>16}{'ratio':>8}")
    for name, runs in rows.items():
        alone, beside, ratio = (statistics.median(values) for values in zip(*runs))
        print(f"  {name:18}{alone * 1e6:10.2f}{beside * 1e6:16.2f}{ratio:8.3f}")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("what", nargs="?", default="all", choices=["requests", "connections", "memory", "idle", "all"])
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--seconds", type=int, default=3)
    options.add_argument("--pairs", default="loop+epoll-et,loop+uring,loop+epoll-lt,loop+poll")
    options = options.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    pairs = [tuple(p.split("+")) for p in options.pairs.split(",")]
    with tempfile.TemporaryDirectory() as site, tempfile.TemporaryDirectory() as directory:
        # nginx drops its rights as a worker.
        os.chmod(site, 0o755)
        os.chmod(directory, 0o755)
        pathlib.Path(site, "1k.txt").write_text("x" * 1023 + "\n")
        if options.what in ("requests", "all"):
            for connections in (64, 256):
                rows = compare(site, directory, pairs, connections, options.rounds, options.seconds)
                table(f"server CPU per request, 1 KiB file, {connections} keep-alive connections", rows, "nginx")
        if options.what in ("connections", "all"):
            rows = compare(site, directory, pairs, 64, options.rounds, options.seconds, close=True)
            table("server CPU per request, a new connection for each", rows, "nginx")
            print("  (requests per server CPU second, against nginx: the inverse of the last column)")
        if options.what in ("memory", "all"):
            more = [lambda: pitot(site, "loop", "epoll-et"), lambda: pitot(site, "loop", "uring")]
            memory(site, directory, 15000, [lambda: nginx(site, directory), *more])
            memory(site, directory, 50000, [lambda: pitot(site, "preloop", "epoll-et", "--workers", "4")])
        if options.what in ("idle", "all"):
            idle(site, options.rounds, options.seconds, [(m, k) for m, k in pairs] + [("loop", "select")], 15000)


if __name__ == "__main__":
    main()
