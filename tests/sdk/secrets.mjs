// secrets.mjs - a secret that a sandbox never sees, by the vendors' SDKs.
// SPDX-License-Identifier: MIT
//
// node secrets.mjs VENDOR VALUE, with the variables of VENDOR.mjs. Makes a
// sandbox whose requests to api.acme.example get the value, and deletes both.
import { runSteps } from "./steps.mjs";

const [, , name, value] = process.argv;
const host = "api.acme.example";
const stored = "dcode-sdk-ACME";
const header = `Bearer ${value}`;

const vendors = {
  async e2b() {
    const { Sandbox, Secret } = await import("e2b");
    const secret = await Secret.create(stored.toLowerCase(), header);
    const box = await Sandbox.create("base", { network: { rules: {
      [host]: [{ transform: { headers: {
        Authorization: Secret.fill(secret.name) } } }] },
      allowPublicTraffic: false } });
    await box.kill();
    await Secret.destroy(secret.secretId);
  },
  async vercel() {
    const { Sandbox } = await import("@vercel/sandbox");
    const { VERCEL_API_URL: base } = process.env;
    const box = await Sandbox.create({
      token: process.env.VERCEL_TOKEN, teamId: process.env.VERCEL_TEAM_ID,
      projectId: process.env.VERCEL_PROJECT_ID, name: "dcode-sdk",
      persistent: false,
      networkPolicy: { allow: {
        [host]: [{ transform: [{ headers: { Authorization: header } }] }],
        "*": [] } },
      fetch: (url, init) => fetch(String(url)
        .replace("https://vercel.com", base), init),
    });
    await box.delete();
  },
  async daytona() {
    const { Daytona } = await import("@daytonaio/sdk");
    const daytona = new Daytona();
    const secret = await daytona.secret.create(
      { name: stored, value, hosts: [host] });
    const box = await daytona.create({ secrets: { ACME_TOKEN: stored } });
    await box.delete();
    await daytona.secret.delete(secret.id);
  },
  async runloop() {
    const { Runloop } = await import("@runloop/api-client");
    const runloop = new Runloop({ http2: false });
    await runloop.secrets.create({ name: stored, value });
    const gateway = await runloop.gatewayConfigs.create({ name: stored,
      endpoint: `https://${host}`, auth_mechanism: { type: "bearer" } });
    const box = await runloop.devboxes.createAndAwaitRunning(
      { gateways: { ACME_TOKEN: { gateway: stored, secret: stored } } });
    await runloop.devboxes.shutdown(box.id);
    await runloop.gatewayConfigs.delete(gateway.id);
    await runloop.secrets.delete(stored);
  },
  async langsmith() {
    const { SandboxClient, opaqueSecret } = await import("langsmith/sandbox");
    const box = await new SandboxClient().createSandbox(undefined, {
      snapshotName: "deepagents-code", name: "dcode-sdk",
      proxyConfig: { rules: [{ name: host, match_hosts: [host], headers: [
        { name: "Authorization", ...opaqueSecret(header) }] }] } });
    await box.delete();
  },
  async modal() {
    const { ModalClient, ExperimentalOutboundPolicy } = await import("modal");
    process.env.MODAL_SANDBOX_V2 = "0"; // what dcode creates
    const modal = new ModalClient();
    const app = await modal.apps.fromName("dcode", { createIfMissing: true });
    const image = await modal.images.fromRegistry("python:3").build(app);
    // The SDK has no function that makes a named secret.
    await modal.cpClient.secretGetOrCreate({
      deploymentName: "dcode-sdk", objectCreationType: 3,
      envDict: { DCODE_ACME: header } });
    const secret = await modal.secrets.fromName("dcode-sdk");
    const box = await modal.sandboxes.create(app, image, {
      env: { ACME_TOKEN: "placeholder" }, command: ["sleep", "600"],
      experimentalOutboundPolicy: new ExperimentalOutboundPolicy()
        .withHeaderReplacement({ domain: host, secret,
          headers: { Authorization: "$DCODE_ACME" } }) });
    await box.terminate();
    await modal.secrets.delete("dcode-sdk");
  },
  async deno() {
    const { Sandbox } = await import("@deno/sandbox");
    const box = await Sandbox.create(
      { secrets: { ACME_TOKEN: { hosts: [host], value } } });
    await box.kill();
  },
};

await runSteps([[name, vendors[name]]]);
