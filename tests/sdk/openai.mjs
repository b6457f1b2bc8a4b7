// openai.mjs - OpenAI's official SDK in a conversation with our emulator.
// SPDX-License-Identifier: MIT
//
// node openai.mjs, with OPENAI_BASE_URL, OPENAI_API_KEY and DCODE_REQUEST: the
// first request of dcode, whose instructions, tools and prompt are used here.
import assert from "node:assert/strict";
import OpenAI from "openai";

const sample = JSON.parse(process.env.DCODE_REQUEST);
const client = new OpenAI({ maxRetries: 0 });
const input = [{ role: "user", content: sample.input[0].content }];

async function turn() {
  const stream = await client.responses.create({
    model: sample.model, instructions: sample.instructions, stream: true,
    tools: sample.tools, input, store: false,
    include: ["reasoning.encrypted_content"], reasoning: { summary: "auto" },
  });
  const seen = { text: "", thinking: "", args: {} };
  let response;
  for await (const e of stream) {
    if (e.type === "error") throw new Error(`${e.code}: ${e.message}`);
    if (e.type === "response.output_text.delta") seen.text += e.delta;
    if (e.type === "response.reasoning_summary_text.delta")
      seen.thinking += e.delta;
    if (e.type === "response.function_call_arguments.delta")
      seen.args[e.item_id] = (seen.args[e.item_id] ?? "") + e.delta;
    if (/^response.(completed|incomplete)$/.test(e.type))
      ({ response } = e);
  }
  input.push(...response.output);
  return { response, seen };
}

const first = await turn();
assert.equal(first.response.status, "completed");
assert.equal(first.seen.text, "Let me see.");
assert.equal(first.seen.thinking, "I should look.");
assert.equal(first.response.usage.output_tokens_details.reasoning_tokens, 4);
const calls = first.response.output.filter((i) => i.type === "function_call");
assert.equal(calls.length, 2);
for (const c of calls) {
  assert.equal(first.seen.args[c.id], c.arguments);
  input.push({ type: "function_call_output", call_id: c.call_id,
    output: "result" });
}
const last = await turn();
assert.equal(last.seen.text, "Done.");
input.push({ role: "user", content: "more" });
const cut = await turn();
assert.equal(cut.response.status, "incomplete");
assert.equal(cut.response.incomplete_details.reason, "max_output_tokens");
input.push({ role: "user", content: "more" });
const refused = await turn();
assert.equal(refused.response.output.at(-1).content[0].refusal, "No.");
await assert.rejects(new OpenAI({ maxRetries: 0, apiKey: "wrong" }).responses
  .create({ model: "m", input: "x", stream: true }),
OpenAI.AuthenticationError);
await assert.rejects(turn(), /out of order/);
console.log("content");
