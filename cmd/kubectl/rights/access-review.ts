import type { KubeClient } from "../../../access/kube/kube-client.ts";
import type { Right } from "../../../access/kube/missing-right.ts";
import { listAt, recordAt } from "../../../api/fields.ts";
import { mapLimited } from "../spokes/read-clusters.ts";
import type { Permission, SpokeRight } from "./permissions.ts";

const apiVersion = "authorization.k8s.io/v1";
const asked = 16;

/** Each verb on each resource of a right of the documentation. */
export function rightsOf({ group, resources, verbs }: SpokeRight): readonly Right[] {
  return resources.flatMap((resource) => verbs.map((verb) => ({ group, resource, verb })));
}

/** Asks the cluster of a client whether its identity has a right. Throws what KubeClient throws. */
export async function isAllowed(
  { namespace, group, resource: path, verb, name }: Right,
  client: Pick<KubeClient, "request">,
  signal: AbortSignal,
): Promise<boolean> {
  const [resource = "", subresource] = path.split("/");
  const resourceAttributes = {
    group,
    resource,
    verb,
    ...(subresource === undefined ? {} : { subresource }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === undefined ? {} : { name }),
  };
  const review = { apiVersion, kind: "SelfSubjectAccessReview", spec: { resourceAttributes } };
  const url = `/apis/${apiVersion}/selfsubjectaccessreviews`;
  const answer = await client.request("POST", url, review, signal);
  return recordAt(answer, "status")["allowed"] === true;
}

/** Cluster-wide rights of an identity. */
interface Granted {
  /** Whether one of the rules holds a right. */
  readonly isGranted: (right: Right) => boolean;
  /** False: the cluster has rules that it does not return. */
  readonly isComplete: boolean;
}

/** Asks for the rules in one request. Rules of other authorizers than RBAC may be missing. Throws what KubeClient throws. */
export async function readGrantedRules(
  client: Pick<KubeClient, "request">,
  signal: AbortSignal,
): Promise<Granted> {
  // Rules for every namespace are returned for any namespace, even for one that does not exist.
  const spec = { namespace: "knfleet-diagnose" };
  const review = { apiVersion, kind: "SelfSubjectRulesReview", spec };
  const url = `/apis/${apiVersion}/selfsubjectrulesreviews`;
  const status = recordAt(await client.request("POST", url, review, signal), "status");
  const rules = listAt(status, "resourceRules");
  return {
    isGranted: (right) => isGrantedBy(rules, right),
    isComplete: status["incomplete"] !== true && Array.isArray(status["resourceRules"]),
  };
}

/** Whether one of the rules of RBAC grants a right on the objects of every name. */
export function isGrantedBy(rules: readonly unknown[], right: Right): boolean {
  return rules
    .map((rule) => recordAt(rule))
    .some((rule) => listAt(rule, "resourceNames").length === 0 && isIn(right, rule));
}

function isIn({ group, resource, verb }: Right, rule: Readonly<Record<string, unknown>>): boolean {
  return (
    has(rule, "apiGroups", group) && has(rule, "resources", resource) && has(rule, "verbs", verb)
  );
}

function has(rule: Readonly<Record<string, unknown>>, field: string, value: string): boolean {
  const list = listAt(rule, field);
  return list.includes("*") || list.includes(value);
}

/** A permission with the cluster's answer for each verb. */
export interface Reviewed extends Pick<Permission, "group" | "resource" | "purpose"> {
  readonly allowed: readonly string[];
  readonly missing: readonly string[];
}

/**
 * Asks for all permissions in one batch. A right that the rules of the identity grant is not asked for by itself, unless the cluster says that its
 * rules are incomplete: another rule may deny the right. Throws what KubeClient throws.
 */
export async function reviewAll(
  permissions: readonly Permission[],
  client: Pick<KubeClient, "request">,
  signal: AbortSignal,
): Promise<readonly Reviewed[]> {
  const { isGranted, isComplete } = await readGrantedRules(client, signal);
  const rights = permissions.flatMap((permission) =>
    permission.verbs.map((verb) => ({ permission, verb })),
  );
  const answers = await mapLimited(rights, asked, ({ permission: { group, resource }, verb }) => {
    const right = { group, resource, verb };
    return isComplete && isGranted(right)
      ? Promise.resolve(true)
      : isAllowed(right, client, signal);
  });
  return permissions.map((permission) => {
    const { group, resource, purpose } = permission;
    const verbsSaid = (wanted: boolean): readonly string[] =>
      rights.flatMap((right, at) =>
        right.permission === permission && answers[at] === wanted ? [right.verb] : [],
      );
    return { group, resource, purpose, allowed: verbsSaid(true), missing: verbsSaid(false) };
  });
}
