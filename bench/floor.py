#!/usr/bin/env python3
"""Sets `pitot floor` beside `perf bench` and lmbench, in turn, on one CPU.

    cargo build --release && python3 bench/floor.py [ROUNDS] [--lmbench DIRECTORY]

Each round asks pitot, the other tool, the other tool, pitot; the table has the medians and their ratio. perf is the Debian
package linux-perf. lmbench (https://github.com/intel/lmbench) has to be built; DIRECTORY holds its programs, such as
`lat_syscall`. What the tools call the same is not always the same: an operation of `perf bench sched pipe` is two
switches of pitot. Of pitot and perf it is CPU time that is compared, of lmbench the time that it prints.
"""
import json, pathlib, re, resource, shutil, statistics, subprocess, sys

PITOT = pathlib.Path(__file__).resolve().parent.parent / "target/release/pitot"
CPU = "0"


def output(*command):
    done = subprocess.run(["taskset", "-c", CPU, *map(str, command)], capture_output=True, text=True, timeout=120)
    return done.stdout + done.stderr


def number(pattern, text):
    found = re.search(pattern, text)
    return float(found.group(1)) if found else None


def pitot(primitive):
    # Partners on the other side of a switch share the CPU.
    text = output(PITOT, "floor", "--cpus", CPU, "--primitive", primitive, "--rounds", "5", "--format", "json", "--dir", "/tmp")
    return json.loads(text)["primitives"][0]["cpu_ns"]["median"]


def cpu_time(*command):
    """CPU time of a command and its children, nanoseconds: means of a tool that others interrupt say nothing."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    output(*command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime) * 1e9


def perf(operations, bench, *arguments):
    """CPU time an operation: two numbers of operations, so that what the start costs drops out."""
    def each():
        few, many = (cpu_time("perf", "bench", *bench, *arguments, "-l", n) for n in (operations, 5 * operations))
        return (many - few) / (4 * operations)
    return each


def lmbench(directory, program, pattern, scale, *arguments):
    return lambda: number(pattern, output(directory / program, *arguments)) * scale


def pairs(directory):
    if shutil.which("perf"):
        yield "system-call-libc", "perf bench syscall basic", perf(200_000, ("syscall", "basic"))
        yield "pipe-switch", "perf bench sched pipe -T, half", lambda: perf(20_000, ("sched", "pipe"), "-T")() / 2
        yield "copy", "perf bench mem memcpy -f default", lambda: perf(10, ("mem", "memcpy"), "-s", "64MB", "-f", "default")() / 64
    else:
        print("perf is not installed: apt-get install linux-perf")
    if directory:
        us = r"([\d.]+) microseconds"
        yield "system-call-libc", "lat_syscall null", lmbench(directory, "lat_syscall", us, 1000, "-N", "3", "null")
        yield "file-open", "lat_syscall open /tmp", lmbench(directory, "lat_syscall", us, 1000, "-N", "3", "open", "/tmp")
        yield "pipe-switch", "lat_pipe, half", lmbench(directory, "lat_pipe", us, 1000 / 2, "-N", "3")
        # It prints megabytes and megabytes a second.
        bcopy = lmbench(directory, "bw_mem", r"[\d.]+ ([\d.]+)", 1, "-N", "3", "64m", "bcopy")
        yield "copy", "bw_mem 64m bcopy", lambda: 1.048576 / bcopy() * 1e9


def main():
    arguments = sys.argv[1:]
    directory = None
    if "--lmbench" in arguments:
        at = arguments.index("--lmbench")
        directory = pathlib.Path(arguments[at + 1])
        del arguments[at : at + 2]
    rounds = int(arguments[0]) if arguments else 5
    print(f"{'primitive':22} {'pitot':>9} {'other':>9} {'ratio':>6}  other tool ({rounds} rounds, ns an operation)")
    for primitive, name, other in pairs(directory):
        ours, theirs = [], []
        for _ in range(rounds):
            ours.append(pitot(primitive))
            theirs += [other(), other()]
            ours.append(pitot(primitive))
        a, b = statistics.median(ours), statistics.median(theirs)
        print(f"{primitive:22} {a:9.1f} {b:9.1f} {a / b:6.2f}  {name}", flush=True)


main()
