import { isRecord, jsonOf } from "../../api/fields.ts";
import { guardAnnotations, guardLabels } from "../../installation/anchor.ts";
import {
  type GuardName,
  collectorFinalizers,
  markers,
} from "../../installation/guard/guard-view.ts";

/** A named CEL expression of a policy. Later variables may use earlier ones. */
export interface PolicyVariable {
  readonly name: string;
  readonly expression: string;
}

const { confirmDeletion, probe } = guardAnnotations;

const isController = "isController";
const username = "request.userInfo.username";

/**
 * The variables that the rules of a guard use. Every access to an optional field checks `has()` first: an error in an expression would refuse every
 * write of that resource in the cluster. Spec: anchor-guard.md 3, 8.
 */
export function policyVariablesOf(
  guard: GuardName,
  hubUsers: readonly string[],
): readonly PolicyVariable[] {
  return [...common(hubUsers), ...(ofGuard[guard] satisfies readonly PolicyVariable[])];
}

/** A field of the metadata before and after the request, such as `oldAnn` and `newAnn`. */
function metadata(suffix: string, field: string, absent: "{}" | "[]"): readonly PolicyVariable[] {
  return [
    {
      name: `new${suffix}`,
      expression: `object != null && has(object.metadata.${field}) ? object.metadata.${field} : ${absent}`,
    },
    {
      name: `old${suffix}`,
      expression: `oldObject != null && has(oldObject.metadata.${field}) ? oldObject.metadata.${field} : ${absent}`,
    },
  ];
}

function common(hubUsers: readonly string[]): readonly PolicyVariable[] {
  return [
    { name: isController, expression: `${username} ${oneOfUsers(hubUsers)}` },
    { name: "isDryRun", expression: "has(request.dryRun) && request.dryRun" },
    ...metadata("Ann", "annotations", "{}"),
    ...metadata("Owners", "ownerReferences", "[]"),
    {
      name: "deleting",
      expression: "oldObject != null && has(oldObject.metadata.deletionTimestamp)",
    },
    {
      name: "confirmKept",
      expression: `!('${confirmDeletion}' in variables.newAnn)
|| ('${confirmDeletion}' in variables.oldAnn
  && variables.oldAnn['${confirmDeletion}'] == variables.newAnn['${confirmDeletion}'])`,
    },
    {
      name: "confirmed",
      expression: `oldObject != null && has(oldObject.metadata.uid)
&& '${confirmDeletion}' in variables.oldAnn
&& variables.oldAnn['${confirmDeletion}'] == oldObject.metadata.uid`,
    },
  ];
}

/** The users that a policy with these variables lets in. Empty for a policy of another origin. */
export function usersInVariables(variables: readonly unknown[]): readonly string[] {
  const variable = variables.filter(isRecord).find(({ name }) => name === isController);
  const { expression } = variable ?? {};
  if (typeof expression !== "string") return [];
  const [list = ""] = [`${username} == `, `${username} in `].flatMap((prefix) =>
    expression.startsWith(prefix) ? [expression.slice(prefix.length)] : [],
  );
  return [jsonOf(list)].flat().filter((user) => typeof user === "string");
}

/** Every user name of a cluster is the same text in JSON and in CEL. */
function oneOfUsers(users: readonly string[]): string {
  const texts = users.map((user) => JSON.stringify(user));
  return texts.length === 1 ? `== ${texts.join()}` : `in [${texts.join(", ")}]`;
}

const probed: PolicyVariable = {
  name: "probe",
  expression: `request.operation == 'CREATE' && '${probe}' in variables.newAnn`,
};

const nameOf =
  "(oldObject != null && has(oldObject.metadata.name) ? oldObject.metadata.name : request.name)";

const celList = (texts: readonly unknown[]): string =>
  `[${texts.map((text) => `'${String(text)}'`).join(", ")}]`;

const ofGuard: Readonly<Record<GuardName, readonly PolicyVariable[]>> = {
  "anchor-guard": [
    probed,
    ...metadata("Finalizers", "finalizers", "[]"),
    {
      name: "namespaceTerminating",
      expression: "namespaceObject != null && has(namespaceObject.metadata.deletionTimestamp)",
    },
    {
      name: "markersKept",
      expression: `${celList(markers)}.all(k,
  (k in variables.oldAnn) == (k in variables.newAnn)
  && (!(k in variables.oldAnn) || variables.oldAnn[k] == variables.newAnn[k]))`,
    },
    {
      name: "finalizersKept",
      expression: `variables.deleting
? variables.newFinalizers.all(f, f in variables.oldFinalizers)
  && variables.oldFinalizers.all(f, f in variables.newFinalizers || f in ${celList(collectorFinalizers)})
: variables.newFinalizers == variables.oldFinalizers`,
    },
    { name: "place", expression: `'ConfigMap ' + request.namespace + '/' + ${nameOf}` },
  ],
  "namespace-guard": [
    probed,
    ...metadata("Labels", "labels", "{}"),
    {
      name: "newSpecFinalizers",
      expression:
        "object != null && has(object.spec) && has(object.spec.finalizers) ? object.spec.finalizers : []",
    },
    {
      name: "oldSpecFinalizers",
      expression:
        "oldObject != null && has(oldObject.spec) && has(oldObject.spec.finalizers) ? oldObject.spec.finalizers : []",
    },
    labelKept(guardLabels.namespace),
    { name: "place", expression: `'Namespace ' + ${nameOf}` },
  ],
  "crd-guard": [
    ...metadata("Labels", "labels", "{}"),
    labelKept(guardLabels.crd),
    { name: "place", expression: `'CustomResourceDefinition ' + ${nameOf}` },
  ],
};

function labelKept(label: string): PolicyVariable {
  return {
    name: "labelKept",
    expression: `'${label}' in variables.oldLabels
&& '${label}' in variables.newLabels
&& variables.oldLabels['${label}'] == variables.newLabels['${label}']`,
  };
}
