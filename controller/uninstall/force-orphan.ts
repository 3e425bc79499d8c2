import { logFailure } from "../../access/log.ts";
import { abortable } from "../../access/time/deadline.ts";
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

/** Annotation of the Event `Orphaned`: the objects that were left, one `apiVersion kind namespace/name` a line. */
const leftBehindAnnotation = "knfleet.dev/left-behind";

/** The failure of a removal. Its message also says how to orphan the installation of an unreachable cluster, or why a requested orphaning was refused. */
export function withOrphanHint(error: FleetError, component: Component): FleetError {
  const orphaning = orphaningOf(component);
  const { reason, code, cause } = error;
  const isUnreachable = reasons[reason].condition === "TargetClusterResolved";
  const addition =
    orphaning.kind === "refused" ? orphaning.message : orphanHint(component, isUnreachable);
  if (addition === undefined) return error;
  const message = code === undefined ? error.message : error.message.replace(`[${code}] `, "");
  const options = { cause, ...(code === undefined ? {} : { code }) };
  return new FleetError(reason, `${message}; ${addition}`, options);
}

type OrphanDeps = Pick<
  ReconcileDeps,
  "events" | "log" | "releases" | "rendering" | "hubId" | "spokeNamespace"
>;

/**
 * Reports in the log and in an Event which objects stay on the cluster of a component that is deleted without its installation. Sends nothing to the cluster: the objects are
 * those of the inventory as this process last knew it, or else those that the component renders to. Rejects when the Event was not written and another try may succeed.
 */
export async function reportOrphaned(
  subject: Subject,
  deps: OrphanDeps,
  signal: AbortSignal,
): Promise<void> {
  const { component, installation } = subject;
  const recorded = installation.inventory?.entries;
  // The annotation of the component records the namespace, so the cluster is not asked.
  const namespace = installationNamespace(component, deps.spokeNamespace);
  const objects = recorded ?? (await renderedObjects(component, { ...deps, namespace }, signal));
  const anchor = describe(anchorOf(component, { hubId: deps.hubId, namespace }));
  const cluster = clusterNameOf(component);
  const count = objects === undefined ? "everything" : `${objects.length} objects`;
  const kinds = objects === undefined ? "" : ` (${kindCounts(objects)})`;
  const source = recorded === undefined ? "rendered from the spec" : "as last seen";
  const message =
    `${forceOrphanAnnotation}: left on ${cluster} and not watched any more: ${anchor}, which has the full inventory, ` +
    `and ${count}${kinds}, ${source}`;
  const lines = (objects ?? []).map(objectLine).toSorted();
  deps.log.child(logFieldsOf(subject)).warn({ cluster, anchor, left: lines }, message);
  const annotations = { [leftBehindAnnotation]: lines.join("\n") };
  const event = { type: "Warning", reason: "Orphaned", message, annotations } as const;
  await deps.events.audit(component, event, signal);
}

function orphanHint({ metadata, spec }: Component, isUnreachable: boolean): string | undefined {
  if (!isUnreachable || spec?.clusterProfileRef === undefined) return undefined;
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
function kindCounts(objects: readonly ObjectKey[]): string {
  const counts = new Map<string, number>();
  for (const { kind } of objects) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return [...counts]
    .toSorted(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
    .map(([kind, count]) => `${count} ${kind}`)
    .join(", ");
}

function objectLine({ apiVersion, kind, namespace, name }: ObjectKey): string {
  return `${apiVersion} ${kind} ${namespace === undefined ? name : `${namespace}/${name}`}`;
}

type RenderDeps = Pick<ReconcileDeps, "releases" | "rendering" | "log">;

/** The objects that an installed component renders to; undefined when it cannot be rendered. Rejects with the reason of the signal. */
export async function renderedObjects(
  component: Component,
  { releases, rendering, log, namespace }: RenderDeps & { readonly namespace: string },
  signal: AbortSignal,
): Promise<readonly ObjectKey[] | undefined> {
  const { version } = component.status ?? {};
  const installed = version === undefined ? {} : { version };
  try {
    const spec = { ...component.spec, ...installed };
    // A source of manifests can be slow.
    const options = { ...rendering, namespace };
    const { manifests } = await abortable(
      render({ ...component, spec }, releases, options),
      signal,
    );
    return manifests.map(keyOf);
  } catch (err) {
    signal.throwIfAborted();
    logFailure(log, "debug", { err }, "What was installed cannot be rendered");
    return undefined;
  }
}
