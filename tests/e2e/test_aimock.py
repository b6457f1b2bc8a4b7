"""test_aimock.py - dcode and a model server that nobody here wrote."""
# SPDX-License-Identifier: MIT
import os
import subprocess

import pytest

import sdk
from test_media import PDF, PNG

# wire: (environment, -M, config.toml)
WIRES = {
    "chat": ("openai:gpt-4o", ""),
    "messages": ("anthropic:claude-opus-5", ""),
    "responses": ("openai:gpt-5.6-terra",
                  '[models.providers.openai]\nwire = "openai-responses"\n'),
    # it knows no cache points among the tools: a model without
    "bedrock": ("bedrock:openai.gpt-oss-120b-1:0", ""),
    "gemini": ("google_genai:gemini-3.1-pro-preview",
               '[models.providers.google_genai]\nwire = "gemini"\n'),
}


@pytest.fixture(scope="module")
def aimock(top):
    node = sdk.node_of(top)
    p = subprocess.Popen(
        [node, top / "tests" / "sdk" / "aimock.mjs"], text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env={"PATH": os.environ["PATH"], "HOME": os.environ["HOME"]})
    yield p.stdout.readline().strip()
    p.communicate()


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("files", ["", " @a.png @paper.pdf"])
def test_a_conversation_with_tools(
        wire, files, aimock, run, env, config, home, tmp_path):
    model, settings = WIRES[wire]
    config(settings)
    env.update(OPENAI_BASE_URL=aimock + "/v1", OPENAI_API_KEY="k",
               ANTHROPIC_BASE_URL=aimock, ANTHROPIC_API_KEY="k",
               GOOGLE_GEMINI_BASE_URL=aimock, GOOGLE_API_KEY="k",
               AWS_ENDPOINT_URL_BEDROCK_RUNTIME=aimock, AWS_REGION="us-west-2",
               AWS_ACCESS_KEY_ID="k", AWS_SECRET_ACCESS_KEY="k")
    (tmp_path / "work" / "a.png").write_bytes(PNG)
    (tmp_path / "work" / "paper.pdf").write_bytes(PDF)
    r = run("-n", "hi" + files, "-y", "-M", model)
    assert (r.status, r.out) == (0, "Let me see.\nAll is well.\n"), r.err
    assert r.err.count("[image a.png ") + r.err.count("[PDF paper.pdf ") == \
        len(files.split())
    ran = (tmp_path / "work" / "ran").read_text()
    assert sorted(ran.split()) == ["one", "two"]
