import { abortable } from "../../access/deadline.ts";
import { FleetError } from "../../api/errors.ts";
import { installationNamespace } from "../../installation/installation-namespace.ts";
import type { Rendered } from "../../render/release/releases.ts";
import { assertKubernetesVersion } from "../../render/release/version.ts";
import { render } from "../../render/render.ts";
import type { SeenAnchor } from "../apply/anchor/anchor.ts";
import type { Target } from "../apply/target.ts";
import { hold } from "./hold.ts";
import type { Steps } from "./outcome.ts";
import type { ReconcileDeps, Subject } from "./reconcile-deps.ts";
import { type Resolved, resolvedSoFar, resolveTarget } from "./resolve.ts";
import type { StatusWriter } from "./status-writer.ts";

export interface Work extends Subject {
  readonly report: StatusWriter;
  /** Nothing was done for the component before. */
  readonly isNew: boolean;
}

export interface Prepared {
  readonly rendered: Rendered;
  readonly resolved: Resolved;
  /** Resolves when the component is held by its finalizer, and says where it is installed. Rejects for a cluster that is too old, or has no room, and with `NotHeld`. */
  readonly suited: Promise<SeenAnchor>;
}

/**
 * Renders and connects at the same time. What is wrong with the component itself is said before what is wrong with its cluster. The component gets its
 * finalizer when the cluster suits: just before the first write there, so that a component that never wrote anything can be deleted freely.
 */
export async function prepare(
  work: Work,
  { deps, steps }: { readonly deps: ReconcileDeps; readonly steps: Writable<Steps> },
  signal: AbortSignal,
): Promise<Prepared> {
  const { component, installation } = work;
  const resolving = resolveTarget(work, deps, signal);
  // Awaited below; a rendering that fails first must not leave a rejection behind.
  resolving.catch(() => undefined);
  const renderIn = (namespace: string): Promise<Rendered> =>
    // A source of manifests may take its time.
    abortable(render(component, deps.releases, { ...deps.rendering, namespace }), signal);
  const expected = installationNamespace(component, deps.spokeNamespace);
  let rendered: Rendered;
  try {
    rendered = await renderIn(expected);
  } catch (error) {
    steps.eligible = error instanceof FleetError && error.reason !== "VersionNotEligible";
    Object.assign(steps, await resolvedSoFar(resolving, { component, installation, deps }, signal));
    throw error;
  }
  steps.eligible = true;
  const resolved = await resolving;
  steps.resolved = true;
  const { namespace } = resolved.target;
  if (namespace !== expected) rendered = await renderIn(namespace);
  const { manifests } = rendered;
  const suited = suitability(work, { manifests, resolved, deps }, signal).then(async (seen) => {
    await hold(work, { ...deps, namespace }, signal);
    return seen;
  });
  return { rendered, resolved, suited };
}

interface Question extends Pick<Rendered, "manifests"> {
  readonly resolved: Resolved;
  readonly deps: ReconcileDeps;
}

/** Asks what is needed only before the first write: whether the target is new enough, and of what is new whether nobody else has what it would write. */
async function suitability(
  { component, installation }: Subject,
  { manifests, resolved: { target, connection }, deps }: Question,
  signal: AbortSignal,
): Promise<SeenAnchor> {
  const either = AbortSignal.any([signal, connection.signal]);
  const isNew = component.status?.version === undefined && !installation.wasInstalled;
  const newcomer = { component, target, manifests };
  const room = isNew && deps.neighbours.assertRoom(newcomer, () => deps.components.all(), either);
  // Awaited below.
  if (room) room.catch(() => undefined);
  await assertVersion(target, deps, either);
  return room === false ? "unknown" : room;
}

async function assertVersion(
  { client }: Target,
  { rendering, versions }: ReconcileDeps,
  signal: AbortSignal,
): Promise<void> {
  const version = await versions.of(client, signal);
  if (version === undefined) return;
  try {
    assertKubernetesVersion(version, rendering.environment ?? {});
  } catch (error) {
    versions.forget(client);
    throw error;
  }
}

export type Writable<T> = { -readonly [K in keyof T]: T[K] };
