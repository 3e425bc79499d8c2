import { isRecord } from "../api/fields.ts";
import { type Manifest, type OwnerReference, groupOf } from "../api/kubernetes.ts";
import type { resourceFinder } from "../api/resources.ts";
import { type Transform, changeField, setEntries } from "./fields.ts";

const webhookKinds = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

/**
 * Moves everything into one namespace: objects, Namespaces (renamed), subjects of bindings, and Services of webhooks. The
 * scope of a kind comes from `resourceOf`, so that cluster-scoped kinds never get a namespace (D-19). Spec:
 * knative-operator.md 3.1.
 */
export function inNamespace(
  namespace: string,
  resourceOf: ReturnType<typeof resourceFinder>,
): Transform {
  return (manifest) => {
    const placed = resourceOf(manifest).namespaced
      ? withNamespace(manifest, namespace)
      : withoutNamespace(manifest);
    return withReferences(placed, namespace);
  };
}

function withNamespace(manifest: Manifest, namespace: string): Manifest {
  return manifest.metadata.namespace === namespace
    ? manifest
    : { ...manifest, metadata: { ...manifest.metadata, namespace } };
}

function withoutNamespace(manifest: Manifest): Manifest {
  if (manifest.metadata.namespace === undefined) return manifest;
  const { namespace: _, ...metadata } = manifest.metadata;
  return { ...manifest, metadata };
}

function withReferences(manifest: Manifest, namespace: string): Manifest {
  const { kind } = manifest;
  const inService = (path: readonly string[]): Manifest =>
    changeField(manifest, [...path, "service", "namespace"], () => namespace);
  switch (groupOf(manifest.apiVersion)) {
    case "":
      return kind === "Namespace"
        ? { ...manifest, metadata: { ...manifest.metadata, name: namespace } }
        : manifest;
    case "rbac.authorization.k8s.io":
      return changeField(manifest, ["subjects", "*"], (subject) =>
        isRecord(subject) && Object.hasOwn(subject, "namespace")
          ? { ...subject, namespace }
          : subject,
      );
    case "admissionregistration.k8s.io":
      return webhookKinds.includes(kind) ? inService(["webhooks", "*", "clientConfig"]) : manifest;
    case "apiregistration.k8s.io":
      return inService(["spec"]);
    case "apiextensions.k8s.io":
      return inService(
        manifest.apiVersion.endsWith("/v1")
          ? ["spec", "conversion", "webhook", "clientConfig"]
          : ["spec", "conversion", "webhookClientConfig"],
      );
    default:
      return manifest;
  }
}

interface Settings {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/**
 * Sets labels and annotations on Namespaces. The last of several settings wins. Upstream documents the field as
 * `spec.namespaceConfiguration`. Spec: knative-operator.md 3.2.
 */
export function namespaceLabels(settings: readonly (Settings | undefined)[]): Transform {
  const labels: Record<string, string> = {};
  const annotations: Record<string, string> = {};
  for (const one of settings) {
    Object.assign(labels, one?.labels);
    Object.assign(annotations, one?.annotations);
  }
  return (manifest) =>
    manifest.kind === "Namespace" && manifest.apiVersion === "v1"
      ? setEntries(
          setEntries(manifest, ["metadata", "labels"], labels),
          ["metadata", "annotations"],
          annotations,
        )
      : manifest;
}

/**
 * Sets the owners of every object in a namespace: the anchor and, if there is one, the cluster-scoped second owner.
 * Objects elsewhere lose their owners, because an owner must be in the same namespace. Not part of `render`, because
 * owners differ for each cluster. Spec: knative-operator.md 3.13.
 */
export function withOwners(
  owner: OwnerReference,
  namespace: string,
  secondOwner?: OwnerReference,
): Transform {
  return (manifest) => {
    if (manifest.metadata.namespace === namespace) {
      const ownerReferences = secondOwner === undefined ? [owner] : [owner, secondOwner];
      return { ...manifest, metadata: { ...manifest.metadata, ownerReferences } };
    }
    const { ownerReferences, ...metadata } = manifest.metadata;
    return ownerReferences === undefined ? manifest : { ...manifest, metadata };
  };
}
