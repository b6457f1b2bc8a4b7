// agentcore.mjs - AWS's official SDK against our emulator: all must be content.
// SPDX-License-Identifier: MIT
//
// node agentcore.mjs, with AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
// AWS_SESSION_TOKEN, AWS_REGION and AWS_ENDPOINT_URL_BEDROCK_AGENTCORE set.
import assert from "node:assert/strict";
import {
  BedrockAgentCoreClient, GetCodeInterpreterSessionCommand,
  InvokeCodeInterpreterCommand, ListCodeInterpreterSessionsCommand,
  StartCodeInterpreterSessionCommand, StopCodeInterpreterSessionCommand,
} from "@aws-sdk/client-bedrock-agentcore";

import { runSteps } from "./steps.mjs";

const own = { codeInterpreterIdentifier: "aws.codeinterpreter.v1" };
const client = new BedrockAgentCoreClient({ maxAttempts: 1 });
const steps = [];
const step = (name, run) => steps.push([name, run]);
const refused = (name) => (e) => e.name === name;
let id;

async function invoke(name, args, sessionId = id) {
  const answer = await client.send(new InvokeCodeInterpreterCommand({
    ...own, sessionId, name, arguments: args }));
  assert.equal(answer.sessionId, sessionId);
  const results = [];
  for await (const event of answer.stream)
    if (event.result)
      results.push(event.result);
  assert.ok(results.length);
  return results.at(-1);
}

step("start", async () => {
  const made = await client.send(new StartCodeInterpreterSessionCommand({
    ...own, name: "dcode-sdk", sessionTimeoutSeconds: 60 }));
  id = made.sessionId;
  assert.ok(made.createdAt instanceof Date);
});
step("start: once for a token", async () => {
  const body = { ...own, name: "dcode-twice", sessionTimeoutSeconds: 60,
    clientToken: "0b81f828-e096-480f-af3e-155400ebf931" };
  const [a, b] = [await client.send(
    new StartCodeInterpreterSessionCommand(body)), await client.send(
    new StartCodeInterpreterSessionCommand(body))];
  assert.equal(a.sessionId, b.sessionId);
  await client.send(new StopCodeInterpreterSessionCommand({ ...own,
    sessionId: a.sessionId }));
});
step("start: errors", async () => {
  const other = (more) => new BedrockAgentCoreClient({ maxAttempts: 1,
    ...more });
  const start = new StartCodeInterpreterSessionCommand(own);
  await assert.rejects(other({ credentials: { accessKeyId: "AKIDOTHER",
    secretAccessKey: "x" } }).send(start),
  refused("UnrecognizedClientException"));
  await assert.rejects(other({ credentials: {
    accessKeyId: process.env.AWS_ACCESS_KEY_ID, secretAccessKey: "wrong",
    sessionToken: process.env.AWS_SESSION_TOKEN } }).send(start),
  refused("InvalidSignatureException"));
  await assert.rejects(client.send(new StartCodeInterpreterSessionCommand({
    codeInterpreterIdentifier: "ghost" })),
  refused("ResourceNotFoundException"));
  await assert.rejects(client.send(new StartCodeInterpreterSessionCommand({
    ...own, sessionTimeoutSeconds: 28801 })),
  refused("ValidationException"));
});
step("start: an interpreter by its ARN", async () => {
  const mine = { codeInterpreterIdentifier:
    "arn:aws:bedrock-agentcore:us-west-2:1:code-interpreter/x" };
  const made = await client.send(
    new StartCodeInterpreterSessionCommand(mine));
  await client.send(new StopCodeInterpreterSessionCommand({ ...mine,
    sessionId: made.sessionId }));
});
step("get", async () => {
  const one = await client.send(new GetCodeInterpreterSessionCommand({
    ...own, sessionId: id }));
  assert.equal(one.status, "READY");
  assert.equal(one.name, "dcode-sdk");
  assert.equal(one.sessionTimeoutSeconds, 60);
  await assert.rejects(client.send(new GetCodeInterpreterSessionCommand({
    ...own, sessionId: "ghost" })), refused("ResourceNotFoundException"));
});
step("executeCommand", async () => {
  const r = await invoke("executeCommand", { command:
    "echo out; echo err >&2; exit 3" });
  assert.equal(r.structuredContent.stdout, "out\n");
  assert.equal(r.structuredContent.stderr, "err\n");
  assert.equal(r.structuredContent.exitCode, 3);
  assert.equal(r.isError, true);
});
step("executeCommand: a megabyte", async () => {
  const r = await invoke("executeCommand", { command:
    "head -c 1000000 /dev/zero | tr '\\0' x" });
  assert.equal(r.structuredContent.stdout, "x".repeat(1_000_000));
});
step("executeCode", async () => {
  const r = await invoke("executeCode", { code: "print(6 * 7)",
    language: "python" });
  assert.equal(r.structuredContent.stdout, "42\n");
});
step("tasks", async () => {
  const { taskId } = (await invoke("startCommandExecution", { command:
    "echo begun; sleep 0.2; echo ended" })).structuredContent;
  let task;
  do {
    task = (await invoke("getTask", { taskId })).structuredContent;
  } while (["submitted", "working"].includes(task.taskStatus));
  assert.equal(task.taskStatus, "completed");
  assert.equal(task.stdout, "begun\nended\n");
  const other = (await invoke("startCommandExecution", { command:
    "sleep 50" })).structuredContent;
  const end = await invoke("stopTask", { taskId: other.taskId });
  assert.equal(end.structuredContent.taskStatus, "canceled");
});
step("writeFiles and readFiles", async () => {
  const bytes = new Uint8Array(30_000).map((_, i) => i * 7);
  await invoke("writeFiles", { content: [
    { path: "new/dir/a b.bin", blob: bytes }, { path: "b.txt", text: "hé\n" },
  ] });
  const r = await invoke("readFiles", { paths: ["new/dir/a b.bin",
    "b.txt"] });
  assert.equal(r.content[0].resource.uri, "file:///new/dir/a b.bin");
  assert.deepEqual(Buffer.from(r.content[0].resource.blob),
    Buffer.from(bytes));
  assert.equal(r.content[1].resource.text, "hé\n");
});
step("files: errors", async () => {
  assert.equal((await invoke("readFiles", { paths: ["missing"] })).isError,
    true);
  assert.equal((await invoke("writeFiles", { content: [{ path: "../../x",
    text: "" }] })).isError, true);
});
step("listFiles and removeFiles", async () => {
  await invoke("removeFiles", { paths: ["b.txt"] });
  const r = await invoke("listFiles", { path: "new" });
  assert.deepEqual(r.content.map((c) => c.name), ["dir"]);
});
step("list", async () => {
  const second = await client.send(new StartCodeInterpreterSessionCommand({
    ...own, name: "dcode-sdk-2" }));
  const names = [];
  let nextToken;
  do {
    const page = await client.send(new ListCodeInterpreterSessionsCommand({
      ...own, maxResults: 1, status: "READY", nextToken }));
    names.push(...page.items.map((s) => s.name));
    nextToken = page.nextToken;
  } while (nextToken);
  assert.deepEqual(names, ["dcode-sdk", "dcode-sdk-2"]);
  await client.send(new StopCodeInterpreterSessionCommand({ ...own,
    sessionId: second.sessionId }));
});
step("stop", async () => {
  const stop = new StopCodeInterpreterSessionCommand({ ...own,
    sessionId: id });
  assert.equal((await client.send(stop)).sessionId, id);
  assert.equal((await client.send(new GetCodeInterpreterSessionCommand({
    ...own, sessionId: id }))).status, "TERMINATED");
  await assert.rejects(invoke("executeCommand", { command: "true" }),
    refused("ResourceNotFoundException"));
});

await runSteps(steps);
