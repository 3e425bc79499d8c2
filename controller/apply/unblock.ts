import { ApiError } from "../../access/kube/api-error.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import { isRecord } from "../../api/fields.ts";
import { describe, type Manifest } from "../../api/kubernetes.ts";
import type { Desired, DesiredObject } from "../../installation/desired.ts";
import type { Target } from "../target/target.ts";
import type { Trouble } from "./change-set.ts";
import { webhookIn } from "./refusals.ts";

/** A webhook without pods that kept our own objects from being written, so that its rules were taken from it. */
export interface Unblocked {
  readonly webhook: string;
  /** `ValidatingWebhookConfiguration a`. */
  readonly configuration: string;
}

interface Blockade {
  readonly since: number;
  /** It was among those that are due. */
  wasDue: boolean;
  isCleared: boolean;
}

// Long enough for pods that only start slowly.
const patienceMs = 3 * 60_000;

/** Remembers since when each webhook refuses ConfigMaps of an installation. Times are in ms of any clock that only goes on. */
export class Blockades {
  readonly #blockades = new Map<string, Blockade>();

  /** The webhooks that have refused for minutes and were not cleared since. All other webhooks refuse nothing now. */
  dueAmong(webhooks: ReadonlySet<string>, now: number): readonly string[] {
    for (const webhook of this.#blockades.keys()) {
      if (!webhooks.has(webhook)) this.#blockades.delete(webhook);
    }
    return [...webhooks].filter((webhook) => {
      const blockade = this.#blockades.get(webhook) ?? {
        since: now,
        wasDue: false,
        isCleared: false,
      };
      this.#blockades.set(webhook, blockade);
      blockade.wasDue = now - blockade.since >= patienceMs;
      return blockade.wasDue && !blockade.isCleared;
    });
  }

  /** Milliseconds until a webhook that refuses becomes due, 1 where it did since the last question; 0: none will. */
  untilDueMs(now: number): number {
    const waiting = [...this.#blockades.values()].filter(({ wasDue }) => !wasDue);
    if (waiting.length === 0) return 0;
    return Math.max(1, Math.min(...waiting.map(({ since }) => since + patienceMs - now)));
  }

  /** Once for as long as the webhook goes on to refuse. */
  cleared(webhook: string): void {
    const blockade = this.#blockades.get(webhook);
    if (blockade !== undefined) blockade.isCleared = true;
  }
}

export interface UnblockDeps {
  readonly target: Pick<Target, "fieldManager"> & {
    readonly client: Pick<KubeClient, "get" | "patch">;
  };
  readonly desired: Desired;
  readonly blockades: Blockades;
  readonly now: number;
}

/**
 * Breaks the circle in which the pods of a Knative webhook wait for ConfigMaps that the API server accepts only with an answer of these
 * pods: after some minutes the webhook's rules are emptied, once, and the pods fill them again when they run. Only for webhooks of the
 * installation itself and for ConfigMaps. Spec: engine-facts.md 1.
 */
export async function unblock(
  parked: readonly Trouble[],
  { target, desired, blockades, now }: UnblockDeps,
  signal: AbortSignal,
): Promise<readonly Unblocked[]> {
  const webhooks = parked.flatMap(({ key, message }) => {
    const webhook = key.kind === "ConfigMap" ? webhookIn(message) : undefined;
    return webhook === undefined ? [] : [webhook];
  });
  const due = blockades.dueAmong(new Set(webhooks), now);
  const cleared = await Promise.all(
    due.map(async (webhook): Promise<readonly Unblocked[]> => {
      const owner = desired.objects.find(({ manifest }) => isFilledIn(manifest, webhook));
      if (owner === undefined) return [];
      if (!(await isCleared(owner, webhook, { target, signal }))) return [];
      blockades.cleared(webhook);
      return [{ webhook, configuration: describe(owner.key) }];
    }),
  );
  return cleared.flat();
}

interface Clearing extends Pick<UnblockDeps, "target"> {
  readonly signal: AbortSignal;
}

/** Not by apply: the rules must stay the webhook's and not become ours. */
async function isCleared(
  { key, resource }: DesiredObject,
  webhook: string,
  { target, signal }: Clearing,
): Promise<boolean> {
  const { client, fieldManager } = target;
  const ref = { resource, name: key.name };
  const live = await client.get(ref, {}, signal);
  const index = live === undefined ? -1 : namesOf(live).indexOf(webhook);
  if (live === undefined || index < 0) return false;
  const patch = [
    { op: "test", path: "/metadata/resourceVersion", value: live.metadata.resourceVersion },
    { op: "add", path: `/webhooks/${index}/rules`, value: [] },
  ];
  try {
    await client.patch(ref, patch, { fieldManager, metadataOnly: true }, signal);
    return true;
  } catch (error) {
    // Another client, perhaps a pod of the webhook, wrote the configuration at the same time. The next try reads it again.
    if (error instanceof ApiError) return false;
    throw error;
  }
}

/** Whether the cluster has a webhook whose rules a program writes. Rules that we send belong to a user's policy, and our next apply would restore them. */
function isFilledIn(manifest: Manifest, webhook: string): boolean {
  return webhooksOf(manifest).some((entry) => entry["name"] === webhook && !("rules" in entry));
}

function namesOf(configuration: Configuration): readonly string[] {
  return webhooksOf(configuration).map((entry) => String(entry["name"]));
}

interface Configuration {
  readonly kind: string;
  readonly webhooks?: unknown;
}

function webhooksOf({ kind, webhooks }: Configuration): readonly Record<string, unknown>[] {
  const isOne = kind.endsWith("WebhookConfiguration") && Array.isArray(webhooks);
  const entries: readonly unknown[] = isOne ? webhooks : [];
  return entries.map((entry) => (isRecord(entry) ? entry : {}));
}
