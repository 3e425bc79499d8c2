import { afterEach, describe, expect, test } from "vitest";

import { type ClusterProfileRef, operatorApiVersion } from "../../api/component.ts";
import { managedClusterLabel, ocmManager } from "../../api/delivery.ts";
import { steering } from "../../api/fleet-set.ts";
import { keyOf, type KubeObject, type Manifest } from "../../api/kubernetes.ts";
import { definitionOf } from "../controller/hand-made-installation.ts";
import type { Profile } from "../fleet/fleet.ts";
import { conditionOf, valueAt } from "../fleet/json-record.ts";
import { waitFor } from "../fleet/wait-for.ts";
import {
  annotateSet,
  childrenOf,
  clustersOf,
  eventsOf,
  labelProfile,
  phase,
  removeSet,
  setKey,
  setNamespace,
  setOf,
  useSetScene,
  versionsOf,
  versionTemplate,
} from "./set-scene.ts";

const scene = useSetScene();
let made: string | undefined;

async function create(name: string, spec: Readonly<Record<string, unknown>>): Promise<void> {
  made = name;
  await scene().hub.admin.create(setOf(name, spec));
}

afterEach(async () => {
  if (made !== undefined) await removeSet(scene().hub, made);
  made = undefined;
}, 240_000);

function profileAt(ring: number) {
  const profile = scene().profiles[ring];
  if (profile === undefined) throw new Error("There is no such spoke");
  return profile;
}

function reasonOf(set: KubeObject | undefined, type: string): unknown {
  return conditionOf(set, type)?.reason;
}

describe("a cluster that does not answer", () => {
  test("is left out within its budget, and caught up when it is back", async () => {
    const { hub } = scene();
    const dark = profileAt(2);
    await dark.update({ healthy: false });
    await create("dark", {});
    const complete = await phase(hub, "dark", "Complete");
    expect(valueAt(complete, "status", "clusters")).toMatchObject({ done: 2, unreachable: 1 });
    expect(Object.keys(await versionsOf(hub, "dark"))).not.toContain(dark.name);
    expect(reasonOf(complete, "Ready")).not.toBe("Ready");
    await dark.update({ healthy: true });
    const whole = await clustersOf(hub, "dark", { done: 3, unreachable: 0 });
    expect(reasonOf(whole, "Ready")).toBe("Ready");
  }, 300_000);

  test("holds up a set that is deleted, which says so until the cluster is back", async () => {
    const [{ hub }, dark] = [scene(), profileAt(1)];
    await create("leaving", {});
    await phase(hub, "leaving", "Complete");
    await dark.update({ healthy: false });
    await hub.admin.remove(setKey("leaving"));
    const said = await waitFor("the cluster and its cause", async () => {
      const { message } = conditionOf(await hub.admin.get(setKey("leaving")), "Progressing") ?? {};
      return String(message).includes(`${dark.name}: `) && message;
    });
    await dark.update({ healthy: true });
    expect(said).toContain(`waits for fleet/${dark.name}. fleet/${dark.name}: `);
  }, 300_000);

  test("beyond the budget holds its stage up, and counts as no failure", async () => {
    const { hub } = scene();
    const dark = profileAt(0);
    await dark.update({ healthy: false });
    const stages = [
      { name: "canary", selector: { matchLabels: { ring: "0" } }, maxUnreachable: 0 },
      { name: "rest", selector: {} },
    ];
    await create("held", { rollout: { stages, progressDeadline: "20s" } });
    const held = await clustersOf(hub, "held", { unreachable: 1, pending: 2, failed: 0 });
    expect(valueAt(held, "status", "rollout", "waitingFor")).toContain(
      "Stage canary waits: 1 cluster is unreachable",
    );
    expect(await childrenOf(hub, "held")).toEqual(new Map());
    await dark.update({ healthy: true });
    await phase(hub, "held", "Complete");
  }, 300_000);
});

test("a cluster that joins in the middle gets what its stage has, and one that leaves goes with its component", async () => {
  const { hub } = scene();
  const [canary, staying, leaving] = [0, 1, 2].map(profileAt);
  if (canary === undefined || staying === undefined || leaving === undefined)
    throw new Error("three");
  for (const profile of [canary, leaving]) await labelProfile(hub, profile, { env: "prod" });
  const clusters = {
    from: "Selector",
    selector: { namespaces: ["fleet"], matchLabels: { env: "prod" } },
  };
  const whenUnselected = { policy: "Delete", after: "1s" };
  const stages = [
    { name: "canary", selector: { matchLabels: { ring: "0" } }, after: { approval: true } },
    { name: "rest", selector: {} },
  ];
  await create("moving", { clusters, whenUnselected, rollout: { stages } });
  const first = await phase(hub, "moving", "AwaitingApproval");
  const approval = `${steering.approve}canary-after`;
  const approve = async (set: unknown): Promise<void> =>
    annotateSet(hub, "moving", {
      [approval]: `${String(valueAt(set, "status", "updateRevision"))} bob`,
    });
  await approve(first);
  await phase(hub, "moving", "Complete");
  await hub.admin.patch(setKey("moving"), { spec: versionTemplate("1.23") });
  const waiting = await phase(hub, "moving", "AwaitingApproval");

  await labelProfile(hub, staying, { env: "prod" });
  await waitFor(
    "the one that joins",
    async () => staying.name in (await versionsOf(hub, "moving")),
  );
  expect(await versionsOf(hub, "moving")).toEqual({
    [canary.name]: "1.23.0",
    [staying.name]: "1.22.0",
    [leaving.name]: "1.22.0",
  });
  await labelProfile(hub, leaving, { env: null });
  await waitFor(
    "the one that leaves",
    async () => !(leaving.name in (await versionsOf(hub, "moving"))),
    {
      timeoutMs: 120_000,
    },
  );
  await expect.poll(() => eventsOf(hub, "moving", "SelectionChanged")).not.toEqual([]);
  await approve(waiting);
  await phase(hub, "moving", "Complete");
  expect(await versionsOf(hub, "moving")).toEqual({
    [canary.name]: "1.23.0",
    [staying.name]: "1.23.0",
  });

  // Nothing is selected any more: that is no reason to remove anything.
  for (const profile of [canary, staying]) await labelProfile(hub, profile, { env: null });
  const suspicious = await waitFor("the guard", async () => {
    const set = await hub.admin.get(setKey("moving"));
    return reasonOf(set, "Selected") === "SuspiciousShrink" && set;
  });
  expect(Object.keys(await versionsOf(hub, "moving"))).toHaveLength(2);
  await expect.poll(() => eventsOf(hub, "moving", "SuspiciousShrink")).toHaveLength(1);
  const [, hash = ""] =
    / is ([0-9a-f]+)$/.exec(String(conditionOf(suspicious, "Selected")?.message)) ?? [];
  await annotateSet(hub, "moving", { [steering.acceptSelection]: hash });
  await waitFor("the accepted removal", async () => (await childrenOf(hub, "moving")).size === 0, {
    timeoutMs: 120_000,
  });
}, 600_000);

test("a component of somebody else is taken over with adoption: Always, with exactly the spec that the set wants", async () => {
  const { hub } = scene();
  const { namespace, name } = profileAt(0);
  const hand: Manifest = {
    apiVersion: operatorApiVersion,
    kind: "KnativeEventing",
    metadata: { namespace: setNamespace, name: "by-hand" },
    spec: {
      version: "1.22",
      "high-availability": { replicas: 1 },
      clusterProfileRef: { namespace, name },
    },
  };
  const { uid } = (await hub.admin.apply(hand)).metadata;
  await create("taking", {});
  const refused = await clustersOf(hub, "taking", { blocked: 1 });
  expect(valueAt(refused, "status", "notable", 0)).toMatchObject({
    reason: "NotOwned",
    message: expect.stringContaining("high-availability"),
  });
  await hub.admin.patch(setKey("taking"), { spec: { adoption: "Always" } });
  await phase(hub, "taking", "Complete");
  const taken = (await childrenOf(hub, "taking")).get(name);
  expect(taken?.metadata).toMatchObject({ name: "by-hand", uid });
  expect(taken?.["spec"]).toEqual({ version: "1.22.0", clusterProfileRef: { namespace, name } });
  // What it was written with has nothing to say any more: the next version meets no conflict.
  await hub.admin.patch(setKey("taking"), { spec: versionTemplate("1.23") });
  await phase(hub, "taking", "Complete");
  expect(valueAt(await hub.admin.get(keyOf(hand)), "spec", "version")).toBe("1.23.0");
}, 300_000);

function slice(key: string, index: number, ref: ClusterProfileRef): Manifest {
  return {
    apiVersion: "multicluster.x-k8s.io/v1alpha1",
    kind: "PlacementDecision",
    metadata: {
      namespace: setNamespace,
      name: `${key}-${index}`,
      labels: {
        "multicluster.x-k8s.io/decision-key": key,
        "multicluster.x-k8s.io/decision-index": String(index),
      },
    },
    decisions: [{ clusterProfileRef: ref }],
  };
}

/** ClusterProfiles of all spokes in the namespace of the set. */
async function addProfiles(prefix: string, manager = "test-fleet"): Promise<readonly Profile[]> {
  const added: Profile[] = [];
  for (const [ring, { spoke }] of scene().profiles.entries()) {
    const where = { namespace: setNamespace, name: `${prefix}-${ring}`, manager };
    added.push(await scene().fleet.addProfile(spoke, { plugin: "secretreader", ...where }));
  }
  return added;
}

test("a value of a ClusterProfile that changes is stamped without a new revision", async () => {
  const { hub } = scene();
  const [first, second] = [profileAt(0), profileAt(1)];
  const zone = "registry.example.com/$(cluster.labels[zone]:-none)/${NAME}";
  const template = { spec: { version: "1.22", registry: { default: zone } } };
  await create("valued", { template });
  const before = await phase(hub, "valued", "Complete");
  await labelProfile(hub, first, { zone: "north" });
  const registryOf = async (name: string): Promise<unknown> =>
    valueAt((await childrenOf(hub, "valued")).get(name), "spec", "registry", "default");
  await waitFor(
    "the value",
    async () => (await registryOf(first.name)) === "registry.example.com/north/${NAME}",
  );
  expect(await registryOf(second.name)).toBe("registry.example.com/none/${NAME}");
  const after = await clustersOf(hub, "valued", { done: 3 });
  expect(valueAt(after, "status", "updateRevision")).toBe(
    valueAt(before, "status", "updateRevision"),
  );
  await expect.poll(() => eventsOf(hub, "valued", "ValuesChanged")).toHaveLength(1);
  await labelProfile(hub, first, { zone: null });
}, 300_000);

describe("a set whose clusters a scheduler chooses", () => {
  test("follows the slices of a PlacementDecision in its namespace, and a decision that is gone removes nothing", async () => {
    const { hub } = scene();
    const clusters = { from: "PlacementDecision", placementDecision: { decisionKey: "eu" } };
    // The canary of the other sets would be empty at first, and is waited for a minute then.
    const rollout = { stages: [{ name: "all", selector: {}, maxConcurrency: 3 }] };
    await create("placed", { clusters, rollout });
    const unknown = await phase(hub, "placed", "Blocked");
    expect(reasonOf(unknown, "Selected")).toBe("PlacementNotFound");
    const refs = (await addProfiles("placed")).map(({ namespace, name }) => ({ namespace, name }));
    const [first, second, third] = refs;
    if (first === undefined || second === undefined || third === undefined)
      throw new Error("three");
    const { namespace, name } = profileAt(2);
    const slices = [slice("eu", 0, first), slice("eu", 1, second)];
    const stranger = slice("eu", 2, { namespace, name });
    for (const one of [...slices, stranger, slice("us", 0, third)]) await hub.admin.apply(one);
    const refused = await clustersOf(hub, "placed", { done: 2, blocked: 1 });
    expect(valueAt(refused, "status", "notable", 0)).toMatchObject({
      cluster: `${namespace}/${name}`,
      reason: "NotPermitted",
    });
    await hub.admin.remove(keyOf(stranger));
    await phase(hub, "placed", "Complete");
    expect(Object.keys(await versionsOf(hub, "placed"))).toEqual([first.name, second.name]);
    for (const one of slices) await hub.admin.remove(keyOf(one));
    const lost = await phase(hub, "placed", "Blocked");
    expect(reasonOf(lost, "Selected")).toBe("PlacementNotFound");
    expect((await childrenOf(hub, "placed")).size).toBe(2);
  }, 300_000);

  test("has decision groups of Open Cluster Management as stages, and waits for its API", async () => {
    const { hub } = scene();
    const stages = [
      { name: "canary", decisionGroup: "first", after: { approval: true } },
      { name: "rest", decisionGroup: "second" },
    ];
    const clusters = { from: "OCMPlacement", ocmPlacement: { name: "prod" } };
    await create("ocm", { clusters, rollout: { stages } });
    const unknown = await phase(hub, "ocm", "Blocked");
    expect(reasonOf(unknown, "Selected")).toBe("PlacementUnavailable");
    const group = "cluster.open-cluster-management.io";
    await hub.admin.apply(
      definitionOf(group, "v1beta1", { PlacementDecision: "placementdecisions" }),
    );
    // Open Cluster Management writes a ClusterProfile for each cluster into the namespace of the set.
    const groups = ["first", "second", "second"];
    for (const [ring, profile] of (await addProfiles("ocm", ocmManager)).entries()) {
      await labelProfile(hub, profile, { [managedClusterLabel]: `cluster${ring}` });
      await waitFor("the kind to be served", async () =>
        hub.admin.apply({
          apiVersion: `${group}/v1beta1`,
          kind: "PlacementDecision",
          metadata: {
            namespace: setNamespace,
            name: `prod-${ring}`,
            labels: {
              [`${group}/placement`]: "prod",
              [`${group}/decision-group-name`]: groups[ring] ?? "",
            },
          },
          status: { decisions: [{ clusterName: `cluster${ring}`, reason: "" }] },
        }),
      );
    }
    const waiting = await phase(hub, "ocm", "AwaitingApproval");
    expect(Object.keys(await versionsOf(hub, "ocm"))).toEqual(["ocm-0"]);
    const revision = String(valueAt(waiting, "status", "updateRevision"));
    await annotateSet(hub, "ocm", { [`${steering.approve}canary-after`]: `${revision} carol` });
    await phase(hub, "ocm", "Complete");
    expect(Object.keys(await versionsOf(hub, "ocm")).toSorted()).toEqual([
      "ocm-0",
      "ocm-1",
      "ocm-2",
    ]);
  }, 300_000);
});
