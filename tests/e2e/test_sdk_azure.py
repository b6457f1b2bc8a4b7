"""test_sdk_azure.py - Azure OpenAI is asked as OpenAI's own SDK asks it."""
# SPDX-License-Identifier: MIT
import pytest

import sdk

VERSION = "2024-10-21"
KEY = {"AZURE_OPENAI_API_KEY": "k"}
TOKEN = {"AZURE_OPENAI_AD_TOKEN": "entra"}


@pytest.mark.parametrize("given", [KEY, TOKEN])
def test_the_official_client_sends_the_same(model, run, env, top, given):
    server = model({"turns": [{"text": "Hello."}], "repeat": True,
                    "by": "count"})
    azure = {**given, "AZURE_OPENAI_ENDPOINT": server.url,
             "OPENAI_API_VERSION": VERSION}
    env.update(azure)
    assert run("-n", "hi", "-M", "azure:my-gpt").status == 0
    assert "content" in sdk.run(top, "azure.mjs", azure)
    ours, theirs = server.requests
    for member in ("path", "key", "wire"):
        assert ours[member] == theirs[member]
    assert ours["body"]["model"] == theirs["body"]["model"]
