#!/usr/bin/env python3
"""Sets `pitot floor` beside `perf bench`, stress-ng and lmbench, in turn, on one CPU.

    cargo build --release && python3 bench/floor.py [ROUNDS] [--limit 15%] [--only WORD] [--lmbench DIRECTORY]
                                                    [--pitot FILE] [--stress-ng FILE]

Each round asks pitot, the other tool, the other tool, pitot; the table has the medians and their ratio. perf and stress-ng are
the Debian packages linux-perf and stress-ng. lmbench (https://github.com/intel/lmbench) has to be built; DIRECTORY holds its
programs, such as `lat_syscall`. What the tools call the same is not always the same: the column `comparable` says whether it is, and
a note says why not. With --limit the exit code is 1 if a comparable pair is farther apart than that. Of pitot, perf and stress-ng it
is CPU time that is compared, of lmbench the time that it prints.
"""
import argparse, json, pathlib, re, resource, shutil, statistics, subprocess, sys

CPU = "0"


def output(*command):
    done = subprocess.run(["taskset", "-c", CPU, *map(str, command)], capture_output=True, text=True, timeout=30)
    return done.stdout + done.stderr


def number(pattern, text):
    found = re.search(pattern, text)
    return float(found.group(1)) if found else None


def cpu_time(*command):
    """CPU time of a command and its children, nanoseconds: means of a tool that others interrupt say nothing."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    output(*command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime) * 1e9


def each(operations, command):
    """CPU time an operation: two numbers of operations, so that what the start costs drops out."""
    def measured():
        few, many = (cpu_time(*command(n)) for n in (operations, 5 * operations))
        return (many - few) / (4 * operations)
    return measured


def perf(operations, *words):
    return each(operations, lambda n: ("perf", "bench", *words, "-l", n))


def stress(program, operations, *words):
    """A stressor of stress-ng: the first word is its name."""
    name = words[0]
    return each(operations, lambda n: (program, f"--{name}", "1", *words[1:], f"--{name}-ops", n, "--quiet"))


def lmbench(directory, program, pattern, scale, *arguments):
    return lambda: number(pattern, output(directory / program, *arguments)) * scale


def per_second(operations_of, pattern):
    """Of a bench that prints operations a second of one thread."""
    return lambda: 1e9 / number(pattern, output(*operations_of))


def half(measured):
    return lambda: measured() / 2


# A pair: our primitive, what the other is, how it is asked, and why the two are not comparable (None if they are).
def pairs(options):
    if shutil.which("perf"):
        yield "system-call-libc", "perf bench syscall basic", perf(200_000, "syscall", "basic"), None
        yield "pipe-switch", "perf bench sched pipe -T, half", half(perf(20_000, "sched", "pipe", "-T")), None
        yield "pipe-switch", "perf bench sched pipe, half", half(perf(20_000, "sched", "pipe")), \
            "it switches between processes, whose memory differs"
        # Of 64 MiB.
        memcpy = perf(10, "mem", "memcpy", "-s", "64MB", "-f", "default")
        yield "copy", "perf bench mem memcpy -f default", lambda: memcpy() / 64, None
        yield "futex-switch", "perf bench futex hash -t 1 -f 1", \
            per_second(("perf", "bench", "futex", "hash", "-t", "1", "-f", "1", "-r", "1", "-s"), r"([\d.]+) operations/sec"), \
            "its calls find another value and return at once: nobody is woken"
        yield "epoll-add", "perf bench epoll ctl -t 1", \
            per_second(("perf", "bench", "epoll", "ctl", "-t", "1", "-r", "1"), r"([\d.]+) ADD"), \
            "it draws add, modify and delete by lot, and counts those that fail"
        yield "epoll-wait-10", "perf bench epoll wait -t 1", \
            per_second(("perf", "bench", "epoll", "wait", "-t", "1", "-r", "1"), r"([\d.]+) operations/sec"), \
            "another thread writes to 64 eventfds, which is part of an operation"
    else:
        print("perf is not installed: apt-get install linux-perf")
    program = options.stress_ng or shutil.which("stress-ng")
    if program:
        def of(operations, *words):
            return stress(program, operations, *words)
        yield "fork", "stress-ng --fork", of(2000, "fork"), "the process that is copied has another size"
        yield "thread", "stress-ng --pthread, one at a time", of(2000, "pthread", "--pthread-max", "1"), \
            "its threads lock, signal and make a few system calls"
        yield "pipe-switch", "stress-ng --switch, half", \
            half(of(50_000, "switch", "--switch-method", "pipe")), "it writes a page one way, and never waits for a reply"
        yield "futex-switch", "stress-ng --futex", of(20_000, "futex"), "it waits with a timeout, and wakes in a loop"
        yield "socketpair-round-trip", "stress-ng --sockpair", of(20_000, "sockpair"), \
            "it writes one way, ever more bytes at a time"
        yield "mmap-munmap", "stress-ng --mmap", of(50, "mmap", "--mmap-bytes", "64k"), \
            "it touches and checks the pages, and maps them one by one"
    else:
        print("stress-ng is not installed: apt-get install stress-ng")
    if options.lmbench:
        directory = options.lmbench
        us = r"([\d.]+) microseconds"
        null = lmbench(directory, "lat_syscall", us, 1000, "-N", "3", "null")
        yield "system-call-libc", "lat_syscall null", null, None
        yield "file-open", "lat_syscall open /tmp", lmbench(directory, "lat_syscall", us, 1000, "-N", "3", "open", "/tmp"), None
        yield "pipe-switch", "lat_pipe, half", lmbench(directory, "lat_pipe", us, 1000 / 2, "-N", "3"), None
        fork = lmbench(directory, "lat_proc", us, 1000, "-N", "3", "fork")
        yield "fork", "lat_proc fork", fork, "the process that is copied has another size"
        # It prints megabytes and megabytes a second.
        bcopy = lmbench(directory, "bw_mem", r"[\d.]+ ([\d.]+)", 1, "-N", "3", "64m", "bcopy")
        yield "copy", "bw_mem 64m bcopy", lambda: 1.048576 / bcopy() * 1e9, None


def share(text):
    return float(text.removesuffix("%")) / 100 if text.endswith("%") else float(text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("rounds", type=int, nargs="?", default=5)
    parser.add_argument("--limit", type=share, help="how far apart a comparable pair may be, such as 15%%")
    parser.add_argument("--only", default="", help="pairs that have this word in their names")
    parser.add_argument("--lmbench", type=pathlib.Path)
    parser.add_argument("--pitot", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent.parent / "target/release/pitot")
    parser.add_argument("--stress-ng", type=pathlib.Path)
    options = parser.parse_args()

    def pitot(primitive):
        # Partners on the other side of a switch share the CPU.
        text = output(options.pitot, "floor", "--cpus", CPU, "--primitive", primitive, "--rounds", "5", "--format", "json",
                      "--dir", "/tmp")
        return json.loads(text)["primitives"][0]["cpu_ns"]["median"]

    print(f"{'primitive':22} {'pitot':>9} {'other':>9} {'ratio':>6} {'comparable':10}  other tool "
          f"({options.rounds} rounds, ns an operation)")
    apart, count, notes = [], 0, {}
    for primitive, name, other, why_not in pairs(options):
        if options.only not in f"{primitive} {name}":
            continue
        ours, theirs = [], []
        try:
            for _ in range(options.rounds):
                ours.append(pitot(primitive))
                theirs += [other(), other()]
                ours.append(pitot(primitive))
        except (TypeError, ZeroDivisionError, subprocess.TimeoutExpired, FileNotFoundError) as e:
            print(f"{primitive:22} {name} could not be asked: {e}", flush=True)
            continue
        a, b = statistics.median(ours), statistics.median(theirs)
        ratio = a / b
        mark = "yes" if why_not is None else f"no ({len(notes) + 1})"
        if why_not is None:
            count += 1
            if options.limit is not None and not 1 / (1 + options.limit) <= ratio <= 1 + options.limit:
                apart.append(f"{primitive} and {name}: {ratio:.2f}")
        else:
            notes[len(notes) + 1] = why_not
        print(f"{primitive:22} {a:9.1f} {b:9.1f} {ratio:6.2f} {mark:10}  {name}", flush=True)
    for number_of, why_not in notes.items():
        print(f"  ({number_of}) {why_not}")
    if options.limit is not None:
        for line in apart:
            print(f"farther apart than {options.limit:.0%}: {line}")
        print(f"{count - len(apart)} of {count} comparable pairs are within {options.limit:.0%}")
        sys.exit(1 if apart or not count else 0)


main()
