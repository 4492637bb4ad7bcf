#!/usr/bin/env python3
"""Whether `pitot tune search` finds two planted settings among twelve, and nothing among twelve that cannot matter.

    bench/tune_search_proof.py target/release/pitot [--within 20m] [--part planted|harmless|alone] [--keep FOLDER]

Everything is in a network namespace of its own (unshare --net), where the settings are those of the namespace; its loopback
has packets of 1500 bytes, as a network has. The plan has two cells:

- large replies, which a receive buffer that is too small for them limits, and nothing else as much;
- replies of some packets, which fit into that buffer, and which cost twice as much where each packet goes through the stack by
  itself (segmentation offload is off).

Part `alone` has each of the two tried by itself (`pitot tune try`), which must find that it helps; `planted` searches over them
and ten settings that cannot matter, and must keep both and nothing else; `harmless` searches over twelve that cannot matter, and
must keep what was found. Without --part all three are done. Exits with 1 if one is not as it must be.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

PLAN = """
slices = 4
[server]
protocol = "http"
[load]
url = "http://{address}/bytes/{size}"
connections = 16
[factors]
server = ["loop+epoll-et"]
load.size = ["256KiB", "12KiB"]
"""

MTU = 1500
# What is planted, and what is wanted instead.
PLANTED = {
    "net.ipv4.tcp_rmem": ("4096 49152 49152", "4096 131072 6291456"),
    "nic.lo.tso": ("off", "on"),
}
# None of these is looked at by a connection of a second on the loopback.
HARMLESS = {
    "net.ipv4.tcp_keepalive_time": "600",
    "net.ipv4.tcp_keepalive_intvl": "30",
    "net.ipv4.tcp_keepalive_probes": "5",
    "net.ipv4.tcp_retries2": "10",
    "net.ipv4.igmp_max_memberships": "40",
    "net.ipv4.udp_rmem_min": "8192",
    "net.ipv4.udp_wmem_min": "8192",
    "net.ipv4.icmp_ratelimit": "500",
    "net.ipv4.ipfrag_time": "20",
    "net.unix.max_dgram_qlen": "64",
}
HARMLESS_MORE = {"net.ipv4.tcp_orphan_retries": "3", "net.ipv4.tcp_probe_interval": "300"}


def plant(pitot, folder):
    """Into another journal than that of the search: it finds these values, whoever has set them."""
    settings = [f"{key}={planted}" for key, (planted, _) in PLANTED.items()]
    subprocess.run([pitot, "host", "apply", "--journal", folder / "planted-journal", *settings], check=True)


class Proof:
    def __init__(self, pitot, folder):
        self.pitot, self.folder = pitot, folder
        (folder / "two.toml").write_text(PLAN)

    def run(self, *words):
        output = subprocess.run(
            [self.pitot, "tune", *map(str, words), "--format", "json"], stdout=subprocess.PIPE, text=True, cwd=self.folder,
            env={**os.environ, "PITOT_HOST_JOURNAL": str(self.folder / "journal"), "TMPDIR": str(self.folder)})
        if not output.stdout:
            sys.exit(f"pitot tune {words[0]}: exit code {output.returncode}")
        return json.loads(output.stdout)

    def alone(self, within):
        """Each planted setting by itself: it must help in the cell that it is for."""
        right = True
        for number, (key, (_, wanted)) in enumerate(PLANTED.items()):
            answers = self.run("try", f"{key}={wanted}", "--plan", "two.toml", "--within", within, "-o", f"alone-{number}.pitot")
            for answer in answers["answers"]:
                print(f"{key}: {answer['sentence']}", flush=True)
            right &= any(answer["effect"] == "helps" for answer in answers["answers"])
        return right

    def search(self, name, wanted, expected, within):
        lines = [f'"{key}" = "{value}"\n' for key, value in wanted.items()]
        (self.folder / f"{name}.toml").write_text("".join(lines))
        answer = self.run("search", "--settings", f"{name}.toml", "--plan", "two.toml", "--within", within, "-o", name)
        print(f"{name}: {answer['answer']} ({answer['took_s'] / 60:.1f} minutes)")
        for setting in answer["settings"]:
            effect = setting["effect"] or {"change": 0, "low": None, "high": None}
            bounds = "" if effect["low"] is None else f" [{effect['low']:+.1%}, {effect['high']:+.1%}]"
            print(f"  {setting['setting']:36} {effect['change']:+7.1%}{bounds}  {setting['outcome']}")
        for stage in ("screened", "crossed", "confirmed"):
            if answer["stages"][stage]:
                print(f"  {stage}: {answer['stages'][stage]['extent']}")
        is_right = sorted(answer["kept"]) == sorted(expected)
        print(f"{name}: {'RIGHT' if is_right else 'WRONG'}", flush=True)
        return is_right


def main():
    if os.environ.get("PITOT_PROOF_INSIDE") is None:
        command = ["unshare", "--user", "--map-root-user", "--net", sys.executable, *sys.argv]
        sys.exit(subprocess.run(command, env={**os.environ, "PITOT_PROOF_INSIDE": "1"}).returncode)
    parser = argparse.ArgumentParser()
    parser.add_argument("pitot", type=pathlib.Path)
    parser.add_argument("--within", default="20m", help="time of each search")
    parser.add_argument("--alone-within", default="40s", help="time of each try")
    parser.add_argument("--part", choices=["planted", "harmless", "alone"])
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for the run files, which are removed otherwise")
    arguments = parser.parse_args()
    subprocess.run(["ip", "link", "set", "lo", "up", "mtu", str(MTU)], check=True)
    with tempfile.TemporaryDirectory() as name:
        folder = arguments.keep.resolve() if arguments.keep else pathlib.Path(name)
        folder.mkdir(exist_ok=True)
        proof = Proof(arguments.pitot.resolve(), folder)
        is_wanted = lambda part: arguments.part in (None, part)
        right = []
        if is_wanted("harmless"):
            right.append(proof.search("harmless", {**HARMLESS, **HARMLESS_MORE}, [], arguments.within))
        plant(arguments.pitot.resolve(), folder)
        if is_wanted("alone"):
            right.append(proof.alone(arguments.alone_within))
        if is_wanted("planted"):
            wanted = {**{key: value for key, (_, value) in PLANTED.items()}, **HARMLESS}
            right.append(proof.search("planted", wanted, PLANTED, arguments.within))
    print(f"{sum(right)} of {len(right)} right")
    sys.exit(0 if all(right) else 1)


if __name__ == "__main__":
    main()
