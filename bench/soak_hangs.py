#!/usr/bin/env python3
"""Servers that hang under a soak: how long until `pitot soak` has noticed, and does it say what each is?

    bench/soak_hangs.py [--pitot target/release/pitot] [--each 10] [--together 1]

Each trial is a soak of its own on a small server, which after some seconds, drawn by chance, hangs in one of three ways:

    stopped        it is sent SIGSTOP
    silent         it goes on taking connections, and answers nothing
    not-accepting  it ends its connections and takes no new ones, until its listen queue is full

Measured is the time from that moment until the event stands in the soak's file. Exits with 1 if a hang was told after more than 5 s, as
something else, or without evidence.
"""
import argparse
import concurrent.futures
import contextlib
import os
import random
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time

KINDS = {"stopped": "hang-stopped", "silent": "hang-silent", "not-accepting": "hang-not-accepting"}
REPLY = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
LIMIT_S = 5
# At first there is nothing to compare with.
BEFORE_S = (6, 9)
PATIENCE_S = 60


def serve(kind):
    """A server that hangs when it gets SIGUSR1."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=2)
    print(listener.getsockname()[1], flush=True)
    hangs, streams = threading.Event(), []
    signal.signal(signal.SIGUSR1, lambda *_: hangs.set())

    def connection(stream):
        with contextlib.suppress(OSError):
            while stream.recv(4096):
                if hangs.is_set():
                    threading.Event().wait()
                stream.sendall(REPLY)

    def accept():
        while not (kind == "not-accepting" and hangs.is_set()):
            stream, _ = listener.accept()
            streams.append(stream)
            threading.Thread(target=connection, args=(stream,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    # The handler runs in this thread.
    while not hangs.wait(0.02):
        pass
    if kind == "not-accepting":
        for stream in streams:
            with contextlib.suppress(OSError):
                stream.shutdown(socket.SHUT_RDWR)
    threading.Event().wait()


def hang_told(path):
    """The kind and the evidence of the first hang in a soak's file."""
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as file:
        return file.execute("SELECT kind, evidence FROM event WHERE kind LIKE 'hang-%' ORDER BY id").fetchone()


def trial(pitot, kind, after_s):
    """Seconds until the hang was told, as what, and whether with evidence."""
    with tempfile.TemporaryDirectory(prefix="pitot-soak-hangs-") as folder:
        path = os.path.join(folder, "a.pitot")
        server = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--serve", kind], stdout=subprocess.PIPE, text=True)
        try:
            port = server.stdout.readline().strip()
            command = [pitot, "soak", f"http://127.0.0.1:{port}/", "--pid", str(server.pid), "--for", "10m", "-o", path,
                       "-c", "4", "-R", "100", "--on-hang", "end"]
            soak = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                time.sleep(after_s)
                hung = time.monotonic()
                server.send_signal(signal.SIGSTOP if kind == "stopped" else signal.SIGUSR1)
                told = None
                while not told and time.monotonic() < hung + PATIENCE_S:
                    time.sleep(0.02)
                    with contextlib.suppress(sqlite3.OperationalError):
                        told = hang_told(path)
                took = time.monotonic() - hung
            finally:
                soak.terminate()
                soak.wait()
        finally:
            server.kill()
            server.wait()
    return took, told[0] if told else "nothing", bool(told and told[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pitot", default="target/release/pitot")
    parser.add_argument("--each", type=int, default=10)
    parser.add_argument("--together", type=int, default=1)
    parser.add_argument("--serve", choices=KINDS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve)
    pitot = os.path.abspath(options.pitot)
    is_right = True
    with concurrent.futures.ThreadPoolExecutor(options.together) as pool:
        for kind, name in KINDS.items():
            trials = [pool.submit(trial, pitot, kind, random.uniform(*BEFORE_S)) for _ in range(options.each)]
            results = [each.result() for each in trials]
            times = [took for took, _, _ in results]
            wrong = [told for took, told, has_evidence in results if told != name or not has_evidence or took > LIMIT_S]
            is_right &= not wrong
            print(f"{kind:14} told after {statistics.median(times):.1f} s, at most {max(times):.1f} s; "
                  f"right {options.each - len(wrong)} of {options.each} {wrong or ''}", flush=True)
    sys.exit(0 if is_right else 1)


if __name__ == "__main__":
    main()
