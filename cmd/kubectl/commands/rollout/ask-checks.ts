import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import type { ClusterProfile } from "../../../../api/cluster-profile.ts";
import { managedClusterOf } from "../../../../api/delivery.ts";
import { setAnnotations } from "../../../../api/fleet-set.ts";
import { namespacedName } from "../../../../api/keys.ts";
import { ask } from "../../../../controller/verify/ask.ts";
import type { JobSubject } from "../../../../controller/verify/check-job.ts";
import type { CheckSubject, Reply } from "../../../../sets/check-answer.ts";
import { updatedAtOf } from "../../../../sets/component-condition.ts";
import { contentOf } from "../../../../sets/content.ts";
import type { Member, SetFacts } from "../../../../sets/facts.ts";
import { stagesWith } from "../../../../sets/members.ts";
import { type Check, checksOf, verifyOf } from "../../../../sets/verify.ts";
import type { ReportError } from "../../output/report.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import {
  type ReadLimits,
  type ReadOne,
  readTargets,
  type ReadTarget,
  unreadErrors,
} from "../../spokes/read-clusters.ts";
import { placedSetOf } from "./named-set.ts";

/** What is asked of one cluster. */
export interface Question extends CheckSubject {
  readonly target: ReadTarget;
  /** Undefined: it does not exist, or may not be read. */
  readonly profile: ClusterProfile | undefined;
  readonly checks: readonly Check[];
  /** Whose Jobs are looked at; absent: the cluster has no component of the set. */
  readonly jobs?: JobSubject;
}

/** A check with the answer of one cluster. */
export interface AskedCheck extends Pick<Question, "cluster" | "stage" | "since"> {
  readonly check: string;
  readonly answer: Reply["kind"];
  /** Empty for a good answer. */
  readonly message: string;
}

/** What the clusters of a set are asked, in the order of the stages: the checks of its stage, of each that the set does not exclude. `revision`: the one whose skips count. */
export function questionsOf(facts: SetFacts, revision: string, now: number): readonly Question[] {
  const { set, selection } = facts;
  if (selection.kind === "unusable") return [];
  const judgedBy = { name: revision, number: 1, failed: false, content: contentOf(set, facts) };
  const stages = stagesWith(facts, selection.clusters, {
    revision: judgedBy,
    retriedAt: undefined,
    now,
  });
  return stages.flatMap(({ spec: { name }, members }) => {
    const verify = verifyOf(set, name);
    if (verify === undefined) return [];
    const owner = { set: placedSetOf(set), setUid: set.metadata.uid };
    const shared = { set: owner.set, revision, stage: name, checks: checksOf(verify) };
    return members
      .filter(({ state }) => state.name !== "Excluded")
      .map((member) => ({ ...shared, ...questionAbout(member, owner, now) }));
  });
}

function questionAbout(
  { key, profile, child }: Member,
  owner: Pick<JobSubject, "set" | "setUid">,
  now: number,
) {
  const isStamped = child?.metadata.annotations?.[setAnnotations.updatedAt] !== undefined;
  const isPulled = child !== undefined && managedClusterOf(child) !== undefined;
  return {
    target: { ref: namespacedName(key), isPulled },
    cluster: key,
    profile,
    since: isStamped ? updatedAtOf(child, now) : now,
    ...(child !== undefined && { jobs: { ...owner, component: child } }),
  };
}

interface AskDeps {
  readonly access: ClusterAccess;
  readonly limits: ReadLimits;
}

/** Asks each cluster its checks once, within the time for one cluster. Never rejects for what a cluster does: a check without an answer is `unasked`, and says why. */
export async function askChecks(
  questions: readonly Question[],
  { access, limits }: AskDeps,
  signal: AbortSignal,
): Promise<{ readonly asked: readonly AskedCheck[]; readonly unread: readonly ReportError[] }> {
  const byCluster = new Map(questions.map((question) => [question.cluster, question]));
  // Kept as they come: the time of a cluster may be over before its last answer.
  const replies = new Map<string, Reply>();
  const read: ReadOne<void> = async ({ id, client }, deadline) => {
    const question = byCluster.get(id);
    if (question === undefined) return;
    const clientOf = (): Promise<KubeClient> => Promise.resolve(client);
    await Promise.all(
      question.checks.map(async (check) => {
        const { jobs } = question;
        const asker = {
          clientOf,
          ...(jobs !== undefined && { jobs: { ...jobs, seen: {}, mayRun: false } }),
        };
        const reply = await ask(check, question, asker, deadline);
        replies.set(keyOf(id, check), reply);
      }),
    );
  };
  const targets = questions.map(({ target }) => target);
  const readings = await readTargets(targets, { access, limits, read }, signal);
  const asked = questions.flatMap(({ cluster, stage, since, checks }) =>
    checks.map((check): AskedCheck => {
      const reading = readings.get(cluster);
      const why = reading?.kind === "unread" ? reading.message : "";
      const { kind: answer, message } = replies.get(keyOf(cluster, check)) ?? {
        kind: "unasked",
        message: why,
      };
      return { cluster, stage, since, check: check.name, answer, message };
    }),
  );
  return { asked, unread: unreadErrors(readings) };
}

function keyOf(cluster: string, { name }: Check): string {
  return `${cluster} ${name}`;
}
