"""oha and k6 beside `pitot load`, where they are installed: how they are asked for a number of requests over HTTP/1.1 or HTTP/2.

    cargo install oha                          # or in a package of the system
    go install go.k6.io/k6@latest              # the same

Both are looked for in PATH, ~/.cargo/bin and ~/go/bin. Each has the threads that it takes by itself on the one CPU that it
is given. k6 runs a script of one request, and keeps no body.
"""
import os, pathlib, shutil

INSTALL = {"oha": "cargo install oha", "k6": "go install go.k6.io/k6@latest"}
PLACES = os.pathsep.join([os.environ["PATH"], str(pathlib.Path.home() / ".cargo/bin"), str(pathlib.Path.home() / "go/bin")])


def oha(_, url, requests, connections, http2=False, streams=1):
    command = [shutil.which("oha", path=PLACES), "--no-tui", "--insecure", "-n", str(requests), "-c", str(connections)]
    return [*command, *(["--http2", "-p", str(streams)] if http2 else []), url]


def k6(folder, url, requests, connections, http2=False, streams=1):
    # Users share one connection over HTTP/2, and have one each over HTTP/1.1.
    users = connections * streams
    script = pathlib.Path(folder, "k6.js")
    script.write_text(f"""import http from 'k6/http';
export const options = {{ vus: {users}, iterations: {requests}, discardResponseBodies: true, insecureSkipTLSVerify: true }};
export default () => {{ http.get('{url}'); }};
""")
    debug = [] if http2 else ["GODEBUG=http2client=0"]
    return ["env", *debug, "K6_NO_USAGE_REPORT=true", shutil.which("k6", path=PLACES), "run", "--quiet", "--no-summary", str(script)]


def found(say=print):
    """The rivals that are installed, by name: functions from a folder, a URL, and numbers of requests and connections to a
    command. Says how to install the others."""
    rivals = {}
    for name, command in (("oha", oha), ("k6", k6)):
        if shutil.which(name, path=PLACES):
            rivals[name] = command
        else:
            say(f"{name} is not installed: {INSTALL[name]}")
    return rivals
