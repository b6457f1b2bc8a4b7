"""test_sdk_vercel.py - Vercel's official SDK is content with our emulator."""
# SPDX-License-Identifier: MIT
import sdk
from vercel import Vercel


def test_sdk(top):
    with Vercel() as cloud:
        out = sdk.run(top, "vercel.mjs", cloud.env)
        assert out.splitlines()[-1] == "17 steps"
        assert cloud.violations == [] and cloud.left() == []
