import type { KubeObject } from "../../../api/kubernetes.ts";
import { component, deployment, now } from "./fleet-facts.ts";

const local = component({ kind: "KnativeEventing", cluster: null, wanted: "1.23" });
const owner = { kind: "KnativeEventing", name: "knative-eventing" };
const eventing = { label: "knative-eventing", owner };
const failing = component({
  cluster: "eu-1",
  ready: {
    status: "False",
    reason: "ClusterProfileNotFound",
    message:
      "ClusterProfile fleet/eu-1 does not exist, and this sentence is so long that a narrow terminal has to cut it",
    lastTransitionTime: "2026-11-20T12:00:00Z",
  },
});
const remote = component({ namespace: "team-b", cluster: "us-1" });

/** What a hub says: Eventing on the hub itself with a Deployment that is down, Serving on two clusters. */
export const recordedObjects: readonly KubeObject[] = [
  local,
  failing,
  remote,
  deployment({ ...eventing, name: "eventing-controller", replicas: 2 }),
  deployment({ ...eventing, name: "imc-dispatcher", available: false }),
  profile("eu-1", { region: "eu" }, [{ name: "tier", value: "prod" }]),
  profile("us-1", { region: "us" }, []),
  event("1", {
    reason: "InstallFailed",
    message: "The API server refused Deployment x",
    minutes: 5,
  }),
  event("2", {
    reason: "Contested",
    message: "Somebody changes it\u001b[2J",
    minutes: 1,
    count: 7,
  }),
  event("4", { reason: "InternalError", message: "exec: plugin failed", minutes: 4 }),
  event("3", { reason: "Installed", message: "Installed", minutes: 2, type: "Normal" }),
];

function profile(
  name: string,
  labels: Readonly<Record<string, string>>,
  properties: readonly object[],
): KubeObject {
  return {
    apiVersion: "multicluster.x-k8s.io/v1alpha1",
    kind: "ClusterProfile",
    metadata: { namespace: "fleet", name, uid: name, resourceVersion: "1", labels },
    status: { properties },
  };
}

function event(
  name: string,
  facts: {
    readonly reason: string;
    readonly message: string;
    readonly minutes: number;
    readonly count?: number;
    readonly type?: string;
  },
): KubeObject {
  const { kind, metadata } = local;
  const { reason, message, minutes, count = 1, type = "Warning" } = facts;
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { namespace: metadata.namespace, name, uid: name, resourceVersion: "1" },
    type,
    reason,
    message,
    count,
    lastTimestamp: new Date(now.getTime() - minutes * 60_000).toISOString(),
    involvedObject: { kind, namespace: metadata.namespace, name: metadata.name, uid: metadata.uid },
    source: { component: "knativeeventing-controller" },
  };
}
