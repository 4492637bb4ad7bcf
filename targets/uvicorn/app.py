"""An application of ASGI that serves the pages of all targets."""

import os
import time

ROOT = os.environ["TARGET_ROOT"]


async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    status, kind = 200, b"text/html"
    path = scope["path"]
    if path == "/dynamic":
        now = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())
        body = f"<!DOCTYPE html>\n<title>A page made for this request</title>\n<p>{now}</p>\n".encode()
    elif path == "/echo":
        kind, body, more = b"application/octet-stream", b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
    else:
        try:
            with open(os.path.join(ROOT, os.path.normpath(path).lstrip("/")), "rb") as file:
                body = file.read()
        except OSError:
            status, body = 404, b""
    headers = [(b"content-type", kind), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
