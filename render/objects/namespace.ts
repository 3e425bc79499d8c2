import { isRecord } from "../../api/fields.ts";
import type { Manifest } from "../../api/kubernetes.ts";
import { groupOf } from "../../api/kubernetes.ts";
import type { resourceFinder } from "../../api/resources.ts";
import { changeField } from "../fields.ts";
import type { Transform } from "../transform.ts";

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
