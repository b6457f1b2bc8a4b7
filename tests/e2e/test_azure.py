"""test_azure.py - what only Azure OpenAI has: addresses and keys."""
# SPDX-License-Identifier: MIT
import pytest

VERSION = "2024-10-21"
DATED = f"/openai/deployments/my-gpt/chat/completions?api-version={VERSION}"
V1 = "/openai/v1/chat/completions"
KEY = {"AZURE_OPENAI_API_KEY": "k"}
TOKEN = {"AZURE_OPENAI_AD_TOKEN": "entra"}


@pytest.mark.parametrize("given, path, key", [
    (KEY, V1, "api-key k"),
    (TOKEN, V1, "entra"),
    ({**KEY, **TOKEN}, V1, "api-key k"),
    ({**KEY, "OPENAI_API_VERSION": VERSION}, DATED, "api-key k"),
    ({**TOKEN, "AZURE_OPENAI_API_VERSION": VERSION,
      "OPENAI_API_VERSION": "other"}, DATED, "entra")])
def test_the_address_and_the_key_go_as_azure_has_them(
        model, run, env, given, path, key):
    server = model({"turns": [{"text": "Hello."}], "key": key})
    env.update(given, AZURE_OPENAI_ENDPOINT=server.url + "/")
    r = run("-n", "hi", "-M", "azure_openai:my-gpt")
    assert r.status == 0 and "Hello." in r.out, r.err
    assert server.violations == []
    assert [(q["path"], q["key"]) for q in server.requests] == [(path, key)]


@pytest.mark.parametrize("wire, path, key", [
    ("openai-responses", "/openai/v1/responses", "api-key k"),
    ("anthropic", "/v1/messages", "k")])
def test_a_wire_with_a_header_of_its_own_keeps_it(
        model, run, env, config, wire, path, key):
    server = model({"turns": [{"text": "Hello."}], "key": key})
    base = server.url + path.partition("/v1")[0]
    config(f"[models.providers.azure_openai]\nwire = \"{wire}\"\n"
           f"base_url = \"{base}{'/v1' if 'openai' in wire else ''}\"\n")
    env.update(KEY)
    r = run("-n", "hi", "-M", "azure_openai:my-model")
    assert r.status == 0 and "Hello." in r.out, r.err
    assert [(q["path"], q["key"]) for q in server.requests] == [(path, key)]
