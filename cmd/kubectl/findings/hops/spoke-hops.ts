import { ApiError } from "../../../../access/kube/api-error.ts";
import { rightTexts } from "../../../../access/kube/missing-right.ts";
import type { Component } from "../../../../api/component.ts";
import { conditionOf } from "../../../../api/conditions.ts";
import type { Condition, KubeObject } from "../../../../api/kubernetes.ts";
import { protectedCondition } from "../../../../api/reasons.ts";
import { policyKinds } from "../../../../controller/guard/policy-objects.ts";
import { policyNameOf } from "../../../../controller/guard/policy.ts";
import { Prober } from "../../../../controller/guard/prober.ts";
import { anchorAnnotations } from "../../../../installation/anchor.ts";
import { words } from "../../output/steps.ts";
import { isAllowed, readGrantedRules, rightsOf } from "../../rights/access-review.ts";
import { spokeRights } from "../../rights/permissions.ts";
import { mapLimited } from "../../spokes/read-clusters.ts";
import type { SpokeSession } from "../spoke-session.ts";
import { finding, type HopResult, passed, passedWith } from "./hop.ts";

const mostReviews = 24;
const mostEvidence = 12;

/**
 * Checks that the identity has the rights that the controller needs. One request returns the rules of RBAC. A right that they do not grant is asked for
 * by itself, because another authorizer may grant it.
 */
export async function checkRights(
  { client, user }: SpokeSession,
  signal: AbortSignal,
): Promise<HopResult<true>> {
  const rights = spokeRights.flatMap(rightsOf);
  const { isGranted } = await readGrantedRules(client, signal);
  const doubtful = rights.filter((right) => !isGranted(right));
  // When one of these is refused, the rules count as complete for the rest.
  const answers = await mapLimited(doubtful.slice(0, mostReviews), 4, (right) =>
    isAllowed(right, client, signal),
  );
  const isBelieved = answers.includes(false);
  const missing = doubtful.filter(
    (_, at) => answers[at] === false || (at >= mostReviews && isBelieved),
  );
  if (missing.length === 0) return passed(true, `${rights.length} rights are there`);
  const texts = rightTexts(missing);
  const who = user?.username ?? "the identity";
  const message = `Missing is the right to ${texts[0] ?? ""}${texts.length > 1 ? `, and ${texts.length - 1} more` : ""}`;
  const next = [
    "On that cluster, as its administrator: kubectl apply -f docs/spoke-role.yaml",
    `Then bind it there: kubectl create clusterrolebinding knfleet-hub --clusterrole=knfleet-spoke ${words(subjectOf(who))}`,
  ];
  const evidence = [`as ${who}`, ...texts.slice(0, mostEvidence)];
  return passedWith(true, message, {
    findings: [finding("error", "KNF5002", { message, evidence, next })],
  });
}

function subjectOf(user: string): string {
  const [, account] = /^system:serviceaccount:([^:]+:[^:]+)$/.exec(user) ?? [];
  return account === undefined ? `--user=${user}` : `--serviceaccount=${account}`;
}

// Reasons for which the anchor has no policy: another protection was chosen, or the cluster cannot have one.
const unguardedReasons = ["TwinOwner", "NotSupported", "PolicyForbidden"];

/** After this time the controller is no longer about to prove the guard. */
const longestProofMs = 60_000;

/**
 * Checks that the API server refuses to delete the anchor: the policy and its binding exist, and a dry run that they forbid is refused. Changes
 * nothing.
 */
export async function checkGuard(
  component: Component,
  anchor: KubeObject,
  { now, ...guardClient }: GuardClient & { readonly now: Date },
): Promise<HopResult<true>> {
  const condition = conditionOf(component.status?.conditions, protectedCondition);
  const { [anchorAnnotations.hubId]: hubId } = anchor.metadata.annotations ?? {};
  if (hubId === undefined) return passed(true, "the anchor is not one of knfleet");
  const whyNot = whyNotChecked(condition, now);
  if (whyNot !== undefined) return passed(true, whyNot);
  const problem =
    (await findMissingPolicy(hubId, guardClient)) ?? (await probeGuard(hubId, anchor, guardClient));
  const { reason = "" } = condition ?? {};
  if (problem === undefined) return passed(true, `refuses to delete the anchor ${reason}`.trim());
  const evidence = [condition?.message ?? reason].filter((said) => said !== "");
  return passedWith(true, problem, {
    findings: [finding("error", "KNF6005", { message: problem, evidence })],
  });
}

/** Why the guard is not checked; undefined: it is. */
function whyNotChecked(condition: Condition | undefined, now: Date): string | undefined {
  const { reason = "", lastTransitionTime = "" } = condition ?? {};
  if (unguardedReasons.includes(reason)) return `${protectedCondition} says ${reason}`;
  // API servers read new policies about once a second, so an answer before that proves nothing.
  const isFresh = now.getTime() - Date.parse(lastTransitionTime) < longestProofMs;
  if (reason !== "Probing" || !isFresh) return undefined;
  return "the guard was just installed, and the controller is proving it";
}

type GuardClient = Pick<SpokeSession, "client"> & { readonly signal: AbortSignal };

async function findMissingPolicy(
  hubId: string,
  { client, signal }: GuardClient,
): Promise<string | undefined> {
  const name = policyNameOf("anchor-guard", hubId);
  try {
    for (const resource of policyKinds) {
      const found = await client.get({ resource, name }, { metadataOnly: true }, signal);
      if (found === undefined) return `${resource.kind} ${name} is missing`;
    }
  } catch (error) {
    if (!(error instanceof ApiError) || ![403, 404].includes(error.status)) throw error;
  }
  return undefined;
}

async function probeGuard(
  hubId: string,
  anchor: KubeObject,
  { client, signal }: GuardClient,
): Promise<string | undefined> {
  const { namespace = "" } = anchor.metadata;
  const verdicts = await new Prober(client, hubId).probeCreations(namespace, "new", signal);
  return verdicts.includes("allowed")
    ? "A dry run that the guard has to refuse was not refused"
    : undefined;
}
