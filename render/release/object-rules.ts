import { FleetError } from "../../api/errors.ts";
import { isRecord } from "../../api/fields.ts";
import { type Manifest, describe, groupOf, keyOf } from "../../api/kubernetes.ts";

/**
 * Throws FleetError ManifestInvalid for an object that a user's manifest may not bring. Forbidden are objects that
 * would misuse the rights of the controller: bindings to cluster administration, components of knfleet, guards of
 * knfleet. Refused are also objects without fields that the transforms of their kind need; upstream crashes then
 * (D-37). Spec: security.md T-33.
 */
export function assertAllowed(manifest: Manifest, where: string): void {
  const problem = forbiddenIn(manifest) ?? missingIn(manifest);
  if (problem === undefined) return;
  throw new FleetError(
    "ManifestInvalid",
    `Manifest ${where} ${describe(keyOf(manifest))} ${problem}`,
  );
}

// The anchor and ConfigMaps named after it.
const anchors = /^knative(?:serving|eventing)-.+-root-owner/;
// Names of its CRDs and of the policies of anchor-guard.md end in these groups, too.
const ownGroups = ["operator.knative.dev", "knfleet.dev"];

function forbiddenIn(manifest: Manifest): string | undefined {
  const { name = "", labels, annotations } = manifest.metadata;
  const group = groupOf(manifest.apiVersion);
  if (ownGroups.includes(group) || ownGroups.some((one) => name.endsWith(`.${one}`))) {
    return "is not allowed: it belongs to knfleet itself";
  }
  if (group === "" && manifest.kind === "ConfigMap" && anchors.test(name))
    return "is not allowed: it is an anchor";
  const keys = [...Object.keys(labels ?? {}), ...Object.keys(annotations ?? {})];
  if (keys.some((key) => key.startsWith("knfleet.dev/")))
    return "is not allowed: it is marked as one of knfleet's";
  return group === "rbac.authorization.k8s.io" ? bindingProblemOf(manifest) : undefined;
}

function bindingProblemOf(manifest: Manifest): string | undefined {
  const { roleRef, subjects } = manifest;
  if (manifest.kind === "ClusterRoleBinding" && isRecord(roleRef)) {
    if (roleRef["name"] === "cluster-admin")
      return "is not allowed: it binds the role cluster-admin";
  }
  const bound: readonly unknown[] = Array.isArray(subjects) ? subjects : [];
  return bound.some((subject) => isRecord(subject) && subject["name"] === "system:masters")
    ? "is not allowed: it binds the group system:masters"
    : undefined;
}

function missingIn(manifest: Manifest): string | undefined {
  const { kind, subjects, webhooks } = manifest;
  switch (groupOf(manifest.apiVersion)) {
    case "rbac.authorization.k8s.io":
      return kind.endsWith("RoleBinding") && !Array.isArray(subjects)
        ? "has no subjects"
        : undefined;
    case "admissionregistration.k8s.io":
      return kind.endsWith("WebhookConfiguration") && !Array.isArray(webhooks)
        ? "has no webhooks"
        : undefined;
    default:
      return undefined;
  }
}
