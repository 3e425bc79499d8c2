import { kindId } from "../api/keys.ts";
import { type Manifest, type ObjectKey } from "../api/kubernetes.ts";
import { guessFinder, knownResource, type ResourceType } from "../api/resources.ts";

/** Kinds of Kubernetes itself that a Knative release contains. */
export const builtInReleaseKinds: readonly ResourceType[] = [
  knownResource("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"),
  knownResource("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
  knownResource("rbac.authorization.k8s.io/v1", "ClusterRole"),
  knownResource("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
  knownResource("rbac.authorization.k8s.io/v1", "Role"),
  knownResource("rbac.authorization.k8s.io/v1", "RoleBinding"),
  knownResource("v1", "ConfigMap"),
  knownResource("v1", "Secret"),
  knownResource("v1", "Service"),
  knownResource("v1", "ServiceAccount"),
  knownResource("apps/v1", "Deployment"),
  knownResource("apps/v1", "StatefulSet"),
  knownResource("apps/v1", "DaemonSet"),
  knownResource("batch/v1", "Job"),
  knownResource("batch/v1", "CronJob"),
  knownResource("autoscaling/v2", "HorizontalPodAutoscaler"),
  knownResource("policy/v1", "PodDisruptionBudget"),
];

/** Kinds of CRDs of which a Knative release contains instances; a cluster need not have them, nor the controller a right to them. */
export const customReleaseKinds: readonly ResourceType[] = [
  customKind("caching.internal.knative.dev/v1alpha1", "Image", "images"),
  customKind("networking.internal.knative.dev/v1alpha1", "Certificate", "certificates"),
  customKind("cert-manager.io/v1", "Certificate", "certificates"),
  customKind("networking.istio.io/v1beta1", "Gateway", "gateways"),
  customKind("security.istio.io/v1beta1", "PeerAuthentication", "peerauthentications"),
  customKind("projectcontour.io/v1", "TLSCertificateDelegation", "tlscertificatedelegations"),
];

/**
 * Finds kinds of which only a cluster knows where it serves them: Kubernetes does not define them, no Knative release contains objects of them, and
 * no CRD in a set of manifests defines them.
 */
export function foreignKindFinder(
  manifests: readonly Manifest[],
): (object: Pick<ObjectKey, "apiVersion" | "kind">) => boolean {
  const isGuess = guessFinder(manifests);
  const released = new Set(customReleaseKinds.map(kindId));
  return (object) => isGuess(object) && !released.has(kindId(object));
}

function customKind(apiVersion: string, kind: string, plural: string): ResourceType {
  return { apiVersion, kind, plural, namespaced: true };
}
