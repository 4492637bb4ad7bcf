#!/usr/bin/env python3
"""Kills `pitot host apply` and `pitot host undo` at random moments, and looks whether undoing restores everything.

    bench/host_kills.py [--kills 200] [--seed 1] [--pitot target/release/pitot]

It runs in network and mount namespaces of its own (unshare(1)), and of a user who is not root in a user namespace too, so that no setting of the machine is touched: the
parameters of the network are those of the namespace, the NIC is a veth pair, and what is not part of a namespace (vm.*,
huge pages, a disk, wake-up times of CPUs) are copies of the files on a tmpfs. After each kill and the undo that follows,
all of /proc/sys, the queues and features of both ends of the pair as the kernel tells them, and the copies are compared
byte for byte with what they were. In every tenth round another hand changes a setting in between, which must be kept and
named. Exits with 1 if anything differs.
"""

import argparse
import fcntl
import json
import os
import random
import socket
import struct
import subprocess
import sys
import tempfile
import time

INSIDE = "PITOT_HOST_KILLS_INSIDE"
THP = "/sys/kernel/mm/transparent_hugepage"
CPU_POWER = "/sys/devices/system/cpu/cpu0/power"

# Values of the copies have the lengths of those that they replace: a file of a tmpfs is not truncated by a write.
CHANGES = [
    "net.ipv4.tcp_timestamps=0",
    "net.ipv4.tcp_sack=0",
    "net.ipv4.tcp_dsack=0",
    "net.ipv4.tcp_window_scaling=0",
    "net.ipv4.tcp_max_syn_backlog=200000",
    "net.ipv4.tcp_rmem=4096 10000 20000",
    "net.ipv4.tcp_wmem=4096 8192 65536",
    "net.ipv4.ip_local_port_range=1024 65535",
    "net.ipv4.ip_local_reserved_ports=8080,9000-9010",
    "net.ipv4.tcp_fin_timeout=20",
    "net.ipv4.tcp_congestion_control=reno",
    "net.core.somaxconn=128",
    "net.core.optmem_max=67108864",
    "nic.pa.rps-cpus=0",
    "nic.pa.xps-cpus=0",
    "nic.pa.tx-queue-len=500",
    "nic.pa.gro=on",
    "nic.pa.tso=off",
    "nic.pa.tx-checksum-ip-generic=off",
    "nic.pb.gso=off",
    "nic.pa.queues=2",
    "nic.pb.rx-queues=1",
    "thp.defrag=never",
    "vm.swappiness=10",
    "cpu.0.idle-latency-us=5",
    # Twice the same setting, in one journal.
    "net.core.somaxconn=256",
]


def enter():
    """Starts this script again in namespaces of its own."""
    os.environ[INSIDE] = "root" if os.getuid() == 0 else "user"
    user = [] if os.getuid() == 0 else ["--user", "--map-root-user"]
    os.execvp("unshare", ["unshare", *user, "--net", "--mount", sys.executable, *sys.argv])


def shell(*words):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def prepare():
    """Makes the network and the copies, in namespaces of its own."""
    shell("mount", "-t", "sysfs", "sysfs", "/sys")
    many = ["numrxqueues", "4", "numtxqueues", "4"]
    shell("ip", "link", "add", "name", "pa", *many, "type", "veth", "peer", "name", "pb", *many)
    shell("ip", "link", "set", "lo", "up")
    # Only root of the first user namespace may steer packets and set the length of a queue.
    for queue in range(4 if os.environ[INSIDE] == "root" else 0):
        write(f"/sys/class/net/pa/queues/rx-{queue}/rps_cpus", "2")
    for directory in ["/proc/sys/vm", THP, CPU_POWER]:
        copy(directory)
    # Nothing of the machine itself may be written, whatever is wrong with the program.
    for directory in ["/proc/sys/fs", "/proc/sys/kernel", "/proc/irq", "/sys/block", "/sys/devices/system/clocksource"]:
        shell("mount", "--bind", directory, directory)
        shell("mount", "-o", "remount,bind,ro", directory)
    write(f"{THP}/defrag", "defer\n")
    write(f"{CPU_POWER}/pm_qos_resume_latency_us", "0\n")


def be_root_inside(why):
    """The same for what only root can do, with control groups of its own."""
    if os.getuid() != 0:
        sys.exit(why)
    if INSIDE not in os.environ:
        enter()
    prepare()
    if os.path.isdir("/sys/fs/cgroup"):
        shell("mount", "-t", "cgroup2", "cgroup2", "/sys/fs/cgroup")


def copy(directory):
    """Puts a tmpfs with copies of its files in the place of a directory."""
    contents = {name: read(os.path.join(directory, name)) for name in os.listdir(directory)}
    shell("mount", "-t", "tmpfs", "tmpfs", directory)
    for name, text in contents.items():
        if text is not None:
            write(os.path.join(directory, name), text)


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


def write(path, text):
    with open(path, "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())


# What changes by itself.
STATES = ("/proc/sys/fs/aio-nr", "/proc/sys/fs/dentry-state", "/proc/sys/fs/file-nr", "/proc/sys/fs/inode-nr",
          "/proc/sys/fs/inode-state", "/proc/sys/fs/quota/", "/proc/sys/kernel/ns_last_pid",
          "/proc/sys/kernel/perf_event_max_sample_rate", "/proc/sys/kernel/pty/nr", "/proc/sys/kernel/random/entropy_avail",
          "/proc/sys/kernel/random/uuid", "/proc/sys/net/netfilter/nf_conntrack_count")


def snapshot():
    found = {}
    for top in ["/proc/sys", "/sys/class/net/pa/", "/sys/class/net/pb/", THP, CPU_POWER]:
        for directory, names, files in os.walk(top):
            names[:] = [n for n in names if n not in ("statistics", "device", "subsystem")]
            for name in files:
                path = os.path.join(directory, name)
                if not path.startswith(STATES) and not path.endswith("/uevent"):
                    found[path] = read(path)
    for interface in ("pa", "pb"):
        found[f"channels of {interface}"] = ethtool(interface, struct.pack("9I", 0x3C, *[0] * 8))
        blocks = 4
        found[f"features of {interface}"] = ethtool(interface, struct.pack("2I", 0x3A, blocks) + bytes(16 * blocks))
    return found


def ethtool(interface, command):
    """An answer of SIOCETHTOOL."""
    import array
    buffer = array.array("B", command)
    request = struct.pack("16sP", interface.encode(), buffer.buffer_info()[0]) + bytes(24)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, 0x8946, request)
    return buffer.tobytes()


def killed_after(command, seconds):
    """Runs a command and kills it; true if it was still there."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(seconds)
    was_there = child.poll() is None
    child.kill()
    child.wait()
    return was_there


def differences(before, after):
    return {k: (before.get(k), after.get(k)) for k in before.keys() | after.keys() if before.get(k) != after.get(k)}


class Tally:
    """How often `pitot host undo` has restored everything, and kept what another hand had changed."""

    def __init__(self, journal):
        self.journal = journal
        self.restored = self.kept = self.foreign = 0

    def hand(self, is_kept):
        self.foreign += 1
        self.kept += is_kept

    def judge(self, kill, done, wrong, hand):
        """`wrong` is what differs after the undo that is `done`; with another hand in it, that may say that it is not all."""
        if wrong or (done.returncode != 0 and not hand):
            print(f"{kill}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
            for path, (was, is_now) in sorted(wrong.items()):
                print(f"  {path}: {was} -> {is_now}")
        else:
            self.restored += 1
        if os.path.getsize(self.journal):
            sys.exit(f"the journal is not empty after {kill}")

    def end(self, kills):
        print(f"restored byte for byte: {self.restored} of {kills}; "
              f"kept what another hand changed: {self.kept} of {self.foreign}")
        sys.exit(0 if self.restored == kills and self.kept == self.foreign else 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--pitot", default="target/release/pitot")
    options = parser.parse_args()
    if INSIDE not in os.environ:
        enter()
    prepare()
    chance = random.Random(options.seed)
    directory = tempfile.TemporaryDirectory(prefix="pitot-host-kills-")
    journal = os.path.join(directory.name, "journal")
    os.environ["PITOT_HOST_JOURNAL"] = journal
    pitot = os.path.abspath(options.pitot)
    changes = [c for c in CHANGES if os.environ[INSIDE] == "root" or not ("ps-cpus" in c or "tx-queue-len" in c)]
    apply, undo = [pitot, "host", "apply", *changes], [pitot, "host", "undo"]
    quiet = {"stdout": subprocess.DEVNULL, "check": True}

    before = snapshot()
    times = {"apply": [], "undo": []}
    for _ in range(5):
        for name, command in [("apply", apply), ("undo", undo)]:
            start = time.monotonic()
            subprocess.run(command, **quiet)
            times[name].append(time.monotonic() - start)
            if name == "apply":
                changed = differences(before, snapshot())
        if wrong := differences(before, snapshot()):
            sys.exit(f"undo alone does not restore {wrong}")
    times = {name: min(all_times) for name, all_times in times.items()}
    print(f"{len(changed)} files, tables of channels and of features differ after apply; "
          + ", ".join(f"{name} takes {seconds * 1000:.0f} ms" for name, seconds in times.items()))

    alive = {"apply": 0, "undo": 0}
    midway, tally = 0, Tally(journal)
    for number in range(options.kills):
        what = chance.choice(["apply", "undo"])
        # Only a kill that meets the command at work counts.
        met = False
        while not met:
            subprocess.run(apply if what == "undo" else undo, **quiet)
            met = killed_after(apply if what == "apply" else undo, chance.uniform(0, times[what]))
        alive[what] += 1
        midway += bool(differences(before, snapshot()))
        hand = number % 10 == 9
        if hand:
            # A value that is neither that found nor that set.
            write("/proc/sys/net/ipv4/tcp_fin_timeout", "33")
        done = subprocess.run([*undo, "--format", "json"], capture_output=True, text=True)
        after = snapshot()
        if hand:
            entries = json.loads(done.stdout)["changes"]
            mine = [e["outcome"] for e in entries if e["key"] == "net.ipv4.tcp_fin_timeout"]
            is_kept = read("/proc/sys/net/ipv4/tcp_fin_timeout") == b"33\n"
            # Where the journal knew of the change it is told; where it did not, nothing was to be told.
            tally.hand(is_kept and mine in ([], ["kept"]))
            write("/proc/sys/net/ipv4/tcp_fin_timeout", before["/proc/sys/net/ipv4/tcp_fin_timeout"])
            after = snapshot()
        tally.judge(f"kill {number} of {what}", done, differences(before, after), hand)
    print(f"seed {options.seed}: {alive['apply']} kills of apply and {alive['undo']} of undo at work; "
          f"{midway} left something changed")
    tally.end(options.kills)


if __name__ == "__main__":
    main()
