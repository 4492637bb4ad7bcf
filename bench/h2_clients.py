#!/usr/bin/env python3
"""CPU time per request and latency of `pitot load --http 2` and h2load (nghttp2) against the same nginx, in turn.

    cargo build --release && python3 bench/h2_clients.py [ROUNDS] [REQUESTS]

nginx runs in one process on one CPU, the client with one thread on another, over plain TCP (prior knowledge) and over TLS
1.3. Each round runs every client once for each load; the table has the median of the rounds. CPU time is the client's
own, user and system, from wait4(2), with its start: about 4 ms for either. Percentiles are of service time, h2load's from
the file that its --log-file writes in a run apart, since writing it costs more than the requests do.

Needs nginx (with HTTP/2), h2load (Debian: nghttp2-client) and openssl. Traffic stays on 127.0.0.1.
"""
import json, os, pathlib, shutil, socket, statistics, subprocess, sys, tempfile, time

PITOT = pathlib.Path(__file__).resolve().parent.parent / "target/release/pitot"
ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 7
REQUESTS = int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
CPUS = sorted(os.sched_getaffinity(0))
SERVER_CPU, CLIENT_CPU = CPUS[0], CPUS[-1]
LOADS = [(1, 1), (16, 1), (16, 10), (4, 100)]
CONF = """daemon off; master_process off; pid {0}/pid; error_log {0}/error.log; worker_processes 1;
events {{ worker_connections 1024; }}
http {{ access_log off; root {0}/www; keepalive_requests 1000000000;
client_body_temp_path {0}/b; proxy_temp_path {0}/p; fastcgi_temp_path {0}/f; uwsgi_temp_path {0}/u; scgi_temp_path {0}/s;
server {{ listen 127.0.0.1:{1} http2; }}
server {{ listen 127.0.0.1:{2} ssl http2; ssl_certificate {0}/cert.pem; ssl_certificate_key {0}/key.pem;
ssl_protocols TLSv1.3; }} }}
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def pinned(command, cpu, **more):
    return subprocess.Popen(command, preexec_fn=lambda: os.sched_setaffinity(0, {cpu}), **more)


def measure(command):
    """CPU time in seconds and standard output of a client."""
    with tempfile.TemporaryFile() as out:
        child = pinned(command, CLIENT_CPU, stdout=out, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        return usage.ru_utime + usage.ru_stime, out.read().decode()


def pitot(url, c, m, engine):
    return [PITOT, "load", "--http", "2", "--engine", engine, "-c", str(c), "--streams", str(m), "-n", str(REQUESTS),
            "--json", "-"] + (["--insecure"] if url.startswith("https") else []) + [url]


def h2load(url, c, m, *more):
    return ["h2load", "-t1", "-c", str(c), "-m", str(m), "-n", str(REQUESTS), *more, url]


def percentiles_of_pitot(out):
    result = json.loads(out)
    assert result["requests"]["ok"] == REQUESTS and not result["errors"], result["errors"]
    service = result["latency_ns"]["service"]
    return service["p50"] / 1e3, service["p99"] / 1e3


def percentiles_of_h2load(url, c, m, folder):
    log = folder / "log"
    log.unlink(missing_ok=True)
    measure(h2load(url, c, m, f"--log-file={log}"))
    times = sorted(int(line.split("\t")[2]) for line in log.read_text().splitlines())
    return times[len(times) // 2], times[len(times) * 99 // 100]


def main():
    for program in ("nginx", "h2load", "openssl"):
        if not shutil.which(program):
            sys.exit(f"{program} is not installed")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        (folder / "www").mkdir()
        (folder / "www/1k").write_bytes(b"x" * 1024)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-keyout", folder / "key.pem", "-out", folder / "cert.pem", "-days", "2", "-subj", "/CN=localhost"],
                       check=True, capture_output=True)
        plain, tls = free_port(), free_port()
        (folder / "nginx.conf").write_text(CONF.format(folder, plain, tls))
        server = pinned(["nginx", "-c", folder / "nginx.conf", "-p", folder, "-e", "stderr"], SERVER_CPU,
                        stderr=subprocess.DEVNULL)
        try:
            time.sleep(1)
            urls = {"plain": f"http://127.0.0.1:{plain}/1k", "TLS 1.3": f"https://127.0.0.1:{tls}/1k"}
            print(f"{REQUESTS} requests, median of {ROUNDS} rounds; server on CPU {SERVER_CPU}, client on CPU {CLIENT_CPU}")
            print("           c    m   CPU per request (us)         ratio to h2load     p50, p99 of service time (us)")
            print("                    h2load   epoll   uring      epoll   uring       h2load            epoll")
            for kind, url in urls.items():
                for c, m in LOADS:
                    compare(kind, url, c, m, folder)
        finally:
            server.terminate()
            server.wait(30)


def compare(kind, url, c, m, folder):
    cpu = {"h2load": [], "epoll": [], "uring": []}
    ours, theirs = [], []
    for _ in range(ROUNDS):
        seconds, out = measure(h2load(url, c, m))
        assert f"{REQUESTS} succeeded" in out, out
        cpu["h2load"].append(seconds)
        for engine in ("epoll", "uring"):
            seconds, out = measure(pitot(url, c, m, engine))
            cpu[engine].append(seconds)
            if engine == "epoll":
                ours.append(percentiles_of_pitot(out))
        theirs.append(percentiles_of_h2load(url, c, m, folder))
    each = {name: statistics.median(times) / REQUESTS * 1e6 for name, times in cpu.items()}
    # In turn means that a ratio is of neighbours.
    ratio = {e: statistics.median(a / b for a, b in zip(cpu[e], cpu["h2load"])) for e in ("epoll", "uring")}
    p = lambda pairs: " ".join(f"{statistics.median(column):8.0f}" for column in zip(*pairs))
    print(f"{kind:8} {c:4} {m:4}   {each['h2load']:8.2f}{each['epoll']:8.2f}{each['uring']:8.2f}   "
          f"{ratio['epoll']:8.2f}{ratio['uring']:8.2f}   {p(theirs)} {p(ours)}", flush=True)


if __name__ == "__main__":
    main()
