import type { HubConnection } from "../access/hub.ts";
import { FleetError } from "../api/errors.ts";
import type { GuardOwner } from "../api/guard/guard-request.ts";
import { knownResource } from "../api/resources.ts";
import { createAccessReviews } from "../webhook/access-review.ts";
import { anchorReview } from "../webhook/anchor-review.ts";
import type { Log } from "../webhook/log.ts";
import type { Review } from "../webhook/reply.ts";
import type { WebhookFlags } from "./webhook-flags.ts";

export interface ReviewSurroundings {
  readonly hub: Pick<HubConnection, "client">;
  readonly namespace: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
}

/** What decides, by path, with what it keeps open. Throws FleetError `ConfigInvalid` for a release directory that cannot be used. */
export async function openReviews(
  flags: WebhookFlags,
  { hub }: ReviewSurroundings,
  _signal: AbortSignal,
): Promise<{ readonly reviews: Readonly<Record<string, Review>> } & AsyncDisposable> {
  await using opened = new AsyncDisposableStack();
  const { client } = hub;
  const accessReviews = createAccessReviews(client, () => performance.now());
  const owners = guardOwners(flags, client);
  const reviews: Readonly<Record<string, Review>> = {
    "/validate/anchor": async (request, limit) =>
      anchorReview({ client, accessReviews, owners: await owners(limit) })(request, limit),
  };
  const running = opened.move();
  return { reviews, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

const namespaces = knownResource("v1", "Namespace");

/** The hubs whose anchors are guarded; the UID of this one is asked for when it is needed first. */
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
      own = { hubId: namespace.metadata.uid, hubUser: controllerUser };
    }
    return [own, ...guard];
  };
}
