// azure.mjs - OpenAI's official SDK for Azure asks our emulator once.
// SPDX-License-Identifier: MIT
//
// node azure.mjs, with AZURE_OPENAI_ENDPOINT, OPENAI_API_VERSION and
// AZURE_OPENAI_API_KEY or AZURE_OPENAI_AD_TOKEN.
import assert from "node:assert/strict";
import { AzureOpenAI } from "openai";

const token = process.env.AZURE_OPENAI_AD_TOKEN;
const client = new AzureOpenAI({ maxRetries: 0,
  ...(token && { azureADTokenProvider: async () => token }) });
const stream = await client.chat.completions.create({
  model: "my-gpt", stream: true, messages: [{ role: "user", content: "hi" }],
});
let text = "";
for await (const e of stream) text += e.choices[0]?.delta?.content ?? "";
assert.equal(text, "Hello.");
console.log("content");
