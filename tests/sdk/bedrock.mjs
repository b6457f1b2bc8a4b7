// bedrock.mjs - AWS's official SDK in a conversation with our emulator.
// SPDX-License-Identifier: MIT
//
// node bedrock.mjs, with AWS_ENDPOINT_URL_BEDROCK_RUNTIME, AWS_REGION, a key,
// MODEL and DCODE_REQUEST: the first request of dcode, whose system text, tools
// and prompt are used here.
import assert from "node:assert/strict";
import {
  BedrockRuntimeClient, ConverseStreamCommand,
} from "@aws-sdk/client-bedrock-runtime";
import { NodeHttpHandler } from "@smithy/node-http-handler";

const sample = JSON.parse(process.env.DCODE_REQUEST);
const make = (more) => new BedrockRuntimeClient({ maxAttempts: 1,
  endpoint: process.env.AWS_ENDPOINT_URL_BEDROCK_RUNTIME,
  requestHandler: new NodeHttpHandler(), ...more });
const client = make({});
const point = { cachePoint: { type: "default" } };
const messages = [];

function ask(text) {
  for (const m of messages)
    m.content = m.content.filter((c) => !c.cachePoint);
  messages.push({ role: "user", content: [{ text }] });
}

async function turn() {
  const users = messages.filter((m) => m.role === "user");
  for (const m of users.slice(-2))
    if (!m.content.at(-1).cachePoint) m.content.push(point);
  const { stream } = await client.send(new ConverseStreamCommand({
    modelId: process.env.MODEL, messages, system: sample.system,
    toolConfig: sample.toolConfig,
  }));
  const seen = { blocks: [] };
  const at = (e) => (seen.blocks[e.contentBlockIndex] ??= {});
  for await (const e of stream) {
    if (e.contentBlockStart?.start?.toolUse)
      at(e.contentBlockStart).toolUse =
        { ...e.contentBlockStart.start.toolUse, input: "" };
    const { delta } = e.contentBlockDelta ?? {};
    if (delta) {
      const b = at(e.contentBlockDelta);
      if (delta.text) b.text = (b.text ?? "") + delta.text;
      if (delta.toolUse) b.toolUse.input += delta.toolUse.input;
      if (delta.reasoningContent) {
        b.reasoningContent ??= { reasoningText: { text: "" } };
        const r = b.reasoningContent.reasoningText;
        r.text += delta.reasoningContent.text ?? "";
        if (delta.reasoningContent.signature)
          r.signature = delta.reasoningContent.signature;
      }
    }
    seen.stop = e.messageStop?.stopReason ?? seen.stop;
    seen.usage = e.metadata?.usage ?? seen.usage;
  }
  for (const b of seen.blocks)
    if (b.toolUse) b.toolUse.input = JSON.parse(b.toolUse.input);
  messages.push({ role: "assistant", content: seen.blocks });
  return seen;
}

ask(sample.messages[0].content[0].text);
const first = await turn();
assert.equal(first.stop, "tool_use");
assert.equal(first.blocks[0].reasoningContent.reasoningText.text,
  "I should look.");
assert.equal(first.blocks[1].text, "Let me see.");
assert.deepEqual(first.blocks[2].toolUse.input, { path: "/" });
assert.equal(first.usage.inputTokens, 10);
messages.push({ role: "user", content: first.blocks.slice(2).map((b) => ({
  toolResult: { toolUseId: b.toolUse.toolUseId,
    content: [{ text: "result" }] } })) });
assert.equal((await turn()).blocks[0].text, "Done.");
ask("more");
assert.equal((await turn()).stop, "max_tokens");
ask("more");
assert.equal((await turn()).stop, "guardrail_intervened");
ask("more");
await assert.rejects(make({ credentials: { accessKeyId: "AKIDEXAMPLE",
  secretAccessKey: "wrong" } }).send(new ConverseStreamCommand({
  modelId: "m", messages: [{ role: "user", content: [{ text: "x" }] }] })));
await assert.rejects(turn(), /out of order/);
console.log("content");
