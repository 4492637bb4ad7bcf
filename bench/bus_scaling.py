#!/usr/bin/env python3
"""How the time of a run falls with the number of agents on a bus.

60 cells that mostly wait (a few requests per second each) on 1, 2 and 4 agents of this machine, with a private nats-server.
The time is that of `pitot run --bus` from its start to its end, report included; ideal is the time on one agent divided
by their number. Exits with 1 if a share of the ideal is below --least.

    cargo build --release && bench/bus_scaling.py target/release/pitot [--rounds 3] [--duration 2s] [--least 0.85]
"""

import argparse
import os
import pathlib
import subprocess
import tempfile
import time

from rig import text, wait_for

PLAN = """
title = "60 cells that wait"
repetitions = 1
warmup = "100ms"
duration = "{duration}"
[server]
protocol = "http"
model = "loop"
[load]
connections = 1
[factors]
load.rate = [{rates}]
"""


def measure(pitot, server, agents, duration):
    """Seconds of a run on so many agents."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        env = os.environ | {"TMPDIR": name}
        rates = ", ".join(str(rate) for rate in range(5, 65))
        (folder / "plan.toml").write_text(PLAN.format(duration=duration, rates=rates))
        key = subprocess.run([pitot, "bus-key", "sign.nk"], cwd=name, check=True, capture_output=True, text=True)
        started = []
        try:
            bus = subprocess.Popen([server, "-a", "127.0.0.1", "-p", "-1", "-js", "-sd", "js", "--ports_file_dir", "."],
                                   cwd=name, stderr=subprocess.DEVNULL)
            started.append(bus)
            ports = folder / f"nats-server_{bus.pid}.ports"
            wait_for("the bus", lambda: '"nats"' in text(ports))
            url = text(ports).split('"nats":')[1].split('"')[1]
            for number in range(agents):
                log = folder / f"{number}.log"
                started.append(subprocess.Popen(
                    [pitot, "agent", "--bus", url, "--trust", key.stdout.strip(), "--name", f"a{number}", "--no-wait"],
                    cwd=name, env=env, stderr=log.open("w")))
                wait_for("an agent", lambda log=log: "waits for jobs" in text(log))
            begin = time.monotonic()
            run = subprocess.run([pitot, "run", "--bus", url, "--sign", "sign.nk", "plan.toml", "-o", "run.pitot"],
                                 cwd=name, env=env, capture_output=True, text=True)
            took = time.monotonic() - begin
            if run.returncode != 0:
                raise SystemExit(run.stderr)
            done = sum(text(folder / f"{number}.log").count("end ") for number in range(agents))
            if done != 60:
                raise SystemExit(f"{done} jobs were carried out, not 60")
            return took
        finally:
            for process in reversed(started):
                process.terminate()
                process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pitot")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--duration", default="2s")
    parser.add_argument("--least", type=float, default=0.85, help="the least share of the ideal")
    cache = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
    parser.add_argument("--server", default=f"{cache}/pitot/targets/nats-server/bin/nats-server")
    options = parser.parse_args()
    pitot = os.path.abspath(options.pitot)
    times = {1: [], 2: [], 4: []}
    for _ in range(options.rounds):
        for agents, took in times.items():
            took.append(measure(pitot, options.server, agents, options.duration))
            print(f"{agents} agents: {took[-1]:.1f} s", flush=True)
    best = {agents: sorted(took)[len(took) // 2] for agents, took in times.items()}
    print(f"\n{'agents':>6} {'median':>8} {'ideal':>8} {'share of the ideal':>20}")
    shares = []
    for agents, took in best.items():
        ideal = best[1] / agents
        shares.append(ideal / took)
        print(f"{agents:>6} {took:>6.1f} s {ideal:>6.1f} s {shares[-1]:>20.2f}")
    if min(shares) < options.least:
        raise SystemExit(f"less than {options.least} of the ideal")


if __name__ == "__main__":
    main()
