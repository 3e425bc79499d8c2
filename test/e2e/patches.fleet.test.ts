import { expect, test } from "vitest";

import type { ObjectKey } from "../../api/kubernetes.ts";
import { valueAt } from "../fleet/json-record.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { change, condition, create, ready } from "./installation.ts";
import { useScene } from "./scene.ts";

const scene = useScene({ spokes: [{}] });
const namespace = "knative-eventing";
const kind = "KnativeEventing";
const autoscaler = { apiVersion: "autoscaling/v2", kind: "HorizontalPodAutoscaler" };
const name = "eventing-webhook";
const key: ObjectKey = { ...autoscaler, namespace, name };
const quota = { apiVersion: "v1", kind: "ResourceQuota", metadata: { namespace, name: "tight" } };

function patchesOf(target: string) {
  const patch = { type: "strategic", content: "$patch: delete" };
  return { patches: [{ target: { ...autoscaler, name: target }, patch }] };
}

test("a patch that cannot be applied changes nothing, and one that deletes waits for the Deployments", async () => {
  const { hub, profiles, fleet } = scene();
  const { admin } = fleet.spoke(0);
  await create(hub, { kind, on: profiles[0] });
  await ready(hub, kind);
  expect(await admin.get(key)).toBeDefined();

  await admin.create({ ...quota, spec: { hard: { pods: "0" } } });
  // Until its controller has counted, a quota holds nobody up.
  await waitFor("the quota to count", async () => {
    const counted = await admin.get({ ...quota, ...quota.metadata });
    return valueAt(counted, "status", "hard", "pods") === "0";
  });
  const pods = await admin.list({ apiVersion: "v1", kind: "Pod", namespace });
  for (const { metadata } of pods) {
    await admin.remove({ apiVersion: "v1", kind: "Pod", namespace, name: metadata.name });
  }
  await condition(hub, kind, ["DeploymentsAvailable", { status: "False" }]);

  await change(hub, kind, patchesOf("nothing"));
  const message =
    /^Install failed with message: patch 0 target autoscaling\/v2, Kind=HorizontalPodAutoscaler, \*\/nothing: did not match any generated resource$/;
  await condition(hub, kind, ["InstallSucceeded", { status: "False", reason: "Error", message }]);
  expect(await admin.get(key)).toBeDefined();

  await change(hub, kind, patchesOf(name));
  // After a failure success is said only when all is available.
  const applied = { status: "Unknown", reason: "Installing", message: /objects applied$/ };
  await condition(hub, kind, ["InstallSucceeded", applied]);
  await condition(hub, kind, ["DeploymentsAvailable", { status: "False" }]);
  expect(await admin.get(key)).toBeDefined();

  await admin.remove({ apiVersion: "v1", kind: "ResourceQuota", namespace, name: "tight" });
  await waitFor("the deletion", async () => (await admin.get(key)) === undefined, {
    timeoutMs: 180_000,
  });
  await ready(hub, kind);

  await change(hub, kind, { patches: null });
  await waitFor("the object to come back", () => admin.get(key));
}, 600_000);
