// network.mjs - a list of hosts by the vendors' official SDKs: made and changed.
// SPDX-License-Identifier: MIT
//
// node network.mjs VENDOR, with the variables of VENDOR.mjs. Makes a sandbox that
// may reach a.example, and lets it reach b.example too.
import { runSteps } from "./steps.mjs";

const one = ["a.example"];
const two = ["a.example", "b.example"];
const all = ["0.0.0.0/0"];

const vendors = {
  async e2b() {
    const { Sandbox } = await import("e2b");
    const box = await Sandbox.create("base",
      { network: { allowOut: one, denyOut: all,
                   allowPublicTraffic: false } });
    await box.updateNetwork({ allowOut: two, denyOut: all });
    await box.kill();
  },
  async vercel() {
    const { Sandbox } = await import("@vercel/sandbox");
    const { VERCEL_API_URL: base } = process.env;
    const box = await Sandbox.create({
      token: process.env.VERCEL_TOKEN, teamId: process.env.VERCEL_TEAM_ID,
      projectId: process.env.VERCEL_PROJECT_ID, name: "dcode-sdk",
      persistent: false,
      networkPolicy: { allow: one },
      fetch: (url, init) => fetch(String(url)
        .replace("https://vercel.com", base), init),
    });
    await box.update({ networkPolicy: { allow: two } });
    await box.delete();
  },
  async daytona() {
    const { Daytona } = await import("@daytonaio/sdk");
    const box = await new Daytona().create({ domainAllowList: one.join() });
    await box.updateNetworkSettings({ domainAllowList: two.join() });
    await box.delete();
  },
  async runloop() {
    const { Runloop } = await import("@runloop/api-client");
    const { devboxes, networkPolicies } = new Runloop({ http2: false });
    const policy = await networkPolicies.create(
      { name: "dcode-sdk", allow_all: false, allowed_hostnames: one });
    const box = await devboxes.createAndAwaitRunning(
      { launch_parameters: { network_policy_id: policy.id } });
    await networkPolicies.update(policy.id, { allowed_hostnames: two });
    await devboxes.shutdown(box.id);
    await networkPolicies.delete(policy.id);
  },
  async langsmith() {
    const { SandboxClient } = await import("langsmith/sandbox");
    const client = new SandboxClient();
    const listed = (hosts) =>
      ({ proxyConfig: { access_control: { allow_list: hosts } } });
    const box = await client.createSandbox(undefined, {
      snapshotName: "deepagents-code", name: "dcode-sdk", ...listed(one) });
    await client.updateSandbox(box.name, listed(two));
    await box.delete();
  },
  // The list is fixed when the sandbox is created.
  async deno() {
    const { Sandbox } = await import("@deno/sandbox");
    const box = await Sandbox.create({ allowNet: one });
    await box.kill();
  },
  async modal() {
    const { ModalClient } = await import("modal");
    const modal = new ModalClient({ environment: "main" });
    const app = await modal.apps.fromName("dcode", { createIfMissing: true });
    const image = await modal.images.fromRegistry("python:3").build(app);
    const box = await modal.sandboxes.create(app, image,
      { outboundDomainAllowlist: one, command: ["sleep", "600"] });
    await box.updateNetworkPolicy(
      { outboundCidrAllowlist: [], outboundDomainAllowlist: two });
    await box.terminate();
  },
};

const name = process.argv[2];
await runSteps([[name, vendors[name]]]);
