#!/usr/bin/python3
# grpc_link.py - HTTP/2 connections with gRPC calls, for emulated vendors.
# SPDX-License-Identifier: MIT
"""The server side of gRPC on python3-h2, under cloud.Cloud and its faults:

    class Acme(GrpcCloud):
        @route("POST", "/acme.Service/Method")
        def method(self, req):
            for message in req.messages(): ...        # bytes
            req.begin(); req.send(bytes); req.end()   # a stream, or
            return 200, b"the one message"            # or
            raise Failure(5, "no such thing")

More faults than cloud.py has: grpc=(code, message) answered so, with wish=s
as the server's retry policy; no_status=True ends without trailers;
flags=n is the first byte of each message; split=n is the size of each
DATA frame; goaway=True closes the connection gracefully before answering;
take=n closes it once so much of the request has come."""
import base64
import queue
import socket
import socketserver
import ssl
import struct
import threading
import time
import urllib.parse

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import h2.settings

from cloud import Cloud, Gone, Refused, Reply

WINDOW = 4 << 20


class Failure(Refused):
    """Answer so: raise Failure(5, "no such sandbox")."""

    def __init__(self, code, message="", details=None):
        headers = {"grpc-status": str(code),
                   "grpc-message": urllib.parse.quote(message)}
        if details is not None:
            headers["grpc-status-details-bin"] = \
                base64.b64encode(details).decode().rstrip("=")
        super().__init__(200, None, headers)


class Link(socketserver.BaseRequestHandler):
    """One connection: frames in here, frames out by a thread of its own."""

    def setup(self):
        self.cloud = self.server.cloud
        with self.cloud.lock:
            self.cloud.connections += 1
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.lock = threading.Condition(threading.RLock())
        self.out = queue.Queue()
        self.streams = {}
        self.dead = self.abort = False

    def pump(self):
        try:
            while True:
                data = self.out.get()
                if not data:
                    break
                self.request.sendall(data)
        except OSError:
            pass

    def handle(self):
        try:
            if self.cloud.tls:
                self.request = self.cloud.tls.wrap_socket(
                    self.request, server_side=True)
            self.converse()
        except (OSError, h2.exceptions.ProtocolError):
            pass
        finally:
            self.close()
            if self.abort:  # here, for nobody may be reading any more
                self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                        struct.pack("ii", 1, 0))
                self.request.close()

    def converse(self):
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(
            client_side=False, header_encoding="latin-1"))
        threading.Thread(target=self.pump, daemon=True).start()
        with self.lock:
            self.h2.initiate_connection()
            self.h2.increment_flow_control_window(WINDOW)
            self.h2.update_settings({
                h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: WINDOW})
            self.flush()
        while not self.dead:
            data = self.request.recv(65536)
            if not data:
                break
            with self.lock:
                for event in self.h2.receive_data(data):
                    self.on_event(event)
                self.flush()
                self.lock.notify_all()

    def on_event(self, event):
        kind = h2.events
        stream = self.streams.get(getattr(event, "stream_id", None))
        if isinstance(event, kind.RequestReceived):
            stream = Stream(self, event.stream_id, event.headers)
            self.streams[event.stream_id] = stream
            threading.Thread(target=self.serve, args=(stream,),
                             daemon=True).start()
        elif isinstance(event, kind.DataReceived):
            self.h2.acknowledge_received_data(event.flow_controlled_length,
                                              event.stream_id)
            if stream:
                stream.arrived.put(event.data)
        elif isinstance(event, kind.StreamEnded) and stream:
            stream.arrived.put(b"")
        elif isinstance(event, kind.StreamReset) and stream:
            stream.gone = True
            stream.arrived.put(None)
        elif isinstance(event, kind.ConnectionTerminated):
            self.dead = True

    def serve(self, stream):
        try:
            self.cloud.serve(stream)
        except Gone:
            pass
        except (OSError, ValueError, h2.exceptions.ProtocolError):
            pass
        finally:
            if stream.log:
                stream.log["status"] = stream.status
                stream.log["code"] = stream.code
                stream.log["seconds"] = time.monotonic() - stream.began
            with self.lock:
                self.streams.pop(stream.id, None)

    def flush(self):
        data = self.h2.data_to_send()
        if data:
            self.out.put(data)

    def close(self):
        with self.lock:
            self.dead = True
            for stream in self.streams.values():
                stream.gone = True
                stream.arrived.put(None)
            self.lock.notify_all()
        self.out.put(None)
        try:
            self.request.shutdown(socket.SHUT_RD if self.abort else
                                  socket.SHUT_RDWR)
        except OSError:
            pass

    def shut(self, reset=False):
        # What was written before must get out first.
        end = time.monotonic() + 2
        while not self.out.empty() and time.monotonic() < end:
            time.sleep(0.001)
        time.sleep(0.005)
        self.abort = reset
        self.close()


class Stream:
    """One call; cloud.py uses it like its Request."""

    def __init__(self, link, id, headers):
        self.handler, self.id, self.cloud = link, id, link.cloud
        self.headers = dict(headers)
        self.method, self.path = self.headers[":method"], self.headers[":path"]
        self.line = f"{self.method} {self.path}"
        self.query, self.began = {}, time.monotonic()
        self.arrived = queue.Queue()
        self.whole = self.log = None
        self.status = self.code = None
        self.fault, self.replay, self.mute = {}, None, False
        self.open_chunks = self.gone = self.begun = self.ended = False
        self.sent = 0

    @property
    def client_address(self):
        return self.handler.client_address

    def pieces(self):
        """The request's body as it comes."""
        if self.replay is not None:
            yield self.replay
            return
        seen, taken = bytearray(), 0
        while True:
            data = self.arrived.get()
            if data is None:
                raise Gone("the call was given up")
            if not data:
                self.whole = bytes(seen)
                return
            if len(seen) < 1 << 16:
                seen += data
            yield data
            taken += len(data)
            if taken >= self.fault.get("take", taken + 1):
                self.shut()

    def body(self):
        if self.whole is None:
            self.whole = b"".join(self.pieces())
        return self.whole

    def messages(self):
        """The request's messages as they come."""
        have = bytearray()
        for data in [self.whole] if self.whole is not None else self.pieces():
            have += data
            while len(have) >= 5:
                size = int.from_bytes(have[1:5], "big")
                if have[0]:
                    raise Failure(12, "compression is not supported")
                if len(have) < 5 + size:
                    break
                message = bytes(have[5:5 + size])
                del have[:5 + size]
                yield message
        if have:
            raise Failure(13, "the request ends in the middle")

    def message(self):
        found = list(self.messages())
        if len(found) != 1:
            raise Failure(13, f"{len(found)} messages instead of one")
        return found[0]

    # The answer: each of these is one piece for Cloud.spoil().
    def piece(self, data=b""):
        if self.mute:
            return True
        if self.gone:
            raise Gone("the call was given up")
        spoil = self.cloud.piece()
        limit = self.fault.get("reset_at")
        if spoil == "cut" and len(data) > 1:
            self.data(data[:len(data) // 2])
        if spoil in ("cut", "lost", "reset"):
            self.shut(spoil == "reset")
        if limit is not None and self.sent + len(data) > limit:
            self.data(data[:max(limit - self.sent, 0)])
            self.shut(True)
        self.sent += len(data)
        return spoil == "twice"

    def shut(self, reset=False):
        self.handler.shut(reset)
        raise Gone("by a fault")

    def headers_frame(self, lines, end):
        with self.handler.lock:
            self.handler.h2.send_headers(self.id, lines, end_stream=end)
            self.handler.flush()

    def data(self, data, end=False):
        link, at = self.handler, 0
        while at < len(data) or end:
            with link.lock:
                while not (self.gone or link.dead):
                    room = link.h2.local_flow_control_window(self.id)
                    if room > 0 or not data:
                        break
                    link.lock.wait(1)
                if self.gone or link.dead:
                    raise Gone("the call was given up")
                n = min(room, link.h2.max_outbound_frame_size,
                        self.fault.get("split", 1 << 20), len(data) - at)
                at += n
                last = end and at == len(data)
                link.h2.send_data(self.id, data[at - n:at], end_stream=last)
                link.flush()
                if last:
                    return

    def begin(self, status=200, headers=None):
        self.status = status
        if self.piece() and self.mute:
            return
        self.begun = True
        self.headers_frame([(":status", str(status)),
                            ("content-type", "application/grpc"),
                            *(headers or {}).items()], False)

    def send(self, message):
        limit = self.fault.get("truncate")
        message = self.fault.get("garbage", message)
        data = bytes([self.fault.get("flags", 0)]) + \
            len(message).to_bytes(4, "big") + message
        if limit is not None:
            self.fault["truncate"] = limit - len(data)
            if limit < len(data):
                self.data(data[:max(limit, 0)])
                self.shut()
        twice = self.piece(data)
        if self.mute:
            return
        self.data(data * 2 if twice else data)

    def end(self, code=0, headers=None):
        self.code = code
        if self.piece() and self.mute:
            return
        if self.fault.get("no_status"):
            return self.data(b"", end=True)
        return self.headers_frame([("grpc-status", str(code)),
                                   *(headers or {}).items()], True)

    def answer(self, status, body=None, headers=None):
        """body: the one message; without it grpc-status is in the headers, or
        this is no gRPC at all."""
        headers = {k.lower(): str(v) for k, v in (headers or {}).items()}
        if self.fault.get("late"):
            time.sleep(self.fault["late"])
        self.status = status
        if isinstance(body, bytes) and status == 200:
            self.begin()
            self.send(body)
            return self.end()
        self.code = int(headers.get("grpc-status", -1))
        if self.begun:
            return self.end(self.code, {k: v for k, v in headers.items()
                                        if k != "grpc-status"})
        if self.piece() and self.mute:
            return None
        kind = "application/grpc" if "grpc-status" in headers else "text/plain"
        return self.headers_frame([(":status", str(status)),
                                   ("content-type", kind),
                                   *headers.items()], True)

    def read(self):
        """What cloud.py drains."""
        return b""


class GrpcCloud(Cloud):
    handler = Link

    def __init__(self, port=0, tls=None):
        """tls: (certificate, key), PEM files."""
        super().__init__(port)
        self.tls = None
        if tls:
            self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.tls.load_cert_chain(*tls)
            self.tls.set_alpn_protocols(["h2"])
            self.url = self.url.replace("http:", "https:")

    def unknown(self, req):
        self.violations.append(f"{req.line}: no such method")
        raise Failure(12, f"no such method: {req.path}")

    def invalid(self, req, error):
        return self.refused(Failure(3, str(error)))

    def expired(self, req):
        raise Failure(16, "token has expired")

    @staticmethod
    def refused(failure):
        return Reply(failure.status, failure.body, failure.headers)

    def policy(self, seconds):
        """grpc-status-details-bin with which the server asks for patience."""
        raise NotImplementedError

    def perform(self, req):
        what = req.fault
        if what.get("goaway"):
            with req.handler.lock:
                req.handler.h2.close_connection()
                req.handler.flush()
            req.shut()
        if what.get("grpc"):
            req.body()
            code, message = what["grpc"]
            details = self.policy(what["wish"]) if "wish" in what else None
            return self.refused(Failure(code, message, details))
        return super().perform(req)

