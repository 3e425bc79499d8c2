import { expect, test } from "vitest";

import { FleetError } from "../../../api/errors.ts";
import type { ObjectMeta } from "../../../api/kubernetes.ts";
import type { Reason } from "../../../api/reasons.ts";
import { deliveryOf } from "../../../controller/pull/delivery.ts";
import type { DeliveryMode } from "../../../controller/pull/pull-deps.ts";
import { serving } from "../../support/component.ts";
import { hubWithNone } from "../dispatched-hub.ts";

const clusterProfileRef = { namespace: "knative-serving", name: "spoke" };
const finalizers = ["knativeservings.operator.knative.dev"];
const deletionTimestamp = "2026-01-01T00:00:00Z";

function annotated(annotations: Readonly<Record<string, string>>): Partial<ObjectMeta> {
  return {
    annotations: Object.fromEntries(
      Object.entries(annotations).map(([name, value]) => [`knfleet.dev/${name}`, value]),
    ),
  };
}

interface Case {
  readonly metadata?: Partial<ObjectMeta>;
  readonly spec?: object;
  readonly mode?: DeliveryMode;
  /** Why the provider file serves no way in; absent: there is one. */
  readonly refusal?: Reason;
  /** The label of the ClusterProfile. */
  readonly label?: string;
}

const auto: Case = { mode: "Auto", refusal: "AccessProviderNotConfigured", label: "spoke" };

test.each<readonly [string, Case, string]>([
  ["without the annotation", {}, "Push"],
  ["Pull", { metadata: annotated({ delivery: "Pull" }) }, "Pull"],
  ["Push", { ...auto, metadata: annotated({ delivery: "Push" }) }, "Push"],
  ["another value", { metadata: annotated({ delivery: "pull" }) }, "Push"],
  ["Pull on the hub itself", { metadata: annotated({ delivery: "Pull" }), spec: {} }, "Push"],
  ["pulled already", { metadata: annotated({ "managed-cluster": "managed" }) }, "Pull"],
  [
    "pulled, and Push from now on",
    { metadata: annotated({ "managed-cluster": "managed", delivery: "Push" }) },
    "HandBack",
  ],
  [
    "pushed, and removed before it was pulled",
    { metadata: { ...annotated({ delivery: "Pull" }), finalizers, deletionTimestamp } },
    "Push",
  ],
  ["Auto, no way in", auto, "Pull"],
  ["Auto, no provider that serves it", { ...auto, refusal: "MulticlusterDisabled" }, "Pull"],
  ["Auto, a way in that does not work now", { ...auto, refusal: "SpokeUnreachable" }, "Push"],
  ["Auto, a way in", { mode: "Auto", label: "spoke" }, "Push"],
  [
    "Auto, not of Open Cluster Management",
    { mode: "Auto", refusal: "MulticlusterDisabled" },
    "Push",
  ],
  ["Auto, a ManagedCluster that is not there", { ...auto, label: "other" }, "Push"],
  ["Auto, begun before", { ...auto, metadata: { finalizers } }, "Push"],
  [
    "Auto, not permitted",
    { ...auto, spec: { clusterProfileRef: { namespace: "elsewhere", name: "spoke" } } },
    "Push",
  ],
])("the delivery of a component: %s", async (_, one, delivery) => {
  const { metadata = {}, spec = { clusterProfileRef }, mode = "Push", refusal, label } = one;
  const { memory, deps } = hubWithNone();
  const labels = label === undefined ? {} : { "open-cluster-management.io/cluster-name": label };
  const profile = { spec: { clusterManager: { name: "open-cluster-management" } } };
  memory.edit("ClusterProfile", "spoke", {
    ...profile,
    metadata: { ...clusterProfileRef, labels },
  });
  memory.edit("ManagedCluster", "spoke", {});
  const { signal } = new AbortController();
  const connection = {
    client: deps.hub,
    profile: { ...clusterProfileRef, uid: "u" },
    provider: "",
    fingerprint: "",
    signal,
  };
  const spokes = {
    acquire: () =>
      refusal === undefined
        ? Promise.resolve(connection)
        : Promise.reject(new FleetError(refusal, "no way in")),
    state: () => undefined,
  };
  const hub = { ...deps.hub, list: memory.list };
  const namespaces = ["knative-serving"];
  const pull = { mode, agentImage: "image", namespaces, watch: { open: () => undefined } };
  const component = serving({ metadata, spec });
  const all = { ...deps, hub, spokes, pull, onChange: () => undefined };
  expect(await deliveryOf(component, all, signal)).toBe(delivery);
});
