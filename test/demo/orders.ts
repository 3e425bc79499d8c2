import { timestampOf } from "../../api/conditions.ts";
import type { Cluster } from "../fleet/fleet.ts";

const trigger = {
  apiVersion: "eventing.knative.dev/v1",
  kind: "Trigger",
  namespace: "shop",
  name: "orders",
} as const;

/** What a team has on a spoke. */
export const ordersYaml = `apiVersion: v1
kind: Namespace
metadata: { name: ${trigger.namespace} }
---
apiVersion: ${trigger.apiVersion}
kind: Trigger
metadata: { name: ${trigger.name}, namespace: ${trigger.namespace} }
spec: { broker: default, subscriber: { uri: "http://orders.shop.svc" } }
`;

/** Lets the hub list what teams have, as docs/sets.md wants it for the check of workloads. */
export const listWorkloadsYaml = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: knfleet-users }
rules:
  - apiGroups:
      - serving.knative.dev
      - eventing.knative.dev
      - flows.knative.dev
      - messaging.knative.dev
      - sources.knative.dev
    resources: ["*"]
    verbs: [list]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: knfleet-users }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: knfleet-users }
subjects: [{ kind: ServiceAccount, namespace: knfleet, name: knfleet-hub }]
`;

const why = { reason: "BrokerGone", message: "The Broker takes no events" };

/** Says of the Trigger of the team what Knative's controller would say: pods are played on the spokes, so there is none. */
export async function playKnative({ admin }: Cluster, status: "True" | "False"): Promise<void> {
  const stored = await admin.get(trigger);
  const ready = { type: "Ready", status, lastTransitionTime: timestampOf(new Date()) };
  const said = {
    observedGeneration: stored?.metadata.generation,
    conditions: [status === "True" ? ready : { ...ready, ...why }],
  };
  await admin.patch(trigger, { status: said }, { subresource: "status" });
}
