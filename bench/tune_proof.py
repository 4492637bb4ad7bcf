#!/usr/bin/env python3
"""Whether `pitot tune try` finds a setting that costs, and calls one that cannot matter what it is.

    bench/tune_proof.py target/release/pitot [TIMES]

Everything is in a network namespace of its own (unshare --net), where the settings are those of the namespace. Planted are a
receive buffer that is too small for large replies, and segmentation offload that is off, on a loopback whose packets have 1500 bytes
as those of a network; the third setting is a time of TCP keep-alive, which no connection of a few seconds lives to see. Prints every
answer, and how many were right.

A tiny net.core.somaxconn is not among them: one loop accepts as fast as one generator connects, so that even a queue of one costs
nothing that can be measured here.
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
connections = 8
[factors]
server = ["loop+epoll-et"]
"""
PLANS = {"large": PLAN.format(size=262144), "packets": PLAN.format(size=12288)}
CASES = [
    ("net.ipv4.tcp_rmem=4096 4096 8192", "large", "harms"),
    ("nic.lo.tso=off", "packets", "harms"),
    ("net.ipv4.tcp_keepalive_time=600", "large", "no-difference"),
]


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
    subprocess.run(["ip", "link", "set", "lo", "up", "mtu", "1500"], check=True)
    pitot, times = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 10
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
