import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import { recordAt } from "../../../../api/fields.ts";
import { foreignText } from "../../../../api/foreign-text.ts";
import type { KubeObject } from "../../../../api/kubernetes.ts";
import { silentWebhookIn } from "../../../../api/refusal-texts.ts";
import { knownResource } from "../../../../api/resources.ts";
import {
  causeOfPods,
  causeOfRefusal,
  conditionFieldsOf,
  podsOfNewest,
  templateHash,
  unready,
} from "../../../../installation/pod-cause.ts";
import { workloadReadinessOf } from "../../../../installation/readiness.ts";
import { eventFactOf, newestLast } from "../../hub/event-fact.ts";
import { words } from "../../output/steps.ts";
import { numberAt } from "../../selection/fields.ts";
import { mapLimited } from "../../spokes/read-clusters.ts";
import { ifDenied } from "../../spokes/spoke-reading.ts";
import type { WorkloadKey } from "../../spokes/workload-fact.ts";
import { finding, type Finding, type HopResult, passed, passedWith } from "./hop.ts";
import type { FindWebhook } from "./silent-webhook.ts";

interface Cluster {
  readonly client: KubeClient;
  /** The kubectl command for the cluster. */
  readonly kubectl: string;
  readonly findWebhook: FindWebhook;
}

const mostWorkloads = 10;

/** Finds out why the newest pods of workloads that are not available, or that are being rolled out, do not start. */
export async function checkPods(
  waiting: readonly WorkloadKey[],
  cluster: Cluster,
  signal: AbortSignal,
): Promise<HopResult<true>> {
  if (waiting.length === 0)
    return passed(true, "those of available Deployments were not looked at");
  const found = await mapLimited(waiting.slice(0, mostWorkloads), 4, (one) =>
    findPodCause(one, cluster, signal).catch(ifDenied),
  );
  const causes = found.filter((one) => one !== undefined);
  if (causes.length === 0) return passed(true, "no pod says what it waits for");
  const first = causes[0]?.message ?? "";
  const message = causes.length === 1 ? first : `${first}, and ${causes.length - 1} more`;
  const [cause] = causes;
  const evidence = causes.flatMap((one) => [
    ...(causes.length === 1 ? [] : [one.message]),
    ...one.evidence,
  ]);
  const { code = "KNF6010", next = [] } = cause ?? {};
  return passedWith(true, message, {
    findings: [finding("error", code, { message, evidence, next })],
  });
}

/** Without a code it is KNF6010. */
type Cause = Pick<Finding, "message" | "evidence" | "next"> & Partial<Pick<Finding, "code">>;

const unobserved =
  "its cluster's kube-controller-manager has not looked at its latest change: it does not run, or is behind";
const managerStep =
  "On that cluster, as its administrator: kubectl get pods -n kube-system -l component=kube-controller-manager";

/** Whether no controller of the cluster has observed the latest spec of a workload. */
function isUnobserved(workload: KubeObject): boolean {
  const observed = numberAt(workload, "status", "observedGeneration") ?? 0;
  return observed < (workload.metadata.generation ?? 0);
}

async function findPodCause(
  { kind, namespace, name }: WorkloadKey,
  { client, kubectl, findWebhook }: Cluster,
  signal: AbortSignal,
): Promise<Cause | undefined> {
  const ref = { resource: knownResource("apps/v1", kind), namespace, name };
  const workload = await client.get(ref, {}, signal);
  if (workload === undefined) return undefined;
  const title = `${kind} ${namespace}/${name}`;
  if (isUnobserved(workload)) {
    return { message: `${title}: ${unobserved}`, evidence: [], next: [managerStep] };
  }
  const place = { client, namespace, selector: selectorOf(workload), signal };
  // Other workloads make their pods themselves.
  const set = kind === "Deployment" ? await findNewestSet(workload, place) : undefined;
  const maker = kind === "Deployment" ? set : workload;
  const refusal = refusalIn(workload) ?? (await findRefusal(maker, place));
  if (refusal !== undefined) {
    const object =
      set === undefined ? [kind.toLowerCase(), name] : ["replicaset", set.metadata.name];
    const cause = causeOfRefusal(refusal);
    const said = `FailedCreate: ${foreignText(refusal, longestEvidence)}`;
    const describe = `${kubectl} ${words("describe", ...object, "-n", namespace)}`;
    const message = `${title}: ${cause}`;
    const webhook = silentWebhookIn(refusal);
    if (webhook === undefined) {
      return { message, evidence: [said], next: [describe] };
    }
    const { evidence, next } = await findWebhook(webhook);
    return { code: "KNF6016", message, evidence: [said, ...evidence], next: [...next, describe] };
  }
  return await findCauseInPods(workload, set, { ...place, title, kubectl });
}

/** What keeps the pods of a workload, or of the newest ReplicaSet of a Deployment, from becoming ready. */
async function findCauseInPods(
  workload: KubeObject,
  set: KubeObject | undefined,
  { title, kubectl, ...place }: Place & { readonly title: string; readonly kubectl: string },
): Promise<Cause | undefined> {
  const { client, namespace, selector, signal } = place;
  const hash = set?.metadata.labels?.[templateHash];
  const labelSelector = hash === undefined ? selector : `${selector},${templateHash}=${hash}`;
  const ref = { resource: knownResource("v1", "Pod"), namespace, labelSelector };
  const pods = podsOfNewest((await client.list(ref, {}, signal)).items);
  const cause = causeOfPods(pods);
  // Pods of a rollout within its deadline take some time.
  const isStarting = cause === unready && workloadReadinessOf(workload).state === "rollingOut";
  if (cause === undefined || isStarting) return undefined;
  return {
    message: `${title}: ${cause}`,
    evidence: cause === unready ? await findWarnings(pods, place) : [],
    next: [`${kubectl} ${words("get", "pods", "-n", namespace, "-l", labelSelector)}`],
  };
}

function selectorOf(workload: KubeObject): string {
  const labels = Object.entries(recordAt(workload, "spec", "selector", "matchLabels"));
  return labels.map(([key, value]) => `${key}=${String(value)}`).join(",");
}

const longestEvidence = 400;

/** Where the objects of a workload are. */
interface Place {
  readonly client: KubeClient;
  readonly namespace: string;
  /** Selects its ReplicaSets and pods. */
  readonly selector: string;
  readonly signal: AbortSignal;
}

const revision = "deployment.kubernetes.io/revision";

/** The ReplicaSet of the latest template. Undefined: there is none, or it may not be read. */
async function findNewestSet(
  { metadata }: KubeObject,
  { client, namespace, selector, signal }: Place,
): Promise<KubeObject | undefined> {
  const resource = knownResource("apps/v1", "ReplicaSet");
  const ref = { resource, namespace, labelSelector: selector };
  const list = await client.list(ref, {}, signal).catch(ifDenied);
  const wanted = metadata.annotations?.[revision];
  const own = (list?.items ?? []).filter(({ metadata: { ownerReferences = [] } }) =>
    ownerReferences.some(({ uid }) => uid === metadata.uid),
  );
  return own.find((set) => wanted !== undefined && set.metadata.annotations?.[revision] === wanted);
}

/** The message of a workload about pods that cannot be created. */
function refusalIn(workload: KubeObject): string | undefined {
  const { status, message } = conditionFieldsOf(workload, "ReplicaFailure") ?? {};
  return status === "True" && typeof message === "string" ? message : undefined;
}

/** Why a ReplicaSet, StatefulSet or DaemonSet cannot create pods, from its condition or else its last Event, while it lacks pods. */
async function findRefusal(
  maker: KubeObject | undefined,
  { client, namespace, signal }: Place,
): Promise<string | undefined> {
  if (maker === undefined) return undefined;
  const said = refusalIn(maker);
  if (said !== undefined || !lacksPods(maker)) return said;
  const fieldSelector = `involvedObject.uid=${maker.metadata.uid},reason=FailedCreate`;
  const ref = { resource: knownResource("v1", "Event"), namespace, fieldSelector };
  const list = await client.list(ref, {}, signal).catch(ifDenied);
  const last = newestLast((list?.items ?? []).map(eventFactOf)).at(-1);
  return last?.message ?? undefined;
}

function lacksPods(maker: KubeObject): boolean {
  const [has, wants] =
    maker.kind === "DaemonSet"
      ? [
          ["status", "currentNumberScheduled"],
          ["status", "desiredNumberScheduled"],
        ]
      : [
          ["status", "replicas"],
          ["spec", "replicas"],
        ];
  return (numberAt(maker, ...has) ?? 0) < (numberAt(maker, ...wants) ?? 0);
}

const mostWarnings = 3;

/** The last Warning Events of pods that run and are not ready, such as failed probes. */
async function findWarnings(
  pods: readonly KubeObject[],
  { client, namespace, signal }: Place,
): Promise<readonly string[]> {
  const names = new Set(pods.map(({ metadata }) => metadata.name));
  const fieldSelector = "involvedObject.kind=Pod,type=Warning";
  const ref = { resource: knownResource("v1", "Event"), namespace, fieldSelector };
  const list = await client.list(ref, {}, signal).catch(ifDenied);
  return newestLast((list?.items ?? []).map(eventFactOf))
    .filter(({ about }) => about.name !== null && names.has(about.name))
    .slice(-mostWarnings)
    .map(({ reason, message }) =>
      foreignText(`${reason ?? ""}: ${message ?? ""}`, longestEvidence),
    );
}
