import { ApiError } from "../../../../../access/kube/api-error.ts";
import type { KubeClient } from "../../../../../access/kube/kube-client.ts";
import { recordAt } from "../../../../../api/fields.ts";
import type { KubeObject } from "../../../../../api/kubernetes.ts";
import { knownResource } from "../../../../../api/resources.ts";
import { causeOfPods, causeOfRefusal, conditionOf } from "../../../../../installation/pod-cause.ts";
import { words } from "../../../commands.ts";
import { mapLimited } from "../../../concurrency.ts";
import { numberAt, stringAt } from "../../../selection/fields.ts";
import { finding, passed, passedWith, type Finding, type HopResult } from "./hop.ts";

interface Waiting {
  readonly namespace: string;
  readonly name: string;
}

interface Cluster {
  readonly client: KubeClient;
  /** How kubectl is called for it; see commands.ts. */
  readonly kubectl: string;
}

const looks = 10;

/** Why the pods of Deployments that are not available do not start. */
export async function checkPods(
  waiting: readonly Waiting[],
  cluster: Cluster,
  signal: AbortSignal,
): Promise<HopResult<true>> {
  if (waiting.length === 0)
    return passed(true, "those of available Deployments were not looked at");
  const found = await mapLimited(waiting.slice(0, looks), 4, (one) =>
    causeOf(one, cluster, signal),
  );
  const causes = found.filter((one) => one !== undefined);
  if (causes.length === 0) return passed(true, "no pod says what it waits for");
  const first = causes[0]?.message ?? "";
  const message = causes.length === 1 ? first : `${first}, and ${causes.length - 1} more`;
  const [cause] = causes;
  const next = cause === undefined ? [] : cause.next;
  return passedWith(true, message, {
    findings: [
      finding("error", "KNF6010", {
        message,
        evidence: causes.length === 1 ? [] : causes.map((one) => one.message),
        next,
      }),
    ],
  });
}

const unobserved =
  "its cluster's kube-controller-manager has not looked at its latest change: it does not run, or is behind";
const managerStep =
  "On that cluster, as its administrator: kubectl get pods -n kube-system -l component=kube-controller-manager";

/** Whether no controller of the cluster has taken note of what the Deployment is to be. */
function isUnobserved(deployment: KubeObject): boolean {
  const observed = numberAt(deployment, "status", "observedGeneration") ?? 0;
  return observed < (deployment.metadata.generation ?? 0);
}

async function causeOf(
  { namespace, name }: Waiting,
  { client, kubectl }: Cluster,
  signal: AbortSignal,
): Promise<Pick<Finding, "message" | "next"> | undefined> {
  try {
    const ref = { resource: knownResource("apps/v1", "Deployment"), namespace, name };
    const deployment = await client.get(ref, {}, signal);
    if (deployment === undefined) return undefined;
    if (isUnobserved(deployment))
      return { message: `Deployment ${namespace}/${name}: ${unobserved}`, next: [managerStep] };
    const refusal = conditionOf(deployment, "ReplicaFailure");
    const labels = Object.entries(recordAt(deployment, "spec", "selector", "matchLabels"));
    const labelSelector = labels.map(([key, value]) => `${key}=${String(value)}`).join(",");
    const pods = { resource: knownResource("v1", "Pod"), namespace, labelSelector };
    const cause =
      refusal?.["status"] === "True"
        ? causeOfRefusal(stringAt(refusal, "message") ?? "")
        : causeOfPods((await client.list(pods, {}, signal)).items);
    if (cause === undefined) return undefined;
    return {
      message: `Deployment ${namespace}/${name}: ${cause}`,
      next: [`${kubectl} ${words("get", "pods", "-n", namespace, "-l", labelSelector)}`],
    };
  } catch (error) {
    if (error instanceof ApiError && error.status === 403) return undefined;
    throw error;
  }
}
