import { begun } from "../../../access/time/deadline.ts";
import type { Component } from "../../../api/component.ts";
import type { KubeObject, Manifest } from "../../../api/kubernetes.ts";
import { knownResource } from "../../../api/resources.ts";
import { componentSelector } from "../../../installation/anchor.ts";
import type { Target } from "../../target/target.ts";
import type { InstallAttempt } from "../install-attempt.ts";
import { withLossStep, withReadAnchor } from "../install-state.ts";
import {
  type NamespacePlan,
  namespacesText,
  strippedAnchor,
  withoutHeld,
} from "./anchor-repairs.ts";
import { type Anchor, anchorSeen, type SeenAnchor } from "./anchor.ts";
import {
  createNamespaces,
  desiredNamespaces,
  type Namespaces,
  observeNamespaces,
} from "./namespaces.ts";

/** The anchor and the namespaces, on which everything else of an installation stands. */
export interface AnchorFacts {
  readonly anchor: Anchor | undefined;
  readonly namespaces: NamespacePlan;
}

/**
 * Reads the anchor and the namespaces while the target is still being checked, and writes what has to be written before all others: the missing namespaces of a new component, and the deletion
 * of webhook configurations whose anchor is gone. An error of the check is thrown first. For a new component the check has read the anchor.
 */
export async function observeAnchor(
  attempt: InstallAttempt,
  signal: AbortSignal,
): Promise<AnchorFacts> {
  const { isNew = false, deps } = attempt;
  const reading = isNew ? undefined : begun(readAnchorFacts(attempt, "unknown", signal));
  const seen = deps.beforeFirstWrite === undefined ? "unknown" : await deps.beforeFirstWrite();
  const facts = await (reading?.() ?? readAnchorFacts(attempt, seen, signal));
  if (facts.anchor === undefined) await dropOrphanedWebhooks(attempt, signal);
  return facts;
}

/** Whether no namespace has to be created or changed. Namespaces in conflict do not count. */
export function areNamespacesIntact({ namespaces }: AnchorFacts): boolean {
  return namespaces.missing.length + namespaces.outdated.length === 0;
}

/** The anchor, if it has all its marks or is in conflict. Such an anchor is written only for a new inventory. */
export function intactAnchor({ anchor, namespaces }: AnchorFacts): Anchor | undefined {
  return namespaces.isAnchorHeld || anchor?.isMarked === true ? anchor : undefined;
}

/** Whether an installation without an anchor had one before, as far as this process or the hub knows. */
export function wasAnchored({ memory, component }: InstallAttempt): boolean {
  return memory.state.anchor.kind !== "none" || component.status?.version !== undefined;
}

async function readAnchorFacts(
  attempt: InstallAttempt,
  seen: SeenAnchor,
  signal: AbortSignal,
): Promise<AnchorFacts> {
  const { component, target, desired, memory, observation, deps } = attempt;
  const wanted = desiredNamespaces({ component, target }, desired.namespaces);
  const [anchor, live] = await Promise.all([
    anchorSeen(seen, { component, target }, signal),
    readNamespaces(attempt, wanted, signal),
  ]);
  const guarded = [...(anchor === undefined ? [] : [anchor.object]), ...live.own];
  for (const object of guarded) observation.noteSingle(object);
  memory.become((state) => withReadAnchor(state, anchor));
  if (anchor === undefined) reportLoss(attempt);
  else deps.gate?.noteAnchor(anchor.object);
  const stripped = strippedAnchor(anchor, attempt);
  const facts = { anchor, namespaces: withoutHeld({ namespaces: live, stripped }, attempt) };
  // The single watch has the wrong state as its noted state. Only this text shows that the namespace is still wrong when its repair fails.
  const text = areNamespacesIntact(facts) ? namespacesText(attempt) : "";
  memory.become((state) => ({ ...state, namespaces: text }));
  return facts;
}

/** The namespaces of a new component are probably missing: they are created at once, and read only where that fails. */
async function readNamespaces(
  attempt: InstallAttempt,
  wanted: readonly Manifest[],
  signal: AbortSignal,
): Promise<Namespaces> {
  const created = attempt.isNew === true ? await createAhead(attempt, wanted, signal) : [];
  const names = new Set<string | undefined>(created.map(({ metadata }) => metadata.name));
  const others = wanted.filter(({ metadata }) => !names.has(metadata.name));
  const live = await observeNamespaces(attempt.target, others, signal);
  return { ...live, own: [...live.own, ...created] };
}

async function createAhead(
  { target, deps }: InstallAttempt,
  wanted: readonly Manifest[],
  signal: AbortSignal,
): Promise<readonly KubeObject[]> {
  try {
    await deps.gate?.waitUntilSent(signal);
  } catch {
    // The gate throws this error again, before the anchor is created.
    return [];
  }
  return createNamespaces(target, wanted, signal);
}

/** Whether a spoke lost the anchor of an installation. */
function isLost(attempt: InstallAttempt): boolean {
  return wasAnchored(attempt) && attempt.target.profile !== undefined;
}

/** Reports a lost anchor once. */
function reportLoss(attempt: InstallAttempt): void {
  if (!isLost(attempt)) return;
  const { memory, deps } = attempt;
  if (!memory.state.anchor.lossSteps.has("reported")) deps.onAnchorLost?.();
  memory.become((state) => withLossStep(state, "reported"));
}

/** Deletes the webhook configurations of a lost anchor, once. With a second owner the objects still exist. */
async function dropOrphanedWebhooks(attempt: InstallAttempt, signal: AbortSignal): Promise<void> {
  if (!isLost(attempt)) return;
  const { component, target, memory } = attempt;
  const { anchor, secondOwner } = memory.state;
  if (secondOwner !== undefined || anchor.lossSteps.has("droppedWebhooks")) return;
  await dropWebhooks(target, component, signal);
  memory.become((state) => withLossStep(state, "droppedWebhooks"));
}

const configurations = (
  ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"] as const
).map((kind) => knownResource("admissionregistration.k8s.io/v1", kind));

/**
 * Deletes the webhook configurations of an installation whose anchor is gone. The Services of these webhooks are gone as well, and the configurations
 * would refuse the objects that are installed again. Spec: anchor-guard.md 7.3.
 */
async function dropWebhooks(
  { client }: Pick<Target, "client">,
  { metadata }: Component,
  signal: AbortSignal,
): Promise<void> {
  const labelSelector = componentSelector(metadata.uid);
  const options = { propagationPolicy: "Background" } as const;
  await Promise.all(
    configurations.map((resource) =>
      client.removeCollection({ resource, labelSelector }, options, signal),
    ),
  );
}
