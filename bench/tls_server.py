#!/usr/bin/env python3
"""Compares `pitot serve --tls` with nginx on this machine: server CPU time per request and per handshake.

    cargo build --release && python3 bench/tls_server.py [keep-alive|handshakes|resumed|memory|all] [--rounds N] [--seconds S]

keep-alive   a file of 1 KiB and one of 100 KiB over 64 connections that stay open (wrk)
handshakes   a new connection with a full handshake for each request, no resumption (a client of Python's ssl module)
resumed      the same with a session ticket of the connection before
memory       resident memory per idle connection after its handshake and one request

All servers have one certificate (ECDSA P-256), TLS 1.3 and one cipher suite, which nginx is told and which is printed as the
client saw it. Servers run on the first CPU and clients on the last; runs are interleaved, and every figure is a
median over rounds, every ratio that of runs of one round. Traffic stays on 127.0.0.1.
Debian packages: apt-get install nginx-light wrk openssl.
"""
import argparse, os, pathlib, resource, socket, ssl, statistics, subprocess, sys, tempfile, time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from serve import CLIENT_CPU, PITOT, Server, cpu_seconds, free_port, rss_bytes

CONNECTIONS = 64
NGINX = """
daemon off; master_process on; worker_processes 1; pid {dir}/nginx.pid; error_log stderr crit;
worker_rlimit_nofile 20000;
events {{ worker_connections 19500; use epoll; multi_accept on; }}
http {{
  access_log off; sendfile on; tcp_nodelay on; keepalive_timeout 300s; keepalive_requests 100000000;
  open_file_cache max=1000 inactive=60s; open_file_cache_valid 60s; open_file_cache_min_uses 1;
  client_body_temp_path {dir}/body; proxy_temp_path {dir}/proxy; fastcgi_temp_path {dir}/fastcgi;
  uwsgi_temp_path {dir}/uwsgi; scgi_temp_path {dir}/scgi;
  ssl_protocols TLSv1.3; ssl_conf_command Ciphersuites TLS_AES_256_GCM_SHA384; ssl_ecdh_curve X25519;
  ssl_certificate {dir}/cert.pem; ssl_certificate_key {dir}/key.pem; ssl_session_tickets on;
  server {{ listen 127.0.0.1:{port} ssl backlog=4096; root {site}; }}
}}
"""


def certificate(directory):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
         "-subj", "/CN=localhost", "-keyout", f"{directory}/key.pem", "-out", f"{directory}/cert.pem"],
        check=True, stderr=subprocess.DEVNULL)


def nginx(site, directory):
    port = free_port()
    conf = pathlib.Path(directory) / "nginx.conf"
    conf.write_text(NGINX.format(dir=directory, site=site, port=port))
    return Server("nginx", ["nginx", "-p", directory, "-e", "stderr", "-c", conf], port)


def pitot(site, directory, model, mechanism):
    return Server(f"{model}+{mechanism}", [
        PITOT, "serve", "http", "--root", site, "--model", model, "--mechanism", mechanism, "--idle-timeout", "300s",
        "--tls", f"{directory}/cert.pem", "--key", f"{directory}/key.pem"])


def wrk(port, path, seconds):
    script = tempfile.NamedTemporaryFile("w", suffix=".lua")
    script.write('done = function(s) io.write(string.format("RESULT %d %d\\n", s.requests, '
                 "s.errors.status + s.errors.read + s.errors.write + s.errors.timeout + s.errors.connect)) end\n")
    script.flush()
    out = subprocess.run(["taskset", "-c", str(CLIENT_CPU), "wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "-s", script.name,
                          f"https://127.0.0.1:{port}{path}"], capture_output=True, text=True, check=True).stdout
    requests, errors = map(int, next(l for l in out.splitlines() if l.startswith("RESULT")).split()[1:])
    if errors:
        sys.exit(f"wrk reports {errors} errors:\n{out}")
    return requests


def context():
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    return context


def connect(port, context, session=None):
    s = context.wrap_socket(socket.create_connection(("127.0.0.1", port)), session=session)
    s.sendall(b"GET /1k.txt HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    while s.recv(65536):
        pass
    return s


def handshakes(port, seconds, resume):
    """Connections made, each with one request. The caller is on its CPU."""
    os.sched_setaffinity(0, {CLIENT_CPU})
    shared, session, count = context(), None, 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        s = connect(port, shared, session)
        if resume:
            if session and not s.session_reused:
                sys.exit("a session was not resumed")
            session = s.session
        count += 1
        s.close()
    return count


def measure(server, seconds, work):
    work(server.port, 1)
    before = cpu_seconds(server.process.pid)
    count = work(server.port, seconds)
    after = cpu_seconds(server.process.pid)
    return (after[0] - before[0]) / count, (after[1] - before[1]) / count, count / seconds


def compare(title, starts, rounds, seconds, work):
    rows = {}
    for _ in range(rounds):
        for start in starts:
            with start() as server:
                rows.setdefault(server.name, []).append(measure(server, seconds, work))
    print(f"\n{title}")
    print(f"  {'server':18}{'CPU us':>10}{'user us':>10}{'per second':>12}{'CPU ratio':>11}{'(range)':>17}")
    for name, runs in rows.items():
        cpu, user, rate = (statistics.median(values) for values in zip(*runs))
        ratios = [a[0] / b[0] for a, b in zip(runs, rows["nginx"])]
        spread = f"{min(ratios):.3f} .. {max(ratios):.3f}"
        print(f"  {name:18}{cpu * 1e6:10.2f}{user * 1e6:10.2f}{rate:12.0f}{statistics.median(ratios):11.3f}{spread:>17}", flush=True)


def memory(starts, count=1000):
    print(f"\nresident memory per idle connection, {count} of them, each after a handshake and one request")
    for start in starts:
        with start() as server:
            shared = context()

            def hold(n):
                held = []
                for _ in range(n):
                    s = shared.wrap_socket(socket.create_connection(("127.0.0.1", server.port)))
                    s.sendall(b"GET /1k.txt HTTP/1.1\r\nHost: x\r\n\r\n")
                    while len(s.recv(65536)) < 1024:
                        pass
                    held.append(s)
                return held

            warm = hold(50)
            before = rss_bytes(server.process.pid)
            held = hold(count)
            each = (rss_bytes(server.process.pid) - before) / count
            print(f"  {server.name:18}{each:10.0f} bytes", flush=True)
            for s in warm + held:
                s.close()


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("what", nargs="?", default="all", choices=["keep-alive", "handshakes", "resumed", "memory", "all"])
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--seconds", type=int, default=3)
    options.add_argument("--pairs", default="loop+epoll-et,loop+uring")
    options = options.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    pairs = [tuple(p.split("+")) for p in options.pairs.split(",")]
    with tempfile.TemporaryDirectory() as site, tempfile.TemporaryDirectory() as directory:
        # nginx drops its rights as a worker.
        os.chmod(site, 0o755)
        os.chmod(directory, 0o755)
        certificate(directory)
        pathlib.Path(site, "1k.txt").write_text("x" * 1023 + "\n")
        pathlib.Path(site, "100k.bin").write_bytes(os.urandom(100 << 10))
        starts = [lambda: nginx(site, directory)] + [lambda p=p: pitot(site, directory, *p) for p in pairs]
        for start in starts:
            with start() as server:
                s = connect(server.port, context())
                print(f"{server.name}: {s.version()}, {s.cipher()[0]}", flush=True)
        rounds, seconds = options.rounds, options.seconds
        if options.what in ("keep-alive", "all"):
            for path in ("/1k.txt", "/100k.bin"):
                compare(f"server CPU per request, {path}, {CONNECTIONS} keep-alive connections", starts, rounds, seconds,
                        lambda port, seconds: wrk(port, path, seconds))
        if options.what in ("handshakes", "all"):
            compare("server CPU per connection with a full handshake and one request", starts, rounds, seconds,
                    lambda port, seconds: handshakes(port, seconds, False))
        if options.what in ("resumed", "all"):
            compare("server CPU per connection with a resumed session and one request", starts, rounds, seconds,
                    lambda port, seconds: handshakes(port, seconds, True))
        if options.what in ("memory", "all"):
            memory(starts)


if __name__ == "__main__":
    main()
