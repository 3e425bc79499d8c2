import type { HubConnection } from "../../access/hub/hub.ts";
import type { Log } from "../../access/log.ts";
import { openReferences } from "../../access/providers/references.ts";
import { systemClock } from "../../access/time/system-clock.ts";
import { FleetError } from "../../api/errors.ts";
import { knownResource } from "../../api/resources.ts";
import type { GuardOwner } from "../../installation/guard/guard-view.ts";
import { type WarmUp, warmUp } from "../../webhook/readiness.ts";
import type { Review } from "../../webhook/reply.ts";
import { createAccessReviews } from "../../webhook/reviews/access-review.ts";
import { anchorReview } from "../../webhook/reviews/anchor-review.ts";
import { componentReview } from "../../webhook/reviews/component-review.ts";
import { openHubFacts } from "../../webhook/reviews/hub-facts.ts";
import { providerFileReview } from "../../webhook/reviews/provider-file-review.ts";
import { setReview } from "../../webhook/reviews/set-review.ts";
import { componentProblems } from "../../webhook/rules/rendered/component-problems.ts";
import { referenceSettings } from "./flag-values.ts";
import { openServiceReleases } from "./service-releases.ts";
import type { WebhookFlags } from "./webhook-flags.ts";

export interface ReviewSurroundings {
  readonly hub: Pick<HubConnection, "client">;
  readonly namespace: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
}

/** The reviews by path, with their open resources. */
export interface OpenReviews extends WarmUp, AsyncDisposable {
  readonly reviews: Readonly<Record<string, Review>>;
}

/** Opens the reviews. They answer from the start, also while their facts are still loading. Throws FleetError `ConfigInvalid` for a release directory that is not usable. */
export async function openReviews(
  flags: WebhookFlags,
  { hub, namespace, environment, log }: ReviewSurroundings,
  signal: AbortSignal,
): Promise<OpenReviews> {
  const { client } = hub;
  const accessReviews = createAccessReviews(client, systemClock);
  const owners = guardOwners(flags, client);
  const anchor: Review = async (request, limit) =>
    anchorReview({ client, accessReviews, owners: await owners(limit) })(request, limit);
  const anchors = { "/validate/anchor": anchor };
  // On a cluster without components there is nothing to watch, and no right to watch.
  if (flags.guardOnly) {
    const nothing = { waitingFor: () => [], [Symbol.asyncDispose]: async () => undefined };
    return { reviews: anchors, ...nothing };
  }
  const { releaseDir, manifestRight } = flags;
  const releases =
    releaseDir === ""
      ? undefined
      : await openServiceReleases(releaseDir, { environment, log }, signal);
  await using opened = new AsyncDisposableStack();
  const named = flags.providerFile === undefined ? {} : { providerFile: flags.providerFile };
  const source = { client, providerNamespace: namespace, ...named };
  const facts = opened.use(openHubFacts({ ...source, clock: systemClock, log }, signal));
  const settings = referenceSettings(flags);
  const references = opened.use(
    await openReferences(settings, { clock: systemClock, log }, signal),
  );
  const plugins = flags.pluginRoot.length === 0 ? {} : { pluginRoots: flags.pluginRoot };
  const renderCheck = componentProblems({
    releases,
    environment,
    spokeNamespace: flags.spokeNamespace,
  });
  const isCompanion = flags.companionOf !== "knfleet";
  const sources = isCompanion ? {} : { manifestSources: flags.manifestSource };
  const common = { facts, accessReviews, renderCheck, manifestRight, references, ...sources };
  const reviews: Record<string, Review> = {
    "/validate/components": componentReview({ ...common, ...plugins }),
    "/validate/provider-file": providerFileReview({ facts, ...plugins, ...named }),
    ...anchors,
  };
  // Another operator knows no sets.
  if (!isCompanion) {
    const { spokeNamespace, checkSource } = flags;
    const ofSets = { spokeNamespace, checkSources: checkSource, clock: systemClock };
    reviews["/validate/sets"] = setReview({ ...common, ...ofSets });
  }
  const { waitingFor } = warmUp(renderCheck, log, signal);
  const running = opened.move();
  return { reviews, waitingFor, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

const namespaces = knownResource("v1", "Namespace");

/** Returns a function for the hubs whose anchors are guarded. It reads the uid of this hub at the first call. */
function guardOwners(
  { guard, controllerUser }: WebhookFlags,
  client: HubConnection["client"],
): (signal: AbortSignal) => Promise<readonly GuardOwner[]> {
  let own: GuardOwner | undefined;
  return async (signal) => {
    if (controllerUser === undefined) return guard;
    if (own === undefined) {
      const ref = { resource: namespaces, name: "kube-system" };
      const namespace = await client.get(ref, { metadataOnly: true }, signal);
      if (namespace === undefined) {
        throw new FleetError("ConfigInvalid", "The hub has no namespace kube-system");
      }
      own = { hubId: namespace.metadata.uid, hubUsers: [controllerUser] };
    }
    return [own, ...guard];
  };
}
