#!/usr/bin/env python3
"""Kills the lab with SIGKILL while a fault of its plan holds, and looks whether anything of the fault, or of the run, is left.

    sudo bench/fault_kills.py [--kills 4] [--seed 1] [--pitot target/release/pitot] [--fault NAME...] [--guardians]

Each kind of fault that can be made here is tried `--kills` times, the kill at a random moment after it began. Nobody is asked to clean
up: the run's guardian has to. With `--guardians` all guardians are killed as well, those of the run and of the fault, and `pitot host
undo` has to. In the namespaces of bench/host_kills.py, where compared with before are the mounts, the loop devices,
the control groups, the files in /dev/shm and the private directories; and no process may be left that the run has started, stopped ones
included. Exits with 1 if anything is.
"""
import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

import run_kills
from host_kills import be_root_inside, read, shell, write

PLAN = """
repetitions = 1
duration = "60s"
warmup = "50ms"
[[faults]]
kind = "{fault}"
at = "100ms"
{length}
[server]
protocol = "http"
[load]
{load}
connections = 4
[factors]
server = ["prefork"]
{factors}
"""
# Where this script mounts the control groups of memory.
MEMORY = "/mnt/memory"
# They are over at once.
MOMENTS = {"kill", "restart"}
# What the load asks for; of faults of names, by the resolver in which they are made.
LOAD = 'size = "1KiB"'
LOAD_BY_NAME = 'url = "http://www.test:{port}/bytes/1024"\nresolver = "{resolver}"'
# Only a file system made for the purpose is filled.
FILE_SYSTEM = 'host.filesystem = ["ext4"]'

# After the load is seen: the fault begins 150 ms after the load does.
BEGUN_AFTER_S = 0.5


def processes(directory):
    """The processes that name a directory in their environment, with their states."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if directory.encode() in (read(f"/proc/{pid}/environ") or b""):
            command = (read(f"/proc/{pid}/cmdline") or b"").replace(b"\0", b" ").decode()
            stat = (read(f"/proc/{pid}/stat") or b") ?").decode()
            if command:
                found[pid] = f"{stat.rsplit(') ', 1)[1][0]} {command}"
    return found


def left(directory, lab):
    """What is there of a run, by kind."""
    return {
        "processes": processes(directory),
        "mounts": run_kills.mounts(),
        "loop devices": run_kills.loops(directory),
        "control groups": run_kills.groups(lab),
        "groups with little memory": limited(),
        "tables of packet filters": tables(),
        "shared memory": sorted(os.listdir("/dev/shm")),
        "private directories": sorted(name for name in os.listdir(directory) if name.startswith("pitot-")),
    }


def mount_memory_groups():
    """The control groups that limit memory, where they are a hierarchy of their own (version 1): that of the machine is out of sight."""
    if b":memory:" in read("/proc/self/cgroup"):
        shell("mount", "-t", "tmpfs", "tmpfs", "/mnt")
        os.mkdir(MEMORY)
        shell("mount", "-t", "cgroup", "-o", "memory", "cgroup", MEMORY)


def limited():
    """Groups of faults that limit memory."""
    return [path for path, _, _ in os.walk(MEMORY) if os.path.basename(path).startswith("pitot-fault-")]


def tables():
    """The tables of nftables, where it is installed."""
    try:
        return subprocess.run(["nft", "list", "tables"], capture_output=True, text=True).stdout
    except FileNotFoundError:
        return ""


def is_loaded(directory):
    return any(" load http://" in command for command in processes(directory).values())


def kill_with_guardians(directory):
    """Kills the lab, the fault's program and their guardians, which are forks of them: first all are stopped, so that none sees another end."""
    ours = lambda: [int(pid) for pid, command in processes(directory).items() if " run plan.toml" in command or " fault " in command]
    for what in (signal.SIGSTOP, signal.SIGKILL):
        for pid in ours():
            try:
                os.kill(pid, what)
            except ProcessLookupError:
                pass


def kill(pitot, fault, chance, guardians):
    """Kills a run during a fault; what it has left that was not there before."""
    with tempfile.TemporaryDirectory(prefix="pitot-fault-kills-") as directory:
        os.chmod(directory, 0o755)
        length = "" if fault in MOMENTS else 'for = "50s"'
        load = LOAD_BY_NAME if fault.startswith("dns-") else LOAD
        factors = FILE_SYSTEM if fault == "disk-full" else ""
        write(os.path.join(directory, "plan.toml"), PLAN.format(fault=fault, length=length, load=load, factors=factors))
        before = left(directory, 0)
        env = {**os.environ, "TMPDIR": directory, "PITOT_HOST_JOURNAL": os.path.join(directory, "journal")}
        with open(os.path.join(directory, "stderr"), "wb") as log:
            command = [pitot, "run", "plan.toml", "-o", "run.pitot"]
            lab = subprocess.Popen(command, cwd=directory, env=env, stdout=subprocess.DEVNULL, stderr=log)
        run_kills.wait_until(lambda: is_loaded(directory) or lab.poll() is not None)
        time.sleep(BEGUN_AFTER_S + chance.uniform(0, 1))
        ended = lab.poll()
        if guardians:
            kill_with_guardians(directory)
        lab.kill()
        lab.wait()
        if ended is not None:
            sys.exit(f"{fault}: the run ended by itself: {read(os.path.join(directory, 'stderr')).decode()}")
        if guardians:
            subprocess.run([pitot, "host", "undo"], env=env, stdout=subprocess.DEVNULL)
        run_kills.wait_until(lambda: left(directory, lab.pid) == before)
        after = left(directory, lab.pid)
        return {kind: after[kind] for kind in before if after[kind] != before[kind]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=4)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--pitot", default="target/release/pitot")
    parser.add_argument("--fault", nargs="*")
    parser.add_argument("--guardians", action="store_true")
    options = parser.parse_args()
    be_root_inside("only root may make all kinds of faults")
    mount_memory_groups()
    pitot = os.path.abspath(options.pitot)
    chance = random.Random(options.seed)
    listed = json.loads(subprocess.run([pitot, "list", "faults", "--format", "json"], check=True, capture_output=True).stdout)
    kills = clean = 0
    for fault in listed:
        name = fault["name"]
        if not fault["available"] or options.fault and name not in options.fault:
            print(f"{name:14} not tried: {fault.get('cause') or 'not asked for'}")
            continue
        for number in range(options.kills):
            wrong = kill(pitot, name, chance, options.guardians)
            kills += 1
            clean += not wrong
            for kind, what in wrong.items():
                print(f"{name:14} kill {number} has left {kind}: {what}")
        print(f"{name:14} {options.kills} kills", flush=True)
    print(f"seed {options.seed}: nothing left after {clean} of {kills} kills")
    sys.exit(0 if kills == clean else 1)


if __name__ == "__main__":
    main()
