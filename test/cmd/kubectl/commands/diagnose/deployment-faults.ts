import { conditionOf } from "../../../../fleet/json-record.ts";
import { waitFor } from "../../../../fleet/wait-for.ts";
import { eventing, type Fault } from "./fault.ts";

/** The one Deployment of an installation. */
export const deploymentKey = (namespace: string) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  namespace,
  name: "thin",
});

/** The one StatefulSet of an installation. */
const statefulSetKey = (namespace: string) => ({
  apiVersion: "apps/v1",
  kind: "StatefulSet",
  namespace,
  name: "keeper",
});

/** Faults of Deployments, of StatefulSets and of their pods. Their installations are among `victims`. */
export const deploymentFaults: readonly Fault[] = [
  {
    name: "a Deployment is missing",
    code: "KNF6006",
    says: /Deployment scaled\/thin/,
    make: async (world) => {
      await world.fleet.spoke(0).admin.remove(deploymentKey("scaled"));
      return { args: eventing("scaled") };
    },
  },
  {
    name: "no node takes the pods",
    code: "KNF6010",
    says: /no node takes its pods \(Unschedulable/,
    make: async (world) => {
      const { admin } = world.fleet.spoke(0);
      const key = deploymentKey("unschedulable");
      const template = { spec: { nodeSelector: { nowhere: "true" } } };
      await admin.patch(key, {
        spec: { strategy: { type: "Recreate", rollingUpdate: null }, template },
      });
      await waitFor(
        "pods that nobody takes",
        async () => {
          const pods = await admin.list({
            apiVersion: "v1",
            kind: "Pod",
            namespace: "unschedulable",
          });
          const isOff = conditionOf(await admin.get(key), "Available")?.status !== "True";
          return (
            isOff &&
            pods.some((pod) => conditionOf(pod, "PodScheduled")?.reason === "Unschedulable")
          );
        },
        { timeoutMs: 60_000 },
      );
      return { args: eventing("unschedulable") };
    },
  },
  {
    name: "somebody scaled a Deployment to zero",
    code: "KNF6015",
    severity: "warning",
    says: /Scaled to zero: thin/,
    make: async (world) => {
      const key = deploymentKey("asleep");
      await world.fleet
        .spoke(0)
        .admin.patch(key, { spec: { replicas: 0 } }, { subresource: "scale" });
      return { args: eventing("asleep") };
    },
  },
  {
    name: "the new pods of a rollout are forbidden, and old ones run",
    code: "KNF6010",
    says: /Deployment forbidden\/thin: PodSecurity baseline:latest forbids its pods/,
    make: async (world) => {
      const { admin } = world.fleet.spoke(0);
      const key = deploymentKey("forbidden");
      const label = { "pod-security.kubernetes.io/enforce": "baseline" };
      const namespace = { apiVersion: "v1", kind: "Namespace", name: "forbidden" };
      await admin.patch(namespace, { metadata: { labels: label } });
      await admin.patch(key, { spec: { template: { spec: { hostNetwork: true } } } });
      await waitFor("the pods to be refused", async () => {
        const live = await admin.get(key);
        return conditionOf(live, "ReplicaFailure")?.status === "True";
      });
      const live = await admin.get(key);
      if (conditionOf(live, "Available")?.status !== "True") throw new Error("No old pod runs");
      return { args: eventing("forbidden") };
    },
  },
  {
    name: "no node takes the new pods of a rollout, and old ones run",
    code: "KNF6010",
    says: /Deployment pending\/thin: no node takes its pods \(Unschedulable/,
    make: async (world) => {
      const { admin } = world.fleet.spoke(0);
      const key = deploymentKey("pending");
      const template = { spec: { nodeSelector: { nowhere: "true" } } };
      await admin.patch(key, { spec: { template } });
      await waitFor("a new pod that nobody takes", async () => {
        const pods = await admin.list({ apiVersion: "v1", kind: "Pod", namespace: "pending" });
        return pods.some((pod) => conditionOf(pod, "PodScheduled")?.reason === "Unschedulable");
      });
      return { args: eventing("pending") };
    },
  },
  {
    name: "somebody scaled a StatefulSet to zero",
    code: "KNF6015",
    severity: "warning",
    says: /Scaled to zero: StatefulSet keeper/,
    advises: /scale statefulset\/keeper -n drowsy --replicas=1/,
    make: async (world) => {
      await world.fleet
        .spoke(0)
        .admin.patch(statefulSetKey("drowsy"), { spec: { replicas: 0 } }, { subresource: "scale" });
      return { args: eventing("drowsy") };
    },
  },
  {
    name: "no node takes the new pod of a StatefulSet",
    code: "KNF6010",
    says: /StatefulSet hanging\/keeper: no node takes its pods \(Unschedulable/,
    make: async (world) => {
      const { admin } = world.fleet.spoke(0);
      const template = { spec: { nodeSelector: { nowhere: "true" } } };
      await admin.patch(statefulSetKey("hanging"), { spec: { template } });
      await waitFor("a new pod that nobody takes", async () => {
        const pods = await admin.list({ apiVersion: "v1", kind: "Pod", namespace: "hanging" });
        return pods.some((pod) => conditionOf(pod, "PodScheduled")?.reason === "Unschedulable");
      });
      return { args: eventing("hanging") };
    },
  },
];
