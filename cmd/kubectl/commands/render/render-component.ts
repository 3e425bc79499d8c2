import type { Component } from "../../../../api/component.ts";
import type { Manifest, ObjectKey, OwnerReference } from "../../../../api/kubernetes.ts";
import { anchorNameOf } from "../../../../installation/anchor.ts";
import type { Preparations } from "../../../../installation/desired.ts";
import { owned } from "../../../../render/namespace.ts";
import type { Releases } from "../../../../render/release/releases.ts";
import { render } from "../../../../render/render.ts";
import type { NamespaceOf } from "../../spokes/spoke-namespace.ts";
import { inApplyOrder } from "./apply-order.ts";
import { withLiveFields } from "./live-fields.ts";

/** What takes the place of the cluster and of the controller's process. */
export interface RenderSettings {
  readonly releases: Releases;
  /** Shared by all components that are rendered equal. */
  readonly preparations: Preparations;
  readonly namespaceOf: NamespaceOf;
  /** uid of the anchor of a component on a spoke. */
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

/** What would be applied for one component. */
export interface RenderedComponent {
  readonly version: string;
  readonly paths: readonly string[];
  /** With owners, in apply order. */
  readonly objects: readonly Manifest[];
  /** What patches take away from the cluster, in that order. */
  readonly deletions: readonly ObjectKey[];
}

/** Renders a component without any cluster. Throws FleetError as `render` does. */
export async function renderComponent(
  component: Component,
  settings: RenderSettings,
): Promise<RenderedComponent> {
  const { releases, environment, kubernetesVersion, manifestText } = settings;
  const namespace = await settings.namespaceOf(component);
  const rendered = await render(component, releases, {
    environment,
    namespace,
    ...(kubernetesVersion === undefined ? {} : { kubernetesVersion }),
    ...(manifestText === undefined ? {} : { manifestText }),
  });
  const owner = ownerOf(component, settings.anchorUid);
  const withOwner =
    owner === undefined ? (manifest: Manifest) => manifest : owned(owner, namespace);
  const objects = inApplyOrder(rendered, settings.preparations)
    .map(withLiveFields(settings.live))
    .map(withOwner);
  const { version, paths, deletions } = rendered;
  return { version, paths, objects, deletions };
}

/**
 * Owner of what is installed in the namespace of the installation: the component itself or, on a spoke, its anchor. Undefined while its uid is not
 * known, because an owner that does not exist makes the garbage collector delete everything. Spec: knative-operator.md 3.13.
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
