// Servers of its own: the API server of the hub is killed.
import { expect, test } from "vitest";

import { operatorApiVersion } from "../../api/component.ts";
import { revisionAnnotations, setAnnotations, setLabels, steering } from "../../api/fleet-set.ts";
import { keyOf } from "../../api/kubernetes.ts";
import { type RecordEntry, recordOf } from "../../sets/status/record-entry.ts";
import { conditionOf, valueAt } from "../fleet/json-record.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { writesTo } from "./requests.ts";
import {
  annotateSet,
  breakSpoke,
  childrenOf,
  clustersOf,
  eventsOf,
  mendSpoke,
  phase,
  removeSet,
  setKey,
  setNamespace,
  setOf,
  useSetScene,
  versionsOf,
  versionTemplate,
} from "./set-scene.ts";

// One set goes through all tests of this file, in this order.
const scene = useSetScene();

/** The record of the revision that a set rolls out or has rolled out. */
async function recordOn(name: string): Promise<readonly RecordEntry[]> {
  const { admin } = scene().hub;
  const revision = revisionOf((await admin.get(setKey(name))) ?? setOf(name, {}));
  const key = { apiVersion: "apps/v1", kind: "ControllerRevision", namespace: setNamespace };
  const found = await admin.get({ ...key, name: revision });
  return recordOf(found?.metadata.annotations?.[revisionAnnotations.record]);
}

function revisionOf(set: object): string {
  return String(valueAt(set, "status", "updateRevision"));
}

test("a set installs on all clusters; a canary that fails halts an upgrade, and goes on when it is mended", async () => {
  const { hub, fleet } = scene();
  await hub.admin.create(setOf("prod", {}));
  const installed = await phase(hub, "prod", "Complete");
  expect(valueAt(installed, "status", "clusters")).toMatchObject({ selected: 3, done: 3 });
  expect(await versionsOf(hub, "prod")).toEqual(scene().all("1.22.0"));

  await breakSpoke(fleet.spoke(0));
  await hub.admin.patch(setKey("prod"), { spec: versionTemplate("1.23") });
  const halted = await phase(hub, "prod", "Halted");
  expect(valueAt(halted, "status", "rollout", "stage")).toBe("canary");
  // What Flux fails by.
  expect(conditionOf(halted, "Stalled")).toMatchObject({ status: "True", reason: "Halted" });
  const [canary] = scene().profiles;
  expect(await versionsOf(hub, "prod")).toEqual({
    ...scene().all("1.22.0"),
    [canary?.name ?? ""]: "1.23.0",
  });
  expect(await scene().imagesOn(1, 2)).toEqual(["1.22.0", "1.22.0"]);
  await expect.poll(() => eventsOf(hub, "prod", "Halted")).toHaveLength(1);

  await mendSpoke(fleet.spoke(0));
  const complete = await phase(hub, "prod", "Complete");
  expect(valueAt(complete, "status", "currentRevision")).toBe(revisionOf(complete));
  expect(conditionOf(complete, "Stalled")).toBeUndefined();
  expect((await recordOn("prod")).map(({ what, stage }) => `${what} ${stage}`)).toEqual([
    expect.stringMatching(/^begin /),
    "halt canary",
    "pass canary",
    "pass rest",
    "complete rest",
  ]);
  expect(await scene().imagesOn(0, 1, 2)).toEqual(["1.23.0", "1.23.0", "1.23.0"]);
  await expect.poll(() => eventsOf(hub, "prod", "Complete")).toHaveLength(2);
}, 600_000);

test("with onFailure: Rollback the clusters go back to the last complete revision, and the failed one is tried again only when somebody asks", async () => {
  const { hub, fleet } = scene();
  await breakSpoke(fleet.spoke(0));
  const spec = { ...versionTemplate("1.24"), rollout: { onFailure: "Rollback" } };
  await hub.admin.patch(setKey("prod"), { spec });
  const back = await phase(hub, "prod", "RolledBack");
  const failed = revisionOf(back);
  expect(valueAt(back, "status", "rollout", "failedRevision")).toBe(failed);
  expect(await versionsOf(hub, "prod")).toEqual(scene().all("1.23.0"));
  await expect.poll(() => eventsOf(hub, "prod", "RolledBack")).toHaveLength(1);

  await mendSpoke(fleet.spoke(0));
  await annotateSet(hub, "prod", { [steering.retry]: failed });
  const complete = await phase(hub, "prod", "Complete");
  expect(revisionOf(complete)).toBe(failed);
  expect(complete.metadata.annotations?.[steering.retry]).toBeUndefined();
  expect(await scene().imagesOn(0, 1, 2)).toEqual(["1.24.0", "1.24.0", "1.24.0"]);
}, 600_000);

test("a stage soaks and waits for an approval of this very revision", async () => {
  const { hub } = scene();
  const stages = [
    {
      name: "canary",
      selector: { matchLabels: { ring: "0" } },
      after: { soak: "3s", approval: true },
    },
    { name: "rest", selector: {}, maxConcurrency: 2 },
  ];
  const before = await phase(hub, "prod", "Complete");
  await hub.admin.patch(setKey("prod"), {
    spec: { ...versionTemplate("1.23"), rollout: { stages } },
  });
  const waiting = await phase(hub, "prod", "AwaitingApproval");
  const doneAt = Date.parse(String(valueAt(waiting, "status", "stages", 0, "doneAt")));
  expect(Date.now() - doneAt).toBeGreaterThanOrEqual(3_000);
  expect(await scene().imagesOn(1, 2)).toEqual(["1.24.0", "1.24.0"]);
  // The Event follows the status.
  await waitFor(
    "one Event about the approval",
    async () => (await eventsOf(hub, "prod", "AwaitingApproval")).length === 1,
  );

  const gate = `${steering.approve}canary-after`;
  await annotateSet(hub, "prod", { [gate]: `${revisionOf(before)} alice` });
  await waitFor(
    "the approval to be ignored",
    async () => (await eventsOf(hub, "prod", "ApprovalIgnored")).length === 1,
  );
  expect(await scene().imagesOn(1, 2)).toEqual(["1.24.0", "1.24.0"]);
  await annotateSet(hub, "prod", { [gate]: `${revisionOf(waiting)} alice` });
  const complete = await phase(hub, "prod", "Complete");
  expect(valueAt(complete, "status", "stages", 0, "approvedBy")).toBe("alice");
  expect(await scene().imagesOn(0, 1, 2)).toEqual(["1.23.0", "1.23.0", "1.23.0"]);
  expect(await recordOn("prod")).toContainEqual(
    expect.objectContaining({ what: "approve", user: "alice", subject: "end of canary" }),
  );
  await expect.poll(() => eventsOf(hub, "prod", "Approved")).toHaveLength(1);
}, 600_000);

test("a cluster that is skipped keeps what it has, and a rollout that is aborted goes on when somebody asks", async () => {
  const { hub, profiles } = scene();
  const [skipped] = profiles;
  const stages = [{ name: "all", selector: {}, maxConcurrency: 3, before: { approval: true } }];
  await hub.admin.patch(setKey("prod"), {
    spec: { ...versionTemplate("1.24"), rollout: { stages, onFailure: "Pause" } },
  });
  const waiting = await phase(hub, "prod", "AwaitingApproval");
  const revision = revisionOf(waiting);
  const deed = { at: new Date().toISOString(), user: "alice", reason: "broken disk" };
  await annotateSet(hub, "prod", {
    [steering.skipClusters]: `${revision} fleet/${skipped?.name}`,
    [`${steering.did}skip`]: JSON.stringify({ ...deed, subject: `cluster fleet/${skipped?.name}` }),
    [steering.abort]: `${revision} wrong registry`,
    [`${steering.approve}all-before`]: `${revision} alice`,
  });
  const aborted = await phase(hub, "prod", "Halted");
  expect(valueAt(aborted, "status", "rollout", "waitingFor")).toContain("wrong registry");
  expect(await scene().imagesOn(1, 2)).toEqual(["1.23.0", "1.23.0"]);
  await expect.poll(() => eventsOf(hub, "prod", "Skipped")).toHaveLength(1);

  await annotateSet(hub, "prod", { [steering.retry]: revision });
  const complete = await phase(hub, "prod", "Complete");
  expect(valueAt(complete, "status", "clusters")).toMatchObject({ done: 2, excluded: 1 });
  expect(await scene().imagesOn(0, 1, 2)).toEqual(["1.23.0", "1.24.0", "1.24.0"]);
  expect(complete.metadata.annotations?.[`${steering.did}skip`]).toBeUndefined();
  const record = await recordOn("prod");
  expect(record).toContainEqual(expect.objectContaining({ what: "skip", user: "alice" }));
  expect(record.map(({ what }) => what)).toEqual(
    expect.arrayContaining(["begin", "approve", "abort", "retry", "complete"]),
  );
  // For the tests that follow.
  await hub.admin.patch(setKey("prod"), { spec: versionTemplate("1.23") });
  const again = revisionOf(await phase(hub, "prod", "AwaitingApproval"));
  await annotateSet(hub, "prod", { [`${steering.approve}all-before`]: `${again} alice` });
  await phase(hub, "prod", "Complete");
}, 600_000);

test("a label that selects nothing new costs no write, and neither does a controller that starts again", async () => {
  const { hub, profiles } = scene();
  const [profile] = profiles;
  const since = new Date();
  const key = { apiVersion: "multicluster.x-k8s.io/v1alpha1", kind: "ClusterProfile" };
  const { namespace = "", name = "" } = profile ?? {};
  await hub.admin.patch({ ...key, namespace, name }, { metadata: { labels: { noted: "yes" } } });
  await scene().controller.stop();
  scene().controller = await scene().startController();
  const rolling = { msg: "Rolling out fleet sets" };
  await waitFor("the sets to be looked at", () => scene().controller.logLines(rolling).length > 0);
  await moreLooks();
  const writes = (await writesTo(hub, since)).filter(({ resource }) => resource !== "leases");
  expect(writes).toEqual([]);
  await clustersOf(hub, "prod", { done: 3 });
});

/** Two looks at a set follow one another after a second at the earliest. */
async function moreLooks(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 3_000));
}

test("a set that is deleted with Orphan leaves its components without a trace, and another one takes them over without a change on a spoke", async () => {
  const { hub, fleet } = scene();
  const before = await childrenOf(hub, "prod");
  await hub.admin.patch(setKey("prod"), { spec: { deletionPolicy: "Orphan" } });
  const since = new Date();
  await removeSet(hub, "prod");
  for (const child of before.values()) {
    const left = await hub.admin.get(keyOf(child));
    const { labels = {}, annotations = {}, managedFields = [], generation } = left?.metadata ?? {};
    expect(generation).toBe(child.metadata.generation);
    expect(
      Object.keys(labels).filter((name) => Object.values<string>(setLabels).includes(name)),
    ).toEqual([]);
    expect(
      Object.keys(annotations).filter((name) =>
        Object.values<string>(setAnnotations).includes(name),
      ),
    ).toEqual([]);
    expect(managedFields.filter(({ manager }) => manager === "knfleet-set")).toEqual([]);
  }
  const spec = { ...versionTemplate("1.23"), adoption: "Never" };
  await hub.admin.create(setOf("again", spec));
  const refused = await clustersOf(hub, "again", { blocked: 3 });
  expect(valueAt(refused, "status", "notable", 0, "reason")).toBe("NotOwned");
  await hub.admin.patch(setKey("again"), { spec: { adoption: "IfEqual" } });
  await phase(hub, "again", "Complete");
  const after = await childrenOf(hub, "again");
  expect([...after.values()].map(({ metadata }) => [metadata.name, metadata.generation])).toEqual(
    [...before.values()].map(({ metadata }) => [metadata.name, metadata.generation]),
  );
  for (const spoke of fleet.spokes) expect(await writesTo(spoke, since)).toEqual([]);
}, 600_000);

test("of two sets the older one has the clusters, and a field that somebody else changed is told and not fought", async () => {
  const { hub } = scene();
  await hub.admin.create(setOf("rival", {}));
  const rival = await clustersOf(hub, "rival", { blocked: 3 });
  expect(valueAt(rival, "status", "notable", 0)).toMatchObject({
    reason: "Duplicate",
    message: expect.stringContaining("platform/again"),
  });
  await removeSet(hub, "rival");

  const [child] = (await childrenOf(hub, "again")).values();
  if (child === undefined) throw new Error("The set has no component");
  await hub.admin.patch(keyOf(child), { spec: { version: "1.24" } });
  const told = await clustersOf(hub, "again", { diverged: 1, done: 2 });
  expect(valueAt(told, "status", "notable", 0, "message")).toMatch(
    /^spec\.version is not what the set wants; the field manager knfleet-test-admin/,
  );
  expect(valueAt(await hub.admin.get(keyOf(child)), "spec", "version")).toBe("1.24");
  await hub.admin.patch(keyOf(child), { spec: { version: "1.23.0" } });
  await clustersOf(hub, "again", { diverged: 0, done: 3 });
}, 600_000);

test("a component that is deleted by hand comes back, and a set that is deleted with Delete takes all of them with it", async () => {
  const { hub } = scene();
  const [[profile, child] = []] = await childrenOf(hub, "again");
  if (profile === undefined || child === undefined) throw new Error("The set has no component");
  await hub.admin.remove(keyOf(child));
  await waitFor("another one", async () => {
    const uid = (await childrenOf(hub, "again")).get(profile)?.metadata.uid;
    return uid !== undefined && uid !== child.metadata.uid;
  });
  await clustersOf(hub, "again", { done: 3 });
  await expect.poll(() => eventsOf(hub, "again", "ComponentDeleted")).toHaveLength(1);
  await removeSet(hub, "again");
  expect(await childrenOf(hub, "again")).toEqual(new Map());
  expect(await scene().imagesOn(0, 1, 2)).toEqual(["undefined", "undefined", "undefined"]);
  await waitFor("its revisions to be collected", async () => {
    const revisions = await hub.admin.list({ apiVersion: "apps/v1", kind: "ControllerRevision" });
    return revisions.every(({ metadata }) => metadata.labels?.[setLabels.set] !== "again");
  });
  const errors = scene().controller.logLines({ level: "error" });
  expect(errors.filter((line) => "set" in line)).toEqual([]);
}, 600_000);

test("what steers the deletion of a set is what a controller saw before it, and not what somebody writes while none runs", async () => {
  const { hub } = scene();
  await hub.admin.create(setOf("steered", { deletionPolicy: "Orphan" }));
  const { metadata } = await phase(hub, "steered", "Complete");
  await scene().controller.stop();
  const key = setKey("steered");
  const finalizers = [...(metadata.finalizers ?? []), "example.com/held"];
  await hub.admin.patch(key, { metadata: { finalizers } });
  await hub.admin.remove(key);
  // No webhook is there to refuse it.
  await hub.admin.patch(key, { spec: { deletionPolicy: "Delete" } });
  scene().controller = await scene().startController();
  await waitFor("the components to be left", async () => {
    return (await childrenOf(hub, "steered")).size === 0;
  });
  const ignored = () => eventsOf(hub, "steered", "DeletionPolicyIgnored");
  await expect.poll(ignored).toHaveLength(1);
  const left = await hub.admin.list({
    apiVersion: operatorApiVersion,
    kind: "KnativeEventing",
    namespace: setNamespace,
  });
  expect(left.map((one) => one.metadata.deletionTimestamp)).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  await hub.admin.patch(key, { metadata: { finalizers: null } });

  // The same policy, seen in time, holds over the same pause.
  await hub.admin.create(setOf("honest", { adoption: "Always" }));
  await phase(hub, "honest", "Complete");
  await scene().controller.stop();
  await hub.admin.remove(setKey("honest"));
  scene().controller = await scene().startController();
  await waitFor("the set to be gone", async () => {
    return (await hub.admin.get(setKey("honest"))) === undefined;
  });
  expect(await childrenOf(hub, "honest")).toEqual(new Map());
  expect(await scene().imagesOn(0, 1, 2)).toEqual(["undefined", "undefined", "undefined"]);
}, 600_000);
