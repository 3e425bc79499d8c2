import { join } from "node:path";

import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import { agentWorkName, componentWorkName, workApiVersion } from "../../api/delivery.ts";
import { keyOf, type KubeObject } from "../../api/kubernetes.ts";
import { sampleDirOf } from "../../cmd/release-files.ts";
import { agentNamespace } from "../../controller/pull/agent.ts";
import type { Cluster } from "../fleet/fleet.ts";
import { applyFile } from "../fleet/hub-access.ts";
import { conditionOf, valueAt } from "../fleet/json-record.ts";
import type { Agent } from "../fleet/ocm/agent.ts";
import { letExecute } from "../fleet/ocm/work-rights.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { type ControllerProcess, startControllerProcess } from "../support/controller-process.ts";
import { useStory } from "../support/use-story.ts";
import {
  change,
  componentOf,
  condition,
  create,
  gone,
  inventoryOf,
  leftovers,
  observed,
  read,
  ready,
  remove,
} from "./installation.ts";
import { runOneWriteLives } from "./one-write-lives.ts";
import {
  clusterKey,
  keepWhileUsed,
  letLookForUsers,
  playAgent,
  pullFlags,
  usePullScene,
  user,
} from "./pull-scene.ts";

const kind = "KnativeServing";
const scene = usePullScene({ mayExecute: false });
const stack = new AsyncDisposableStack();
const profile = { namespace: "fleet", name: "spoke-1" };
const flags = ["--delivery=Auto", ...pullFlags];
/** Both controllers look again after pauses at what no watch tells them. */
const clockFactor = 3;

const releaseDir = sampleDirOf();
let before: ReadonlySet<string>;
let controller: ControllerProcess;
/** The controller on the spoke. */
let local: ControllerProcess | undefined;
let ocmAgent: Agent;
let isOcmAgentThere = true;

async function startController(): Promise<void> {
  const kubeconfig = await scene().fleet.controllerKubeconfig();
  controller = stack.use(
    await startControllerProcess({ kubeconfig, releaseDir, flags, clockFactor }),
  );
}

/** Plays the controller on the spoke. Each time that its work comes anew, its ServiceAccount is another. */
async function playLocal(): Promise<void> {
  const pod = { namespace: agentNamespace, name: agentWorkName, releaseDir, clockFactor };
  local = stack.use(await playAgent(scene().spoke, pod));
}

async function stopOcmAgent(): Promise<void> {
  const { hub } = scene();
  isOcmAgentThere = false;
  // The hub waits for five of them before it says so.
  await hub.admin.patch(clusterKey, { spec: { leaseDurationSeconds: 1 } });
  await ocmAgent[Symbol.asyncDispose]();
  await waitFor("the cluster to be Unknown", async () => {
    const found = await hub.admin.get(clusterKey);
    return conditionOf(found, "ManagedClusterConditionAvailable")?.status === "Unknown";
  });
}

async function startOcmAgent(): Promise<void> {
  const { ocm, spoke, workKubeconfig } = scene();
  ocmAgent = stack.use(await ocm.startAgent(spoke));
  await ocmAgent.startWork(workKubeconfig);
  isOcmAgentThere = true;
}

async function isReady(cluster: Cluster): Promise<boolean> {
  return conditionOf(await read(cluster, kind), "Ready")?.status === "True";
}

/** The works for the spoke, with the uid of a component left out of its name. */
async function works(): Promise<readonly string[]> {
  const key = { apiVersion: workApiVersion, kind: "ManifestWork", namespace: "spoke-1" };
  const all = await scene().hub.admin.list(key);
  return all.map(({ metadata: { name } }) => name.replace(/-[0-9a-f]{8}$/, "-UID")).toSorted();
}

async function workOf(name: string): Promise<KubeObject> {
  const key = { apiVersion: workApiVersion, kind: "ManifestWork", namespace: "spoke-1", name };
  const work = await scene().hub.admin.get(key);
  if (work === undefined) throw new Error(`There is no work ${name}`);
  return work;
}

/** The work of the component. */
async function ownWork(): Promise<KubeObject> {
  const component = await read(scene().hub, kind);
  const uid = component?.metadata.uid ?? "";
  return workOf(componentWorkName({ kind, metadata: { uid } }));
}

/** Waits until the agent is gone, too, and says what is left on the spoke. */
async function leftOnSpoke(): Promise<readonly string[]> {
  await waitFor("all works to go", async () => (await works()).length === 0);
  await local?.stop();
  return leftovers(scene().spoke, before);
}

/** Deletes the component and leaves its installation on the spoke. */
async function orphan(): Promise<void> {
  const { hub } = scene();
  const uid = (await read(hub, kind))?.metadata.uid;
  const annotations = { "knfleet.dev/force-orphan": uid };
  await hub.admin.patch(keyOf(componentOf({ kind })), { metadata: { annotations } });
  await remove(hub, kind);
}

beforeAll(async () => {
  const { agent, fleet, hub, spoke } = scene();
  await fleet.controllerKubeconfig();
  await applyFile(hub, join(import.meta.dirname, "../../docs/pull-role.yaml"));
  before = await inventoryOf(spoke);
  ocmAgent = agent;
  await startController();
}, 600_000);

afterAll(() => stack.disposeAsync());

afterEach(async ({ task }) => {
  if (task.result?.state === "fail") await clear();
}, 300_000);

/** Ends what a test that failed has begun, so that the next one finds a hub without a component. */
async function clear(): Promise<void> {
  const { hub, spoke } = scene();
  await letExecute(spoke);
  await spoke.admin.remove(keyOf(user));
  if (!isOcmAgentThere) await startOcmAgent();
  if (!controller.isRunning) await startController();
  if ((await read(hub, kind)) !== undefined) {
    if (local?.isRunning !== true) await playLocal();
    await remove(hub, kind);
    await gone(hub, kind);
  }
  await waitFor("all works to go", async () => (await works()).length === 0);
  await local?.stop();
  await controller.stop();
}

/** The Jobs of the installation that are complete. */
async function completeJobs(): Promise<readonly string[]> {
  const key = { apiVersion: "batch/v1", kind: "Job", namespace: "knative-serving" };
  const all = await scene().spoke.admin.list(key);
  const complete = all.filter((job) => conditionOf(job, "Complete")?.status === "True");
  return complete.map(({ metadata: { name } }) => name).toSorted();
}

describe("a component whose cluster has only an agent", () => {
  useStory();

  test("a work agent without the rights is told, with the object that it may not apply", async () => {
    const { hub, spoke } = scene();
    await create(hub, { kind, on: profile, spec: { version: "1.22" } });
    const component = await condition(hub, kind, [
      "TargetClusterResolved",
      {
        status: "False",
        reason: "AccessProviderFailed",
        message: /^\[WorkForbidden\] .* the work agent may not apply /,
      },
    ]);
    expect(component.metadata.annotations).toMatchObject({
      "knfleet.dev/managed-cluster": "spoke-1",
      "knfleet.dev/spoke-namespace": "knative-serving",
    });
    await letExecute(spoke);
  });

  test("a component whose cluster cannot be dialled is brought by works, and is Ready soon after it is on its spoke", async () => {
    const { hub, spoke } = scene();
    await playLocal();
    await waitFor("the spoke to be ready", () => isReady(spoke), { timeoutMs: 120_000 });
    const began = performance.now();
    const component = await ready(hub, kind);
    console.log(`Ready on the hub ${Math.round(performance.now() - began)} ms after the spoke`);
    const version = valueAt(await read(spoke, kind), "status", "version");
    expect(valueAt(component, "status", "version")).toBe(version);
    const stored = await Promise.all([workOf(agentWorkName), ownWork()]);
    const bytes = stored.map((work) => Buffer.byteLength(JSON.stringify(work)));
    console.log(`Works of a spoke in the hub's etcd: ${bytes.join(" + ")} bytes`);
    expect(bytes.reduce((sum, one) => sum + one)).toBeLessThan(40_000);
  });

  test("what somebody changes in a work or in the status is put back", async () => {
    const { hub } = scene();
    const work = await ownWork();
    await hub.admin.patch(keyOf(work), { spec: { manifestConfigs: null } });
    await expect.poll(async () => (await ownWork())["spec"]).toEqual(work["spec"]);
    const conditions = [{ type: "Ready", status: "False", reason: "Lie" }];
    // The controller may write its own status between reading and writing.
    await waitFor("the lie to be stored", async () => {
      const component = await ready(hub, kind);
      const { name, namespace } = component.metadata;
      const path = `/apis/${component.apiVersion}/namespaces/${namespace}/knativeservings/${name}/status`;
      return hub.admin.request("PUT", path, { ...component, status: { conditions } });
    });
    await ready(hub, kind);
  });

  test("an upgrade goes through the work, also after a Job of the earlier version is complete", async () => {
    const { hub } = scene();
    const earlier = await waitFor("a Job to be complete", async () => {
      const jobs = await completeJobs();
      return jobs.length > 0 && jobs;
    });
    await change(hub, kind, { version: "1.23" });
    await observed(hub, kind);
    const component = await ready(hub, kind);
    expect(valueAt(component, "status", "version")).toMatch(/^1\.23\./);
    const later = async () => (await completeJobs()).filter((name) => !earlier.includes(name));
    await waitFor("the Job of the later version", async () => (await later()).length > 0);
  });

  test("a component close to the 500 KiB that Open Cluster Management lets a work have is brought whole", async () => {
    const { hub, spoke } = scene();
    const long = "x".repeat(480 * 1024);
    await change(hub, kind, { config: { features: { "large.example": long } } });
    const key = { apiVersion: "v1", kind: "ConfigMap", namespace: "knative-serving" };
    const arrived = async () => {
      const found = await spoke.admin.get({ ...key, name: "config-features" });
      return valueAt(found, "data", "large.example") === long;
    };
    await expect.poll(arrived).toBe(true);
    await ready(hub, kind);
    await change(hub, kind, { config: null });
    await expect.poll(arrived).toBe(false);
    await ready(hub, kind);
  });

  test("a cluster whose agent is silent is Unknown as soon as Open Cluster Management says so", async () => {
    const { hub } = scene();
    await stopOcmAgent();
    await condition(hub, kind, [
      "TargetClusterResolved",
      {
        status: "Unknown",
        reason: "SpokeUnreachable",
        message: /its agent has not reported to the hub since/,
      },
    ]);
    expect(conditionOf(await read(hub, kind), "Ready")).toMatchObject({
      status: "Unknown",
      reason: "SpokeUnreachable",
    });
  });

  test("a work that is deleted while the agent is silent is carried out when it is back", async () => {
    const { hub } = scene();
    await remove(hub, kind);
    await condition(hub, kind, [
      "TargetClusterResolved",
      { reason: "SpokeUnreachable", message: /set knfleet.dev\/force-orphan=/ },
    ]);
    await hub.admin.remove(keyOf(await ownWork()));
    await startOcmAgent();
    await gone(hub, kind);
    expect(await leftOnSpoke()).toEqual([`|Namespace||${agentNamespace}`]);
    await controller.stop();
  });
});

// More than 15 s: each of some ten writes is the last one of a controller, and another one starts.
test("controllers that die after each of their writes bring a component to its spoke, and remove it", async () => {
  const { fleet, hub } = scene();
  await create(hub, { kind, on: profile });
  const options = { releaseDir, flags };
  const [installing] = await Promise.all([
    runOneWriteLives(fleet, options, () => isReady(hub)),
    playLocal(),
  ]);
  expect(await works()).toEqual([agentWorkName, "knfleet-knativeserving-UID"]);
  await remove(hub, kind);
  const isGone = async () => (await read(hub, kind)) === undefined;
  const removing = await runOneWriteLives(fleet, options, isGone);
  expect(installing.length).toBeGreaterThan(4);
  // The work and the finalizer; the status before them only when the agent takes its time.
  expect(removing.length).toBeGreaterThan(1);
  expect(await leftOnSpoke()).toEqual([`|Namespace||${agentNamespace}`]);
}, 180_000);

test("a component that is kept while it is used says on its spoke by what, and goes when it is used no more", async () => {
  const { hub, spoke } = scene();
  await startController();
  await create(hub, { kind, on: profile });
  await playLocal();
  await ready(hub, kind);
  await letLookForUsers(spoke);
  await spoke.admin.apply(user);
  await keepWhileUsed(hub, "true");
  await remove(hub, kind);
  const told = async () => JSON.stringify((await read(spoke, kind))?.["status"]);
  await expect.poll(told).toContain("Still used by 1 Service (default/in-use)");
  expect((await ownWork()).metadata.deletionTimestamp).toBeDefined();
  await spoke.admin.remove(keyOf(user));
  await gone(hub, kind);
  await waitFor("all works to go", async () => (await works()).length === 0);
  expect(await read(spoke, kind)).toBeUndefined();
  await local?.stop();
  await controller.stop();
});

// More than 15 s: two components are installed one after the other, and between them the agent of Open Cluster Management is missed, and starts again.
test("a component whose cluster never comes back goes without it, and everything stays there", async () => {
  const { hub, spoke } = scene();
  await startController();
  await create(hub, { kind, on: profile });
  await playLocal();
  await ready(hub, kind);
  await stopOcmAgent();
  await orphan();
  await gone(hub, kind, 10_000);
  await startOcmAgent();
  // The next component takes the place of the one that was given up, and is given up, too.
  await create(hub, { kind, on: profile });
  await ready(hub, kind);
  expect(await works()).toEqual([agentWorkName, "knfleet-knativeserving-UID"]);
  await orphan();
  await gone(hub, kind, 10_000);
  await waitFor("all works to go", async () => (await works()).length === 0);
  expect(await isReady(spoke)).toBe(true);
});
