#!/usr/bin/env python3
"""Does `pitot load` count just the errors that a server made, kind by kind, while faults are under way?

    bench/fault_errors.py [--pitot target/release/pitot] [--for 3600] [--rate 200] [--connections 16] [--engine epoll] [--seed 1]

A server of its own answers most requests as it should, and the others wrongly, each in one of eight ways drawn by chance, and counts
what it does. Between it and the load is Pitot's own proxy (`pitot fault proxy`), which resets all connections now and then, and tells
at its end how many it has reset, those among them that the server had reset. Faults that must cost no error come in between: the
server is stopped, replies are late, the way is slow, or nothing passes for a while, each for less than the load waits for a reply.

Every request has one end: a right reply, or an error of a kind. The numbers on both sides must be equal in each kind but for one reason:
what the server has sent may still be on its way when the proxy resets the connection, and then the client has seen a reset and nothing
else. There can be no more of these than connections that the proxy has reset by itself. The exit status is 1 if anything else differs.
"""
import argparse
import collections
import contextlib
import json
import pathlib
import random
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

BODY = bytes(range(32, 96))
HEAD = b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n"
TIMEOUT_S = 3
# Of so many requests one is answered wrongly.
ONE_IN = 60
RIGHT = "right"
# What the server does, and the kind under which the load has to count it.
WRONGS = {
    "status": "status-503",
    "bytes": "bytes",
    "length": "length",
    "malformed": "malformed",
    "close": "closed",
    "cut": "truncated",
    "reset": "ECONNRESET",
    "silent": "reply",
}
# Faults with how long they last in seconds; all but the first must cost nothing.
FAULTS = [
    ("reset", 0.0),
    ("stop", 1.0),
    ("latency --delay 80ms --jitter 40ms", 2.0),
    ("bandwidth --rate 60000", 2.0),
    ("black-hole", 1.0),
]


class Server:
    """A thread for each connection."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lock = threading.Lock()
        self.done = collections.Counter()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            connection, _ = self.listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def draw(self):
        with self.lock:
            return self.random.choice(list(WRONGS)) if self.random.randrange(ONE_IN) == 0 else RIGHT

    def count(self, what):
        with self.lock:
            self.done[what] += 1

    def serve(self, connection):
        with contextlib.closing(connection):
            try:
                while self.request(connection) and self.answer(connection, self.draw()):
                    pass
            except OSError:
                # The proxy has reset it, and counts that.
                pass

    @staticmethod
    def request(connection):
        """Whether another request has come, whole."""
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            piece = connection.recv(4096)
            if not piece:
                return False
            head += piece
        return True

    def answer(self, connection, how):
        """Answers one request in this way; whether the connection goes on."""
        right = HEAD % (200, len(BODY)) + BODY
        replies = {
            RIGHT: right,
            "status": HEAD % (503, len(BODY)) + BODY,
            "bytes": HEAD % (200, len(BODY)) + BODY[::-1],
            "length": HEAD % (200, len(BODY) - 1) + BODY[:-1],
            "malformed": b"this is no reply\r\n\r\n",
            "cut": right[: -len(BODY) // 2],
        }
        if how in ("reset", "close"):
            self.count(how)
        if how == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return False
        if how == "silent":
            # Until the client has given up, unless the proxy resets the connection before.
            connection.recv(1)
            self.count(how)
            return False
        if how == "close":
            return False
        connection.sendall(replies[how])
        self.count(how)
        return how not in ("malformed", "cut")


def serve(seed):
    """The server as a process of its own, which prints its address, and its counts once its input ends."""
    server = Server(seed)
    print(server.listener.getsockname()[1], flush=True)
    sys.stdin.read()
    print(json.dumps(server.done), flush=True)


class Faults(threading.Thread):
    """Makes one fault after the other, in an order drawn by chance, until it is told to end."""

    def __init__(self, proxy, server, seed):
        super().__init__()
        self.proxy, self.server = proxy, server
        self.random = random.Random(seed)
        self.made = collections.Counter()
        self.ending = threading.Event()

    def run(self):
        number = 0
        while not self.ending.wait(self.random.uniform(2, 6)):
            fault, seconds = self.random.choice(FAULTS)
            self.made[fault.split()[0]] += 1
            number += 1
            if fault == "stop":
                self.server.send_signal(signal.SIGSTOP)
                time.sleep(seconds)
                self.server.send_signal(signal.SIGCONT)
            else:
                self.say(f"begin {number} {fault}")
                time.sleep(seconds)
                self.say(f"end {number}")

    def say(self, line):
        self.proxy.stdin.write(line + "\n")
        self.proxy.stdin.flush()

    def end(self):
        self.ending.set()
        self.join()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pitot", default="target/release/pitot")
    parser.add_argument("--for", dest="seconds", type=float, default=3600)
    parser.add_argument("--rate", type=int, default=200)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--engine", default="epoll")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(options.seed)
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        (folder / "body").write_bytes(BODY)

        def start(*command):
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            stack.callback(process.kill)
            return process

        server = start(sys.executable, __file__, "--serve", "--seed", str(options.seed))
        to = f"127.0.0.1:{server.stdout.readline().strip()}"
        proxy = start(options.pitot, "fault", "proxy", "--to", to, "--listen", "127.0.0.1:0")
        address = proxy.stdout.readline().split()[1]
        faults = Faults(proxy, server, options.seed)
        faults.start()
        stack.callback(faults.end)
        load = subprocess.run(
            [options.pitot, "load", f"http://{address}/", "--connections", str(options.connections),
             "--rate", str(options.rate), "--requests-total", str(int(options.rate * options.seconds)), "--warmup", "0s",
             "--timeout", f"{TIMEOUT_S}s", "--back-off", "10ms", "--engine", options.engine,
             "--expect-body", folder / "body", "--json", folder / "load.json"],
            stdout=subprocess.PIPE, text=True)
        if load.returncode not in (0, 1):
            sys.exit(load.stdout)
        faults.end()
        faults.say("quit")
        resets = int(proxy.communicate()[0].split()[-1])
        done = collections.Counter(json.loads(server.communicate()[0]))
        seen = json.loads((folder / "load.json").read_text())
    report(seen, done, resets, faults.made)


def report(seen, done, resets, faults):
    counted = collections.Counter()
    for error in seen["errors"]:
        counted[error["kind"]] += error["count"]
    made = collections.Counter()
    for how, kind in WRONGS.items():
        made[kind] += done[how]
    # The proxy hands on what the server has reset, and counts it with its own.
    made[WRONGS["reset"]] = resets
    made[RIGHT], counted[RIGHT] = done[RIGHT], seen["requests"]["ok"]
    print("faults:", ", ".join(f"{count} {name}" for name, count in sorted(faults.items())))
    print(f"{'kind':<12}{'made':>10}{'counted':>10}{'on the way':>12}")
    on_the_way = 0
    differ = False
    for kind in sorted(made | counted):
        lost = made[kind] - counted[kind]
        # A reset is seen by the client in any case, and of a request that stays unanswered the server knows how it ended.
        is_sent = kind not in (WRONGS["reset"], WRONGS["silent"])
        is_explained = lost == 0 or is_sent and lost > 0
        on_the_way += lost
        differ |= not is_explained
        print(f"{kind:<12}{made[kind]:>10}{counted[kind]:>10}{lost or '':>12}{'' if is_explained else '  differ'}")
    by_proxy = resets - done["reset"]
    print(f"connections that the proxy has reset by itself: {by_proxy}; replies on the way then: {on_the_way}")
    sys.exit(1 if differ or on_the_way > by_proxy else 0)


if __name__ == "__main__":
    main()
