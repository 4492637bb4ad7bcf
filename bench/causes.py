#!/usr/bin/env python3
"""Plants ten causes of CPU time in a small server of C, and asks `pitot diff --profile cpu` for each what it is.

    bench/causes.py                       # all, and the server against itself, a minute each
    bench/causes.py copy lock --within 30
    bench/causes.py share --within 600    # a function of half a percent, which the total does not show

A cause is found if the first explanation names a function or a system call that stands for it.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

SERVER = r"""
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <fcntl.h>
#include <stdint.h>
#define NOINLINE __attribute__((noinline))

/* About half a percent of the work of a request. */
#define SHARE 120

static const char *cause;
static int log_file;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile long shared_counters[16];
static char json[2048];
static volatile uint64_t sink;

NOINLINE void copy_body(char *to, const char *from, size_t length) { for (int i = 0; i < 4; i++) memcpy(to, from, length); sink += to[length / 2]; }
NOINLINE uint64_t parse_json(const char *text) {
    uint64_t depth = 0, sum = 0;
    for (const char *p = text; *p; p++) {
        if (*p == '{' || *p == '[') depth++;
        else if (*p == '}' || *p == ']') depth--;
        else if (*p >= '0' && *p <= '9') sum = sum * 10 + (*p - '0');
        sum += depth;
    }
    return sum;
}
NOINLINE uint64_t slow_hash(const char *text, size_t length) {
    uint64_t hash = 14695981039346656037ull;
    for (int round = 0; round < 8; round++)
        for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)text[i]) * 1099511628211ull;
    return hash;
}
NOINLINE void touch_pages(void) {
    size_t bytes = 16 * 4096;
    volatile char *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; i < bytes; i += 4096) pages[i] = 1;
    munmap((void *)pages, bytes);
}
NOINLINE void write_log(const char *request) {
    char line[256];
    int length = snprintf(line, sizeof line, "%ld %.60s\n", (long)time(NULL), request);
    if (write(log_file, line, length) < 0) exit(1);
}
NOINLINE void work_locked(void) {
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < 4000; i++) sink += i;
    pthread_mutex_unlock(&mutex);
}
NOINLINE void count_shared(int slot) { for (int i = 0; i < 4000; i++) __atomic_fetch_add(&shared_counters[slot], 1, __ATOMIC_SEQ_CST); }
NOINLINE void half_a_percent(void) { for (int i = 0; i < SHARE; i++) sink = sink * 31 + i; }
NOINLINE void usual_work(void) { for (int i = 0; i < 20000; i++) sink = sink * 31 + i; }

static int is(const char *name) { return strcmp(cause, name) == 0; }

NOINLINE void handle(const char *request, int slot) {
    static __thread char body[65536], other[65536];
    usual_work();
    sink += parse_json(json);
    if (is("copy")) copy_body(other, body, sizeof body);
    if (is("lock")) work_locked();
    if (is("call")) for (int i = 0; i < 20; i++) sink += getppid();
    if (is("json")) sink += parse_json(json);
    if (is("pages")) touch_pages();
    if (is("hash")) sink += slow_hash(json, sizeof json - 1);
    if (is("log")) write_log(request);
    if (is("sleep")) { struct timespec wait = {0, 1000}; nanosleep(&wait, NULL); }
    if (is("sharing")) count_shared(slot);
    if (is("share")) half_a_percent();
}

NOINLINE void *serve(void *argument) {
    long number = (long)argument;
    int connection = (int)(number & 0xffff);
    char request[4096];
    const char *reply = is("close")
        ? "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nhello\n"
        : "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n";
    for (;;) {
        size_t have = 0;
        while (have < 4 || !memmem(request, have, "\r\n\r\n", 4)) {
            ssize_t got = read(connection, request + have, sizeof request - 1 - have);
            if (got <= 0) { close(connection); return NULL; }
            have += got;
        }
        request[have] = 0;
        handle(request, (int)(number >> 16) % 16);
        if (write(connection, reply, strlen(reply)) < 0) { close(connection); return NULL; }
        if (is("close")) { close(connection); return NULL; }
    }
}

int main(int count, char **words) {
    cause = count > 2 ? words[2] : "none";
    log_file = open(count > 3 ? words[3] : "/dev/null", O_WRONLY | O_CREAT | O_APPEND, 0600);
    memset(json, '7', sizeof json - 1);
    for (size_t i = 0; i < sizeof json - 1; i += 16) json[i] = i % 32 ? '}' : '{';
    int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(words[1]))};
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 1024)) return 1;
    for (long number = 0;; number++) {
        int connection = accept(listener, NULL, NULL);
        pthread_t thread;
        if (connection >= 0 && pthread_create(&thread, NULL, serve, (void *)(number << 16 | connection)) == 0) pthread_detach(thread);
    }
}
"""

# What stands for each: functions of the server and of libraries, system calls.
CAUSES = {
    "copy": ["copy_body", "memcpy", "memmove", "__memmove", "__memcpy"],
    "lock": ["work_locked", "futex", "pthread_mutex"],
    "call": ["getppid"],
    "json": ["parse_json"],
    "pages": ["touch_pages", "page faults", "mmap", "munmap"],
    "hash": ["slow_hash"],
    "log": ["write_log", "snprintf", "write"],
    "sleep": ["nanosleep"],
    "close": ["accept", "close", "pthread_create", "_dl_allocate_tls", "clone", "connect", "tcp_"],
    "sharing": ["count_shared"],
}
# Where the total does not show a difference: a function that takes half a percent of all time.
SHARE = {"share": ["half_a_percent"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cause", nargs="*", choices=[*CAUSES, *SHARE, "none", []])
    parser.add_argument("--pitot", default="target/release/pitot")
    parser.add_argument("--within", type=int, default=60)
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="causes-")
    pitot = os.path.abspath(options.pitot)
    right = 0
    try:
        source = os.path.join(folder, "server.c")
        with open(source, "w") as out:
            out.write(SERVER)
        flags = ["-O2", "-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer", "-fno-optimize-sibling-calls", "-pthread"]
        subprocess.run(["cc", *flags, "-o", os.path.join(folder, "server"), source], check=True)
        causes = options.cause or [*CAUSES, "none"]
        for cause in causes:
            output = os.path.join(folder, "diff.pitot")
            if os.path.exists(output):
                os.remove(output)
            head = f"./server {{port}} {cause} log.txt"
            command = [pitot, "diff", "./server {port} none", head, "--url", "http://{address}/", "--profile", "cpu"]
            command += ["-c", "8", "--within", f"{options.within}s", "--format", "json", "-o", output]
            begin = time.monotonic()
            ran = subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            if not os.path.exists(output):
                print(f"NOT   {cause:8} {ran.stderr.strip()}", flush=True)
                continue
            shown = subprocess.run([pitot, "report", output, "--format", "json"], stdout=subprocess.PIPE, text=True)
            explanations = json.loads(shown.stdout)["explanations"]
            share = lambda e: f"{e['share_of_difference']:.0%}" if e["share_of_difference"] is not None else f"{e['share_of_time']:.2%} of all"
            names = [f"{e['name']} {share(e)}" for e in explanations[:4]]
            if cause == "none":
                is_right = not explanations
            else:
                is_right = bool(explanations) and any(word in explanations[0]["name"] for word in {**CAUSES, **SHARE}[cause])
            right += is_right
            print(f"{'found' if is_right else 'NOT':5} {cause:8} {time.monotonic() - begin:4.0f} s  {', '.join(names) or 'not explained'}", flush=True)
        print(f"{right} of {len(causes)}")
    finally:
        shutil.rmtree(folder)
    return 0 if right >= len(causes) - 1 else 1


if __name__ == "__main__":
    sys.exit(main())
