import { abortable, begun, Follower } from "../../access/time/deadline.ts";
import { FleetError } from "../../api/errors.ts";
import { installationNamespace } from "../../installation/installation-namespace.ts";
import type { Rendered } from "../../render/release/releases.ts";
import { assertKubernetesVersion } from "../../render/release/version.ts";
import { render } from "../../render/render.ts";
import type { SeenAnchor } from "../apply/anchor/anchor.ts";
import type { Steps } from "../status/outcome.ts";
import type { TargetConnection } from "../target/target-connection.ts";
import { hold } from "./hold.ts";
import type { Attempt, ReconcileDeps, Subject } from "./reconcile-deps.ts";
import { type Resolved, resolvedSoFar, resolveTarget } from "./resolve.ts";
import { type SetContent, setContentOf } from "./set-content.ts";

export interface PreparedInstall {
  readonly rendered: Rendered;
  readonly resolved: Resolved;
  readonly content: SetContent;
  /** Resolves when the first write is allowed: the cluster suits, and the component has its finalizer and its namespace record. Rejects with `NotHeld` without them. */
  readonly beforeFirstWrite: () => Promise<SeenAnchor>;
}

/**
 * Renders and connects at the same time. Reports an error of the component before an error of its cluster. The component gets its finalizer just before the first write to the
 * cluster, so that a component without an installation can be deleted freely.
 */
export async function prepare(
  attempt: Attempt,
  { deps, steps }: { readonly deps: ReconcileDeps; readonly steps: Writable<Steps> },
  signal: AbortSignal,
): Promise<PreparedInstall> {
  const { component, installation } = attempt;
  const resolving = resolveTarget(attempt, deps, signal);
  let isRendering = true;
  // The first rendering of a process takes a second. A new component shows before its end that its cluster answers. Rejections are handled below.
  const reportResolved = async (): Promise<void> => {
    await resolving;
    if (!isRendering || component.status?.conditions !== undefined) return;
    attempt.writer.reportProgress({ kind: "working", steps: { ...steps, resolved: true } }, signal);
  };
  reportResolved().catch(() => undefined);
  const renderIn = (namespace: string): Promise<Rendered> =>
    // A source of manifests can be slow.
    abortable(render(component, deps.releases, { ...deps.rendering, namespace }), signal);
  const expected = installationNamespace(component, deps.spokeNamespace);
  let rendered: Rendered;
  try {
    rendered = await renderIn(expected);
  } catch (error) {
    steps.eligible = error instanceof FleetError && error.reason !== "VersionNotEligible";
    Object.assign(steps, await resolvedSoFar(resolving, { component, installation, deps }, signal));
    throw error;
  } finally {
    isRendering = false;
  }
  steps.eligible = true;
  const resolved = await resolving;
  steps.resolved = true;
  const { namespace } = resolved.target;
  if (namespace !== expected) rendered = await renderIn(namespace);
  const content = await setContentOf(component, deps);
  const { manifests } = rendered;
  const checking = suitability(attempt, { manifests, resolved, deps }, signal).then(
    async (seen) => {
      await hold(attempt, { ...deps, namespace }, signal);
      return seen;
    },
  );
  return { rendered, resolved, content, beforeFirstWrite: begun(checking) };
}

interface SuitabilityQuestion extends Pick<Rendered, "manifests"> {
  readonly resolved: Resolved;
  readonly deps: ReconcileDeps;
}

/** Checks before the first write that the target is new enough, and, for a new installation, that no other installation owns the same objects. */
async function suitability(
  { component, installation }: Subject,
  { manifests, resolved: { target, connection }, deps }: SuitabilityQuestion,
  signal: AbortSignal,
): Promise<SeenAnchor> {
  const { signal: either } = new Follower(signal, connection.signal);
  const isNew = component.status?.version === undefined && !installation.wasInstalled;
  const newcomer = { component, target, connection, manifests };
  const search =
    isNew && begun(deps.neighbours.assertNoOverlap(newcomer, () => deps.components.all(), either));
  await assertVersion(connection, deps, either);
  return search === false ? "unknown" : search();
}

async function assertVersion(
  connection: TargetConnection,
  { rendering }: ReconcileDeps,
  signal: AbortSignal,
): Promise<void> {
  const version = await connection.version(signal);
  if (version === undefined) return;
  try {
    assertKubernetesVersion(version, rendering.environment ?? {});
  } catch (error) {
    connection.forgetVersion();
    throw error;
  }
}

export type Writable<T> = { -readonly [K in keyof T]: T[K] };
