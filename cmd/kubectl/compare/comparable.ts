import type { Component } from "../../../api/component.ts";
import { FleetError } from "../../../api/errors.ts";
import { isRecord, isSameJson } from "../../../api/fields.ts";
import type { Manifest } from "../../../api/kubernetes.ts";
import type { Desired } from "../../../installation/desired.ts";
import { versionRefusal } from "../../../render/release/version.ts";
import { render } from "../../../render/render.ts";
import { misfitOfSpec } from "../hub/spec-form.ts";
import { mapLimited } from "../spokes/read-clusters.ts";
import type { RenderSettings } from "./render-component.ts";

/** The objects that the controller of this version makes of a component. */
export interface Comparable {
  /** Namespace of the installation. */
  readonly namespace: string;
  readonly version: string;
  /** Entries of `spec.config` that change nothing. */
  readonly unusedConfig: readonly string[];
  readonly manifests: readonly Manifest[];
  readonly desired: Desired;
}

const atOnce = 16;

/**
 * Opens the releases, unless no component can be rendered, and fetches the manifests that components name by URL, in parallel. The comparison then waits for
 * neither. Throws FleetError without releases, bugs, and the reason of an abort.
 */
export async function fetchSources(
  components: readonly Component[],
  settings: RenderSettings,
): Promise<void> {
  const possible = components.filter(
    (one) => (misfitOfSpec(one) ?? versionRefusal(one)) === undefined,
  );
  if (possible.length > 0) await settings.releases();
  const withManifests = possible.filter(
    ({ spec }) => (spec?.manifests ?? spec?.additionalManifests) !== undefined,
  );
  await mapLimited(withManifests, atOnce, (component) => comparableOf(component, settings));
}

interface ClusterCircumstances {
  readonly kubernetesVersion?: string | undefined;
  /** Absent: the namespace that the hub knows. */
  readonly namespace?: string;
}

/** Renders what is installed for a component, or returns the error why this version installs nothing. Throws FleetError without releases, and bugs. */
export async function comparableOf(
  component: Component,
  settings: Omit<RenderSettings, "remarks">,
  { kubernetesVersion, namespace: known }: ClusterCircumstances = {},
): Promise<Comparable | FleetError> {
  const { preparations, environment, manifestText } = settings;
  const refusal = misfitOfSpec(component) ?? versionRefusal(component);
  if (refusal !== undefined) return refusal;
  const releases = await settings.releases();
  const namespace = known ?? (await settings.namespaceOf(component));
  try {
    const rendered = await render(component, releases, {
      namespace,
      environment,
      ...(manifestText === undefined ? {} : { manifestText }),
      ...(kubernetesVersion === undefined ? {} : { kubernetesVersion }),
    });
    const { version, unusedConfig, manifests } = rendered;
    const desired = preparations.of(rendered);
    return { version, unusedConfig, namespace, manifests, desired };
  } catch (error) {
    if (error instanceof FleetError) return error;
    throw error;
  }
}

/** Renders again for another namespace, where the cluster has the installation. Throws FleetError as `render` does. */
export async function comparableIn(
  namespace: string,
  made: Comparable,
  { component, settings }: { readonly component: Component; readonly settings: RenderSettings },
): Promise<Comparable> {
  if (made.namespace === namespace) return made;
  const other = await comparableOf(component, settings, { namespace });
  if (other instanceof FleetError) throw other;
  return other;
}

/** One field that differs. Null on a side without the field. */
export interface FieldChange {
  /** For example `.spec.template.spec.containers[activator].image`. Items of lists by their name, or else by their index. */
  readonly path: string;
  readonly live: unknown;
  readonly wanted: unknown;
}

/** The fields in which two values differ, in the order of their paths. */
export function fieldChanges(live: unknown, wanted: unknown, path = ""): readonly FieldChange[] {
  if (isSameJson(live, wanted)) return [];
  if (isRecord(live) && isRecord(wanted)) {
    const names = [...new Set([...Object.keys(live), ...Object.keys(wanted)])].toSorted();
    return names.flatMap((name) =>
      fieldChanges(live[name], wanted[name], `${path}${stepOf(name)}`),
    );
  }
  const [before, after] = [itemsByName(live), itemsByName(wanted)];
  if (before !== undefined && after !== undefined) {
    const names = [...new Set([...before.keys(), ...after.keys()])];
    const inside = names.flatMap((name) =>
      fieldChanges(before.get(name), after.get(name), `${path}[${name}]`),
    );
    // No difference inside: the same items in another order.
    if (inside.length > 0) return inside;
  }
  return [{ path: path === "" ? "." : path, live: live ?? null, wanted: wanted ?? null }];
}

function stepOf(name: string): string {
  return /^[\w-]+$/.test(name) ? `.${name}` : `['${name}']`;
}

/** Items of a list by their name. Undefined for anything else, also when two items have the same name. */
function itemsByName(value: unknown): ReadonlyMap<string, unknown> | undefined {
  if (!Array.isArray(value)) return undefined;
  const list: readonly unknown[] = value;
  const pairs = list.map((item, at) => [nameOfItem(item) ?? String(at), item] as const);
  const items = new Map(pairs);
  return items.size === list.length ? items : undefined;
}

function nameOfItem(item: unknown): string | undefined {
  if (!isRecord(item)) return undefined;
  const { name } = item;
  return typeof name === "string" ? name : undefined;
}
