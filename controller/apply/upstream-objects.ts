import { ApiError } from "../../access/api-error.ts";
import type { CollectionRef } from "../../access/kube-client.ts";
import { anchorAnnotations, componentUidLabel } from "../../api/anchor.ts";
import { type Component, componentKinds } from "../../api/component.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import { knownResource, type ResourceType } from "../../api/resources.ts";
import { kindIdOf } from "../observe/sighting.ts";
import type { Root } from "./anchor.ts";
import type { Desired } from "./prepare.ts";
import { isUpstreams, keptAnnotations } from "./take-over.ts";
import type { Target } from "./target.ts";

interface Place {
  readonly component: Component;
  readonly target: Target;
  readonly desired: Desired;
}

/**
 * Whether upstream's operator may have installed the component, so that its objects have to be looked for: on another cluster it left an anchor
 * without our markers, on the hub itself it wrote a status and we have no root
 * with our markers. Also when an adoption was not finished.
 */
export function mayBeUpstreams(
  { component, target }: Pick<Place, "component" | "target">,
  before: Root | undefined,
): boolean {
  if (before?.inventory?.adopting === true) return true;
  const isMarked = before?.object.metadata.annotations?.[anchorAnnotations.hubId] !== undefined;
  // Upstream's anchor has no inventory.
  const isOurs = isMarked || before?.inventory !== undefined;
  const hasTraces =
    target.profile === undefined
      ? (component.status?.manifests ?? []).length > 0
      : before !== undefined;
  return hasTraces && !isOurs;
}

/**
 * Everything on a cluster that upstream's operator wrote for this component, as metadata, with one list a kind: known by the
 * component's label, by upstream's field manager, and in a namespace by an owner that is ours or none.
 */
export async function upstreamObjects(
  { component, target, desired }: Place,
  before: Root | undefined,
  signal: AbortSignal,
): Promise<readonly KubeObject[]> {
  const labelSelector = `app.kubernetes.io/name=${componentKinds[component.kind].label}`;
  const lists = kindsOf(desired).map((resource) =>
    listed({ resource, labelSelector }, target, signal),
  );
  const owner = target.profile === undefined ? component.metadata.uid : before?.uid;
  return (await Promise.all(lists)).flat().filter((object) => {
    const { labels = {}, ownerReferences = [] } = object.metadata;
    const uid = labels[componentUidLabel];
    return (
      (isUpstreams(object) || keptAnnotations(object) !== undefined) &&
      (uid === undefined || uid === component.metadata.uid) &&
      ownerReferences.every((reference) => reference.controller !== true || reference.uid === owner)
    );
  });
}

async function listed(
  ref: CollectionRef,
  { client }: Target,
  signal: AbortSignal,
): Promise<readonly KubeObject[]> {
  try {
    const { items } = await client.list(ref, { metadataOnly: true }, signal);
    const { apiVersion, kind } = ref.resource;
    return items.map((item) => ({ ...item, apiVersion, kind }));
  } catch (error) {
    // A kind that is not served has no objects, and what may not be read cannot have been written with these rights either.
    if (error instanceof ApiError && (error.status === 404 || error.status === 403)) return [];
    throw error;
  }
}

const builtInKinds: readonly (readonly [string, string])[] = [
  ["v1", "ConfigMap"],
  ["v1", "Secret"],
  ["v1", "Service"],
  ["v1", "ServiceAccount"],
  ["apps/v1", "DaemonSet"],
  ["apps/v1", "Deployment"],
  ["apps/v1", "StatefulSet"],
  ["autoscaling/v2", "HorizontalPodAutoscaler"],
  ["batch/v1", "Job"],
  ["policy/v1", "PodDisruptionBudget"],
  ["rbac.authorization.k8s.io/v1", "ClusterRole"],
  ["rbac.authorization.k8s.io/v1", "ClusterRoleBinding"],
  ["rbac.authorization.k8s.io/v1", "Role"],
  ["rbac.authorization.k8s.io/v1", "RoleBinding"],
  ["admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"],
  ["admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"],
];

/** Custom resources that releases bring; of the definitions of others. */
const customKinds: readonly ResourceType[] = (
  [
    ["caching.internal.knative.dev/v1alpha1", "Image", "images"],
    ["cert-manager.io/v1", "Certificate", "certificates"],
    ["networking.internal.knative.dev/v1alpha1", "Certificate", "certificates"],
    ["networking.istio.io/v1beta1", "Gateway", "gateways"],
    ["projectcontour.io/v1", "TLSCertificateDelegation", "tlscertificatedelegations"],
    ["security.istio.io/v1beta1", "PeerAuthentication", "peerauthentications"],
  ] as const
).map(([apiVersion, kind, plural]) => ({ apiVersion, kind, plural, namespaced: true }));

/** The kinds of what is desired, and those of which an older release or another choice of parts may have left something. */
function kindsOf({ objects }: Desired): readonly ResourceType[] {
  const known = builtInKinds.map(([apiVersion, kind]) => knownResource(apiVersion, kind));
  const all = [...customKinds, ...known, ...objects.map(({ resource }) => resource)];
  return [...new Map(all.map((resource) => [kindIdOf(resource), resource])).values()];
}
