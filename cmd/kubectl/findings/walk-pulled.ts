import type { Component } from "../../../api/component.ts";
import { words } from "../output/steps.ts";
import { pullOnly } from "../spokes/spoke-reading.ts";
import { checkConditions } from "./hops/component-hops.ts";
import { readProfile } from "./hops/profile-hops.ts";
import { chooseProvider, readProviderFile } from "./hops/provider-hops.ts";
import { checkAccepted, checkApplied, checkFeedback, findWorks } from "./hops/pull-hops.ts";
import { findNoWebhook } from "./hops/silent-webhook.ts";
import type { HubWalk } from "./walk-hub.ts";
import type { StepValue, Walk, WalkContext } from "./walk.ts";

interface WalkDeps {
  readonly walk: Walk;
  readonly hub: HubWalk;
  readonly context: WalkContext;
}

/**
 * Walks along the works that bring a component to its cluster. True: the hub has no way to the cluster, so that the walk ends here. False: the walk can go on to the
 * cluster itself.
 */
export async function walkPulled(
  component: Extract<StepValue<Component>, { ok: true }>,
  { walk, hub, context }: WalkDeps,
): Promise<boolean> {
  const works = await walk.take("work", [component], ([one], late) =>
    findWorks(one, context, late),
  );
  const accepted = await walk.take("accepted", [works], ([all]) => checkAccepted(all));
  const applied = await walk.take("applied", [accepted], ([all]) => checkApplied(all));
  await walk.take("feedback", [applied], ([all]) => checkFeedback(all));
  if (await hasWay(component.value, { walk, hub, context })) return false;
  walk.skip("provider", `${pullOnly.reason}: ${pullOnly.message}`);
  const { kind, metadata } = component.value;
  const target = `${kind.toLowerCase()}/${metadata.name}`;
  // Where `diff` would read the cluster, which cannot be dialled.
  const compare = words("kubectl", "knfleet", "status", target, "-n", metadata.namespace);
  await walk.take("conditions", [component], ([one]) =>
    checkConditions(one, {
      compare,
      askRefusal: () => Promise.resolve(undefined),
      findWebhook: findNoWebhook,
    }),
  );
  return true;
}

/** Whether the provider file serves the profile of a component; what fails on the way is told by the steps themselves. */
async function hasWay(
  { spec }: Component,
  { walk, hub: { controllers }, context }: WalkDeps,
): Promise<boolean> {
  const ref = spec?.clusterProfileRef;
  if (ref === undefined) return true;
  try {
    const profile = await readProfile(ref, context, walk.signal);
    const known = controllers.ok ? controllers.value : undefined;
    const file = await readProviderFile(known, context, walk.signal);
    if (profile.value === undefined || file.value === undefined) return false;
    return chooseProvider(profile.value, file.value).value !== undefined;
  } catch {
    walk.signal.throwIfAborted();
    return false;
  }
}
