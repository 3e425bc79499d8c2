import type { Component } from "../../../api/component.ts";
import { isRecord } from "../../../api/fields.ts";
import { objectId } from "../../../api/keys.ts";
import {
  groupOf,
  keyOf,
  type Manifest,
  type ObjectKey,
  type OwnerReference,
} from "../../../api/kubernetes.ts";
import { anchorNameOf } from "../../../installation/anchor.ts";
import type { Preparations } from "../../../installation/desired.ts";
import { gateObjects } from "../../../installation/gates.ts";
import { changeField, type Fields, hashOf } from "../../../render/fields.ts";
import { withOwners } from "../../../render/namespace.ts";
import type { BoundedCache, Rendered } from "../../../render/release/releases.ts";
import { remarksOn, remarkText } from "../../../render/remarks/remarks.ts";
import { render } from "../../../render/render.ts";
import type { OpenReleases } from "./named-releases.ts";
import type { NamespaceOf } from "./rendering-options.ts";

/** The component with other fields of its spec. */
export function withSpec(
  component: Component,
  fields: Pick<
    NonNullable<Component["spec"]>,
    "version" | "manifests" | "additionalManifests" | "patches"
  >,
): Component {
  return component.kind === "KnativeServing"
    ? { ...component, spec: { ...component.spec, ...fields } }
    : { ...component, spec: { ...component.spec, ...fields } };
}

/** Settings that stand for the cluster and the process of the controller. */
export interface RenderSettings {
  readonly releases: OpenReleases;
  /** Shared by all components with equal renderings. */
  readonly preparations: Preparations;
  /** Remarks by what they are about: in a fleet most components have the same spec. */
  readonly remarks: BoundedCache<readonly string[]>;
  readonly namespaceOf: NamespaceOf;
  /** Uid of the anchor of a component on a spoke. */
  readonly anchorUid: string | undefined;
  /** Version of the cluster's API server. */
  readonly kubernetesVersion: string | undefined;
  /** Objects that the cluster has. */
  readonly live: readonly Manifest[];
  /** Environment of the controller. */
  readonly environment: Readonly<Record<string, string>>;
  /** Text behind a URL of user-supplied manifests. */
  readonly manifestText: ((url: string) => Promise<string>) | undefined;
}

/** The objects that the controller would apply for one component. */
interface RenderedObjects {
  readonly version: string;
  readonly paths: readonly string[];
  /** The objects with owners, in apply order. */
  readonly objects: readonly Manifest[];
  /** Objects that patches delete from the cluster, in order of deletion. */
  readonly deletions: readonly ObjectKey[];
}

export interface RenderedComponent extends RenderedObjects {
  /** What of the spec is not done, or not as it is written. */
  readonly remarks: readonly string[];
}

/** Renders a component without a cluster, with remarks on its spec. Throws FleetError as `render` does. */
export async function renderComponent(
  component: Component,
  settings: RenderSettings,
): Promise<RenderedComponent> {
  const rendered = await renderObjects(component, settings);
  return { ...rendered, remarks: await remarkLines(component, settings, rendered) };
}

/** Renders a component without a cluster. Throws FleetError as `render` does. */
export async function renderObjects(
  component: Component,
  settings: Omit<RenderSettings, "remarks">,
): Promise<RenderedObjects> {
  const { environment, kubernetesVersion, manifestText } = settings;
  const releases = await settings.releases();
  const namespace = await settings.namespaceOf(component);
  const rendered = await render(component, releases, {
    environment,
    namespace,
    ...(kubernetesVersion === undefined ? {} : { kubernetesVersion }),
    ...(manifestText === undefined ? {} : { manifestText }),
  });
  const owner = ownerOf(component, settings.anchorUid);
  const withOwner =
    owner === undefined ? (manifest: Manifest) => manifest : withOwners(owner, namespace);
  const objects = inApplyOrder(rendered, settings.preparations)
    .map(withLiveFields(settings.live))
    .map(withOwner);
  const { version, paths, deletions } = rendered;
  return { version, paths, objects, deletions };
}

/** What of a spec is not done, or not as it is written: a line each. */
export async function remarkLines(
  component: Component,
  {
    releases,
    manifestText,
    remarks,
  }: Pick<RenderSettings, "releases" | "manifestText" | "remarks">,
  { version }: Pick<Rendered, "version">,
): Promise<readonly string[]> {
  const { kind, metadata, spec } = component;
  const { clusterProfileRef: _, ...rest } = spec ?? {};
  return remarks.get(hashOf([kind, version, metadata.namespace, rest]), async () => {
    const options = { releases: await releases(), version, manifestText };
    return (await remarksOn(component, options)).map(remarkText);
  });
}

/**
 * The owner of the objects in the namespace of the installation: the component itself, or on a spoke its anchor. Undefined while its uid is not known,
 * because the garbage collector deletes everything whose owner does not exist. Spec: knative-operator.md 3.13.
 */
function ownerOf(component: Component, anchorUid: string | undefined): OwnerReference | undefined {
  const { apiVersion, kind, metadata, spec } = component;
  const ownership = { controller: true, blockOwnerDeletion: true } as const;
  const { name, uid } = metadata;
  if (spec?.clusterProfileRef === undefined) {
    return uid === "" ? undefined : { apiVersion, kind, name, uid, ...ownership };
  }
  if (anchorUid === undefined) return undefined;
  const anchor = { apiVersion: "v1", kind: "ConfigMap", name: anchorNameOf({ kind, name }) };
  return { ...anchor, uid: anchorUid, ...ownership };
}

/** Rendered objects in the order in which the controller sends them: Namespaces, then by gate, within a gate as in the release files. */
function inApplyOrder(rendered: Rendered, preparations: Preparations): readonly Manifest[] {
  const { namespaces, objects } = preparations.of(rendered);
  const ids = [
    ...namespaces.map((manifest) => objectId(keyOf(manifest))),
    ...gateObjects(objects).map(({ object }) => object.id),
  ];
  const byId = new Map(rendered.manifests.map((one) => [objectId(keyOf(one)), one]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

/**
 * Returns a function that fills in the fields that the controller leaves to the cluster: rules of aggregated ClusterRoles, and replicas and variables of
 * the PingSource adapter. `live`: objects of the cluster. Spec: knative-operator.md 3.12, 3.20.
 */
export function withLiveFields(live: readonly Manifest[]): (manifest: Manifest) => Manifest {
  const byId = new Map(live.map((one) => [objectId(keyOf(one)), one]));
  return (manifest) => {
    const found = byId.get(objectId(keyOf(manifest)));
    if (found === undefined) return manifest;
    if (isAggregated(manifest)) return withRulesOf(manifest, found);
    return isPingSourceAdapter(manifest) ? withScaleOf(manifest, found) : manifest;
  };
}

function isAggregated({ kind, apiVersion, aggregationRule }: Manifest): boolean {
  return (
    kind === "ClusterRole" &&
    groupOf(apiVersion) === "rbac.authorization.k8s.io" &&
    aggregationRule !== undefined
  );
}

// An API server shows a role without rules with `rules: null`.
function withRulesOf(manifest: Manifest, live: Manifest): Manifest {
  return Array.isArray(live["rules"]) ? { ...manifest, rules: live["rules"] } : manifest;
}

function isPingSourceAdapter({ kind, apiVersion, metadata }: Manifest): boolean {
  return (
    kind === "Deployment" &&
    groupOf(apiVersion) === "apps" &&
    metadata.name === "pingsource-mt-adapter"
  );
}

const kept = new Set([
  "SYSTEM_NAMESPACE",
  "K_METRICS_CONFIG",
  "K_LOGGING_CONFIG",
  "K_LEADER_ELECTION_CONFIG",
  "K_NO_SHUTDOWN_AFTER",
  "K_SINK_TIMEOUT",
  "K_TRACING_CONFIG",
  "NAMESPACE",
  // Missing in upstream's list, though every bundled release has it (N-4).
  "K_OBSERVABILITY_CONFIG",
]);

const containersPath = ["spec", "template", "spec", "containers"];

function withScaleOf(manifest: Manifest, live: Manifest): Manifest {
  const replicas = isRecord(live["spec"]) ? live["spec"]["replicas"] : undefined;
  const scaled =
    replicas === undefined
      ? manifest
      : changeField(manifest, ["spec"], (spec) => (isRecord(spec) ? { ...spec, replicas } : spec));
  const liveContainers = namedItems(valueAt(live, containersPath));
  return changeField(scaled, [...containersPath, "*"], (container) => {
    if (!isRecord(container)) return container;
    const found = liveContainers.find(({ name }) => name === container["name"]);
    if (found === undefined) return container;
    const running = namedItems(found["env"]).filter(({ name }) => kept.has(String(name)));
    const taken = new Set(running.map(({ name }) => name));
    const own = namedItems(container["env"]).filter(({ name }) => !taken.has(name));
    return { ...container, env: [...running, ...own] };
  });
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce((at: unknown, field) => (isRecord(at) ? at[field] : undefined), value);
}

function namedItems(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}
