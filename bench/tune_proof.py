#!/usr/bin/env python3
"""Whether `pitot tune try` finds a setting that costs, and calls one that cannot matter what it is.

    bench/tune_proof.py target/release/pitot [TIMES]

Everything is in a network namespace of its own (unshare --net), where the settings are those of the namespace. The planted
setting is a receive buffer that is too small for large replies; the other is a time of TCP keep-alive, which no connection of
a few seconds lives to see. Prints every answer, and how many were right.
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
url = "http://{address}/bytes/262144"
connections = 8
[factors]
server = ["loop+epoll-et"]
"""
CASES = [
    ("net.ipv4.tcp_rmem=4096 4096 8192", "harms"),
    ("net.ipv4.tcp_keepalive_time=600", "no-difference"),
]


def attempt(pitot, folder, number, setting):
    output = subprocess.run(
        [pitot, "tune", "try", setting, "--plan", folder / "plan.toml", "--within", "25s", "--format", "json",
         "-o", folder / f"{number}.pitot"],
        env={**os.environ, "PITOT_HOST_JOURNAL": str(folder / "journal")}, capture_output=True, text=True)
    if output.returncode != 0:
        sys.exit(output.stderr)
    return json.loads(output.stdout)["answers"][0]


def main():
    if os.environ.get("PITOT_PROOF_INSIDE") is None:
        command = ["unshare", "--user", "--map-root-user", "--net", sys.executable, *sys.argv]
        sys.exit(subprocess.run(command, env={**os.environ, "PITOT_PROOF_INSIDE": "1"}).returncode)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    pitot, times = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 10
    right = {setting: 0 for setting, _ in CASES}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "plan.toml").write_text(PLAN)
        for number in range(times):
            for setting, expected in CASES:
                answer = attempt(pitot, folder, f"{number}-{expected}", setting)
                right[setting] += answer["effect"] == expected
                print(f"{setting}: {answer['sentence']}", flush=True)
    for setting, expected in CASES:
        print(f"{setting}: {expected} in {right[setting]} of {times}")
    sys.exit(0 if all(count == times for count in right.values()) else 1)


if __name__ == "__main__":
    main()
