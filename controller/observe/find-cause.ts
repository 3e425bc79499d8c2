import type { KubeClient } from "../../access/kube/kube-client.ts";
import { isRecord } from "../../api/fields.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import { knownResource } from "../../api/resources.ts";
import { causeOfPods, causeOfRefusal, podsOfNewest } from "../../installation/pod-cause.ts";

const pods = knownResource("v1", "Pod");
const events = knownResource("v1", "Event");

/**
 * Looks for the cause why the pods of a workload are not ready: at the pods, and without any at the Events. Undefined without a cause. Free of text from the cluster except names. Throws as
 * the client does.
 */
export async function findCause(
  workload: KubeObject,
  client: Pick<KubeClient, "list">,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { namespace } = workload.metadata;
  const labelSelector = selectorOf(workload);
  // An empty selector would select all pods of the namespace.
  if (namespace === undefined || labelSelector === "") return undefined;
  const ref = { resource: pods, namespace, labelSelector };
  const { items } = await client.list(ref, {}, signal);
  // The status of a Deployment tells that its pods are refused. Other workloads tell it by Events only.
  if (items.length > 0 || workload.kind === "Deployment") return causeOfPods(podsOfNewest(items));
  return findCauseInEvents(workload, client, signal);
}

async function findCauseInEvents(
  { kind, metadata: { namespace, name, uid } }: KubeObject,
  client: Pick<KubeClient, "list">,
  signal: AbortSignal,
): Promise<string | undefined> {
  const about = {
    "involvedObject.kind": kind,
    "involvedObject.name": name,
    "involvedObject.uid": uid,
  };
  const fields = Object.entries({ ...about, reason: "FailedCreate" });
  const fieldSelector = fields.map(([field, value]) => `${field}=${value}`).join(",");
  const ref = {
    resource: events,
    ...(namespace === undefined ? {} : { namespace }),
    fieldSelector,
  };
  const { items } = await client.list(ref, {}, signal);
  const last = items.toSorted((a, b) => (timeOf(a) < timeOf(b) ? 1 : -1))[0];
  const message = last?.["message"];
  return typeof message === "string" ? causeOfRefusal(message) : undefined;
}

function timeOf(event: KubeObject): string {
  const time = event["lastTimestamp"] ?? event["eventTime"];
  return typeof time === "string" ? time : (event.metadata.creationTimestamp ?? "");
}

/** The labels by which a workload selects its pods. Expressions, which only narrow the selection, are left out. */
function selectorOf(workload: KubeObject): string {
  const spec = workload["spec"];
  const selector = isRecord(spec) ? spec["selector"] : undefined;
  const labels = isRecord(selector) ? selector["matchLabels"] : undefined;
  return Object.entries(isRecord(labels) ? labels : {})
    .map(([label, value]) => `${label}=${String(value)}`)
    .join(",");
}
