import { isRecord } from "../../api/fields.ts";
import type { KubeObject, Manifest } from "../../api/kubernetes.ts";
import {
  anchorAnnotations,
  anchorLabels,
  guardLabels,
  managedByValue,
} from "../../installation/anchor.ts";
import { type GuardRule, guardRules } from "../../installation/guard/guard-rules.ts";
import {
  type GuardName,
  type GuardOwner,
  type GuardView,
  guardViewOf,
} from "../../installation/guard/guard-view.ts";
import { policyVariablesOf, usersInVariables } from "./policy-variables.ts";
import type { ClusterUser } from "./protection.ts";

/** The two objects by which an API server enforces a guard. */
export interface GuardPolicy {
  readonly policy: Manifest;
  readonly binding: Manifest;
}

/** The users that a policy lets in. Empty for a policy that `guardPolicyOf` did not make. */
function usersLetInBy({ spec }: Manifest & { readonly spec?: unknown }): readonly string[] {
  const variables = isRecord(spec) ? spec["variables"] : undefined;
  return Array.isArray(variables) ? usersInVariables(variables) : [];
}

const apiVersion = "admissionregistration.k8s.io/v1";

/** Name of a guard's policy and of its binding on a cluster. */
export function policyNameOf(guard: GuardName, hubId: string): string {
  return `${guard}.${hubId}.operator.knative.dev`;
}

/**
 * A guard as ValidatingAdmissionPolicy and binding. Equal input, the order of the users included, gives equal objects. Throws a plain Error without
 * users, and for a user name that is empty or no Unicode text: such a policy would refuse the controller itself, or could not be written.
 * Spec: anchor-guard.md 3.
 */
export function guardPolicyOf(guard: GuardName, { hubId, hubUsers }: GuardOwner): GuardPolicy {
  const isNamed = hubUsers.every((user) => user !== "" && user.isWellFormed());
  if (!isNamed || hubUsers.length === 0) throw new Error("The controller has no user name");
  const metadata = {
    name: policyNameOf(guard, hubId),
    labels: { [anchorLabels.managedBy]: managedByValue, [anchorAnnotations.hubId]: hubId },
  };
  return {
    policy: {
      apiVersion,
      kind: "ValidatingAdmissionPolicy",
      metadata,
      spec: {
        failurePolicy: "Fail",
        matchConstraints: { matchPolicy: "Equivalent", resourceRules: [guardTargets[guard]] },
        matchConditions: [matchConditionOf(guard, hubId)],
        variables: policyVariablesOf(guard, hubUsers),
        validations: guardRules[guard].map((rule) => validationOf(rule, hubId)),
        auditAnnotations: auditAnnotationsOf(guard),
      },
    },
    binding: {
      apiVersion,
      kind: "ValidatingAdmissionPolicyBinding",
      metadata,
      spec: { policyName: metadata.name, validationActions: ["Deny", "Audit"] },
    },
  };
}

/**
 * The requests that a guard checks. No resourceNames, because an element of a collection delete has no name. No selectors, because anybody may change
 * labels.
 */
export const guardTargets: Readonly<Record<GuardName, object>> = {
  "anchor-guard": {
    apiGroups: [""],
    apiVersions: ["v1"],
    operations: ["CREATE", "UPDATE", "DELETE"],
    resources: ["configmaps"],
    scope: "Namespaced",
  },
  "namespace-guard": {
    apiGroups: [""],
    apiVersions: ["v1"],
    operations: ["CREATE", "UPDATE", "DELETE"],
    // The subresources also allow to remove a label or to add an owner.
    resources: ["namespaces", "namespaces/finalize", "namespaces/status"],
    scope: "Cluster",
  },
  "crd-guard": {
    apiGroups: ["apiextensions.k8s.io"],
    apiVersions: ["v1"],
    operations: ["UPDATE", "DELETE"],
    resources: ["customresourcedefinitions", "customresourcedefinitions/status"],
    scope: "Cluster",
  },
};

/** The marks of the objects that a guard checks, as a match condition of a policy or of a webhook. */
export function matchConditionOf(guard: GuardName, hubId: string): object {
  if (guard === "anchor-guard") {
    const marks = { field: "annotations", key: anchorAnnotations.hubId, hubId };
    const isProtected = (which: string) =>
      `${carries(which, marks)}\n  && '${anchorAnnotations.protected}' in ${which}.metadata.annotations`;
    return {
      name: "anchor-of-this-hub",
      expression: `(${isProtected("object")})\n|| (${isProtected("oldObject")})`,
    };
  }
  if (guard === "namespace-guard") {
    const label = { field: "labels", key: guardLabels.namespace, hubId };
    return {
      name: "anchor-namespace-of-this-hub",
      expression: `(${carries("object", label)})\n|| (${carries("oldObject", label)})`,
    };
  }
  const label = { field: "labels", key: guardLabels.crd, hubId };
  return { name: "crd-of-this-hub", expression: carries("oldObject", label) };
}

/** CEL: the object has a label or annotation with the id of the hub. */
function carries(
  which: string,
  { field, key, hubId }: { readonly field: string; readonly key: string; readonly hubId: string },
): string {
  const fields = `${which}.metadata.${field}`;
  return `${which} != null && has(${fields})
  && '${key}' in ${fields}
  && ${fields}['${key}'] == '${hubId}'`;
}

function validationOf({ expression, message, messageExpression }: GuardRule, hubId: string) {
  const text =
    messageExpression === undefined
      ? { message: message(emptyView(hubId)) }
      : { messageExpression: messageExpression(hubId) };
  return { expression, reason: "Forbidden", ...text };
}

/** A message without an expression uses the id of the hub only. */
function emptyView(hubId: string): GuardView {
  const request = {
    operation: "",
    dryRun: false,
    username: "",
    namespace: undefined,
    name: undefined,
    object: undefined,
    oldObject: undefined,
  };
  return guardViewOf(
    request,
    { hubId, hubUsers: [] },
    { namespaceTerminating: false, mayUnprotect: false },
  );
}

/** The annotations of each decision in the audit log of the cluster. Spec: anchor-guard.md 4.8. */
function auditAnnotationsOf(guard: GuardName): readonly object[] {
  if (guard === "crd-guard") return [];
  const isAnchor = guard === "anchor-guard";
  const exempt = isAnchor
    ? "variables.namespaceTerminating ? 'namespace-terminating'"
    : "variables.deleting ? 'already-deleting'";
  return [
    {
      key: isAnchor ? "anchor-decision" : "namespace-decision",
      valueExpression: `request.operation + ' by ' + request.userInfo.username + ': '
+ (variables.probe || (variables.isController && variables.isDryRun && request.operation == 'DELETE') ? 'probe'
: variables.isController ? 'controller'
: request.operation != 'DELETE' ? 'checked'
: ${exempt}
: variables.confirmed ? 'confirmed' : 'denied')`,
    },
  ];
}

/**
 * Users of this controller on each cluster. Two ClusterProfiles of one cluster may use different users, and the policies of the cluster must name all
 * of them. Equal policy uids show that two guards share a cluster. The cluster itself reports these uids and our user there. Therefore each guard admits
 * only users that our own guards wrote into the policy.
 */
export class HubUsers {
  /** By the uid of a policy, then by the guard that maintains it. */
  readonly #byPolicy = new Map<string, Map<object, ClusterUser>>();

  /** Adds the user of a guard that maintains a live policy. Returns the users that the policy must let in, sorted by name. */
  join(policy: KubeObject, guard: object, user: ClusterUser): readonly ClusterUser[] {
    const { uid } = policy.metadata;
    const users = this.#byPolicy.get(uid) ?? new Map<object, ClusterUser>();
    this.#byPolicy.set(uid, users.set(guard, user));
    const letIn = new Set([...usersLetInBy(policy), user.username]);
    const known = [...users.values()].filter(({ username }) => letIn.has(username));
    const byName = new Map(known.map((member) => [member.username, member]));
    return [...byName.keys()].toSorted().flatMap((name) => byName.get(name) ?? []);
  }

  /** Removes the user of a guard that has ended. The policies let the user in until their next write. */
  leave(guard: object): void {
    for (const [uid, users] of this.#byPolicy) {
      users.delete(guard);
      if (users.size === 0) this.#byPolicy.delete(uid);
    }
  }
}
