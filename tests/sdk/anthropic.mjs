// anthropic.mjs - Anthropic's official SDK in a conversation with our emulator.
// SPDX-License-Identifier: MIT
//
// node anthropic.mjs, with ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY and
// DCODE_REQUEST: the first request of dcode, whose system text, tools and
// prompt are used here.
import assert from "node:assert/strict";
import Anthropic, { AuthenticationError } from "@anthropic-ai/sdk";

const sample = JSON.parse(process.env.DCODE_REQUEST);
const client = new Anthropic({ maxRetries: 0 });
const mark = { type: "ephemeral" };
const messages = [];
const { model, max_tokens, system, tools, thinking, output_config } = sample;

function say(...content) {
  messages.push({ role: "user", content });
}

// The last two messages of the user are marked for the cache, as dcode does.
async function turn() {
  const users = messages.filter((m) => m.role === "user");
  for (const m of users) delete m.content.at(-1).cache_control;
  for (const m of users.slice(-2)) m.content.at(-1).cache_control = mark;
  const answer = await client.messages.stream({
    model, max_tokens, system, tools, messages,
    ...thinking && { thinking }, ...output_config && { output_config },
  }).finalMessage();
  messages.push({ role: "assistant", content: answer.content });
  return answer;
}

say({ type: "text", text: sample.messages[0].content[0].text });
const first = await turn();
assert.equal(first.stop_reason, "tool_use");
const of = (type) => first.content.filter((b) => b.type === type);
assert.equal(of("thinking")[0].thinking, "I should look.");
assert.ok(of("thinking")[0].signature);
assert.equal(of("text")[0].text, "Let me see.");
assert.deepEqual(of("tool_use").map((b) => b.input),
  [{ path: "/" }, { path: "/tmp" }]);
say(...of("tool_use").map((b) => ({
  type: "tool_result", tool_use_id: b.id, content: "result" })));
assert.equal((await turn()).content[0].text, "Done.");
say({ type: "text", text: "more" });
assert.equal((await turn()).stop_reason, "max_tokens");
say({ type: "text", text: "more" });
assert.equal((await turn()).stop_reason, "refusal");
messages.splice(-2);
say({ type: "text", text: "more" });
await assert.rejects(new Anthropic({ maxRetries: 0, apiKey: "wrong" }).messages
  .create({ model, max_tokens, messages, stream: true }),
AuthenticationError);
await assert.rejects(turn(), /out of order/);
console.log("content");
