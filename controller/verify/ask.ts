import { WriteRefusedError } from "../../access/http/write-permit.ts";
import { ApiError, isServerFailure, type ServerFailure } from "../../access/kube/api-error.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import { foreignText } from "../../api/foreign-text.ts";
import type { CheckSubject, Reply } from "../../sets/check-answer.ts";
import type { Check } from "../../sets/verify.ts";
import { askJob, type JobAsking, type JobClient } from "./ask-job.ts";
import { askUrl, type UrlAsker } from "./ask-url.ts";
import { askWebhook } from "./ask-webhook.ts";
import { askService, prometheusReply, queryPath } from "./prometheus.ts";
import { readUserWorkloads } from "./read-workloads.ts";
import { Unasked } from "./unasked.ts";
import { workloadsAnswer } from "./workloads-answer.ts";

const longestMessage = 300;
const lostLease = "this process does not hold the Lease for it any more";

/** What a check is asked through. */
export interface Asker {
  /** Connects to the cluster. */
  readonly clientOf: () => Promise<Pick<KubeClient, "request"> & JobClient>;
  /** Absent: nothing asks the URLs of a set but the controller. */
  readonly urls?: UrlAsker;
  /** Absent: no Job is looked at, because the cluster has no revision of the set. */
  readonly jobs?: Omit<JobAsking, "client"> & {
    /** What runs the Jobs. Absent: the cluster itself. */
    readonly clientOf?: () => Promise<JobClient>;
  };
}

/** Asks one check. What cannot be asked is `unasked`, never good. Rejects with the reason of the signal, and with a bug of this program. */
export async function ask(
  { ask: question }: Check,
  subject: CheckSubject,
  asker: Asker,
  signal: AbortSignal,
): Promise<Reply> {
  try {
    return await answerOf(question, subject, asker, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof Unasked) return { kind: "unasked", message: error.message };
    if (error instanceof WriteRefusedError) return { kind: "unasked", message: lostLease };
    if (!isServerFailure(error)) throw error;
    return { kind: "unasked", message: reasonOf(error) };
  }
}

async function answerOf(
  question: Check["ask"],
  subject: CheckSubject,
  { clientOf, urls, jobs }: Asker,
  signal: AbortSignal,
): Promise<Reply> {
  if (!("name" in question)) {
    const { workloads, unread } = await readUserWorkloads(await clientOf(), signal);
    const [first] = unread;
    if (first !== undefined) throw new Unasked(first);
    return workloadsAnswer(workloads, question, subject.since);
  }
  const { name, prometheus, webhook, job } = question;
  const urlAsker = (): UrlAsker => {
    if (urls === undefined) throw new Unasked("only the controller asks URLs");
    return urls;
  };
  if (webhook !== undefined) return askWebhook(webhook, subject, urlAsker(), signal);
  if (job !== undefined) {
    if (jobs === undefined) throw new Unasked("only a rollout runs its Job");
    const client = await (jobs.clientOf ?? clientOf)();
    return askJob({ name, job }, { ...jobs, client }, signal);
  }
  // The schema asks for one of them.
  if (prometheus === undefined) throw new Unasked("the check asks nothing");
  const { url, service } = prometheus;
  const query = queryPath(prometheus.query, subject.cluster);
  if (url !== undefined) {
    const server = { ...prometheus, url };
    const { namespace } = subject.set;
    return prometheusReply(
      question,
      await askUrl(server, { path: query }, namespace, urlAsker(), signal),
    );
  }
  if (service === undefined) throw new Unasked("the check names no server");
  return prometheusReply(question, await askService(service, query, await clientOf(), signal));
}

/** Why a cluster could not be asked, without what a server wrote. */
function reasonOf(error: ServerFailure): string {
  if (error instanceof ApiError) return `the API server answered ${error.status} ${error.reason}`;
  return foreignText(error.message, longestMessage);
}
