import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { agentWorkName, componentWorkName, workApiVersion } from "../../api/delivery.ts";
import { keyOf, type KubeObject } from "../../api/kubernetes.ts";
import { agentNamespace } from "../../controller/pull/agent.ts";
import { applyFile } from "../fleet/hub-access.ts";
import { conditionOf, valueAt } from "../fleet/json-record.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { type ControllerProcess, startControllerProcess } from "../support/controller-process.ts";
import {
  change,
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
import { playAgent, usePullScene } from "./pull-scene.ts";
import { anyReleaseDir } from "./release-dir.ts";

const kind = "KnativeServing";
const scene = usePullScene();
const stack = new AsyncDisposableStack();
const image = "registry.example/knfleet:test";
const profile = { namespace: "fleet", name: "spoke-1" };
const clusterKey = {
  apiVersion: "cluster.open-cluster-management.io/v1",
  kind: "ManagedCluster",
  name: "spoke-1",
};

let releaseDir: string;
let before: ReadonlySet<string>;

async function startController(): Promise<ControllerProcess> {
  const { fleet } = scene();
  return startControllerProcess({
    kubeconfig: await fleet.controllerKubeconfig(),
    releaseDir,
    flags: ["--delivery=Auto", `--agent-image=${image}`],
  });
}

function workOf(name: string): Promise<KubeObject | undefined> {
  const { admin } = scene().hub;
  return admin.get({
    apiVersion: workApiVersion,
    kind: "ManifestWork",
    namespace: "spoke-1",
    name,
  });
}

async function ownWork(): Promise<KubeObject> {
  const component = await read(scene().hub, kind);
  const uid = component?.metadata.uid ?? "";
  const work = await workOf(componentWorkName({ kind, metadata: { uid } }));
  if (work === undefined) throw new Error("The component has no work");
  return work;
}

function pathOf({ apiVersion, metadata: { namespace, name } }: KubeObject): string {
  return `/apis/${apiVersion}/namespaces/${namespace}/knativeservings/${name}`;
}

beforeAll(async () => {
  releaseDir = await anyReleaseDir();
  const { fleet, hub } = scene();
  await fleet.controllerKubeconfig();
  await applyFile(hub, join(import.meta.dirname, "../../docs/pull-role.yaml"));
  before = await inventoryOf(scene().spoke);
  stack.use(await startController());
}, 600_000);

afterAll(() => stack.disposeAsync());

test("a component whose cluster cannot be dialled is brought by works, and is Ready soon after it is on its spoke", async () => {
  const { hub, spoke } = scene();
  await create(hub, { kind, on: profile, spec: { version: "1.22" } });
  stack.use(await playAgent(spoke, { namespace: agentNamespace, name: agentWorkName, releaseDir }));
  await waitFor(
    "the spoke to be ready",
    async () => {
      const local = await read(spoke, kind);
      return conditionOf(local, "Ready")?.status === "True";
    },
    { timeoutMs: 120_000 },
  );
  const began = performance.now();
  const component = await ready(hub, kind);
  expect(performance.now() - began).toBeLessThan(5_000);
  expect(component.metadata.annotations).toMatchObject({
    "knfleet.dev/managed-cluster": "spoke-1",
    "knfleet.dev/spoke-namespace": "knative-serving",
  });
  expect(valueAt(component, "status", "version")).toBe(
    valueAt(await read(spoke, kind), "status", "version"),
  );
  const works = await Promise.all([workOf(agentWorkName), ownWork()]);
  const bytes = works.map((work) => Buffer.byteLength(JSON.stringify(work)));
  expect(bytes.reduce((sum, one) => sum + one)).toBeLessThan(40_000);
  console.log(`Works of a spoke in the hub's etcd: ${bytes.join(" + ")} bytes`);
});

test("what somebody changes in a work or in the status is put back", async () => {
  const { hub } = scene();
  const work = await ownWork();
  await hub.admin.patch(keyOf(work), { spec: { manifestConfigs: null } });
  await expect.poll(async () => (await ownWork())["spec"]).toEqual(work["spec"]);
  const component = await ready(hub, kind);
  const conditions = [{ type: "Ready", status: "False", reason: "Lie" }];
  await hub.admin.request("PUT", `${pathOf(component)}/status`, {
    ...component,
    status: { conditions },
  });
  await ready(hub, kind);
});

test("an upgrade goes through the work", async () => {
  const { hub } = scene();
  await change(hub, kind, { version: "1.23" });
  await observed(hub, kind);
  const component = await ready(hub, kind);
  expect(valueAt(component, "status", "version")).toMatch(/^1\.23\./);
});

test("a cluster whose agent is silent is Unknown as soon as Open Cluster Management says so", async () => {
  const { hub, agent: ocmAgent } = scene();
  await hub.admin.patch(clusterKey, { spec: { leaseDurationSeconds: 1 } });
  await ocmAgent[Symbol.asyncDispose]();
  await waitFor("the cluster to be Unknown", async () => {
    const found = await hub.admin.get(clusterKey);
    return conditionOf(found, "ManagedClusterConditionAvailable")?.status === "Unknown";
  });
  await condition(hub, kind, [
    "TargetClusterResolved",
    {
      status: "Unknown",
      reason: "SpokeUnreachable",
      message: /its agent has not reported to the hub since/,
    },
    5_000,
  ]);
  expect(conditionOf(await read(hub, kind), "Ready")).toMatchObject({
    status: "Unknown",
    reason: "SpokeUnreachable",
  });
});

test("a work that is deleted while the agent is silent is carried out when it is back", async () => {
  const { hub, ocm, spoke } = scene();
  await remove(hub, kind);
  await condition(hub, kind, [
    "TargetClusterResolved",
    { reason: "SpokeUnreachable", message: /set knfleet.dev\/force-orphan=/ },
  ]);
  const back = stack.use(await ocm.startAgent(spoke));
  await back.startWork();
  await gone(hub, kind);
  expect(await leftovers(spoke, before)).toEqual([]);
  await waitFor("the agent to go", async () => (await workOf(agentWorkName)) === undefined);
});
