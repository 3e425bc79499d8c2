import assert from "node:assert/strict";

import { operatorApiVersion } from "../../api/component.ts";
import { timestampOf } from "../../api/conditions.ts";
import { recordAt } from "../../api/fields.ts";
import { fleetSetApiVersion } from "../../api/fleet-set.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import * as component from "../e2e/installation.ts";
import type { Cluster } from "../fleet/cluster.ts";
import { conditionOf, valueAt } from "../fleet/json-record.ts";
import { waitFor } from "../fleet/wait-for.ts";
import type { KnativeWorld } from "./knative-world.ts";

const longMs = 300_000;
const namespace = "knative-serving";
const set = {
  apiVersion: fleetSetApiVersion,
  kind: "KnativeServingSet",
  namespace,
  name: "serving",
};
const user = { namespace: "default", name: "hello" };
const service = { apiVersion: "serving.knative.dev/v1", kind: "Service", ...user };

/**
 * A set takes the installation over and installs a second cluster. A change gives the Routes another domain: Serving's own controller makes the Service of the user not ready until an
 * ingress controller has taken that up, and none does.
 */
export async function canary(world: KnativeWorld): Promise<void> {
  const { hub, spoke, profile, other } = world;
  for (const one of [spoke, other.spoke]) await mayListUsers(one);
  await playUntilReady(spoke);
  const profileType = { apiVersion: "multicluster.x-k8s.io/v1alpha1", kind: "ClusterProfile" };
  const { namespace: profiles, name } = profile;
  await hub.admin.patch(
    { ...profileType, namespace: profiles, name },
    { metadata: { labels: { stage: "canary" } } },
  );
  const stored = await component.read(hub, "KnativeServing");
  const { clusterProfileRef: _, ...spec } = recordAt(stored, "spec");
  const { apiVersion, kind, ...metadata } = set;
  await hub.admin.create({
    apiVersion,
    kind,
    metadata,
    spec: {
      clusters: { from: "Selector", selector: { namespaces: [profiles] } },
      template: { spec },
      adoption: "Always",
      rollout: {
        // Time for Serving's controller.
        minReadySeconds: 15,
        verify: { workloads: { within: "5s" } },
        stages: [
          { name: "canary", selector: { matchLabels: { stage: "canary" } } },
          { name: "rest", selector: {} },
        ],
      },
    },
  });
  await rollout(hub, "Complete");

  const config = { domain: { "other.example": "" } };
  await hub.admin.patch(set, { spec: { template: { spec: { config } } } });
  const halted = await rollout(hub, "Halted");
  const notable = recordAt(valueAt(halted, "status", "notable", 0));
  assert.equal(notable["reason"], "WorkloadsBroken");
  assert.match(String(notable["message"]), /1 of \d+ broke .*Service default\/hello/);
  const own = await component.read(hub, "KnativeServing");
  assert.equal(conditionOf(own, "Ready")?.status, "True");
  const rest = await hub.admin.get({
    apiVersion: operatorApiVersion,
    kind: "KnativeServing",
    namespace,
    name: `${set.name}-${other.profile.name}`,
  });
  assert.ok(rest);
  assert.equal(valueAt(rest, "spec", "config", "domain"), undefined);
  await hub.admin.remove(set);
  await waitFor("the set to be gone", async () => (await hub.admin.get(set)) === undefined);
}

/** Lets the hub list the objects of users on a spoke. */
export async function mayListUsers({ admin }: Cluster): Promise<void> {
  const rbac = "rbac.authorization.k8s.io";
  const metadata = { name: "knfleet-users" };
  await admin.apply({
    apiVersion: `${rbac}/v1`,
    kind: "ClusterRole",
    metadata,
    rules: [{ apiGroups: ["*"], resources: ["*"], verbs: ["list"] }],
  });
  await admin.apply({
    apiVersion: `${rbac}/v1`,
    kind: "ClusterRoleBinding",
    metadata,
    roleRef: { apiGroup: rbac, kind: "ClusterRole", ...metadata },
    subjects: [{ kind: "ServiceAccount", namespace: "knfleet", name: "knfleet-hub" }],
  });
}

/** Plays the autoscaler and the ingress controller, which do not run here, until Serving's controller calls the Service ready. */
async function playUntilReady({ admin }: Cluster): Promise<void> {
  const revision = `${user.name}-00001`;
  const autoscaler = {
    apiVersion: "autoscaling.internal.knative.dev/v1alpha1",
    kind: "PodAutoscaler",
    ...user,
    name: revision,
  };
  const ingress = {
    apiVersion: "networking.internal.knative.dev/v1alpha1",
    kind: "Ingress",
    ...user,
  };
  const balancer = { ingress: [{ domainInternal: "kourier.kourier-system.svc.cluster.local" }] };
  await waitFor(
    "the Service to be ready",
    async () => {
      await play(admin, autoscaler, ["Active", "Ready", "SKSReady", "ScaleTargetInitialized"], {
        serviceName: revision,
        metricsServiceName: `${revision}-private`,
        actualScale: 1,
        desiredScale: 1,
      });
      await play(admin, ingress, ["LoadBalancerReady", "NetworkConfigured", "Ready"], {
        publicLoadBalancer: balancer,
        privateLoadBalancer: balancer,
      });
      return conditionOf(await admin.get(service), "Ready")?.status === "True";
    },
    { timeoutMs: longMs, everyMs: 1_000 },
  );
}

/** Writes a status in which these conditions are True, once the object is there. */
async function play(
  admin: Cluster["admin"],
  key: Parameters<Cluster["admin"]["get"]>[0],
  types: readonly string[],
  more: object,
): Promise<void> {
  const stored = await admin.get(key);
  if (stored === undefined || conditionOf(stored, "Ready")?.status === "True") return;
  const lastTransitionTime = timestampOf(new Date());
  const conditions = types.map((type) => ({ type, status: "True", lastTransitionTime }));
  const observedGeneration = stored.metadata.generation;
  const status = { observedGeneration, conditions, ...more };
  await admin.patch(key, { status }, { subresource: "status" });
}

async function rollout({ admin }: Cluster, wanted: string): Promise<KubeObject> {
  let last: KubeObject | undefined;
  const isThere = async (): Promise<KubeObject | false | undefined> => {
    last = await admin.get(set);
    const observed = valueAt(last, "status", "observedGeneration") === last?.metadata.generation;
    return observed && valueAt(last, "status", "rollout", "phase") === wanted && last;
  };
  return await waitFor(`the set to be ${wanted}`, isThere, { timeoutMs: longMs }).catch(
    (cause: unknown) => {
      throw new Error(`The set is ${JSON.stringify(last?.["status"])}`, { cause });
    },
  );
}
