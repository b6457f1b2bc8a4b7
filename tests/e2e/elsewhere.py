"""elsewhere.py - a server that answers all requests alike, and a ledger."""
# SPDX-License-Identifier: MIT
import http.server
import pathlib
import sqlite3
import threading


class Elsewhere:
    """Answers whatever comes with one status and these headers."""

    def __init__(self, status=200, headers=(), body=b"{}"):
        outer = self
        self.lines = []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def serve(self):
                outer.lines.append(f"{self.command} {self.path}")
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self.send_response(status)
                for name, value in dict(headers).items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)
            do_GET = do_PUT = do_POST = do_DELETE = do_PATCH = serve

            def log_message(self, *_):
                pass
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0),
                                                      Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_port
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever,
                         kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def ledger(home):
    """The rows of sandboxes whose end is not confirmed, oldest first."""
    path = next(pathlib.Path(home, ".deepagents").rglob("dcode.db"))
    with sqlite3.connect(path) as db:
        db.row_factory = sqlite3.Row
        return [dict(row) for row in db.execute(
            "select * from ledger where state < 4 order by no")]
