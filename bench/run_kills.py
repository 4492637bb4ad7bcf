#!/usr/bin/env python3
"""Kills runs whose plan changes the host at random moments, and looks whether everything is as before after `pitot host undo`.

    sudo bench/run_kills.py [--kills 200] [--seed 1] [--pitot target/release/pitot]

In the namespaces of bench/host_kills.py, so that no setting of the machine is touched. The plan changes parameters of the network,
a veth pair and the copy of vm.swappiness, and puts its servers on file systems of their own. Every second kill takes the run's
guardian along, so that `pitot host undo` alone has to restore. Compared byte for byte are what bench/host_kills.py compares, the
mounts, the loop devices whose file is of this run, its control groups and its private directory. In every tenth round another
hand changes a setting of the plan shortly before, which must be kept. Exits with 1 if anything differs.
"""

import argparse
import glob
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

import host_kills
from host_kills import Tally, be_root_inside, differences, read, write

FIN_TIMEOUT = "/proc/sys/net/ipv4/tcp_fin_timeout"

PLAN = """
generations = 1000
slices = 2
slice = "5ms"
warmup = "5ms"
baseline = { settings = "found" }
[server]
protocol = "http"
[load]
url = "http://{address}/bytes/10"
connections = 2
[settings.disk]
"net.core.somaxconn" = 128
"net.ipv4.tcp_timestamps" = 0
"net.ipv4.tcp_rmem" = "4096 10000 20000"
"net.ipv4.tcp_fin_timeout" = 20
"nic.pa.gso" = "off"
"vm.swappiness" = 10
filesystem = "ext2"
[settings.memory]
"net.ipv4.tcp_fin_timeout" = 21
filesystem = "tmpfs"
[factors]
server = ["loop+epoll-et"]
settings = ["found", "disk", "memory"]
"""

# How long a kill may wait for the kernel to let go of a device, and for the guardian to do its work.
PATIENCE_S = 30


def loops(directory):
    """Loop devices whose file lies in a directory."""
    files = {path: read(path) for path in glob.glob("/sys/block/loop*/loop/backing_file")}
    return sorted(path for path, file in files.items() if file and file.startswith(directory.encode()))


def groups(lab):
    return [path for path, _, _ in os.walk("/sys/fs/cgroup") if os.path.basename(path).startswith(f"pitot-{lab}-")]


def mounts():
    """All but those of network namespaces with names, which somebody else may remove meanwhile: that reaches all namespaces."""
    return [line for line in read("/proc/self/mounts").splitlines() if not line.startswith(b"nsfs ")]


def snapshot(directory, lab):
    found = host_kills.snapshot()
    found["mounts"] = mounts()
    found["loop devices"] = loops(directory)
    found["control groups"] = groups(lab)
    found["private directories"] = glob.glob(os.path.join(directory, f"*pitot-{lab}-*"))
    return found


def wait_until(is_so):
    deadline = time.monotonic() + PATIENCE_S
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.005)


def start(pitot, directory, number):
    """A run under way, when it has made its journal."""
    output = os.path.join(directory, f"{number}.pitot")
    command = [pitot, "run", os.path.join(directory, "plan.toml"), "--output", output]
    with open(os.path.join(directory, "stderr"), "wb") as log:
        lab = subprocess.Popen(command, cwd=directory, stdout=subprocess.DEVNULL, stderr=log)
    journal = os.environ["PITOT_HOST_JOURNAL"]
    wait_until(lambda: lab.poll() is not None or (os.path.exists(journal) and os.path.getsize(journal)))
    if lab.poll() is not None:
        sys.exit(f"the run ended by itself: {read(os.path.join(directory, 'stderr')).decode()}")
    return lab, output


def guardian_of(lab):
    children = read(f"/proc/{lab}/task/{lab}/children") or b""
    return int(children.split()[0]) if children.split() else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--pitot", default="target/release/pitot")
    options = parser.parse_args()
    be_root_inside("only root may mount file systems of a disk")
    chance = random.Random(options.seed)
    directory = tempfile.TemporaryDirectory(prefix="pitot-run-kills-", dir=os.environ.get("TMPDIR"))
    os.environ["PITOT_HOST_JOURNAL"] = journal = os.path.join(directory.name, "journal")
    os.environ["TMPDIR"] = directory.name
    write(os.path.join(directory.name, "plan.toml"), PLAN)
    pitot = os.path.abspath(options.pitot)
    before = host_kills.snapshot()
    before.update({"mounts": mounts(), "loop devices": [], "control groups": [], "private directories": []})
    tally, midway, mounted = Tally(journal), 0, 0
    for number in range(options.kills):
        lab, output = start(pitot, directory.name, number)
        guardian = guardian_of(lab.pid)
        time.sleep(chance.uniform(0, 1.5))
        hand = number % 10 == 9
        if hand:
            write(FIN_TIMEOUT, "33")
        if number % 2 and guardian:
            os.kill(guardian, signal.SIGKILL)
        lab.kill()
        lab.wait()
        # What is left is looked at where nobody but `pitot host undo` restores anything.
        if number % 2:
            at_kill = differences(before, snapshot(directory.name, lab.pid))
            midway += bool(at_kill)
            mounted += "mounts" in at_kill
        elif guardian:
            wait_until(lambda: not os.path.exists(f"/proc/{guardian}"))
        done = subprocess.run([pitot, "host", "undo"], capture_output=True, text=True)
        if hand:
            tally.hand(read(FIN_TIMEOUT) == b"33\n")
            write(FIN_TIMEOUT, before[FIN_TIMEOUT])
        # A device lets go of its file a moment after it is unmounted.
        wait_until(lambda: not loops(directory.name))
        after = snapshot(directory.name, lab.pid)
        tally.judge(f"kill {number}", done, differences(before, after), hand)
        if os.path.exists(output):
            os.remove(output)
    print(f"seed {options.seed}: {options.kills} kills, {options.kills // 2} of them with the guardian; after {midway} of these "
          f"something was changed, after {mounted} a file system was mounted")
    tally.end(options.kills)


if __name__ == "__main__":
    main()
