import { createHash } from "node:crypto";

import type { Manifest } from "../../../../api/kubernetes.ts";
import type { Permission } from "./permissions.ts";

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
 * A ClusterRole with what an identity lacks, and its binding. Its name tells its rules and the identity apart from others, so that
 * applying it takes nothing away from anybody.
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
