#!/usr/bin/env python3
"""Whether `pitot tune try` finds a setting that costs, and calls one that cannot matter what it is.

    bench/tune_proof.py target/release/pitot [TIMES]

Everything is in a network namespace of its own (unshare --net), where the settings are those of the namespace. Planted are a
receive buffer that is too small for large replies, and a range of local ports of which nearly all are reserved, where each request has a
connection of its own; the third setting is a time of TCP keep-alive, which no connection of a few seconds lives to see. Prints
every answer, and how many were right.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

PLAN = """
[server]
protocol = "http"
[load]
url = "http://{{address}}/bytes/{size}"
connections = {connections}
requests-per-connection = {requests}
[factors]
server = ["loop+epoll-et"]
"""
PLANS = {
    "large": PLAN.format(size=262144, connections=8, requests=1_000_000),
    "short": PLAN.format(size=1024, connections=16, requests=1),
}
CASES = [
    ("net.ipv4.tcp_rmem=4096 4096 8192", "large", "harms"),
    # A connect(2) passes all of them before it finds a port that is free.
    ("net.ipv4.ip_local_reserved_ports=1024-52000", "short", "harms"),
    ("net.ipv4.tcp_keepalive_time=600", "large", "no-difference"),
]
# A range that is long to walk.
GIVEN = ("/proc/sys/net/ipv4/ip_local_port_range", "1024 65535")


def attempt(pitot, folder, number, setting, plan):
    output = subprocess.run(
        [pitot, "tune", "try", setting, "--plan", folder / f"{plan}.toml", "--within", "25s", "--format", "json",
         "-o", folder / f"{number}.pitot"],
        env={**os.environ, "PITOT_HOST_JOURNAL": str(folder / "journal")}, capture_output=True, text=True)
    if not output.stdout:
        sys.exit(output.stderr)
    return json.loads(output.stdout)["answers"][0]


def main():
    if os.environ.get("PITOT_PROOF_INSIDE") is None:
        command = ["unshare", "--user", "--map-root-user", "--net", sys.executable, *sys.argv]
        sys.exit(subprocess.run(command, env={**os.environ, "PITOT_PROOF_INSIDE": "1"}).returncode)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    pitot, times = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 10
    pathlib.Path(GIVEN[0]).write_text(GIVEN[1])
    right = {setting: 0 for setting, _, _ in CASES}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for plan, text in PLANS.items():
            (folder / f"{plan}.toml").write_text(text)
        for number in range(times):
            for case, (setting, plan, expected) in enumerate(CASES):
                answer = attempt(pitot, folder, f"{number}-{case}", setting, plan)
                right[setting] += answer["effect"] == expected
                print(f"{setting}: {answer['sentence']}", flush=True)
    for setting, _, expected in CASES:
        print(f"{setting}: {expected} in {right[setting]} of {times}")
    sys.exit(0 if all(count == times for count in right.values()) else 1)


if __name__ == "__main__":
    main()
