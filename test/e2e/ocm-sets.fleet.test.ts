import { join, resolve } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { agentWorkName, managedClusterAnnotation, workApiVersion } from "../../api/delivery.ts";
import { recordAt } from "../../api/fields.ts";
import { checkLabel, setAnnotations, steering } from "../../api/fleet-set.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import { agentNamespace } from "../../controller/pull/agent.ts";
import { applyFile } from "../fleet/hub-access.ts";
import { conditionOf, valueAt } from "../fleet/json-record.ts";
import { startOcm } from "../fleet/ocm/ocm.ts";
import { useFleet } from "../fleet/use-fleet.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { startControllerProcess } from "../support/controller-process.ts";
import { giveWayIn, playAgent } from "./pull-scene.ts";
import {
  annotateSet,
  childrenOf,
  clustersOf,
  imageOn,
  phase,
  removeSet,
  setKey,
  setNamespace,
  setOf,
  versionsOf,
  versionTemplate,
} from "./set-scene.ts";
import { mayListTriggers, saysReady, useKnative } from "./team-trigger.ts";
import { writeThinRelease } from "./thin-release.ts";

const fleet = useFleet({ spokes: 2 });
const stack = new AsyncDisposableStack();
const docs = resolve(import.meta.dirname, "../../docs");
const group = "cluster.open-cluster-management.io";
const set = "prod";
const works = { apiVersion: workApiVersion, kind: "ManifestWork" };
let releaseDir: string;

// Open Cluster Management knows both spokes. The first one cannot be dialled, and is the canary.
beforeAll(async () => {
  const { hub, spokes, folder } = fleet();
  const kubeconfig = await fleet().controllerKubeconfig();
  const ocm = stack.use(
    await startOcm(fleet(), { profileCrd: "inventory", log: (line) => console.error(line) }),
  );
  await bindNamespace();
  for (const spoke of spokes) {
    const agent = await ocm.startAgent(spoke);
    await ocm.accept(spoke);
    await agent.startWork();
    const key = { apiVersion: `${group}/v1`, kind: "ManagedCluster", name: spoke.name };
    const ring = spoke === spokes[0] ? "canary" : "rest";
    await hub.admin.patch(key, { metadata: { labels: { ring } } });
  }
  await giveWayIn(fleet(), fleet().spoke(1), setNamespace);
  for (const role of ["pull-role.yaml", "sets-role.yaml"]) await applyFile(hub, join(docs, role));
  releaseDir = await writeThinRelease(folder, 2, ["1.22.0", "1.23.0"]);
  stack.use(
    await startControllerProcess({
      kubeconfig,
      providerFile: await fleet().providerFile(),
      releaseDir,
      flags: [
        "--sets",
        "--delivery=Auto",
        "--agent-image=registry.example/knfleet:test",
        `--pull-namespace=${setNamespace}`,
      ],
    }),
  );
}, 1_800_000);

afterAll(() => stack.disposeAsync());

/** Lets Open Cluster Management write the ClusterProfiles into the namespace of the set. */
async function bindNamespace(): Promise<void> {
  const { admin } = fleet().hub;
  await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: setNamespace } });
  await waitFor("the binding to be taken", () =>
    admin.apply({
      apiVersion: `${group}/v1beta2`,
      kind: "ManagedClusterSetBinding",
      metadata: { namespace: setNamespace, name: "global" },
      spec: { clusterSet: "global" },
    }),
  );
}

/** A Placement with the decision groups `canary` and `rest`. */
async function place(): Promise<void> {
  const decisionGroups = ["canary", "rest"].map((groupName) => ({
    groupName,
    groupClusterSelector: { labelSelector: { matchLabels: { ring: groupName } } },
  }));
  await fleet().hub.admin.apply({
    apiVersion: `${group}/v1beta1`,
    kind: "Placement",
    metadata: { namespace: setNamespace, name: "everywhere" },
    spec: { clusterSets: ["global"], decisionStrategy: { groupStrategy: { decisionGroups } } },
  });
}

async function approveCanary(): Promise<void> {
  const { hub } = fleet();
  const waiting = await phase(hub, set, "AwaitingApproval");
  const revision = String(valueAt(waiting, "status", "updateRevision"));
  await annotateSet(hub, set, { [`${steering.approve}canary-after`]: `${revision} alice` });
}

/** Versions on the spokes; undefined where nothing is installed. */
async function images(): Promise<readonly string[]> {
  return Promise.all(fleet().spokes.map(imageOn));
}

/** The ManagedCluster through which each component of the set is delivered, by its ClusterProfile. */
async function pulled(): Promise<Readonly<Record<string, string | undefined>>> {
  const children = await childrenOf(fleet().hub, set);
  return Object.fromEntries(
    [...children].map(([name, { metadata }]) => [
      name,
      metadata.annotations?.[managedClusterAnnotation],
    ]),
  );
}

test("a set selects by a Placement, its decision groups are stages, and each cluster is served in the way that it offers", async () => {
  const { hub } = fleet();
  await place();
  const clusters = { from: "OCMPlacement", ocmPlacement: { name: "everywhere" } };
  const stages = [
    { name: "canary", decisionGroup: "canary", after: { approval: true } },
    { name: "rest", decisionGroup: "rest" },
  ];
  await hub.admin.create(setOf(set, { clusters, rollout: { stages } }));
  // A check is asked each half a minute.
  const pod = { namespace: agentNamespace, name: agentWorkName, releaseDir, clockFactor: 5 };
  stack.use(await playAgent(fleet().spoke(0), pod));
  await approveCanary();
  await phase(hub, set, "Complete");
  expect(await images()).toEqual(["1.22.0", "1.22.0"]);
  expect(await pulled()).toEqual({ "spoke-1": "spoke-1", "spoke-2": undefined });
}, 300_000);

test("an upgrade goes from group to group", async () => {
  const { hub } = fleet();
  await hub.admin.patch(setKey(set), { spec: versionTemplate("1.23") });
  await waitFor(
    "the canary to have the new version",
    async () => (await images())[0] === "1.23.0",
    { timeoutMs: 120_000 },
  );
  expect(await versionsOf(hub, set)).toEqual({ "spoke-1": "1.23.0", "spoke-2": "1.22.0" });
  await approveCanary();
  await phase(hub, set, "Complete");
  expect(await images()).toEqual(["1.23.0", "1.23.0"]);
}, 300_000);

/** What the pulled canary answers to the checks of the set, as the hub has it. */
async function answer(): Promise<string> {
  const child = (await childrenOf(fleet().hub, set)).get("spoke-1");
  return String(valueAt(child, "status", "annotations", setAnnotations.answer));
}

test("a canary that cannot be dialled is verified by the controller there, and halts the set when a Trigger of a team breaks", async () => {
  const { hub } = fleet();
  const canary = fleet().spoke(0);
  await useKnative(canary);
  const stored = recordAt(await hub.admin.get(setKey(set)), "spec", "rollout");
  // Long enough that the Trigger breaks before the workloads have passed.
  const rollout = { ...stored, verify: { workloads: { within: "20s" } } };
  await hub.admin.patch(setKey(set), { spec: { ...versionTemplate("1.22"), rollout } });
  const asked = await clustersOf(hub, set, { verifying: 1 });
  expect(valueAt(asked, "status", "notable", 0)).toMatchObject({
    cluster: `${setNamespace}/spoke-1`,
    state: "Verifying",
  });
  await waitFor("the missing right", async () => (await answer()).includes("right to list"));
  await mayListTriggers(canary);
  await waitFor("a good answer", async () => (await answer()).includes('"good"'));
  await saysReady(canary, "False");
  const halted = await phase(hub, set, "Halted");
  expect(valueAt(halted, "status", "notable", 0)).toMatchObject({
    cluster: `${setNamespace}/spoke-1`,
    state: "Failed",
    reason: "WorkloadsBroken",
    message:
      "Check workloads: 1 of 1 broke since the cluster got the revision: Trigger shop/orders (BrokerGone)",
  });
  expect(await versionsOf(hub, set)).toEqual({ "spoke-1": "1.22.0", "spoke-2": "1.23.0" });
}, 300_000);

/** A rollout that runs this image on each cluster. */
async function smokedBy(image: string): Promise<object> {
  const { admin } = fleet().hub;
  const rollout = recordAt(await admin.get(setKey(set)), "spec", "rollout");
  const job = { template: { spec: { containers: [{ name: "smoke", image }] } } };
  return { rollout: { ...rollout, verify: { workloads: null, checks: [{ name: "smoke", job }] } } };
}

/** The Jobs of checks on a spoke. */
function jobsOn(spoke: number): Promise<readonly KubeObject[]> {
  const { admin } = fleet().spoke(spoke);
  const namespace = "knative-eventing";
  return admin.list({ apiVersion: "batch/v1", kind: "Job", namespace, labelSelector: checkLabel });
}

test("a canary that cannot be dialled runs the Job of a check by a work, and the feedback says how it ended", async () => {
  const { hub } = fleet();
  const good = await smokedBy("example.com/smoke:1");
  await hub.admin.patch(setKey(set), { spec: { ...versionTemplate("1.23"), ...good } });
  await approveCanary();
  await phase(hub, set, "Complete");
  expect(await images()).toEqual(["1.23.0", "1.23.0"]);
  const jobs = (await Promise.all([0, 1].map(jobsOn))).flat();
  const owners = jobs.map(({ metadata }) => metadata.ownerReferences?.map(({ kind }) => kind));
  expect(owners).toEqual([["AppliedManifestWork"], ["ConfigMap"]]);
  // Open Cluster Management applies a work no more that is complete: the Job is not run again.
  await waitFor("the work to be complete", async () => {
    const [work] = await hub.admin.list({
      ...works,
      namespace: "spoke-1",
      labelSelector: checkLabel,
    });
    return work !== undefined && conditionOf(work, "Complete")?.status === "True";
  });

  const bad = await smokedBy("example.com/fails:1");
  await hub.admin.patch(setKey(set), { spec: { ...versionTemplate("1.22"), ...bad } });
  const halted = await phase(hub, set, "Halted");
  const [failed, ...others] = await waitFor("the first Job to go", async () => {
    const left = await jobsOn(0);
    return left.length === 1 && left;
  });
  expect(others).toEqual([]);
  expect(valueAt(halted, "status", "notable", 0)).toMatchObject({
    cluster: `${setNamespace}/spoke-1`,
    state: "Failed",
    reason: "CheckFailed",
    message: `Check smoke: Job ${failed?.metadata.name} failed (BackoffLimitExceeded)`,
  });
  expect(await versionsOf(hub, set)).toEqual({ "spoke-1": "1.22.0", "spoke-2": "1.23.0" });
}, 300_000);

test("a set that is deleted with its components leaves no works", async () => {
  const { hub, spokes } = fleet();
  await removeSet(hub, set);
  await waitFor("the agent to go", async () => (await hub.admin.list(works)).length === 0, {
    timeoutMs: 120_000,
  });
  for (const { admin } of spokes) {
    const thin = { apiVersion: "apps/v1", kind: "Deployment", namespace: "knative-eventing" };
    expect(await admin.list(thin)).toEqual([]);
  }
}, 300_000);
