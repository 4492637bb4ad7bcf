#!/bin/bash
# Does `pitot disk read` agree with fio? Both read the same file with the same engine, block and depth, in turn, and the
# ratio of their reads per second is printed with its spread over the rounds.
#
#   bench/disk.sh [DIR]
#
#   DIR     where the file of 256 MiB is made, on a disk [default: a new directory in the current one]
#   PITOT   the binary [default: target/release/pitot]
#   ROUNDS  rounds of each pair [default: 6, with which a median has a 95% interval]
#   SECONDS_EACH  measured per run, after 0.3 s of warm-up [default: 1.5]
#   ONLY    a pattern that the name of a pair must match, as in ONLY=uring or ONLY=pread/psync
#
# Needs fio and jq. Run it on an idle machine.
#
# Like with like: fio is set to submit and to reap in batches up to the depth, as pitot does by default; both take
# random blocks without repetition in a pass (fio's random map, pitot's permutation), both advise the kernel
# (POSIX_FADV_RANDOM), both leave a hot cache alone, and neither pins itself. What cannot be made alike is what each
# does between two reads. For the engines that read one block at a time it is seen by subtraction, in the last two
# columns: the time per read less the mean latency. fio stops its clock right after the system call and then spends
# 0.1 to 0.3 us on its map of blocks, its statistics and its generic queue; pitot's clock runs on from the end of one
# read to the end of the next, so its own 0.1 us (a check of the contents included) is part of its latency. Per read
# of 4 KiB in memory, which takes 0.6 to 0.9 us, pitot is therefore ahead by up to a fifth; at 64 KiB, or with the
# device in the way, both agree. The last section shows the former and carries no verdict.
#
# glibc's POSIX AIO has one helper thread serve a file, and its speed hangs on how often that has to wake the caller.
# After a completion fio takes so long that the next one is often there too: it sleeps in aio_suspend(3) for 0.46 of
# its reads of 64 KiB in memory. pitot is back at once and sleeps for each (`perf stat -a -e sched:sched_wakeup`), for
# which it is 5 to 15% behind.
set -euo pipefail

pitot=$(realpath "${PITOT:-target/release/pitot}")
rounds=${ROUNDS:-6}
seconds=${SECONDS_EACH:-1.5}
for tool in fio jq "$pitot"; do
    command -v "$tool" >/dev/null || { echo "disk.sh: $tool is missing" >&2; exit 2; }
done
work=$(mktemp -d "${1:-.}/pitot-fio-XXXXXX")
trap 'rm -rf "$work"' EXIT
"$pitot" disk read --dir "$work/set" --keep --file-size 256MiB -n 1 >/dev/null

# One run each: prints reads per second and mean latency in nanoseconds.
run_fio() { # engine direct block depth
    fio --name=read --filename="$work/set/pitot-000000" --readonly --rw=randread --bs="$3" --size=256M \
        --ioengine="$1" --direct="$2" --iodepth="$4" --iodepth_batch_submit="$4" --iodepth_batch_complete_min=1 \
        --iodepth_batch_complete_max="$4" --invalidate=0 --time_based --runtime="$(millis "$seconds")" \
        --ramp_time=300ms --output-format=json 2>/dev/null |
        sed -n '/^{/,$p' | jq -r '.jobs[0].read | "\(.iops) \(.lat_ns.mean)"'
}
run_pitot() { # engine direct block depth
    local state=(--state hot)
    [ "$2" = 1 ] && state=(--direct)
    "$pitot" disk read --dir "$work/set" --file-size 256MiB --engine "$1" --block "$3" --depth "$4" "${state[@]}" \
        --threads 20 -d "$(millis "$seconds")" --warmup 300ms --json - |
        jq -r '.runs[0] | "\(.iops) \(.latency_ns.mean)"'
}
millis() { awk -v s="$1" 'BEGIN { printf "%dms", s * 1000 }'; }

pair() { # pitot-engine fio-engine direct block depth verdict?
    [[ "$1/$2" =~ ${ONLY:-.} ]] || return 0
    local out="$work/rounds"
    : >"$out"
    for ((round = 0; round < rounds; round++)); do
        # The order alternates, so that a drift of the machine favours neither.
        if ((round % 2)); then
            f=$(run_fio "$2" "$3" "${4%iB}" "$5"); p=$(run_pitot "$1" "$3" "$4" "$5")
        else
            p=$(run_pitot "$1" "$3" "$4" "$5"); f=$(run_fio "$2" "$3" "${4%iB}" "$5")
        fi
        echo "$f $p" >>"$out"
    done
    awk -v name="$1/$2" -v how="$([ "$3" = 1 ] && echo direct || echo hot)" -v block="$4" -v depth="$5" -v judge="$6" '
        function median(values, n,   i, j, t) {
            for (i = 2; i <= n; i++)
                for (j = i; j > 1 && values[j] < values[j - 1]; j--) {
                    t = values[j]; values[j] = values[j - 1]; values[j - 1] = t
                }
            return n % 2 ? values[(n + 1) / 2] : (values[n / 2] + values[n / 2 + 1]) / 2
        }
        { n++; fio[n] = $1; fio_lat[n] = $2; pitot[n] = $3; pitot_lat[n] = $4; ratio[n] = $3 / $1 }
        END {
            r = median(ratio, n); f = median(fio, n); p = median(pitot, n)
            fl = median(fio_lat, n); pl = median(pitot_lat, n)
            verdict = judge == "no" ? "-" : (r >= 0.9 && r <= 1.1 ? "agree" : "differ")
            between_f = between_p = "-"
            if (depth == 1) {
                between_f = sprintf("%.2f", (1e9 / f - fl) / 1e3); between_p = sprintf("%.2f", (1e9 / p - pl) / 1e3)
            }
            printf "%-24s %-6s %6s %5s %9.0f %9.0f  %5.2f [%4.2f %4.2f] %-6s %8.2f %8.2f %6s %6s\n", name, how, block,
                depth, f, p, r, ratio[1], ratio[n], verdict, fl / 1e3, pl / 1e3, between_f, between_p
        }' "$out"
}

printf '%-24s %-6s %6s %5s %9s %9s  %5s %11s %-6s %8s %8s %6s %6s\n' "pitot/fio engine" cache block depth fio/s \
    pitot/s ratio "[min max]" "" "fio us" "pitot us" "fio+" "pitot+"
pair pread psync 0 64KiB 1 yes
pair mmap mmap 0 64KiB 1 yes
pair posix-aio-poll posixaio 0 64KiB 16 yes
pair uring io_uring 0 64KiB 16 yes
pair pread psync 1 4KiB 1 yes
pair linux-aio libaio 1 4KiB 16 yes
pair uring io_uring 1 4KiB 16 yes
pair posix-aio-poll posixaio 1 4KiB 16 yes
echo "What each spends between reads, at a size where it shows:"
pair pread psync 0 4KiB 1 no
pair mmap mmap 0 4KiB 1 no
pair uring io_uring 0 4KiB 16 no
