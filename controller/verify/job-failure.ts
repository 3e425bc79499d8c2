import type { KubeClient } from "../../access/kube/kube-client.ts";
import { byText, listAt, recordAt, textAt } from "../../api/fields.ts";
import { asciiText, foreignText, redactSecrets } from "../../api/foreign-text.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import { knownResource } from "../../api/resources.ts";
import { conditionFieldsOf } from "../../installation/pod-cause.ts";
import { refusalText } from "./unasked.ts";

const pods = knownResource("v1", "Pod");
const reasonPattern = /^[A-Za-z]\w{0,60}$/;
const mostContainers = 16;
const mostLines = 20;
const longestLine = 200;
/** The status of a set has room for the end of a log only. */
const longestBrief = 160;

export type LogClient = Pick<KubeClient, "list" | "logs">;

/** A container that ended badly. */
interface Ended {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  readonly exitCode: number;
}

/**
 * Why a Job has failed, as the end of a sentence: its reason, the exit code of a container, and its last 20 lines, of which `isBrief` keeps the end. What may not be read is told in their
 * place. Throws as the client does for what is no answer about the pods.
 */
export async function failureOfJob(
  job: KubeObject,
  { client, isBrief }: { readonly client: LogClient; readonly isBrief: boolean },
  signal: AbortSignal,
): Promise<string> {
  const reason = String(conditionFieldsOf(job, "Failed")?.["reason"]);
  const why = reasonPattern.test(reason) ? ` (${reason})` : "";
  try {
    const ended = await endedContainer(job, client, signal);
    if (ended === undefined) return why;
    const lines = await lastLines(ended, client, signal).catch(unread);
    const shown = isBrief && lines.length > longestBrief ? `…${lines.slice(-longestBrief)}` : lines;
    const { container, exitCode } = ended;
    const how = `${why}: container ${container} ended with ${exitCode}`;
    return shown === "" ? how : `${how}: ${shown.toWellFormed()}`;
  } catch (error) {
    return `${why}: ${unread(error)}`;
  }
}

function unread(error: unknown): string {
  return refusalText(error, ({ status }) => `its log was not read: ${status}`);
}

/** The container that failed in the newest pod of a Job; undefined where the cluster has none any more. */
async function endedContainer(
  job: KubeObject,
  client: LogClient,
  signal: AbortSignal,
): Promise<Ended | undefined> {
  const { namespace = "", uid } = job.metadata;
  const labelSelector = `batch.kubernetes.io/controller-uid=${uid}`;
  const { items } = await client.list({ resource: pods, namespace, labelSelector }, {}, signal);
  const own = items.filter(({ metadata }) =>
    metadata.ownerReferences?.some((owner) => owner.uid === uid),
  );
  const byAge = own.toSorted(byText(({ metadata }) => metadata.creationTimestamp ?? ""));
  return byAge.flatMap((pod) => failedContainersOf(pod, namespace)).at(-1);
}

function failedContainersOf(pod: KubeObject, namespace: string): readonly Ended[] {
  const statuses = listAt(recordAt(pod, "status"), "containerStatuses").slice(0, mostContainers);
  return statuses.flatMap((status): readonly Ended[] => {
    const { exitCode } = recordAt(status, "state", "terminated");
    const container = asciiText(textAt(recordAt(status), "name") ?? "").slice(0, 63);
    if (typeof exitCode !== "number" || exitCode === 0 || container === "") return [];
    return [{ namespace, pod: pod.metadata.name, container, exitCode }];
  });
}

/** The last lines of a container in one line, each without its time. */
async function lastLines(
  { namespace, pod, container }: Ended,
  { logs }: LogClient,
  signal: AbortSignal,
): Promise<string> {
  const ref = { namespace, pod, container, follow: false, tailLines: mostLines };
  const lines: string[] = [];
  for await (const line of logs?.(ref, signal) ?? []) {
    lines.push(foreignText(line.slice(line.indexOf(" ") + 1), longestLine));
    if (lines.length === mostLines) break;
  }
  return redactSecrets(lines.filter((line) => line !== "").join(" | "));
}
