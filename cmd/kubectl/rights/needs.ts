import { createHash } from "node:crypto";

import {
  type ClusterProfileRef,
  type Component,
  type ComponentKind,
  componentKinds,
  operatorApiVersion,
} from "../../../api/component.ts";
import { FleetError } from "../../../api/errors.ts";
import type { Manifest, ObjectKey } from "../../../api/kubernetes.ts";
import { partsOf } from "../../../render/parts.ts";
import type { Releases } from "../../../render/release/releases.ts";
import { targetVersion, unavailable } from "../../../render/release/version.ts";
import { render } from "../../../render/render.ts";
import { withSpec } from "../compare/render-component.ts";
import type { NamespaceOf } from "../compare/rendering-options.ts";
import { misfitOfSpec } from "../hub/spec-form.ts";
import type { Permission } from "./permissions.ts";

/** Objects of an installation at a version. */
export interface Needs {
  readonly version: string;
  readonly manifests: readonly Manifest[];
  /** Objects that patches delete; they may have been installed before. */
  readonly deletions: readonly ObjectKey[];
  /** Manifests that the spec names by URL. They are not fetched. */
  readonly unseen: readonly string[];
}

interface NeedsOptions {
  readonly releases: Releases;
  readonly version: string | undefined;
  readonly namespaceOf: NamespaceOf;
}

/**
 * Renders the objects of a component at a version (undefined: that of its spec), and those of the installed version, which an upgrade removes.
 * Throws FleetError as `render` does.
 */
export async function renderNeeds(
  component: Component,
  { releases, version, namespaceOf }: NeedsOptions,
): Promise<Needs> {
  const { status, spec } = component;
  const wrong = misfitOfSpec(component);
  if (wrong !== undefined) throw wrong;
  const where = { namespace: await namespaceOf(component) };
  const wanted = await render(at(component, version ?? spec?.version), releases, where);
  const installed = status?.version ?? "";
  const before = releases.versionsOf(component.kind).includes(installed)
    ? await render(at(component, installed), releases, where)
    : { manifests: [], deletions: [] };
  const unseen = urlsOf(component);
  return {
    version: wanted.version,
    manifests: [...wanted.manifests, ...before.manifests],
    deletions: [...unseenTargets(component), ...wanted.deletions, ...before.deletions],
    unseen,
  };
}

function urlsOf({ spec }: Component): readonly string[] {
  return [...(spec?.manifests ?? []), ...(spec?.additionalManifests ?? [])].map(({ URL }) => URL);
}

/** Targets of patches, which may be in manifests that are not fetched. */
function unseenTargets(component: Component): readonly ObjectKey[] {
  if (urlsOf(component).length === 0) return [];
  return (component.spec?.patches ?? []).map(({ target }) => target);
}

/** A component at another version, without its status and without manifests that only the controller can fetch. */
function at(original: Component, version: string | undefined): Component {
  const { status: _, ...component } = original;
  const patches = urlsOf(original).length === 0 ? original.spec?.patches : undefined;
  const fields = { manifests: undefined, additionalManifests: undefined, patches, version };
  return withSpec(component, fields);
}

interface Everything extends Needs {
  /** Parts of the release that the release directory lacks. */
  readonly lacking: readonly string[];
}

/**
 * Every object that a kind can install at a version, with all ingresses and sources that the release directory has. Throws FleetError
 * ReleaseNotFound or ManifestInvalid.
 */
export async function loadEverything(
  kind: ComponentKind,
  { releases, version: wanted }: { readonly releases: Releases; readonly version?: string },
): Promise<Everything> {
  const available = releases.versionsOf(kind);
  const version = targetVersion(wanted, available, kind);
  if (!available.includes(version)) {
    throw new FleetError("ReleaseNotFound", unavailable(version, available));
  }
  const [newest = version] = available;
  const { component, extensions } = partsOf(completeComponent(kind), version, newest);
  const main = await releases.load(component);
  const lacking: string[] = [];
  const others = await Promise.all(
    extensions.map((part) =>
      releases.load(part).catch((error: unknown) => {
        if (!(error instanceof FleetError) || error.reason !== "ReleasePartNotFound") throw error;
        lacking.push(part);
        return [];
      }),
    ),
  );
  const manifests = [...main, ...others.flat()];
  return { version, manifests, deletions: [], unseen: [], lacking: lacking.toSorted() };
}

const on = { enabled: true };

function completeComponent(kind: ComponentKind): Component {
  const { label: name } = componentKinds[kind];
  const bare = bareComponent(kind, { namespace: name, name });
  if (bare.kind === "KnativeServing") {
    const ingress = { istio: on, kourier: on, contour: on, "gateway-api": on };
    return { ...bare, spec: { ingress } };
  }
  const source = { ceph: on, github: on, gitlab: on, kafka: on, rabbitmq: on, redis: on };
  return { ...bare, spec: { source } };
}

/** A component that exists nowhere, with nothing in its spec but the cluster that it would be installed on. */
export function bareComponent(
  kind: ComponentKind,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  clusterProfileRef?: ClusterProfileRef,
): Component {
  return {
    apiVersion: operatorApiVersion,
    kind,
    metadata: { namespace, name, uid: "", resourceVersion: "" },
    ...(clusterProfileRef === undefined ? {} : { spec: { clusterProfileRef } }),
  };
}

const apiGroup = "rbac.authorization.k8s.io";
const apiVersion = `${apiGroup}/v1`;

/** Name of the role that documentation and commands bind. */
export const spokeRoleName = "knfleet-spoke";

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

/** The ClusterRole that grants permissions; equal verbs of a group stand in one rule. */
export function clusterRoleOf(name: string, permissions: readonly RuledPermission[]): Manifest {
  return {
    apiVersion,
    kind: "ClusterRole",
    metadata: metadataOf(name),
    rules: rulesOf(permissions),
  };
}

type RuledPermission = Pick<Permission, "group" | "resource" | "verbs">;

/**
 * A ClusterRole with the rights that an identity lacks, and its binding. Other rules or another identity give another name, so that applying it
 * changes no other role.
 */
export function missingRole(
  permissions: readonly RuledPermission[],
  user: string,
): readonly [role: Manifest, binding: Manifest] {
  const rules = rulesOf(permissions);
  const hash = createHash("sha256")
    .update(JSON.stringify([rules, user]))
    .digest("hex");
  const name = `${spokeRoleName}-${hash.slice(0, 8)}`;
  return [
    { apiVersion, kind: "ClusterRole", metadata: metadataOf(name), rules },
    {
      apiVersion,
      kind: "ClusterRoleBinding",
      metadata: metadataOf(name),
      roleRef: { apiGroup, kind: "ClusterRole", name },
      subjects: [subjectOf(user)],
    },
  ];
}

function metadataOf(name: string): Manifest["metadata"] {
  return { name, labels: { "app.kubernetes.io/part-of": "knfleet" } };
}

function rulesOf(permissions: readonly RuledPermission[]): readonly Rule[] {
  const same = Map.groupBy(permissions, ({ group, verbs }) => `${group} ${verbs.join(" ")}`);
  return [...same.values()].flatMap((all) => {
    const [first] = all;
    if (first === undefined) return [];
    const { group, verbs } = first;
    return [{ apiGroups: [group], resources: all.map(({ resource }) => resource), verbs }];
  });
}

function subjectOf(user: string): object {
  const [, namespace, name] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(user) ?? [];
  return namespace === undefined
    ? { apiGroup, kind: "User", name: user }
    : { kind: "ServiceAccount", namespace, name };
}
