"""What several comparisons set up alike."""
import socket, subprocess, time


def free_port():
    """A port of 127.0.0.1 that nobody has now."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def certificate(folder):
    """Makes `cert.pem` and `key.pem` (ECDSA, P-256, for localhost) in a folder."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
                    "-subj", "/CN=localhost", "-keyout", f"{folder}/key.pem", "-out", f"{folder}/cert.pem"],
                   check=True, capture_output=True)


def wait_for(what, is_so):
    """Waits until it is so, for a minute at most."""
    deadline = time.monotonic() + 60
    while not is_so():
        if time.monotonic() > deadline:
            raise SystemExit(f"waited in vain for {what}")
        time.sleep(0.05)


def text(path):
    """What is in a file; nothing if it is not there."""
    return path.read_text() if path.exists() else ""
