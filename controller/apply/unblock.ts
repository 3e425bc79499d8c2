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
  /** It was due when the refusals were last counted. */
  readonly isDue: boolean;
  readonly isCleared: boolean;
}

/** The webhooks that refuse ConfigMaps of an installation, each with the time since when. Times are in ms of any clock that only goes on. */
export type Blockades = ReadonlyMap<string, Blockade>;

// Long enough for pods that only start slowly.
const patienceMs = 3 * 60_000;

/** After an install: the webhooks in these messages refuse ConfigMaps, and all others refuse nothing now. */
export function blockadesAfter(
  before: Blockades,
  parked: readonly Trouble[],
  now: number,
): Blockades {
  const webhooks = parked.flatMap(({ key, message }) => {
    const webhook = key.kind === "ConfigMap" ? webhookIn(message) : undefined;
    return webhook === undefined ? [] : [webhook];
  });
  return new Map(
    webhooks.map((webhook) => {
      const { since = now, isCleared = false } = before.get(webhook) ?? {};
      return [webhook, { since, isCleared, isDue: now - since >= patienceMs }];
    }),
  );
}

/** The webhooks that have refused for minutes and were not cleared since. */
export function dueAmong(blockades: Blockades): readonly string[] {
  return [...blockades].flatMap(([webhook, { isDue, isCleared }]) =>
    isDue && !isCleared ? [webhook] : [],
  );
}

/** A webhook is cleared once for as long as it goes on to refuse. */
export function withCleared(blockades: Blockades, webhook: string): Blockades {
  const blockade = blockades.get(webhook);
  if (blockade === undefined) return blockades;
  return new Map(blockades).set(webhook, { ...blockade, isCleared: true });
}

/** Milliseconds until a webhook that refuses becomes due, 1 where it did since the refusals were counted; 0: none will. */
export function untilDueMs(blockades: Blockades, now: number): number {
  const waiting = [...blockades.values()].filter(({ isDue }) => !isDue);
  if (waiting.length === 0) return 0;
  return Math.max(1, Math.min(...waiting.map(({ since }) => since + patienceMs - now)));
}

export interface UnblockDeps {
  readonly target: Pick<Target, "fieldManager"> & {
    readonly client: Pick<KubeClient, "get" | "patch">;
  };
  readonly desired: Desired;
}

/**
 * Breaks the circle in which the pods of a Knative webhook wait for ConfigMaps that the API server accepts only with an answer of these
 * pods: after some minutes the webhook's rules are emptied, once, and the pods fill them again when they run. Only for webhooks of the
 * installation itself; undefined for others, and where the cluster refuses. Spec: engine-facts.md 1.
 */
export async function unblock(
  webhook: string,
  { target, desired }: UnblockDeps,
  signal: AbortSignal,
): Promise<Unblocked | undefined> {
  const owner = desired.objects.find(({ manifest }) => isFilledIn(manifest, webhook));
  if (owner === undefined || !(await clearRules(owner, webhook, { target, signal }))) {
    return undefined;
  }
  return { webhook, configuration: describe(owner.key) };
}

interface Clearing extends Pick<UnblockDeps, "target"> {
  readonly signal: AbortSignal;
}

/** Not by apply: the rules must stay the webhook's and not become ours. */
async function clearRules(
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
