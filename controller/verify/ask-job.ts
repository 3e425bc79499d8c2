import { type ApiError, isServerFailure } from "../../access/kube/api-error.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import { foreignText, redactSecrets } from "../../api/foreign-text.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import { knownResource } from "../../api/resources.ts";
import { anchorAnnotations, anchorNameOf } from "../../installation/anchor.ts";
import {
  possibleNamespaces,
  recordedNamespace,
} from "../../installation/installation-namespace.ts";
import { conditionFieldsOf } from "../../installation/pod-cause.ts";
import type { Reply } from "../../sets/check-answer.ts";
import { findCause } from "../observe/find-cause.ts";
import {
  checkLabels,
  isBeforeRetry,
  isJobOf,
  isOutdatedJob,
  type JobCheck,
  jobManifest,
  jobNameOf,
  type JobPlace,
  type JobSubject,
} from "./check-job.ts";
import { failureOfJob, type LogClient } from "./job-failure.ts";
import { refusalText, Unasked } from "./unasked.ts";

export type JobClient = LogClient & Pick<KubeClient, "get" | "create" | "remove">;

/** Who asks about a Job. */
export interface JobAsking extends JobSubject {
  readonly client: JobClient;
  /** What is known since the first question. No other Job is believed than the one that was seen first. */
  readonly seen: { place?: JobPlace; uid?: string };
  /** False: the Job is looked at if it is there, and never made. */
  readonly mayRun: boolean;
}

const jobs = knownResource("batch/v1", "Job");
const configMaps = knownResource("v1", "ConfigMap");
const longestRefusal = 200;
const mostOutdated = 20;

/**
 * Runs the Job of a check once, and returns how it ended. Throws `Unasked` until it has ended, which says what keeps it, and for a Job that is not ours or not the one that was seen before.
 * Throws else as the client does.
 */
export async function askJob(
  check: JobCheck,
  asking: JobAsking,
  signal: AbortSignal,
): Promise<Reply> {
  const { client, seen, mayRun } = asking;
  seen.place ??= await placeOf(asking, signal);
  const { place } = seen;
  const name = jobNameOf(check, asking);
  const ref = { resource: jobs, namespace: place.namespace, name };
  const found = await client.get(ref, {}, signal);
  const job = found ?? (await start(check, { ...asking, place }, signal));
  const obstacle = obstacleOf(job, check, asking);
  if (obstacle !== undefined) throw new Unasked(`Job ${name} ${obstacle}`);
  const { uid } = job.metadata;
  if (mayRun && isTrue(job, "Failed") && isBeforeRetry(job, asking)) {
    await client.remove(ref, { uid, propagationPolicy: "Background" }, signal);
    throw new Unasked(`Job ${name} is run again`);
  }
  seen.uid = uid;
  if (isTrue(job, "Complete")) return { kind: "good", message: "", isFinal: true };
  if (!isTrue(job, "Failed")) {
    throw new Unasked(`Job ${name} has not ended yet${await delayOf(job, client, signal)}`);
  }
  const failure = await failureOfJob(job, { client, isBrief: mayRun }, signal);
  return { kind: "bad", message: `Job ${name} failed${failure}`, isFinal: true };
}

/** Why a Job is not the one of the check, as the end of a sentence. */
function obstacleOf(
  job: KubeObject,
  check: JobCheck,
  { setUid, seen }: JobAsking,
): string | undefined {
  const { uid, deletionTimestamp } = job.metadata;
  if (!isJobOf(job, check, setUid)) return "belongs to somebody else";
  if (uid !== (seen.uid ?? uid)) return "was made anew by somebody else";
  return deletionTimestamp === undefined ? undefined : "is being deleted";
}

function isTrue(job: KubeObject, type: string): boolean {
  return conditionFieldsOf(job, type)?.["status"] === "True";
}

/** The namespace of the installation, with its anchor. */
async function placeOf({ client, component }: JobAsking, signal: AbortSignal): Promise<JobPlace> {
  const name = anchorNameOf({ kind: component.kind, name: component.metadata.name });
  const recorded = recordedNamespace(component);
  for (const namespace of recorded === undefined ? possibleNamespaces(component) : [recorded]) {
    const ref = { resource: configMaps, namespace, name };
    // oxlint-disable-next-line no-await-in-loop -- two places at the most
    const anchor = await client.get(ref, { metadataOnly: true }, signal).catch(unreadAnchor);
    const { uid, annotations } = anchor?.metadata ?? {};
    if (
      uid !== undefined &&
      annotations?.[anchorAnnotations.componentUid] === component.metadata.uid
    ) {
      return { namespace, owner: { apiVersion: "v1", kind: "ConfigMap", name, uid } };
    }
  }
  throw new Unasked(`ConfigMap ${name}, with which the Job has to go, is not there`);
}

/** Makes the Job, and deletes those of earlier revisions. */
async function start(
  check: JobCheck,
  asking: JobAsking & { readonly place: JobPlace },
  signal: AbortSignal,
): Promise<KubeObject> {
  const { client, seen, mayRun, place, component } = asking;
  if (!mayRun) throw new Unasked("only a rollout runs its Job, and has not done so yet");
  if (seen.uid !== undefined) throw new Unasked("somebody deleted its Job");
  const { namespace } = place;
  const manifest = jobManifest(check, asking, place);
  const job = await client
    .create({ resource: jobs, namespace }, manifest, {}, signal)
    .catch((error: unknown) => {
      throw new Unasked(refusalText(error, refusedJob));
    });
  const labelSelector = `${checkLabels.setUid}=${asking.setUid}`;
  try {
    const ref = { resource: jobs, namespace, labelSelector };
    const { items } = await client.list(ref, { metadataOnly: true }, signal);
    const outdated = items.filter((one) => isOutdatedJob(one, manifest, component));
    for (const { metadata } of outdated.slice(0, mostOutdated)) {
      const options = { uid: metadata.uid, propagationPolicy: "Background" } as const;
      const old = { resource: jobs, namespace, name: metadata.name };
      // oxlint-disable-next-line no-await-in-loop -- one or two, in the background of the answer
      await client.remove(old, options, signal);
    }
  } catch (error) {
    // They go by themselves some day, and say nothing about the answer.
    if (!isServerFailure(error)) throw error;
  }
  return job;
}

/** What keeps a Job from ending, as far as it can be seen, as the end of a sentence. */
async function delayOf(job: KubeObject, client: JobClient, signal: AbortSignal): Promise<string> {
  try {
    const cause = await findCause(job, client, signal);
    return cause === undefined ? "" : `: ${cause}`;
  } catch (error) {
    return `: ${refusalText(error, ({ status }) => `its pods were not read: ${status}`)}`;
  }
}

function unreadAnchor(error: unknown): never {
  throw new Unasked(refusalText(error, ({ status }) => `its anchor was not read: ${status}`));
}

function refusedJob({ status, message }: ApiError): string {
  return `the Job was refused: ${status} ${redactSecrets(foreignText(message, longestRefusal))}`;
}
