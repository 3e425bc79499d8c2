import { ApiError } from "../../../access/kube/api-error.ts";
import type { Component } from "../../../api/component.ts";
import { describe, type KubeObject, isJob } from "../../../api/kubernetes.ts";
import { componentUidLabel } from "../../../installation/anchor.ts";
import type { Prepared } from "../../../installation/desired.ts";
import type { ApplyPlan } from "../../../installation/plan.ts";
import type { Log } from "../../log.ts";
import type { Observation } from "../../observe/observation.ts";
import type { InstallationMemory } from "../installation-memory.ts";
import type { Target } from "../target.ts";

interface Installed {
  readonly component: Component;
  readonly target: Target;
  readonly memory: InstallationMemory;
  readonly observation: Observation;
  readonly deps: { readonly log: Log };
}

/**
 * The plan with those Jobs to be sent again that vanished from the view, but not from the cluster, which gives them their label back and runs
 * nothing, and those that were deleted before they had finished, which are to run after all.
 */
export async function withLostJobs(
  plan: ApplyPlan,
  work: Installed,
  signal: AbortSignal,
): Promise<ApplyPlan> {
  const { memory, observation, deps } = work;
  const lost = new Set<Prepared>();
  const cutShort = observation.cutShort();
  await Promise.all(
    plan.unchanged.map(async (one) => {
      if (!isJob(one.key)) return;
      if (observation.objects().has(one.id)) memory.jobs.saw(one.id);
      else if (cutShort.has(one.id)) lost.add(one);
      else if (await memory.jobs.isStray(one.id, () => isThere(one, work, signal))) lost.add(one);
    }),
  );
  if (lost.size === 0) return plan;
  for (const { key, id } of lost) {
    const what = cutShort.has(id) ? "was deleted before it had finished" : "lost its label";
    deps.log.debug({ object: describe(key) }, `A Job ${what}`);
  }
  return {
    ...plan,
    apply: [...plan.apply, ...lost],
    drifted: new Set([...plan.drifted, ...[...lost].map(({ id }) => id)]),
    unchanged: plan.unchanged.filter((one) => !lost.has(one)),
  };
}

/** Whether a Job that our anchor owns still runs, or is kept, without the label of any component. */
async function isThere(
  { key: { namespace = "", name }, resource }: Prepared,
  { target: { client }, memory, component }: Installed,
  signal: AbortSignal,
): Promise<boolean> {
  const ref = { resource, namespace, name };
  // A question that is refused is not worth the install.
  const found = await client.get(ref, { metadataOnly: true }, signal).catch(nothingIfRefused);
  if (found === undefined) return false;
  const { deletionTimestamp, labels = {} } = found.metadata;
  const isLabelled = labels[componentUidLabel] !== undefined;
  return deletionTimestamp === undefined && !isLabelled && isOwned(found);

  function isOwned({ metadata: { ownerReferences = [] } }: KubeObject): boolean {
    const owners = [memory.anchorUid, component.metadata.uid];
    return ownerReferences.some(({ uid }) => owners.includes(uid));
  }
}

function nothingIfRefused(error: unknown): undefined {
  if (!(error instanceof ApiError)) throw error;
}
