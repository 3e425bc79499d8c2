import { ApiError } from "../../../../../access/kube/api-error.ts";
import type { Component } from "../../../../../api/component.ts";
import type { Condition, KubeObject } from "../../../../../api/kubernetes.ts";
import { protectedCondition } from "../../../../../api/reasons.ts";
import { policyKinds } from "../../../../../controller/guard/policy-objects.ts";
import { policyNameOf } from "../../../../../controller/guard/policy.ts";
import { Prober } from "../../../../../controller/guard/prober.ts";
import { anchorAnnotations } from "../../../../../installation/anchor.ts";
import type { SpokeSession } from "../spoke-session.ts";
import { finding, type HopResult, passed, passedWith } from "./hop.ts";

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
  const condition = component.status?.conditions?.find(({ type }) => type === protectedCondition);
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
  // The API server reads policies anew about every second: what it does before says nothing.
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
  const verdicts = await new Prober(client, hubId).creations(namespace, "new", signal);
  return verdicts.includes("allowed")
    ? "A dry run that the guard has to refuse was not refused"
    : undefined;
}
