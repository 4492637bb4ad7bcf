#!/usr/bin/env python3
"""CPU time per request and latency of `pitot load --http 2` and h2load (nghttp2) against the same nginx, in turn.

    cargo build --release && python3 bench/h2_clients.py [ROUNDS [REQUESTS [same]]]

nginx runs in one process on one CPU, the client with one thread on another, or with `same` on the same one, so that each finds
all work of the other done when it looks (bench/tls_clients.py says what that changes); over plain TCP (prior knowledge) and
over TLS 1.3. Each round runs every client once for each load; the table has the median of the rounds. CPU time is the client's
own, user and system, from wait4(2), with its start, which REQUESTS (50000) make small; how often it slept for each request
stands beside it. oha and k6 are asked for a tenth of
the requests where they are installed (bench/rivals.py), k6 without its start of about half a second.

Needs nginx (with HTTP/2), h2load (Debian: nghttp2-client) and openssl. Traffic stays on 127.0.0.1. Whether percentiles agree
is for bench/latency_truth.py: here the client's CPU decides about them. On a machine that has other work, run it with a
priority (`nice -n -10`).
"""
import os, pathlib, shutil, socket, statistics, subprocess, sys, tempfile, time

from rig import certificate, free_port
from rivals import found

PITOT = pathlib.Path(__file__).resolve().parent.parent / "target/release/pitot"
ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 5
REQUESTS = int(sys.argv[2]) if len(sys.argv) > 2 else 50_000
CPUS = sorted(os.sched_getaffinity(0))
SERVER_CPU, CLIENT_CPU = CPUS[-1 if sys.argv[3:] == ["same"] else 0], CPUS[-1]
LOADS = [(1, 1), (16, 1), (16, 10), (4, 100)]
CONF = """daemon off; master_process off; pid {0}/pid; error_log {0}/error.log; worker_processes 1;
events {{ worker_connections 1024; }}
http {{ access_log off; root {0}/www; keepalive_requests 1000000000;
client_body_temp_path {0}/b; proxy_temp_path {0}/p; fastcgi_temp_path {0}/f; uwsgi_temp_path {0}/u; scgi_temp_path {0}/s;
server {{ listen 127.0.0.1:{1} http2; }}
server {{ listen 127.0.0.1:{2} ssl http2; ssl_certificate {0}/cert.pem; ssl_certificate_key {0}/key.pem;
ssl_protocols TLSv1.3; }} }}
"""


def pinned(command, cpu, **more):
    return subprocess.Popen(command, preexec_fn=lambda: os.sched_setaffinity(0, {cpu}), **more)


def measure(command):
    """CPU time in seconds of a client, how often it slept, and its standard output."""
    with tempfile.TemporaryFile() as out:
        child = pinned(command, CLIENT_CPU, stdout=out, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        return usage.ru_utime + usage.ru_stime, usage.ru_nvcsw, out.read().decode()


def pitot(url, c, m, engine):
    return [PITOT, "load", "--http", "2", "--engine", engine, "-c", str(c), "--streams", str(m), "-n", str(REQUESTS),
            "--fail-if", "errors > 0"] + (["--insecure"] if url.startswith("https") else []) + [url]


def h2load(url, c, m):
    return ["h2load", "-t1", "-c", str(c), "-m", str(m), "-n", str(REQUESTS), url]


def main():
    for program in ("nginx", "h2load", "openssl"):
        if not shutil.which(program):
            sys.exit(f"{program} is not installed")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        (folder / "www").mkdir()
        (folder / "www/1k").write_bytes(b"x" * 1024)
        certificate(folder)
        plain, tls = free_port(), free_port()
        (folder / "nginx.conf").write_text(CONF.format(folder, plain, tls))
        server = pinned(["nginx", "-c", folder / "nginx.conf", "-p", folder, "-e", "stderr"], SERVER_CPU,
                        stderr=subprocess.DEVNULL)
        try:
            time.sleep(1)
            urls = {"plain": f"http://127.0.0.1:{plain}/1k", "TLS 1.3": f"https://127.0.0.1:{tls}/1k"}
            rivals = found()
            print(f"{REQUESTS} requests, median of {ROUNDS} rounds; server on CPU {SERVER_CPU}, client on CPU {CLIENT_CPU}")
            for kind, url in urls.items():
                for c, m in LOADS:
                    # Neither asks for HTTP/2 without TLS.
                    compare(kind, url, c, m, rivals if url.startswith("https") and (c, m) == (16, 10) else {}, folder)
        finally:
            server.terminate()
            server.wait(30)


def client_us(command):
    """CPU time of a client per request, in microseconds, and how often it slept for each."""
    seconds, sleeps, out = measure(command)
    if command[0] == "h2load" and f"{REQUESTS} succeeded" not in out:
        sys.exit(out)
    return seconds / REQUESTS * 1e6, sleeps / REQUESTS


def rival_us(command, folder, url, c, m):
    many, few = (measure(command(folder, url, n, c, True, m)) for n in (REQUESTS // 10, REQUESTS // 100))
    seconds, sleeps = ((a - b) / (REQUESTS // 10 - REQUESTS // 100) for a, b in zip(many[:2], few[:2]))
    return seconds * 1e6, sleeps


def compare(kind, url, c, m, rivals, folder):
    cpu = {name: [] for name in ("h2load", "epoll", "uring", *rivals)}
    for _ in range(ROUNDS):
        cpu["h2load"].append(client_us(h2load(url, c, m)))
        for engine in ("epoll", "uring"):
            cpu[engine].append(client_us(pitot(url, c, m, engine)))
        for name, command in rivals.items():
            cpu[name].append(rival_us(command, folder, url, c, m))
    median = lambda name, nth: statistics.median(each[nth] for each in cpu[name])
    each = "  ".join(f"{name} {median(name, 0):.2f} us, {median(name, 1):.3f} sleeps" for name in cpu)
    print(f"{kind}, -c {c} --streams {m}: {each}")
    for engine in ("epoll", "uring"):
        for other in ("h2load", *rivals):
            # In turn means that a ratio is of neighbours.
            ratios = [a / b for (a, _), (b, _) in zip(cpu[engine], cpu[other])]
            print(f"    {engine} {statistics.median(ratios):.3f} of {other} ({min(ratios):.3f} .. {max(ratios):.3f})", flush=True)


if __name__ == "__main__":
    main()
