"""test_sdk_deno.py - Deno's SDK is content with our emulator."""
# SPDX-License-Identifier: MIT
import sdk
from deno import Deno


def test_sdk(top):
    with Deno() as cloud:
        out = sdk.run(top, "deno.mjs", cloud.env)
        assert out.splitlines()[-1] == "19 steps"
        assert cloud.violations == [] and cloud.left() == []
