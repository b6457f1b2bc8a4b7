"""test_sdk_langsmith.py - LangSmith's SDK is content with our emulator."""
# SPDX-License-Identifier: MIT
import sdk
from langsmith import LangSmith


def test_sdk(top):
    with LangSmith() as cloud:
        out = sdk.run(top, "langsmith.mjs", cloud.env)
        assert out.splitlines()[-1] == "18 steps"
        assert cloud.violations == [] and cloud.left() == []
