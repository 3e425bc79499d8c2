import { componentKinds, type Component } from "../../../api/component.ts";
import { anchorNameOf } from "../../../installation/anchor.ts";
import {
  anchoredNamespaces,
  defaultSpokeNamespace,
  installationNamespace,
  possibleNamespaces,
} from "../../../installation/installation-namespace.ts";
import type { DeploymentFact } from "../spokes/deployment-fact.ts";
import type { SpokeFacts } from "../spokes/spoke-facts.ts";
import type { AnchorFact } from "./anchor-fact.ts";

/** The Deployments of one installation, sorted by namespace and name, whichever operator installed them. */
export function deploymentsOf(component: Component, facts: SpokeFacts): readonly DeploymentFact[] {
  const anchor = anchorOf(component, facts);
  const { label } = componentKinds[component.kind];
  return facts.deployments
    .filter((deployment) => deployment.component === label)
    .filter((deployment) => belongsTo(deployment, component, anchor))
    .toSorted((a, b) => (idOf(a) < idOf(b) ? -1 : 1));
}

/** The Deployments that the inventory of an installation has and its cluster has not, as `namespace/name`. */
export function missingDeployments(component: Component, facts: SpokeFacts): readonly string[] {
  const present = new Set(facts.deployments.map(idOf));
  const expected = anchorOf(component, facts)?.deployments ?? [];
  return expected.filter((id) => !present.has(id));
}

/** The anchor of an installation; undefined when there is none that is its own. */
export function anchorOf(component: Component, facts: SpokeFacts): AnchorFact | undefined {
  const possible = possibleNamespaces(component);
  const own = namesakesOf(component, facts).filter(
    ({ namespace, componentUid }) =>
      possible.includes(namespace) &&
      (componentUid === null || componentUid === component.metadata.uid),
  );
  const found = anchoredNamespaces(own);
  // The mode matters only where upstream's operator left one behind.
  const wanted = installationNamespace(component, defaultSpokeNamespace, found);
  return own.find(({ namespace }) => namespace === wanted);
}

/** The anchor where that of an installation should be, but of another component or another hub. */
export function conflictingAnchor(component: Component, facts: SpokeFacts): AnchorFact | undefined {
  const { uid } = component.metadata;
  const possible = possibleNamespaces(component);
  return namesakesOf(component, facts).find(
    ({ namespace, componentUid }) =>
      possible.includes(namespace) && componentUid !== null && componentUid !== uid,
  );
}

/** Whether an installation is on another cluster than the hub. */
export function isRemote({ spec }: Component): boolean {
  return spec?.clusterProfileRef !== undefined;
}

function namesakesOf(
  { kind, metadata: { name } }: Component,
  { anchors = [] }: SpokeFacts,
): readonly AnchorFact[] {
  const wanted = anchorNameOf({ kind, name });
  return anchors.filter((anchor) => anchor.name === wanted);
}

function belongsTo(
  { componentUid, owners, namespace }: DeploymentFact,
  component: Component,
  anchor: AnchorFact | undefined,
): boolean {
  if (componentUid !== null) return componentUid === component.metadata.uid;
  if (owners.length === 0) return namespace === anchor?.namespace;
  // An owner is of the same namespace, so its name means something only where this installation may be.
  const places = anchor === undefined ? possibleNamespaces(component) : [anchor.namespace];
  if (!places.includes(namespace)) return false;
  const { kind, name } = ownerOf(component);
  return owners.some((owner) => owner.kind === kind && owner.name === name);
}

function ownerOf(component: Component): { readonly kind: string; readonly name: string } {
  const { kind, metadata } = component;
  const key = { kind, name: metadata.name };
  return isRemote(component) ? { kind: "ConfigMap", name: anchorNameOf(key) } : key;
}

function idOf({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `${namespace}/${name}`;
}
