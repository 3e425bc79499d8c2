import { ApiError } from "../../../../../access/kube/api-error.ts";
import type { KubeClient } from "../../../../../access/kube/kube-client.ts";
import type { Component } from "../../../../../api/component.ts";
import { conditionOf } from "../../../../../api/conditions.ts";
import { recordAt } from "../../../../../api/fields.ts";
import type { Condition, KubeObject } from "../../../../../api/kubernetes.ts";
import { protectedCondition } from "../../../../../api/reasons.ts";
import { knownResource } from "../../../../../api/resources.ts";
import { policyKinds } from "../../../../../controller/guard/policy-objects.ts";
import { policyNameOf } from "../../../../../controller/guard/policy.ts";
import { Prober } from "../../../../../controller/guard/prober.ts";
import { anchorAnnotations } from "../../../../../installation/anchor.ts";
import {
  causeOfPods,
  causeOfRefusal,
  conditionFieldsOf,
} from "../../../../../installation/pod-cause.ts";
import { words } from "../../../output/steps.ts";
import { numberAt, stringAt } from "../../../selection/fields.ts";
import { mapLimited } from "../../../spokes/read-clusters.ts";
import { ifDenied } from "../../../spokes/spoke-reading.ts";
import { grantedRules, isAllowed, type Right } from "../../can-i/access-review.ts";
import { type SpokeRight, spokeRights } from "../../can-i/permissions.ts";
import type { SpokeSession } from "../spoke-session.ts";
import { finding, type Finding, type HopResult, passed, passedWith } from "./hop.ts";

const asked = 24;
const shown = 12;

/**
 * Whether the identity has the rights that the controller needs. One request tells the rules; what they do not hold is asked one by one,
 * because the rules of other authorizers than RBAC are not told.
 */
export async function checkRights(
  { client, user }: SpokeSession,
  signal: AbortSignal,
): Promise<HopResult<true>> {
  const rights = spokeRights.flatMap(rightsOf);
  const { isGranted } = await grantedRules(client, signal);
  const doubtful = rights.filter((right) => !isGranted(right));
  // Enough to be sure; of the rest the rules are believed.
  const answers = await mapLimited(doubtful.slice(0, asked), 4, (right) =>
    isAllowed(right, client, signal),
  );
  const isBelieved = answers.includes(false);
  const missing = doubtful.filter((_, at) => answers[at] === false || (at >= asked && isBelieved));
  if (missing.length === 0) return passed(true, `${rights.length} rights are there`);
  const texts = textsOf(missing);
  const who = user?.username ?? "the identity";
  const message = `Missing is ${texts[0] ?? ""}${texts.length > 1 ? `, and ${texts.length - 1} more` : ""}`;
  const next = [
    "On that cluster, as its administrator: kubectl apply -f docs/spoke-role.yaml",
    `Then bind it there: kubectl create clusterrolebinding knfleet-hub --clusterrole=knfleet-spoke ${words(subjectOf(who))}`,
  ];
  const evidence = [`as ${who}`, ...texts.slice(0, shown)];
  return passedWith(true, message, {
    findings: [finding("error", "KNF5002", { message, evidence, next })],
  });
}

function rightsOf({ group, resources, verbs }: SpokeRight): readonly Right[] {
  return resources.flatMap((resource) => verbs.map((verb) => ({ group, resource, verb })));
}

/** `the verbs create, patch on namespaces`: one text for each resource. */
function textsOf(missing: readonly Right[]): readonly string[] {
  const byResource = Map.groupBy(missing, ({ group, resource }) =>
    group === "" ? resource : `${resource}.${group}`,
  );
  return [...byResource].map(([resource, rights]) => {
    const verbs = rights.map(({ verb }) => verb).join(", ");
    return `the verb${rights.length === 1 ? "" : "s"} ${verbs} on ${resource}`;
  });
}

function subjectOf(user: string): string {
  const [, account] = /^system:serviceaccount:([^:]+:[^:]+)$/.exec(user) ?? [];
  return account === undefined ? `--user=${user}` : `--serviceaccount=${account}`;
}

// Not wanted by policies: chosen, or not to be had there.
const otherwise = ["TwinOwner", "NotSupported", "PolicyForbidden"];

/** A proof that takes longer is not on its way any more. */
const longestProofMs = 60_000;

/**
 * Whether the API server refuses to delete the anchor: the policy and its binding are there, and a dry run that it has to refuse is
 * refused. Nothing is changed.
 */
export async function checkGuard(
  component: Component,
  anchor: KubeObject,
  { now, ...asking }: Asking & { readonly now: Date },
): Promise<HopResult<true>> {
  const condition = conditionOf(component.status?.conditions, protectedCondition);
  const { [anchorAnnotations.hubId]: hubId } = anchor.metadata.annotations ?? {};
  if (hubId === undefined) return passed(true, "the anchor is not one of knfleet");
  const whyNot = whyUnasked(condition, now);
  if (whyNot !== undefined) return passed(true, whyNot);
  const problem = (await missingPolicy(hubId, asking)) ?? (await unproven(hubId, anchor, asking));
  const { reason = "" } = condition ?? {};
  if (problem === undefined) return passed(true, `refuses to delete the anchor ${reason}`.trim());
  const evidence = [condition?.message ?? reason].filter((said) => said !== "");
  return passedWith(true, problem, {
    findings: [finding("error", "KNF6005", { message: problem, evidence })],
  });
}

/** Why the API server is not asked; undefined: it is. */
function whyUnasked(condition: Condition | undefined, now: Date): string | undefined {
  const { reason = "", lastTransitionTime = "" } = condition ?? {};
  if (otherwise.includes(reason)) return `${protectedCondition} says ${reason}`;
  // The API server reads policies about once a second; an earlier answer proves nothing.
  const isFresh = now.getTime() - Date.parse(lastTransitionTime) < longestProofMs;
  if (reason !== "Probing" || !isFresh) return undefined;
  return "the guard was just installed, and the controller is proving it";
}

type Asking = Pick<SpokeSession, "client"> & { readonly signal: AbortSignal };

async function missingPolicy(
  hubId: string,
  { client, signal }: Asking,
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

async function unproven(
  hubId: string,
  anchor: KubeObject,
  { client, signal }: Asking,
): Promise<string | undefined> {
  const { namespace = "" } = anchor.metadata;
  const verdicts = await new Prober(client, hubId).probeCreations(namespace, "new", signal);
  return verdicts.includes("allowed")
    ? "A dry run that the guard has to refuse was not refused"
    : undefined;
}

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
    causeOf(one, cluster, signal).catch(ifDenied),
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

/** Whether no controller of the cluster has observed the Deployment's latest spec. */
function isUnobserved(deployment: KubeObject): boolean {
  const observed = numberAt(deployment, "status", "observedGeneration") ?? 0;
  return observed < (deployment.metadata.generation ?? 0);
}

async function causeOf(
  { namespace, name }: Waiting,
  { client, kubectl }: Cluster,
  signal: AbortSignal,
): Promise<Pick<Finding, "message" | "next"> | undefined> {
  const ref = { resource: knownResource("apps/v1", "Deployment"), namespace, name };
  const deployment = await client.get(ref, {}, signal);
  if (deployment === undefined) return undefined;
  if (isUnobserved(deployment))
    return { message: `Deployment ${namespace}/${name}: ${unobserved}`, next: [managerStep] };
  const refusal = conditionFieldsOf(deployment, "ReplicaFailure");
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
}
