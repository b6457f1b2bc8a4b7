#!/usr/bin/python3
# agentcore.py - AWS Bedrock AgentCore's code interpreter, real commands.
# SPDX-License-Identifier: MIT
"""What botocore 1.43.67 and @aws-sdk/client-bedrock-agentcore 3.1141.0 speak:
signed JSON, and event streams for the tools' answers.

    with AgentCore(cwd="/tmp") as aws:
        env.update(aws.env)

cwd       the interpreter's directory, where the file tools begin
page      sessions per page of a list, whatever is asked for
parts     events into which a command's output is cut
skew      seconds by which the server's clock is ahead
no_tasks  the task tools are not there
forgets   a clientToken says nothing: a repeated start makes one more
tools     aws.tools: the names of the tools called, in order

More faults, of a tool's answer: exception="throttlingException", error=
"Code", flip=n (a bit of the n-th byte, negative: from the end), odd=True (an
event of an unknown kind before it), silent=True (no result at all)."""
import json
import random
import string
import sys
import time

from agentcore_sign import Wrong, error, exception, frame, result, verify
from agentcore_tools import Tools
from cloud import Box, Cloud, Refused, Reply, check, main, route

ID, SECRET = "AKIDEXAMPLE0123456", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
TOKEN = "FQoG+fake/token=="
REGION = "us-west-2"
INTERPRETERS = {"aws.codeinterpreter.v1", "mine-0123456789",
                "arn:aws:bedrock-agentcore:us-west-2:1:code-interpreter/x"}
TOP = "/code-interpreters/(?P<ci>[^/]+)"
CHUNK = 997  # of an event stream: never where a frame ends


def token_ok(v):
    return isinstance(v, str) and 33 <= len(v) <= 256


def stamp(unix):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(unix)) + ".123Z"


def refused(status, kind, message):
    return Refused(status, {"message": message},
                   {"x-amzn-ErrorType": kind + ":http://internal.amazon.com/"})


class Session:
    def __init__(self, ci, body):
        self.id = "01K5" + "".join(random.choices(
            string.ascii_uppercase + string.digits, k=22))
        self.ci, self.body, self.tasks = ci, body, {}
        self.name = body.get("name", "")
        self.timeout = body.get("sessionTimeoutSeconds", 900)
        self.created = self.updated = time.time()
        self.ends = time.monotonic() + self.timeout
        self.box = Box(workdir="/tmp", home="/home/user")


class AgentCore(Tools, Cloud):
    """An emulated AgentCore."""

    def __init__(self, port=0, cwd="/tmp", page=100, parts=1, skew=0,
                 no_tasks=False, forgets=False):
        super().__init__(port)
        self.cwd, self.page, self.parts = cwd, page, parts
        self.skew, self.no_tasks = skew, no_tasks
        self.forgets = forgets
        self.keys = {ID: (SECRET, TOKEN)}
        self.started, self.ended, self.tools = {}, {}, []

    @property
    def env(self):
        return {"AWS_ACCESS_KEY_ID": ID, "AWS_SECRET_ACCESS_KEY": SECRET,
                "AWS_SESSION_TOKEN": TOKEN, "AWS_REGION": REGION,
                "AWS_ENDPOINT_URL_BEDROCK_AGENTCORE": self.url}

    # What cloud.py asks for.
    def authorize(self, req):
        try:
            verify(req, req.body(), self.keys, REGION, self.skew)
        except Wrong as e:
            r = refused(403, e.kind, str(e))
            r.headers["Date"] = time.strftime(
                "%a, %d %b %Y %H:%M:%S GMT",
                time.gmtime(time.time() + self.skew))
            raise r from e

    def invalid(self, req, error):
        return Reply(400, {"message": str(error), "reason":
                           "FieldValidationFailed"},
                     {"x-amzn-ErrorType": "ValidationException"})

    def unknown(self, req):
        return Reply(404, {"message": None}, {
            "x-amzn-ErrorType": "UnknownOperationException"})

    def expired(self, req):
        return Reply(403, {"message": "The security token included in the "
                           "request is expired"},
                     {"x-amzn-ErrorType": "ExpiredTokenException"})

    def expire(self, id):
        session = self.destroy(id)
        if session:
            session.updated = time.time()
            self.ended[id] = session

    # Life.
    def interpreter(self, ci):
        if ci not in INTERPRETERS:
            raise refused(404, "ResourceNotFoundException",
                          f"Code interpreter {ci} not found")

    def named(self, ci, id):
        self.interpreter(ci)
        session = self.boxes.get(id) or self.ended.get(id)
        if not session or session.ci != ci:
            raise refused(404, "ResourceNotFoundException",
                          f"Session {id} not found")
        return session

    def shown(self, session, *names):
        every = {"codeInterpreterIdentifier": session.ci,
                 "sessionId": session.id, "name": session.name,
                 "createdAt": stamp(session.created),
                 "lastUpdatedAt": stamp(session.updated),
                 "sessionTimeoutSeconds": session.timeout,
                 "status": "READY" if session.id in self.boxes else
                 "TERMINATED"}
        return {n: every[n] for n in names}

    @route("PUT", TOP + "/sessions/start")
    def start(self, req, ci):
        check(req.query, {}, "query")
        body = check(req.json(), {
            "?name": lambda v: isinstance(v, str) and 1 <= len(v) <= 100,
            "?sessionTimeoutSeconds": lambda v: type(v) is int and
            1 <= v <= 28800, "?clientToken": token_ok})
        self.interpreter(ci)
        with self.lock:
            key = (ci, body.get("clientToken"))
            session = self.started.get(key) \
                if key[1] and not self.forgets else None
            if session and session.body != body:
                raise refused(400, "ValidationException", "idempotency")
            if not session:
                session = Session(ci, body)
                self.started[key] = self.boxes[session.id] = session
        return 200, self.shown(session, "codeInterpreterIdentifier",
                               "sessionId", "createdAt")

    @route("GET", TOP + "/sessions/get")
    def get(self, req, ci):
        check(req.query, {"sessionId": str}, "query")
        return 200, self.shown(
            self.named(ci, req.query["sessionId"]),
            "codeInterpreterIdentifier", "sessionId", "name", "createdAt",
            "sessionTimeoutSeconds", "status")

    @route("POST", TOP + "/sessions/list")
    def list(self, req, ci):
        body = check(req.json(), {
            "?maxResults": lambda v: type(v) is int and 1 <= v <= 100,
            "?nextToken": str, "?status": {"READY", "TERMINATED"}})
        self.interpreter(ci)
        found = [self.shown(s, "codeInterpreterIdentifier", "sessionId",
                            "name", "status", "createdAt", "lastUpdatedAt")
                 for s in [*self.boxes.values(), *self.ended.values()]
                 if s.ci == ci]
        found = [s for s in found if body.get("status") in
                 (None, s["status"])]
        start = int(body.get("nextToken", "n0")[1:])
        end = start + min(body.get("maxResults", 10), self.page)
        more = {"nextToken": f"n{end}"} if end < len(found) else {}
        return 200, {"items": found[start:end], **more}

    @route("PUT", TOP + "/sessions/stop")
    def stop(self, req, ci):
        check(req.query, {"sessionId": str}, "query")
        check(req.json(), {"?clientToken": token_ok})
        session = self.named(ci, req.query["sessionId"])
        if session.id in self.boxes:
            self.expire(session.id)
        return 200, self.shown(session, "codeInterpreterIdentifier",
                               "sessionId", "lastUpdatedAt")

    # Tools.
    @route("POST", TOP + "/tools/invoke")
    def invoke(self, req, ci):
        check(req.query, {}, "query")
        body = check(req.json(), {"name": str, "?arguments": {str: object}})
        id = req.headers.get("x-amzn-code-interpreter-session-id") or ""
        session = self.named(ci, id)
        if id not in self.boxes:
            raise refused(404, "ResourceNotFoundException",
                          f"Session {id} has been terminated")
        self.tools.append(body["name"])
        if self.no_tasks and body["name"] == "startCommandExecution":
            raise refused(400, "ValidationException", "no such tool")
        try:
            answer = self.tool(session, body["name"],
                               body.get("arguments", {}))
        except ProcessLookupError as e:
            raise refused(404, "ResourceNotFoundException",
                          f"Session {id} has ended") from e
        self.stream(req, id, self.frames(req.fault, answer))

    def frames(self, fault, answer):
        data = b""
        if fault.get("odd"):
            data += frame({":message-type": "event", ":event-type": "news"},
                          b"no JSON")
        if fault.get("exception"):
            return data + exception(fault["exception"],
                                    b'{"message":"by a fault"}')
        if fault.get("error"):
            return data + error(fault["error"], "by a fault")
        for piece in self.pieces_of(answer) if not fault.get("silent") else ():
            data += result(json.dumps(piece).encode())
        if "flip" in fault:
            n = fault["flip"] % len(data)
            data = data[:n] + bytes([data[n] ^ 1]) + data[n + 1:]
        return data

    def pieces_of(self, answer):
        """The output of a command in so many events."""
        content = answer.get("structuredContent", {})
        if self.parts == 1 or not content.get("stdout"):
            return [answer]
        out = content["stdout"]
        size = len(out) // self.parts + 1
        cut = [out[i:i + size] for i in range(0, len(out), size)]
        return [{**answer, "content": [{"type": "text", "text": c}],
                 "structuredContent": {**content, "stdout": c}} for c in cut]

    def stream(self, req, id, data):
        if req.fault.get("late"):
            time.sleep(req.fault["late"])
        data = req.fault.get("garbage", data)
        req.log["body"] = (req.whole or b"")[:1 << 16].decode(errors="replace")
        req.begin(200, {"Content-Type": "application/vnd.amazon.eventstream",
                        "x-amzn-code-interpreter-session-id": id})
        size = CHUNK if len(data) < 1 << 16 else 65521
        for i in range(0, len(data), size):
            req.send(data[i:i + size])
        req.end()


if __name__ == "__main__":
    sys.exit(main(AgentCore))
