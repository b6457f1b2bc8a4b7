"""slash_chat.py - a chat of either kind, for the tests of its commands."""
# SPDX-License-Identifier: MIT
import pathlib
import tempfile

import pytest

from screens import Screen

HELLO = {"turns": [{"text": "Hello there.",
                    "usage": {"input": 7, "output": 3}}],
         "repeat": True, "by": "count"}
OTHER = """
[models.providers.other]
wire = "openai-chat"
base_url = "{0}/v1"
api_key_env = "OTHER_KEY"
models = ["big", "small"]

[models.providers.keyless]
wire = "openai-chat"
base_url = "{0}/v1"
api_key_env = "NO_SUCH_KEY"
models = ["huge"]
"""


class Chat(Screen):
    """A chat of either kind, and what was sent to its model."""

    def __init__(self, server, screen, *args, **how):
        super().__init__(*args, **how)
        self.server, self.screen = server, screen

    def say(self, text, wanted=None, times=1):
        self.type(text)
        self.keys("Enter")
        if wanted:
            return self.until(lambda t: t.count(wanted) >= times)
        return None

    def ask(self, text):
        """Sends a prompt; the user's texts of its request, either wire's."""
        n = len(self.server.requests)
        self.say(text)
        self.until(lambda _: len(self.server.requests) > n)
        body = self.server.requests[n]["body"]
        found = [m["content"] for m in body["messages"]
                 if m["role"] == "user"]
        return [c if isinstance(c, str) else c[0].get("text", "")
                for c in found]

    def wire(self, n):
        return self.server.requests[n]["wire"]


@pytest.fixture(params=["screen", "lines"])
def talk(request, dcode, env, model, home, tmp_path):
    """talk(script, options...) -> a Chat at its prompt."""
    open_ones = []

    def begin(script, *args, **size):
        server = model(script)
        env["OTHER_KEY"] = "k-other"
        (home / ".deepagents").mkdir(exist_ok=True)
        (home / ".deepagents" / "config.toml").write_text(
            OTHER.format(env["ANTHROPIC_BASE_URL"].rstrip("/")))
        screen = request.param == "screen"
        place = pathlib.Path(tempfile.mkdtemp(prefix="dcode-tmux-"))
        c = Chat(server, screen, place,
                 [dcode, *([] if screen else ["--plain"]), *args], env,
                 tmp_path / "work", **size)
        open_ones.append(c)
        c.until("tools in")
        return c
    yield begin
    for c in open_ones:
        c.close()


on_screen = pytest.mark.parametrize("talk", ["screen"], indirect=True)


def begin(talk, script=HELLO, *args, **size):
    return talk(script, "-M", "anthropic:m", *args, **size)
