import { abortable } from "../../access/deadline.ts";
import { type Component, forceOrphanAnnotation, orphaningOf } from "../../api/component.ts";
import { FleetError } from "../../api/errors.ts";
import { describe, type ObjectKey, keyOf } from "../../api/kubernetes.ts";
import { reasons } from "../../api/reasons.ts";
import { anchorKey } from "../../installation/anchor-object.ts";
import { installationNamespace } from "../../installation/installation-namespace.ts";
import { render } from "../../render/render.ts";
import { clusterNameOf } from "../component-identity.ts";
import { logFieldsOf } from "../log.ts";
import type { ReconcileDeps, Subject } from "../reconcile/reconcile-deps.ts";

/** On the Event about that: what was left, one `apiVersion kind namespace/name` a line. */
const leftBehindAnnotation = "knfleet.dev/left-behind";

// The API server takes 256 KiB of annotations.
const longestList = 200 * 1_024;

/** A failure to remove, with the way out of it where the cluster cannot be had, and why that was not taken where it was asked for. */
export function withWayOut(error: FleetError, component: Component): FleetError {
  const orphaning = orphaningOf(component);
  const { reason, code, cause } = error;
  const isAway = reasons[reason].condition === "TargetClusterResolved";
  const addition = orphaning.kind === "refused" ? orphaning.message : wayOut(component, isAway);
  if (addition === undefined) return error;
  const message = code === undefined ? error.message : error.message.replace(`[${code}] `, "");
  const options = { cause, ...(code === undefined ? {} : { code }) };
  return new FleetError(reason, `${message}; ${addition}`, options);
}

type LeavingDeps = Pick<
  ReconcileDeps,
  "events" | "log" | "releases" | "rendering" | "hubId" | "spokeNamespace"
>;

/**
 * Tells in the log and in an Event what stays on the cluster of a component that goes without its installation. Sends nothing to the cluster:
 * the list is the inventory as this process last knew it, or else what the component renders to. Rejects when the Event was not written,
 * for a reason that may pass.
 */
export async function tellLeftBehind(
  subject: Subject,
  deps: LeavingDeps,
  signal: AbortSignal,
): Promise<void> {
  const { component, installation } = subject;
  const known = installation.inventory?.entries;
  // The cluster is not asked, and the annotation says it.
  const namespace = installationNamespace(component, deps.spokeNamespace);
  const objects = known ?? (await renderedObjects(component, { ...deps, namespace }, signal));
  const anchor = describe(anchorOf(component, { hubId: deps.hubId, namespace }));
  const cluster = clusterNameOf(component);
  const count = objects === undefined ? "everything" : `${objects.length} objects`;
  const sums = objects === undefined ? "" : ` (${sumsOf(objects)})`;
  const source = known === undefined ? "rendered from the spec" : "as last seen";
  const message =
    `${forceOrphanAnnotation}: left on ${cluster} and not watched any more: ${anchor}, which has the full inventory, ` +
    `and ${count}${sums}, ${source}`;
  const lines = (objects ?? []).map(lineOf).toSorted();
  deps.log.child(logFieldsOf(subject)).warn({ cluster, anchor, left: lines }, message);
  const annotations = { [leftBehindAnnotation]: lines.join("\n").slice(0, longestList) };
  const happening = { type: "Warning", reason: "Orphaned", message, annotations } as const;
  await deps.events.audit(component, happening, signal);
}

function wayOut({ metadata, spec }: Component, isAway: boolean): string | undefined {
  if (!isAway || spec?.clusterProfileRef === undefined) return undefined;
  return `to delete the component and leave everything on its cluster, set ${forceOrphanAnnotation}=${metadata.uid}`;
}

function anchorOf(
  component: Component,
  place: { readonly hubId: string; readonly namespace: string },
): ObjectKey {
  const { clusterProfileRef } = component.spec ?? {};
  const profile = clusterProfileRef === undefined ? {} : { profile: clusterProfileRef };
  return anchorKey({ component, target: { ...place, ...profile } });
}

/** `12 ClusterRole, 3 Deployment`, the most frequent first. */
function sumsOf(objects: readonly ObjectKey[]): string {
  const counts = new Map<string, number>();
  for (const { kind } of objects) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return [...counts]
    .toSorted(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
    .map(([kind, count]) => `${count} ${kind}`)
    .join(", ");
}

function lineOf({ apiVersion, kind, namespace, name }: ObjectKey): string {
  return `${apiVersion} ${kind} ${namespace === undefined ? name : `${namespace}/${name}`}`;
}

type Deps = Pick<ReconcileDeps, "releases" | "rendering" | "log">;

/** What a component that was installed in a namespace renders to; undefined when that cannot be said. Rejects with the reason of the signal. */
export async function renderedObjects(
  component: Component,
  { releases, rendering, log, namespace }: Deps & { readonly namespace: string },
  signal: AbortSignal,
): Promise<readonly ObjectKey[] | undefined> {
  const { version } = component.status ?? {};
  const installed = version === undefined ? {} : { version };
  try {
    const spec = { ...component.spec, ...installed };
    // A source of manifests may take its time.
    const working = render({ ...component, spec }, releases, { ...rendering, namespace });
    const { manifests } = await abortable(working, signal);
    return manifests.map(keyOf);
  } catch (err) {
    signal.throwIfAborted();
    log.debug({ err }, "What was installed cannot be rendered");
    return undefined;
  }
}
