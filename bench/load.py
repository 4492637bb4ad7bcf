#!/usr/bin/env python3
"""Compares `pitot load` with wrk and h2load on this machine, and shows that it knows its own limits.

    cargo build --release && python3 bench/load.py [speed|agreement|open|hog|storm|idle|all] [--rounds N] [--seconds S]

speed      client CPU time per request against wrk and h2load, 1 KiB, 64 and 256 connections (pitot serve http)
agreement  throughput and median latency against wrk's on the same nginx
open       achieved rate at 50% and 90% of the capacity, even and Poisson arrivals
hog        the verdict with a busy process on the client's CPU
storm      10,000 connections opened at once by one process
idle       50,000 idle connections held by several processes

The server runs on the first CPU and the clients on the last; runs are interleaved, ratios are taken within a round, and
every figure is a median over rounds. nginx, wrk and h2load are Debian packages: apt-get install nginx-light wrk
nghttp2-client. Traffic stays on 127.0.0.1.
"""
import argparse, contextlib, json, os, pathlib, re, signal, socket, statistics, subprocess, sys, tempfile, time

PITOT = str(pathlib.Path(__file__).resolve().parent.parent / "target/release/pitot")
CPUS = sorted(os.sched_getaffinity(0))
SERVER_CPU, CLIENT_CPU = CPUS[0], CPUS[-1]
NGINX = """
daemon off; master_process off; pid {dir}/nginx.pid; error_log stderr crit;
events {{ worker_connections 4096; use epoll; }}
http {{
  access_log off; sendfile on; tcp_nodelay on; keepalive_timeout 300s; keepalive_requests 100000000;
  open_file_cache max=1000 inactive=60s; open_file_cache_valid 60s; open_file_cache_min_uses 1;
  client_body_temp_path {dir}/body; proxy_temp_path {dir}/proxy; fastcgi_temp_path {dir}/fastcgi;
  uwsgi_temp_path {dir}/uwsgi; scgi_temp_path {dir}/scgi;
  server {{ listen 127.0.0.1:{port} backlog=4096; root {dir}; }}
}}
"""


def pinned(cpu):
    return lambda: os.sched_setaffinity(0, {cpu})


@contextlib.contextmanager
def serving(command, cpus=None):
    """A server that is stopped at the end; yields its port."""
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                              preexec_fn=lambda: os.sched_setaffinity(0, cpus or {SERVER_CPU}))
    try:
        ready = server.stdout.readline().split()
        if not ready:
            sys.exit(f"the server has not started: {' '.join(command)}")
        yield int(ready[1].rsplit(":", 1)[1])
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


def pitot_serve(*more):
    return [PITOT, "serve", "http", "--model", "loop", "--mechanism", "epoll-et", *more]


@contextlib.contextmanager
def nginx():
    with tempfile.TemporaryDirectory() as root, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        os.chmod(root, 0o755)
        pathlib.Path(root, "1k").write_bytes(b"x" * 1024)
        config = pathlib.Path(root, "nginx.conf")
        config.write_text(NGINX.format(dir=root, port=port))
        server = subprocess.Popen(["nginx", "-p", root, "-c", str(config)], preexec_fn=pinned(SERVER_CPU))
        try:
            for _ in range(100):
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                    break
                time.sleep(0.05)
            yield port
        finally:
            server.terminate()
            server.wait()


def run(command, pin=True):
    """Runs a client on its CPU: what it printed, and its CPU seconds."""
    client = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              preexec_fn=pinned(CLIENT_CPU) if pin else None)
    text = client.stdout.read()
    _, status, usage = os.wait4(client.pid, 0)
    client.returncode = os.waitstatus_to_exitcode(status)
    return text, usage.ru_utime + usage.ru_stime


class Run:
    def __init__(self, requests, cpu_s, throughput, p50_us):
        self.cpu_us = cpu_s / max(1, requests) * 1e6
        self.requests, self.throughput, self.p50_us = requests, throughput, p50_us


def wrk(url, connections, seconds):
    text, cpu = run(["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", url])
    requests = int(re.search(r"(\d+) requests in", text)[1])
    value, unit = re.search(r"50%\s+([\d.]+)(us|ms|s)", text).groups()
    p50 = float(value) * {"us": 1, "ms": 1e3, "s": 1e6}[unit]
    return Run(requests, cpu, float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1]), p50)


def h2load(url, connections, seconds):
    text, cpu = run(["h2load", "--h1", "-t1", f"-c{connections}", f"-D{seconds}", url])
    requests = int(re.search(r"requests: \d+ total, \d+ started, (\d+) done", text)[1])
    return Run(requests, cpu, requests / seconds, float("nan"))


def pitot(url, connections, seconds, *more, pin=True):
    command = [PITOT, "load", url, "-c", str(connections), "-d", f"{seconds}s", "--json", "-", *more]
    text, cpu = run(command, pin)
    try:
        result = json.loads(text)
    except ValueError:
        sys.exit(f"{' '.join(command)}\n{text}")
    figures = Run(result["requests"]["completed"], cpu, result["throughput_rps"],
                  result["latency_ns"]["response"]["p50"] / 1e3)
    figures.result = result
    return figures


def engine(name):
    return lambda url, connections, seconds: pitot(url, connections, seconds, "--engine", name)


def median_ratio(of, to, figure):
    return statistics.median(getattr(a, figure) / getattr(b, figure) for a, b in zip(of, to))


def speed(options):
    clients = {"wrk": wrk, "h2load": h2load, "pitot epoll": engine("epoll"), "pitot uring": engine("uring")}
    with serving(pitot_serve()) as port:
        url = f"http://127.0.0.1:{port}/bytes/1024"
        for connections in (64, 256):
            runs = {name: [] for name in clients}
            for n in range(options.rounds):
                names = list(clients)
                # Each client comes first, second and so on equally often.
                for name in names[n % len(names):] + names[:n % len(names)]:
                    runs[name].append(clients[name](url, connections, options.seconds))
            print(f"\n{connections} connections: client CPU per request, requests per second")
            for name, all_runs in runs.items():
                cpu = statistics.median(r.cpu_us for r in all_runs)
                rate = statistics.median(r.throughput for r in all_runs)
                to = {other: median_ratio(all_runs, runs[other], "cpu_us") for other in ("wrk", "h2load")}
                print(f"  {name:12} {cpu:6.2f} us  {rate:9.0f}/s   of wrk {to['wrk']:.2f}  of h2load {to['h2load']:.2f}")


def agreement(options):
    with nginx() as port:
        url = f"http://127.0.0.1:{port}/1k"
        runs = {"wrk": [], "epoll": [], "uring": []}
        for _ in range(max(5, options.rounds)):
            runs["wrk"].append(wrk(url, 64, options.seconds))
            for name in ("epoll", "uring"):
                runs[name].append(engine(name)(url, 64, options.seconds))
        print("\nthe same nginx, 64 connections: requests per second, median latency (lowest to highest)")
        for name, all_runs in runs.items():
            rates, p50s = sorted(r.throughput for r in all_runs), sorted(r.p50_us for r in all_runs)
            print(f"  {name:6} {statistics.median(rates):9.0f} ({rates[0]:.0f} to {rates[-1]:.0f})"
                  f"  {statistics.median(p50s):7.0f} us ({p50s[0]:.0f} to {p50s[-1]:.0f})"
                  f"  of wrk {median_ratio(all_runs, runs['wrk'], 'throughput'):.2f}"
                  f" and {median_ratio(all_runs, runs['wrk'], 'p50_us'):.2f}")


def open_loop(options):
    with serving(pitot_serve()) as port:
        url = f"http://127.0.0.1:{port}/bytes/1024"
        capacity = statistics.median(pitot(url, 64, options.seconds).throughput for _ in range(3))
        print(f"\nopen loop: capacity {capacity:.0f} requests per second")
        for share in (0.5, 0.9):
            for pace in ("constant", "poisson"):
                asked = round(capacity * share)
                r = pitot(url, 64, options.seconds, "-R", str(asked), "--pace", pace).result
                lag = r["latency_ns"]["schedule_lag"]
                print(f"  {share:.0%} {pace:9} asked {asked}  achieved {r['throughput_rps'] / asked:.4f}"
                      f"  missed {r['requests']['missed']}  lag p50 {lag['p50'] / 1e3:.0f} us p99 {lag['p99'] / 1e3:.0f} us"
                      f"  {r['client']['verdict']}")


def hog(options):
    with serving(pitot_serve()) as port:
        url = f"http://127.0.0.1:{port}/bytes/1024"
        print("\na busy process on the client's CPU, 1,000 requests per second:")
        for busy in (False, True):
            burner = subprocess.Popen([sys.executable, "-c", "while True: pass"], preexec_fn=pinned(CLIENT_CPU)) if busy else None
            try:
                r = pitot(url, 16, options.seconds, "-R", "1000").result
            finally:
                if burner:
                    burner.kill()
                    burner.wait()
            lag = r["latency_ns"]["schedule_lag"]
            print(f"  {'with' if busy else 'without'}: lag p99 {lag['p99'] / 1e6:.2f} ms, max {lag['max'] / 1e6:.2f} ms;"
                  f" {r['client']['verdict']}: {r['client']['reason']}")


def storm(options):
    with serving(pitot_serve("--backlog", "4096")) as port:
        for name in ("epoll", "uring"):
            r = pitot(f"http://127.0.0.1:{port}/", 10000, 60, "--storm", "--engine", name).result
            s = r["storm"]
            print(f"\nstorm, {name}: {s['established']} of {s['requested']} in {s['established_s']:.3f} s,"
                  f" connect p50 {r['latency_ns']['connect']['p50'] / 1e6:.2f} ms max"
                  f" {r['latency_ns']['connect']['max'] / 1e6:.1f} ms, errors {r['errors']}, {r['client']['verdict']}")


def idle(options):
    command = [PITOT, "serve", "http", "--model", "preloop", "--mechanism", "epoll-et", "--workers", "4"]
    with serving(command, set(CPUS)) as port:
        r = pitot(f"http://127.0.0.1:{port}/bytes/1024", 4, options.hold, "--idle", "50000", "-R", "100",
                  "--source", "127.0.0.0/28", pin=False).result
        c = r["connections"]
        print(f"\nidle: {r['options']['processes']} processes, {c['requested']} asked for, peak {c['peak_open']},"
              f" mean {c['mean_open']:.1f} over {r['duration_s']:.1f} s, errors {r['errors']},"
              f" requests {r['requests']['ok']} right, {r['client']['verdict']}")


PARTS = {"speed": speed, "agreement": agreement, "open": open_loop, "hog": hog, "storm": storm, "idle": idle}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="?", default="all", choices=[*PARTS, "all"])
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--hold", type=int, default=30, help="seconds to hold the idle connections")
    parser.add_argument("--pitot", default=PITOT, help="the program to measure")
    options = parser.parse_args()
    PITOT = options.pitot
    for part in PARTS if options.part == "all" else [options.part]:
        PARTS[part](options)
