// google_genai.mjs - Google's official SDK in a conversation with our emulator.
// SPDX-License-Identifier: MIT
//
// node google_genai.mjs, with GOOGLE_GEMINI_BASE_URL, GOOGLE_API_KEY, MODEL and
// DCODE_REQUEST: the first request of dcode, whose system text, tools and
// prompt are used here. For Vertex AI with GOOGLE_VERTEX_BASE_URL,
// GOOGLE_CLOUD_PROJECT and GOOGLE_OAUTH_ACCESS_TOKEN.
import assert from "node:assert/strict";
import { ApiError, FinishReason, GoogleGenAI } from "@google/genai";
import { OAuth2Client } from "google-auth-library";

const sample = JSON.parse(process.env.DCODE_REQUEST);
const vertex = process.env.GOOGLE_VERTEX_BASE_URL;

function vertexClient(access_token) {
  const authClient = new OAuth2Client();
  authClient.setCredentials({ access_token,
    expiry_date: Date.now() + 3600_000 });
  return new GoogleGenAI({ vertexai: true, location: "global",
    project: process.env.GOOGLE_CLOUD_PROJECT, apiVersion: "v1",
    googleAuthOptions: { authClient }, httpOptions: { baseUrl: vertex } });
}

const client = (apiKey) => vertex ? vertexClient(apiKey) :
  new GoogleGenAI({ apiKey, vertexai: false,
    httpOptions: { baseUrl: process.env.GOOGLE_GEMINI_BASE_URL } });
const ai = client(vertex ? process.env.GOOGLE_OAUTH_ACCESS_TOKEN :
  process.env.GOOGLE_API_KEY);
const contents = [{ role: "user", parts: sample.contents[0].parts }];

async function turn() {
  const stream = await ai.models.generateContentStream({
    model: process.env.MODEL, contents,
    config: { systemInstruction: sample.systemInstruction.parts[0].text,
      tools: sample.tools, thinkingConfig: { includeThoughts: true } },
  });
  const seen = { text: "", thinking: "", calls: [], parts: [] };
  for await (const chunk of stream) {
    const [candidate] = chunk.candidates ?? [];
    for (const part of candidate?.content?.parts ?? []) {
      if (part.thought) {
        seen.thinking += part.text;
        continue;
      }
      seen.parts.push(part);
      if (part.functionCall) seen.calls.push(part.functionCall);
    }
    seen.text += chunk.text ?? "";
    seen.finish = candidate?.finishReason ?? seen.finish;
    seen.usage = chunk.usageMetadata;
  }
  contents.push({ role: "model", parts: seen.parts });
  return seen;
}

const first = await turn();
assert.equal(first.text, "Let me see.");
assert.equal(first.thinking, "I should look.");
assert.equal(first.usage.thoughtsTokenCount, 4);
assert.equal(first.calls.length, 2);
assert.deepEqual(first.calls[0].args, { path: "/" });
contents.push({ role: "user", parts: first.calls.map((c) => ({
  functionResponse: { id: c.id, name: c.name,
    response: { output: "result" } } })) });
const last = await turn();
assert.equal(last.text, "Done.");
contents.push({ role: "user", parts: [{ text: "more" }] });
assert.equal((await turn()).finish, FinishReason.MAX_TOKENS);
contents.push({ role: "user", parts: [{ text: "more" }] });
assert.equal((await turn()).finish, FinishReason.SAFETY);
contents.push({ role: "user", parts: [{ text: "more" }] });
await assert.rejects(client("wrong").models.generateContent(
  { model: "m", contents: "x" }), ApiError);
await assert.rejects(turn(), /out of order/);
console.log("content");
