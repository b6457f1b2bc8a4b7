// daytona.mjs - Daytona's official SDK against our emulator: all content.
// SPDX-License-Identifier: MIT
//
// node daytona.mjs, with DAYTONA_API_KEY and DAYTONA_API_URL set.
import assert from "node:assert/strict";
import {
  Daytona, DaytonaAuthenticationError, DaytonaConflictError, DaytonaError,
  DaytonaNotFoundError,
} from "@daytonaio/sdk";

import { runSteps } from "./steps.mjs";

const steps = [];
const step = (name, run) => steps.push([name, run]);
const daytona = new Daytona();
let box;

const status = (code) => (e) => e instanceof DaytonaError &&
  e.statusCode === code;
const pause = (ms) => new Promise((r) => setTimeout(r, ms));

step("create", async () => {
  box = await daytona.create({
    name: "dcode-sdk", labels: { app: "dcode-sdk" },
    envVars: { FROM_CREATE: "yes" }, autoStopInterval: 30,
    autoDeleteInterval: 60, networkBlockAll: true,
  });
  assert.equal(box.state, "started");
  assert.equal(box.name, "dcode-sdk");
  assert.equal(box.autoDeleteInterval, 60);
});
step("create: the same name", () =>
  assert.rejects(daytona.create({ name: "dcode-sdk" }),
    DaytonaConflictError));
step("create: unknown and inactive snapshot", async () => {
  await assert.rejects(daytona.create({ snapshot: "none" }), status(400));
  await assert.rejects(daytona.create({ snapshot: "old-one" }), status(400));
});
step("create: from an image, with resources", async () => {
  const other = await daytona.create({ image: "python:3.12-slim",
    resources: { cpu: 2, memory: 4, disk: 5 } });
  assert.equal(other.cpu, 2);
  await other.delete(60, true);
});
step("create: wrong key", () =>
  assert.rejects(new Daytona({ apiKey: "dtn_0" }).create(),
    DaytonaAuthenticationError));
step("get", async () => {
  assert.equal((await daytona.get("dcode-sdk")).id, box.id);
  assert.equal((await daytona.get(box.id)).id, box.id);
  await assert.rejects(daytona.get("missing"), DaytonaNotFoundError);
});
step("exec", async () => {
  const r = await box.process.executeCommand(
    "echo $FROM_CREATE $X; pwd; echo oops >&2; exit 3", "/tmp", { X: "y" });
  assert.equal(r.exitCode, 3);
  assert.equal(r.result, "yes y\n/tmp\noops\n");
});
step("exec: a megabyte", async () => {
  const r = await box.process.executeCommand(
    "head -c 1000000 /dev/zero | tr '\\0' x");
  assert.equal(r.result, "x".repeat(1_000_000));
});
step("exec: timeout", () =>
  assert.rejects(box.process.executeCommand("sleep 20", undefined, undefined,
    1), status(408)));
step("session", async () => {
  await box.process.createSession("one");
  await assert.rejects(box.process.createSession("one"), status(409));
  const r = await box.process.executeSessionCommand("one",
    { command: "V=1; echo out; echo err >&2" });
  assert.deepEqual([r.exitCode, r.stdout, r.stderr], [0, "out\n", "err\n"]);
  const a = await box.process.executeSessionCommand("one",
    { command: "echo $V; sleep 0.2; (exit 5)", runAsync: true });
  let c;
  do {
    await pause(20);
    c = await box.process.getSessionCommand("one", a.cmdId);
  } while (c.exitCode === undefined);
  assert.equal(c.exitCode, 5);
  const logs = await box.process.getSessionCommandLogs("one", a.cmdId);
  assert.equal(logs.stdout, "1\n");
  assert.equal((await box.process.getSession("one")).commands.length, 2);
  await box.process.deleteSession("one");
  await assert.rejects(box.process.getSession("one"), status(404));
});
step("upload and download", async () => {
  const bytes = Buffer.from(Array.from({ length: 300_000 },
    (_, i) => (i * 7) & 255));
  await box.fs.uploadFile(bytes, "/tmp/dir/a b.bin");
  assert.deepEqual(await box.fs.downloadFile("/tmp/dir/a b.bin"), bytes);
  await box.fs.uploadFiles([
    { source: Buffer.from("1"), destination: "/tmp/one" },
    { source: Buffer.from("2\n"), destination: "/tmp/ü" }]);
  assert.equal((await box.process.executeCommand("cat /tmp/one /tmp/ü"))
    .result, "12\n");
});
step("download: one is missing", async () => {
  const got = await box.fs.downloadFiles([{ source: "/tmp/one" },
    { source: "/missing" }, { source: "/tmp/ü" }]);
  assert.equal(got[0].result.toString(), "1");
  assert.match(got[1].error, /not found/);
  assert.equal(got[2].result.toString(), "2\n");
  await assert.rejects(box.fs.downloadFile("/missing"), DaytonaNotFoundError);
});
step("upload: refused", () =>
  assert.rejects(box.fs.uploadFile(Buffer.from("x"), "/tmp"), status(400)));
step("directories", async () => {
  await box.fs.createFolder("/tmp/new", "755");
  assert.equal((await box.fs.getFileDetails("/tmp/new")).isDir, true);
  assert.deepEqual((await box.fs.listFiles("/tmp/dir")).map((f) => f.name),
    ["a b.bin"]);
  await box.fs.deleteFile("/tmp/one");
  await assert.rejects(box.fs.getFileDetails("/tmp/one"), status(404));
  assert.equal(await box.getWorkDir(), "/home/daytona");
});
step("ports", async () => {
  const { url, token } = await box.getPreviewLink(9);
  assert.equal((await fetch(url)).status, 401);
  assert.equal((await fetch(url, { headers:
    { "x-daytona-preview-token": token } })).status, 502);
  const open = await box.getSignedPreviewUrl(9, 600);
  assert.equal((await fetch(open.url)).status, 502);
  await box.expireSignedPreviewUrl(9, open.token);
  await assert.rejects(fetch(open.url));
});
step("terminal", async () => {
  let seen = "";
  const text = new TextDecoder();
  const onData = (d) => seen += text.decode(d);
  const until = async (word) => {
    for (let i = 0; i < 200 && !seen.includes(word); i++)
      await new Promise((done) => setTimeout(done, 50));
    assert.ok(seen.includes(word), seen);
  };
  const shell = await box.process.createPty({
    id: "one", cols: 80, rows: 24, envs: { FROM: "pty" }, onData,
  });
  await shell.sendInput("stty size; echo $FROM\n");
  await until("24 80\r\npty\r\n");
  await shell.disconnect();
  const again = await box.process.connectPty("one", { onData });
  await again.resize(132, 40);
  await again.sendInput("stty size; exit 7\n");
  await until("40 132");
  assert.equal((await again.wait()).exitCode, 7);
  await assert.rejects(box.process.connectPty("one", { onData }));
  const other = await box.process.createPty({ id: "two", onData });
  await other.kill();
  assert.equal((await other.wait()).exitCode, 137);
});
step("list", async () => {
  const found = [];
  for await (const s of daytona.list({ labels: { app: "dcode-sdk" } }))
    found.push(s.id);
  assert.deepEqual(found, [box.id]);
  for await (const s of daytona.list({ labels: { app: "other" } }))
    assert.fail(s.id);
});
step("keep alive", async () => {
  await box.refreshActivity();
  await box.setAutostopInterval(45);
  assert.equal((await daytona.get(box.id)).autoStopInterval, 45);
});
step("stop and start", async () => {
  await box.stop();
  assert.equal(box.state, "stopped");
  await assert.rejects(box.process.executeCommand("true"), status(400));
  await box.start();
  assert.equal((await box.process.executeCommand("cat /tmp/ü")).result,
    "2\n");
});
step("delete", async () => {
  await box.delete(60, true);
  await assert.rejects(daytona.get(box.id), DaytonaNotFoundError);
  await assert.rejects(box.delete(), DaytonaNotFoundError);
});

await runSteps(steps);
