import { afterEach, expect, onTestFinished, test } from "vitest";

import { nameId } from "../../api/keys.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import { shardOf } from "../../api/shards.ts";
import { conditionOf, valueAt } from "../fleet/json-record.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { requestsTo, writesTo } from "./requests.ts";
import {
  annotateSet,
  phase,
  removeSet,
  setKey,
  setOf,
  useSetScene,
  versionTemplate,
} from "./set-scene.ts";

// A Job is looked at each ten seconds.
const scene = useSetScene({ clockFactor: 4 });
const namespace = "knative-eventing";
const name = "smoked";

afterEach(async () => {
  const { hub } = scene();
  if ((await hub.admin.get(setKey(name))) !== undefined) await removeSet(hub, name);
}, 240_000);

/** A rollout that runs this image on each cluster, in a pod with these fields besides. */
function smokedBy(image: string, pod: object = {}, paused = false) {
  const { rollout } = setOf(name, {}).spec;
  const template = { spec: { containers: [{ name: "smoke", image }], ...pod } };
  const checks = [{ name: "smoke", job: { template } }];
  return { rollout: { ...rollout, paused, progressDeadline: "10m", verify: { checks } } };
}

/** The Jobs of checks on a spoke. */
function jobsOn(spoke: number): Promise<readonly KubeObject[]> {
  const { admin } = scene().fleet.spoke(spoke);
  const labelSelector = "knfleet.dev/check=smoke";
  return admin.list({ apiVersion: "batch/v1", kind: "Job", namespace, labelSelector });
}

async function jobOn(spoke: number): Promise<KubeObject> {
  const [job, ...others] = await jobsOn(spoke);
  if (job === undefined || others.length > 0) throw new Error("There is not one Job");
  return job;
}

// More than 15 s: three rollouts, one after the other, over three clusters and with a Job on each, and a controller that starts anew between them.
test("each cluster runs the Job of a check once for each revision, and one that fails halts the rollout at the canary", async () => {
  const { hub, fleet, profiles } = scene();
  const [canary] = profiles;
  await hub.admin.create(
    setOf(name, { ...versionTemplate("1.22"), ...smokedBy("example.com/smoke:1") }),
  );
  await phase(hub, name, "Complete");
  const first = await Promise.all(fleet.spokes.map((_, spoke) => jobOn(spoke)));
  for (const job of first) {
    expect(conditionOf(job, "Complete")?.status).toBe("True");
    expect(job.metadata.ownerReferences).toMatchObject([{ kind: "ConfigMap" }]);
  }

  await hub.admin.patch(setKey(name), {
    spec: { ...versionTemplate("1.23"), ...smokedBy("example.com/fails:1") },
  });
  const halted = await phase(hub, name, "Halted");
  const failed = await jobOn(0);
  expect(valueAt(halted, "status", "notable", 0)).toMatchObject({
    cluster: `fleet/${canary?.name}`,
    state: "Failed",
    reason: "CheckFailed",
    message: expect.stringMatching(
      new RegExp(
        `^Check smoke: Job ${failed.metadata.name} failed \\(BackoffLimitExceeded\\): container smoke ended with 3: its log was not read: \\d+$`,
      ),
    ),
  });
  // The other clusters keep what they had, and their Jobs.
  expect((await jobOn(1)).metadata.uid).toBe(first[1]?.metadata.uid);

  // Another process finds the answer and runs nothing.
  await scene().controller.stop();
  const since = new Date();
  scene().controller = await scene().startController();
  await waitFor("the Job to be looked at", async () => {
    const requests = await requestsTo(fleet.spoke(0), since);
    return requests.some(({ verb, name: of }) => verb === "get" && of === failed.metadata.name);
  });
  await phase(hub, name, "Halted");
  expect((await jobOn(0)).metadata.uid).toBe(failed.metadata.uid);

  // A retry runs it again.
  const revision = String(valueAt(halted, "status", "updateRevision"));
  await annotateSet(hub, name, { "knfleet.dev/retry": revision });
  const again = await waitFor("the Job to be run again", async () => {
    const [job] = await jobsOn(0);
    return job !== undefined && job.metadata.uid !== failed.metadata.uid && job;
  });
  expect(again.metadata.name).toBe(failed.metadata.name);

  await hub.admin.patch(setKey(name), { spec: smokedBy("example.com/smoke:2") });
  await phase(hub, name, "Complete");
  for (const [spoke, before] of first.entries()) {
    // oxlint-disable-next-line no-await-in-loop -- one spoke after another
    expect((await jobOn(spoke)).metadata.name).not.toBe(before.metadata.name);
  }

  await removeSet(hub, name);
  await waitFor("the Jobs to go with the anchors", async () => {
    const left = await Promise.all(fleet.spokes.map((_, spoke) => jobsOn(spoke)));
    return left.flat().length === 0;
  });
}, 400_000);

test("one of several replicas runs the Jobs on the clusters of all", async () => {
  const { hub, fleet, controller, profiles } = scene();
  const shards = profiles.map((profile) => shardOf(nameId(profile), 3));
  expect(new Set(shards).size).toBe(3);
  await controller.stop();
  const replicas = await Promise.all([scene().startReplica(3), scene().startReplica(3)]);
  onTestFinished(async () => {
    await Promise.all(replicas.map((replica) => replica.stop()));
    scene().controller = await scene().startController();
    await removeSet(hub, name);
  }, 240_000);
  await waitFor("each replica to serve clusters", async () => {
    const texts = await Promise.all(replicas.map((replica) => replica.metrics()));
    return texts.every((text) => /^knfleet_shards_held [12]$/m.test(text));
  });

  const since = new Date();
  await hub.admin.create(
    setOf(name, { ...versionTemplate("1.22"), ...smokedBy("example.com/smoke:1") }),
  );
  await phase(hub, name, "Complete");
  const writes = await Promise.all(fleet.spokes.map((spoke) => writesTo(spoke, since)));
  const writersOf = (isJob: boolean) =>
    writes.map((all) => {
      const chosen = all.filter(({ resource }) => (resource === "jobs") === isJob);
      return new Set(chosen.map(({ userAgent }) => userAgent));
    });
  const each = writersOf(true);
  expect(each.map(({ size }) => size)).toEqual([1, 1, 1]);
  expect(new Set(each.flatMap((one) => [...one])).size).toBe(1);
  // Nothing else is written by a replica that does not serve the cluster.
  expect(writersOf(false).map(({ size }) => size)).toEqual([1, 1, 1]);
  expect(new Set(writersOf(false).flatMap((one) => [...one])).size).toBe(2);
}, 240_000);

test("the API server takes no Job with more than a Job of a check may have, and stores no further field", async () => {
  const { hub } = scene();
  const create = (pod: object) =>
    hub.admin.create(setOf(name, smokedBy("example.com/smoke:1", pod, true)));
  for (const [pod, said] of [
    [{ hostNetwork: true }, "hostNetwork"],
    [{ serviceAccountName: "eventing-controller" }, "serviceAccountName"],
    [{ volumes: [{ name: "node", hostPath: { path: "/" } }] }, "emptyDir"],
  ] as const) {
    // oxlint-disable-next-line no-await-in-loop -- one after another
    await expect(create(pod)).rejects.toThrow(said);
  }
  const stored = await create({
    initContainers: [{ name: "a", image: "b" }],
    nodeName: "node",
    priorityClassName: "system-cluster-critical",
  });
  const checks = valueAt(stored, "spec", "rollout", "verify", "checks");
  expect(valueAt(checks, 0, "job", "template", "spec")).toEqual({
    containers: [{ name: "smoke", image: "example.com/smoke:1" }],
    restartPolicy: "Never",
  });
});
