// Servers of its own: the API server of the hub is frozen.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { beforeAll, expect, test } from "vitest";

import { operatorApiVersion } from "../../api/component.ts";
import { useFleet } from "../fleet/use-fleet.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { ControllerProcess } from "../support/controller-process.ts";
import { builtInProviderFile, replicaKubeconfig } from "./built-in-access.ts";
import { writeThinRelease } from "./thin-release.ts";

const fleet = useFleet({
  spokes: [{ admissionWebhooks: false, kwok: false }],
});
const userAgent = /^knfleet-controller/;

let kubeconfig: string;
let providerFile: string;
let releaseDir: string;

beforeAll(async () => {
  // For its side effect: the role of the controller.
  await fleet().controllerKubeconfig();
  kubeconfig = await replicaKubeconfig(fleet().hub, { name: "stopped" });
  providerFile = await builtInProviderFile(fleet(), { name: "stopped" });
  releaseDir = await writeThinRelease(fleet().folder, 60);
}, 600_000);

/** A controller with leader election, which is waited for in no way. */
function start(providers = providerFile): ControllerProcess {
  return new ControllerProcess({
    kubeconfig,
    providerFile: providers,
    releaseDir,
    leaderElection: true,
    // All components are on one cluster.
    flags: ["--spoke-namespace=Component"],
  });
}

/** Stops it; never before it listens to signals, which Node needs a moment for. */
async function endOf(controller: ControllerProcess): Promise<object> {
  await controller.logged({ msg: "Starting" });
  const exit = await controller.stop();
  const errors = controller.logLines({ level: "error" });
  return { ...exit, stderr: controller.stderr, errors };
}

const clean = { code: 0, signal: null, stderr: "", errors: [] };

const eventing = { apiVersion: operatorApiVersion, kind: "KnativeEventing" };

/** A component with a ClusterProfile of its own, which leads to the one spoke that there is. */
async function create(name: string): Promise<void> {
  const { admin } = fleet().hub;
  const ref = await fleet().addProfile(fleet().spoke(0), { plugin: "secretreader", name });
  await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  const spec = { clusterProfileRef: { namespace: ref.namespace, name } };
  await admin.create({ ...eventing, metadata: { namespace: name, name }, spec });
}

async function untilAsked(since: Date, times: number): Promise<void> {
  const { auditLog } = fleet().spoke(0);
  await waitFor(`${times} requests to the spoke`, async () => {
    return (await auditLog.requests({ userAgent, since })).length >= times;
  });
}

/** A provider whose plugin says where it runs, and nothing else for five minutes. */
async function slowProvider(): Promise<{ readonly file: string; readonly pidFile: string }> {
  const { folder } = fleet();
  const [command, pidFile] = [join(folder, "slow-plugin"), join(folder, "slow-plugin.pid")];
  await writeFile(command, `#!/bin/sh\necho $$ > ${pidFile}\nexec sleep 300\n`, { mode: 0o755 });
  const apiVersion = "client.authentication.k8s.io/v1";
  const execConfig = { apiVersion, command, provideClusterInfo: true, interactiveMode: "Never" };
  const file = join(folder, "slow-providers.json");
  await writeFile(file, JSON.stringify({ providers: [{ name: "secretreader", execConfig }] }));
  return { file, pidFile };
}

test("a controller that is told to stop while the hub does not answer ends with 0", async () => {
  const { hub } = fleet();
  hub.pause();
  try {
    await using controller = start();
    await controller.healthUrl();
    expect(await endOf(controller)).toEqual(clean);
  } finally {
    hub.resume();
  }
});

test("one that is told to stop while it waits for the Lease ends with 0, and so does the leader", async () => {
  await using leader = start();
  await leader.logged({ msg: "Reconciling" });
  await using waiting = start();
  await waiting.logged({ msg: "Waiting to become the leader" });
  expect(await endOf(waiting)).toEqual(clean);
  expect(await endOf(leader)).toEqual(clean);
});

test("one that is told to stop while it connects to a spoke that swallows everything ends with 0", async () => {
  const { proxy } = fleet().spoke(0);
  await create("swallowed");
  await proxy.setMode("blackhole");
  try {
    const { connections } = proxy.counts;
    await using controller = start();
    await waitFor("the spoke to be dialled", () => proxy.counts.connections > connections);
    expect(await endOf(controller)).toEqual(clean);
  } finally {
    await proxy.setMode("open");
  }
});

test("one that is told to stop while an exec plugin runs ends with 0, and the plugin with it", async () => {
  await create("asking");
  const { file, pidFile } = await slowProvider();
  await using controller = start(file);
  const pid = await waitFor("the plugin to run", async () => {
    const text = await readFile(pidFile, "utf8");
    return text.endsWith("\n") && Number(text);
  });
  expect(await endOf(controller)).toEqual(clean);
  await waitFor("the plugin to be gone", () => !isAlive(pid));
});

test("one that is told to stop after any number of requests to a spoke ends with 0: guard, installation, removal", async () => {
  const spoke = fleet().spoke(0);
  spoke.proxy.setRtt(200);
  for (const times of [1, 12, 70]) {
    await create(`asked-${times}`);
    const since = new Date();
    await using controller = start();
    await untilAsked(since, times);
    expect(await endOf(controller)).toEqual(clean);
  }
  await fleet().hub.admin.remove({ ...eventing, namespace: "asked-1", name: "asked-1" });
  const since = new Date();
  await using controller = start();
  await untilAsked(since, 13);
  expect(await endOf(controller)).toEqual(clean);
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
