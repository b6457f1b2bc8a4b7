# hostile_provider.py - a provider that speaks the protocol, but for one thing.
# SPDX-License-Identifier: MIT
"""Arguments: a mode, and a file that gets the pids of what it starts.

A mode is METHOD-FAULT: the fault happens instead of the answer to the first
request of that method (to each one, where it says so). "good" has none.
"""
import base64
import json
import os
import signal
import subprocess
import sys
import time

MODE, PIDS = sys.argv[1], sys.argv[2]
OUT = sys.stdout.buffer


def note_pid(pid):
    with open(PIDS, "a", encoding="ascii") as f:
        f.write(f"{pid}\n")


def raw(data):
    OUT.write(data)
    OUT.flush()


def send(message):
    raw(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def hang():
    while True:
        time.sleep(1000)


def forever(data):
    while True:
        raw(data)


def fork(new_session):
    """A child that keeps our pipes, while we end."""
    pid = os.fork()
    if pid == 0:
        if new_session:
            os.setsid()
        time.sleep(20 if new_session else 1000)
        os._exit(0)
    note_pid(pid)
    os._exit(0)


def note(request, method, **params):
    send({"method": method, "params": {"id": request["id"], **params}})


def answer(result):
    return lambda r: send({"id": r["id"], "result": result})


def refuse(error):
    return lambda r: send({"id": r["id"], "error": error})


def told(**changes):
    """The good answer to initialize, changed."""
    return lambda r: send({"id": r["id"], "result": {**GOOD, **changes}})


def good_after(data):
    return lambda r: (raw(data), serve(r))


def exit_with_words(_):
    sys.stderr.write("\x1b[31mno \x1b]0;title\x07licence\x1b[0m\n")
    sys.stderr.flush()
    os._exit(3)


def many(method):
    def flood(r):
        while True:
            note(r, method, message="x" * 1000, text="y" * 1000)

    return flood


GOOD = {
    "protocol": 1,
    "name": "hostile",
    "workdir": "/tmp",
    "capabilities": ["attach", "list", "upload", "download"],
}
FAULTS = {
    "exit": exit_with_words,
    "killed": lambda r: os.kill(os.getpid(), signal.SIGKILL),
    "hang": lambda r: hang(),
    "garbage": lambda r: (raw(os.urandom(3000) + b"\n"), hang()),
    "half": lambda r: (raw(b'{"jsonrpc":"2.0","id":'), hang()),
    "halfexit": lambda r: (raw(b'{"jsonrpc":"2.0","id":1,"resu'), os._exit(0)),
    "longline": lambda r: forever(b"x" * (1 << 20)),
    "longjson": lambda r: (raw(b'{"a":"'), forever(b"x" * (1 << 20))),
    "protocol99": told(protocol=99),
    "noprotocol": answer({}),
    "array": answer([1, 2]),
    "string": answer("yes"),
    "null": answer(None),
    "nothing": lambda r: send({"id": r["id"]}),
    "capstring": told(capabilities="attach"),
    "capunknown": told(capabilities=["attach", "netwrok_list\x1b[31m"]),
    "capnumber": told(capabilities=["attach", 7]),
    "relative": told(workdir="work"),
    "dirnumber": told(workdir=7),
    "tiny": told(max_command=10),
    "hugefile": told(max_file=1 << 40),
    "settings": told(settings=["region"]),
    "unknownsetting": told(settings={"zone": "string"}),
    "closed": lambda r: (os.close(1), hang()),
    "deaf": lambda r: (os.close(0), hang()),
    "controls": refuse({"code": -1, "message": "a\x1b[31mb\x07\rc\x00\u202ed"}),
    "longerror": refuse({"code": -32000, "message": "long " * 100000}),
    "nocode": refuse({"message": "no"}),
    "errorstring": refuse("no"),
    "nullid": lambda r: send({"id": None, "error": {"code": -32700}}),
    "wrongid": lambda r: send({"id": r["id"] + 1000, "result": {}}),
    "stringid": lambda r: send({"id": str(r["id"]), "result": {}}),
    "halfid": lambda r: send({"id": 0.5, "result": {}}),
    "deep": lambda r: (raw(b'{"a":' * 100000 + b"\n"), hang()),
    "notutf8": lambda r: (raw(b'{"id":1,"result":"\xff\xfe"}\n'), hang()),
    "nul": lambda r: (raw(b'{"id":\x001}\n' * 9), hang()),
    "noise": lambda r: forever(b"Loading...\n" * 1000),
    "errnoise": lambda r: [sys.stderr.write("e" * 9999) for _ in iter(int, 1)],
    "strangers": lambda r: [
        send({"method": "output", "params": {"id": 77, "text": "x" * 999}})
        for _ in iter(int, 1)
    ],
    "progress": many("progress"),
    "output": many("output"),
    "fork": lambda r: fork(False),
    "daemon": lambda r: fork(True),
    "idnumber": answer({"id": 17}),
    "idhuge": answer({"id": "i" * 100000}),
    "idcontrols": answer({"id": "a\x1b[2Jb\n"}),
    "noid": answer({"workdir": "/tmp"}),
    "baddir": answer({"id": "box", "workdir": "nowhere"}),
    "other": answer({"id": "other"}),
    "nobase64": answer({"data": "!!!!", "exit_code": 0}),
    "datanumber": answer({"data": 12, "exit_code": 0}),
    "textnumber": answer({"text": 12, "exit_code": 0}),
    "empty": answer({}),
    "noframe": answer({"text": "hello\n", "exit_code": 0}),
    "missing": refuse({"code": -32001, "message": "no such sandbox"}),
    "failed": refuse({"code": -32000, "message": "it failed"}),
    "nolist": answer({"sandboxes": {"id": "box"}}),
    "noids": answer({"sandboxes": [{"label": "x"}]}),
    # These are no faults: what a provider may do.
    "banner": good_after(b"Welcome!\n\n{debug: 1}\n"),
    "crlf": good_after(b"\r\n \r\n"),
    "twice": lambda r: (serve(r), serve(r)),
    "stderr": lambda r: (sys.stderr.write("hm\n" * 9999), serve(r)),
    "strange": good_after(b'{"jsonrpc":"2.0","method":"x","params":[]}\n'),
}


def execute(params):
    done = subprocess.run(
        ["sh", "-c", params["command"]],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    data = base64.b64encode(done.stdout).decode()
    return {"data": data, "exit_code": done.returncode}


RESULTS = {
    "initialize": lambda p: GOOD,
    "create": lambda p: {"id": "box"},
    "attach": lambda p: {"id": p["sandbox"]},
    "execute": execute,
    "list": lambda p: {"sandboxes": []},
    "upload": lambda p: {},
    "download": lambda p: {"data": ""},
    "delete": lambda p: {},
}


def serve(request):
    send(
        {
            "id": request["id"],
            "result": RESULTS[request["method"]](request["params"]),
        }
    )


def main():
    method, _, fault = MODE.partition("-")
    note_pid(os.getpid())
    for line in sys.stdin.buffer:
        request = json.loads(line)
        if "id" not in request:
            continue
        if request["method"] == method:
            FAULTS[fault](request)
        else:
            serve(request)


main()
