"""far.py - relays for measurements: one is a round trip away, one takes TLS
off. Both run on a thread of their own."""
# SPDX-License-Identifier: MIT
import asyncio
import pathlib
import socket
import ssl
import subprocess
import threading


def certificate(folder):
    """(certificate, key) of 127.0.0.1: a CA file of one certificate."""
    cert, key = (pathlib.Path(folder, n) for n in ("cert.pem", "key.pem"))
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
         "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
         "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", key, "-out", cert], check=True, capture_output=True)
    return cert, key


class Relay:
    """Passes connections on to a port of this machine. requests: what each
    client has sent."""

    def __init__(self, port, context=None):
        self.target, self.requests = port, []
        self.loop = asyncio.new_event_loop()
        self.server = self.loop.run_until_complete(asyncio.start_server(
            self.serve, "127.0.0.1", 0, ssl=context))
        self.port = self.server.sockets[0].getsockname()[1]
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    async def serve(self, reader, writer):
        began = self.loop.time()
        self.requests.append(bytearray())
        sent = self.requests[-1]
        far = await asyncio.open_connection("127.0.0.1", self.target)
        for w in (writer, far[1]):
            w.get_extra_info("socket").setsockopt(
                socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.gather(self.copy(reader, far[1], began, sent),
                             self.copy(far[0], writer, began, None))

    def due(self, _began, _is_request):
        """When what has come now is to go on, in the loop's time."""
        return 0

    async def copy(self, reader, writer, began, sent):
        end = 0
        try:
            while data := await reader.read(1 << 16):
                if sent is not None:
                    sent += data
                end = max(end, self.due(began, sent is not None))
                self.loop.call_at(end, writer.write, data)
        except OSError:
            pass
        end = max(end, self.due(began, sent is not None))
        self.loop.call_at(end, writer.close)


class Tls(Relay):
    """Takes TLS 1.3 off."""

    def __init__(self, port, cert, key):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert, key)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        super().__init__(port, context)


class Far(Relay):
    """A round trip of `seconds` away. The kernel answers the handshake of TCP,
    so that this cannot be delayed; but what the client sends within the first
    round trip is taken as sent at its end."""

    def __init__(self, port, seconds):
        self.seconds = seconds
        super().__init__(port)

    def due(self, began, is_request):
        sent = self.loop.time()
        if is_request:
            sent = max(sent, began + self.seconds)
        return sent + self.seconds / 2
