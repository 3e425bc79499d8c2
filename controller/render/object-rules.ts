import { FleetError } from "../../api/errors.ts";
import { describe, groupOf, keyOf, type Manifest } from "../../api/kubernetes.ts";
import { isFields } from "./fields.ts";

/**
 * Throws FleetError ManifestInvalid for an object that no user's manifest may bring, because it would be created with the
 * controller's rights: a binding that makes somebody cluster administrator, components of knfleet and its own guards. Spec:
 * security.md T-33.
 */
export function assertAllowed(manifest: Manifest, where: string): void {
  const problem = problemOf(manifest);
  if (problem === undefined) return;
  throw new FleetError(
    "ManifestInvalid",
    `Manifest ${where} ${describe(keyOf(manifest))} is not allowed: ${problem}`,
  );
}

// The anchor and what stands beside it.
const anchors = /^knative(?:serving|eventing)-.+-root-owner/;
// The ends of the names of its CRDs and of the policies of anchor-guard.md, too.
const ownGroups = ["operator.knative.dev", "knfleet.dev"];

function problemOf(manifest: Manifest): string | undefined {
  const { name = "", labels, annotations } = manifest.metadata;
  const group = groupOf(manifest.apiVersion);
  if (ownGroups.includes(group) || ownGroups.some((one) => name.endsWith(`.${one}`))) {
    return "it belongs to knfleet itself";
  }
  if (group === "" && manifest.kind === "ConfigMap" && anchors.test(name)) return "it is an anchor";
  const keys = [...Object.keys(labels ?? {}), ...Object.keys(annotations ?? {})];
  if (keys.some((key) => key.startsWith("knfleet.dev/"))) return "it carries a mark of knfleet";
  return group === "rbac.authorization.k8s.io" ? bindingProblemOf(manifest) : undefined;
}

function bindingProblemOf(manifest: Manifest): string | undefined {
  const { roleRef, subjects } = manifest;
  if (manifest.kind === "ClusterRoleBinding" && isFields(roleRef)) {
    if (roleRef["name"] === "cluster-admin") return "it binds the role cluster-admin";
  }
  const bound: readonly unknown[] = Array.isArray(subjects) ? subjects : [];
  return bound.some((subject) => isFields(subject) && subject["name"] === "system:masters")
    ? "it binds the group system:masters"
    : undefined;
}
