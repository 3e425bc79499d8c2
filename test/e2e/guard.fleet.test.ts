import { describe, expect, test } from "vitest";

import { keyOf, type ObjectKey } from "../../api/kubernetes.ts";
import {
  anchorAnnotations,
  anchorLabels,
  anchorNameOf,
  guardAnnotations,
  guardLabels,
} from "../../installation/anchor.ts";
import { conditionOf } from "../fleet/json-record.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { useStory } from "../support/use-story.ts";
import { useClearScene } from "./clear-scene.ts";
import { eventsOf } from "./history.ts";
import { componentOf, condition, create, gone, installed, ready, remove } from "./installation.ts";
import { guardRequestsTo, requestsTo } from "./requests.ts";
import { useScene } from "./scene.ts";

const scene = useScene({ spokes: 1 });
useClearScene(scene);

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

/** Waits as long as a busy machine may take. */
function until<T>(what: string, check: () => Promise<T | false>): Promise<T> {
  return waitFor(what, check, { timeoutMs: 90_000 });
}

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

describe("an installation with a guard", () => {
  useStory();

  test("an anchor is made when its policies are there, and is said to be protected only when the API server was seen to refuse to delete it", async () => {
    const { hub, fleet, profiles } = scene();
    await create(hub, { kind, on: profiles[0] });
    await condition(hub, kind, ["AnchorProtected", { status: "False", reason: "Probing" }]);
    await ready(hub, kind);
    await condition(hub, kind, ["AnchorProtected", { status: "True", reason: "Enforced" }]);
    const spoke = fleet.spoke(0);
    const made = (await requestsTo(spoke)).find(
      ({ verb, resource }) => verb === "create" && resource === "configmaps",
    );
    const created = (await guardRequestsTo(spoke)).filter(({ verb }) => verb === "create");
    const policies = created.filter(({ resource }) => resource.startsWith("validating"));
    expect(policies).toHaveLength(4);
    for (const { code, answeredAt } of policies) {
      expect(code).toBe(201);
      expect(Number(answeredAt)).toBeLessThanOrEqual(Number(made?.receivedAt));
    }
    for (const resource of ["configmaps", "namespaces"]) {
      const all = created.filter((one) => one.resource === resource);
      const denied = all.slice(all.findLastIndex(({ code }) => code !== 403) + 1);
      expect(denied.length).toBeGreaterThanOrEqual(6);
      const [first] = denied;
      expect(Number(denied.at(-1)?.receivedAt) - Number(first?.receivedAt)).toBeGreaterThan(2_400);
    }
  });

  test("D-32: neither the anchor nor its namespace can be deleted by an administrator", async () => {
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
    await fleet
      .spoke(0)
      .admin.remove({ apiVersion, kind: "ValidatingAdmissionPolicyBinding", name });
    await condition(hub, kind, ["AnchorProtected", { status: "False", reason: "BindingMissing" }]);
    await condition(hub, kind, ["AnchorProtected", { status: "True", reason: "Enforced" }]);
    expect(await bindings()).toContain(name);
    await until("the Event", async () =>
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
    await until("the policy to be right", async () => {
      const after = await admin.get(key);
      return JSON.stringify(after?.["spec"]) === JSON.stringify(before?.["spec"]);
    });
    expect((await admin.get(key))?.metadata.uid).toBe(before?.metadata.uid);
    await condition(hub, kind, ["AnchorProtected", { status: "True", reason: "Enforced" }]);
  });

  test(
    "an anchor that is deleted with a confirmation comes back with all that it owned (C23)",
    { timeout: 600_000 },
    async () => {
      const { hub, fleet } = scene();
      const { admin } = fleet.spoke(0);
      const old = (await admin.get(anchor))?.metadata.uid ?? "";
      const confirm = { [guardAnnotations.confirmDeletion]: old };
      const wrong = { [guardAnnotations.confirmDeletion]: "another-uid" };
      await expect(admin.patch(anchor, { metadata: { annotations: wrong } })).rejects.toThrow(
        /must be the UID of this object/,
      );
      await admin.patch(anchor, { metadata: { annotations: confirm } });
      await admin.remove(anchor);
      const uid = await until("another anchor", async () => {
        const found = (await admin.get(anchor))?.metadata.uid;
        return found !== undefined && found !== old && found;
      });
      const component = await condition(hub, kind, ["InstallSucceeded", { status: "True" }]);
      await until("everything to be owned by it", async () => {
        const objects = await installed(fleet.spoke(0), component.metadata.uid);
        const owned = objects.filter(({ metadata }) => metadata.namespace === namespace);
        const owners = owned.flatMap(({ metadata }) => metadata.ownerReferences ?? []);
        const ofAnchors = owners.filter((owner) => owner.name === anchor.name);
        const isAllThere = owned.length > 30 && ofAnchors.every((owner) => owner.uid === uid);
        return isAllThere && ofAnchors.length === owned.length;
      });
      await ready(hub, kind, 90_000);
      const events = await eventsOf(hub, kind, component.metadata.uid);
      expect(events.filter((event) => event.startsWith("AnchorLost:"))).toHaveLength(1);
    },
  );

  test("with the component the label of its namespace and the guard go", async () => {
    const { hub, fleet } = scene();
    const { admin } = fleet.spoke(0);
    expect((await admin.get(house))?.metadata.labels?.[guardLabels.namespace]).toBe(
      await hubIdOf(),
    );
    await remove(hub, kind);
    await gone(hub, kind);
    expect(await bindings()).toEqual([]);
    expect(await admin.list({ apiVersion, kind: "ValidatingAdmissionPolicy" })).toEqual([]);
    const left = await admin.get(house);
    expect(left?.metadata.labels?.[guardLabels.namespace]).toBeUndefined();
    expect(left?.metadata.annotations?.[anchorAnnotations.componentUid]).toBeDefined();
  });
});

test("D-32, T-60: a component whose name has 226 characters is installed, guarded and removed", async () => {
  const { hub, fleet, profiles } = scene();
  const wanted = componentOf({ kind, on: profiles[0] });
  const name = `${"long-name.".repeat(23).slice(0, 225)}z`;
  const component = await hub.admin.create({ ...wanted, metadata: { ...wanted.metadata, name } });
  const { uid } = component.metadata;
  const stored = () => hub.admin.get(keyOf(component));
  for (const type of ["Ready", "AnchorProtected"]) {
    await until(type, async () => conditionOf(await stored(), type)?.status === "True");
  }
  const key = { ...anchor, name: anchorNameOf({ kind, name }) };
  const root = await fleet.spoke(0).admin.get(key);
  expect(root?.metadata.labels?.[anchorLabels.componentName]).toHaveLength(63);
  expect(root?.metadata.annotations?.[anchorAnnotations.componentName]).toBe(name);
  await until("an Event", async () => (await eventsOf(hub, kind, uid)).length > 0);

  await hub.admin.remove(keyOf(component));
  await until("the component to be gone", async () => (await stored()) === undefined);
  expect(await installed(fleet.spoke(0), uid)).toEqual([]);
  expect(await bindings()).toEqual([]);
}, 600_000);
