import { expect, test } from "vitest";

import { anchorAnnotations, anchorNameOf, guardLabels } from "../../api/anchor.ts";
import type { ObjectKey } from "../../api/kubernetes.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { eventsOf } from "./history.ts";
import { condition, create, gone, ready, remove } from "./installation.ts";
import { guardRequestsTo, requestsTo } from "./requests.ts";
import { useScene } from "./scene.ts";

const scene = useScene({ spokes: 1 });

const kind = "KnativeEventing";
const namespace = "knative-eventing";
const apiVersion = "admissionregistration.k8s.io/v1";
const anchor: ObjectKey = {
  apiVersion: "v1",
  kind: "ConfigMap",
  namespace,
  name: anchorNameOf({ kind, name: namespace }),
};
const house: ObjectKey = { apiVersion: "v1", kind: "Namespace", name: namespace };

async function bindings(): Promise<readonly string[]> {
  const found = await scene()
    .fleet.spoke(0)
    .admin.list({ apiVersion, kind: "ValidatingAdmissionPolicyBinding" });
  return found.map(({ metadata }) => metadata.name);
}

async function hubIdOf(): Promise<string> {
  const found = await scene().hub.admin.get({
    apiVersion: "v1",
    kind: "Namespace",
    name: "kube-system",
  });
  return found?.metadata.uid ?? "";
}

test("an anchor is made only when the API server refuses to delete it", async () => {
  const { hub, fleet, profiles } = scene();
  await create(hub, { kind, on: profiles[0] });
  await ready(hub, kind);
  await condition(hub, kind, ["AnchorProtected", { status: "True", reason: "Enforced" }]);
  const spoke = fleet.spoke(0);
  const made = (await requestsTo(spoke)).find(
    ({ verb, resource }) => verb === "create" && resource === "configmaps",
  );
  const before = await guardRequestsTo(spoke);
  const probes = before.filter(
    ({ verb, receivedAt }) => verb === "create" && Number(receivedAt) < Number(made?.receivedAt),
  );
  for (const resource of ["configmaps", "namespaces"]) {
    const denied = probes.filter((one) => one.resource === resource && one.code === 403);
    expect(denied.length).toBeGreaterThanOrEqual(10);
    const [first] = denied.slice(-10);
    expect(Number(denied.at(-1)?.receivedAt) - Number(first?.receivedAt)).toBeGreaterThan(2_000);
  }
});

test("neither the anchor nor its namespace can be deleted by an administrator", async () => {
  const { admin } = scene().fleet.spoke(0);
  await expect(admin.remove(anchor)).rejects.toThrow(
    /Delete the custom resource on the hub instead/,
  );
  await expect(admin.remove(house)).rejects.toThrow(
    /Delete the custom resource on the hub instead/,
  );
});

test("a binding that is deleted is there again, is told of, and proven anew", async () => {
  const { hub, fleet } = scene();
  const hubId = await hubIdOf();
  const name = `anchor-guard.${hubId}.operator.knative.dev`;
  const uid = (await ready(hub, kind)).metadata.uid;
  await fleet.spoke(0).admin.remove({ apiVersion, kind: "ValidatingAdmissionPolicyBinding", name });
  await condition(hub, kind, ["AnchorProtected", { status: "False", reason: "BindingMissing" }]);
  await condition(hub, kind, ["AnchorProtected", { status: "True", reason: "Enforced" }]);
  expect(await bindings()).toContain(name);
  await waitFor("the Event", async () =>
    (await eventsOf(hub, kind, uid)).some((event) => event.startsWith("BindingMissing:")),
  );
});

test("a policy that somebody weakened is put right in place", async () => {
  const { hub, fleet } = scene();
  const { admin } = fleet.spoke(0);
  const name = `anchor-guard.${await hubIdOf()}.operator.knative.dev`;
  const key = { apiVersion, kind: "ValidatingAdmissionPolicy", name };
  const before = await admin.get(key);
  await admin.patch(key, {
    spec: { matchConditions: [{ name: "nothing", expression: "false" }] },
  });
  await waitFor("the policy to be right", async () => {
    const after = await admin.get(key);
    return JSON.stringify(after?.["spec"]) === JSON.stringify(before?.["spec"]);
  });
  expect((await admin.get(key))?.metadata.uid).toBe(before?.metadata.uid);
  await condition(hub, kind, ["AnchorProtected", { status: "True", reason: "Enforced" }]);
});

test("with the component the label of its namespace and the guard go", async () => {
  const { hub, fleet } = scene();
  const { admin } = fleet.spoke(0);
  expect((await admin.get(house))?.metadata.labels?.[guardLabels.namespace]).toBe(await hubIdOf());
  await remove(hub, kind);
  await gone(hub, kind);
  expect(await bindings()).toEqual([]);
  expect(await admin.list({ apiVersion, kind: "ValidatingAdmissionPolicy" })).toEqual([]);
  const left = await admin.get(house);
  expect(left?.metadata.labels?.[guardLabels.namespace]).toBeUndefined();
  expect(left?.metadata.annotations?.[anchorAnnotations.componentUid]).toBeDefined();
});
