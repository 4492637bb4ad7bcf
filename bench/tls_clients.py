#!/usr/bin/env python3
"""CPU time per request of `pitot load`, h2load, oha and k6 over HTTP/1.1, against the same nginx, in turn.

    cargo build --release && python3 bench/tls_clients.py [ROUNDS [REQUESTS [CONNECTIONS [NGINX_CPU]]]]

Without TLS and with TLS 1.3, CONNECTIONS (32) that are kept, a file of 1 KiB; the client has CPU 0 and nginx CPU 1. What a
request costs depends on how many replies the client finds when it looks: with a CPU of its own it sleeps and is woken for
almost each, the more often the faster it is, and most of what is measured is that; with NGINX_CPU 0 both share one, and each
finds all connections answered. All take any certificate. The time is what the kernel counted of the client's process, user
and system, for REQUESTS (50000) without those of a tenth of them, so that starts and handshakes are not in it; ratios are of
runs of one round. Needs nginx, h2load (nghttp2-client), openssl and taskset; oha and k6 are left out where they are missing
(bench/rivals.py). Traffic stays on 127.0.0.1. On a machine that has other work, run it with a priority (`nice -n -10`).
"""
import os, pathlib, resource, shutil, signal, socket, statistics, subprocess, sys, tempfile, time

from rig import certificate, free_port
from rivals import found

PITOT = pathlib.Path(__file__).resolve().parent.parent / "target/release/pitot"
ROUNDS, REQUESTS, CONNECTIONS, NGINX_CPU = (int(a) for a in (sys.argv[1:] + ["7", "50000", "32", "1"][len(sys.argv) - 1:])[:4])


def start_nginx(folder, plain, port):
    certificate(folder)
    (folder / "1k").write_bytes(b"x" * 1024)
    temporary = "".join(f"{k}_temp_path {folder}/{k};" for k in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (folder / "nginx.conf").write_text(f"""
        pid {folder}/pid; error_log {folder}/error.log; daemon off; master_process off; events {{ }}
        http {{ access_log off; {temporary} keepalive_requests 1000000000;
            server {{ listen 127.0.0.1:{plain}; root {folder}; }}
            server {{ listen 127.0.0.1:{port} ssl; root {folder}; ssl_protocols TLSv1.3;
                ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem; }} }}""")
    nginx = subprocess.Popen(["taskset", "-c", str(NGINX_CPU), "nginx", "-e", folder / "error.log", "-c", folder / "nginx.conf"],
                             env={**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin"})
    for _ in range(500):
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)) == 0:
                return nginx
        time.sleep(0.01)
    sys.exit("nginx does not listen")


def cost(command):
    """CPU seconds, and how often it slept."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(["taskset", "-c", "0", *command], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, after.ru_nvcsw - before.ru_nvcsw


def own(command):
    """Seconds on the CPU without switches."""
    with tempfile.NamedTemporaryFile() as told:
        cost(["perf", "stat", "-x", ";", "-e", "task-clock", "-o", told.name, *command])
        line = next(line for line in pathlib.Path(told.name).read_text().splitlines() if "task-clock" in line)
        return [float(line.split(";")[0]) / 1e3]


def per_request(measure, client, requests):
    """What `measure` says of a request, without the start. `client` makes a command of a number of requests."""
    many, few = measure(client(requests)), measure(client(requests // 10))
    return [(a - b) / (requests - requests // 10) for a, b in zip(many, few)]


def main():
    rivals = found()
    with tempfile.TemporaryDirectory() as name:
        folder, plain, port = pathlib.Path(name), free_port(), free_port()
        folder.chmod(0o755)
        nginx = start_nginx(folder, plain, port)
        try:
            for title, url in (("HTTP/1.1", f"http://localhost:{plain}/1k"), ("HTTP/1.1 over TLS 1.3", f"https://localhost:{port}/1k")):
                compare(title, url, rivals, folder, ROUNDS, REQUESTS)
        finally:
            nginx.send_signal(signal.SIGTERM)
            nginx.wait(30)


def compare(title, url, rivals, folder, rounds, requests):
    insecure = ["--insecure"] if url.startswith("https") else []
    pitot = lambda engine: lambda n: [str(PITOT), "load", url, *insecure, "-n", str(n), "-c", str(CONNECTIONS), "--engine", engine]
    clients = {
        "h2load": lambda n: ["h2load", "--h1", "-t", "1", "-n", str(n), "-c", str(CONNECTIONS), url],
        "pitot epoll": pitot("epoll"),
        "pitot uring": pitot("uring"),
    }
    for rival, command in rivals.items():
        clients[rival] = lambda n, command=command: command(folder, url, n, CONNECTIONS)
    times, slept, owned = ({client: [] for client in clients} for _ in range(3))
    for _ in range(rounds):
        for client, command in clients.items():
            seconds, sleeps = per_request(cost, command, requests)
            times[client].append(seconds * 1e6)
            slept[client].append(sleeps)
        for client, command in clients.items() if shutil.which("perf") else ():
            owned[client].append(per_request(own, command, requests)[0] * 1e6)
    print(f"\n{title}: {rounds} rounds of {requests} requests, us of CPU per request (range)")
    others = [client for client in clients if not client.startswith("pitot")]
    for client, values in times.items():
        line = f"  {client:12}{statistics.median(values):8.2f} ({min(values):.2f} .. {max(values):.2f})"
        line += f"   sleeps {statistics.median(slept[client]):.3f}" + told(values, times, client, others)
        print(line, flush=True)
    for client, values in owned.items():
        if values:
            print(f"  {client:12}{statistics.median(values):8.2f} without switches" + told(values, owned, client, others), flush=True)


def told(values, all_values, client, others):
    """The ratios of one of ours to the others."""
    line = ""
    for other in others if client not in others else ():
        ratios = [mine / theirs for mine, theirs in zip(values, all_values[other])]
        line += f"   {statistics.median(ratios):.3f} of {other}'s ({min(ratios):.3f} .. {max(ratios):.3f})"
    return line


if __name__ == "__main__":
    main()
