import { listAt, recordAt } from "../../api/fields.ts";
import { keyOf, type Manifest } from "../../api/kubernetes.ts";
import { definitionOf } from "../controller/hand-made-installation.ts";
import type { Cluster } from "../fleet/fleet.ts";
import { waitFor } from "../fleet/wait-for.ts";

export const group = "eventing.knative.dev";
const trigger = {
  apiVersion: `${group}/v1`,
  kind: "Trigger",
  metadata: { namespace: "shop", name: "orders" },
  spec: { broker: "default" },
};
const anybody = {
  kind: "Group",
  name: "system:authenticated",
  apiGroup: "rbac.authorization.k8s.io",
};

/** The kind Trigger, with a status of its own. */
function triggerDefinition(): Manifest {
  const definition = definitionOf(group, "v1", { Trigger: "triggers" });
  const versions = listAt(recordAt(definition, "spec"), "versions").map((one) => ({
    ...recordAt(one),
    subresources: { status: {} },
  }));
  return { ...definition, spec: { ...recordAt(definition, "spec"), versions } };
}

/** What a team has on a spoke: a Trigger that is as its controller said. */
export async function useKnative(spoke: Cluster): Promise<void> {
  const { admin } = spoke;
  await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } });
  await admin.apply(triggerDefinition());
  const made = await waitFor("the kind Trigger", () => admin.apply(trigger).catch(() => undefined));
  await saysReady(spoke, "True");
  // Times of objects are whole seconds, and one that is no older than a revision was not broken by it.
  const created = Date.parse(made.metadata.creationTimestamp ?? "");
  await waitFor("the next second", async () => Date.now() >= created + 1_000);
}

/** What its controller says of the Trigger. */
export async function saysReady({ admin }: Cluster, status: string): Promise<void> {
  const stored = await admin.get(keyOf(trigger));
  const lastTransitionTime = new Date().toISOString().replace(/\.\d+Z$/, "Z");
  const ready = { type: "Ready", status, reason: "BrokerGone", lastTransitionTime };
  const said = { observedGeneration: stored?.metadata.generation, conditions: [ready] };
  await admin.patch(keyOf(trigger), { status: said }, { subresource: "status" });
}

/** Lets everybody list the Triggers of a spoke. */
export async function mayListTriggers({ admin }: Cluster): Promise<void> {
  const name = "team-triggers";
  const rbac = "rbac.authorization.k8s.io";
  const rules = [{ apiGroups: [group], resources: ["*"], verbs: ["list"] }];
  await admin.apply({ apiVersion: `${rbac}/v1`, kind: "ClusterRole", metadata: { name }, rules });
  const roleRef = { apiGroup: rbac, kind: "ClusterRole", name };
  const binding = { kind: "ClusterRoleBinding", metadata: { name }, roleRef, subjects: [anybody] };
  await admin.apply({ apiVersion: `${rbac}/v1`, ...binding });
}
