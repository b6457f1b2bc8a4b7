"""test_sdk_agentcore.py - AWS's official SDK is content with our emulator."""
# SPDX-License-Identifier: MIT
import pytest

import sdk
from agentcore import AgentCore


def test_sdk(top):
    with AgentCore() as cloud:
        out = sdk.run(top, "agentcore.mjs", cloud.env)
        assert out.splitlines()[-1] == "14 steps"
        # the one lifetime that is too long
        assert [v for v in cloud.violations
                if "sessionTimeoutSeconds" not in v] == []
        assert cloud.left() == []


def test_damaged_streams(top):
    """The control of the checksums: the SDK finds the same frames wrong."""
    with AgentCore() as cloud:
        cloud.fault("POST .*/tools/invoke", flip=-3)
        with pytest.raises(AssertionError, match="not ok executeCommand\n"):
            sdk.run(top, "agentcore.mjs", cloud.env)
