import { refusedReference } from "../../access/providers/reference-policy.ts";
import type { ClusterProfileRef } from "../../api/component.ts";
import { isRecord, isSameJson } from "../../api/fields.ts";
import { describe } from "../../api/kubernetes.ts";
import { isLabelName, isSubdomain } from "./names.ts";
import {
  type ComponentFacts,
  type StoredComponent,
  type Check,
  type Fields,
  type Problem,
  shown,
  type Subject,
} from "./rule.ts";

const path = "spec.clusterProfileRef";

/** The reference of a spec when both of its parts can be names; undefined also when there is none. */
export function refOf(spec: Fields): ClusterProfileRef | undefined {
  const ref = spec["clusterProfileRef"];
  if (!isRecord(ref)) return undefined;
  const { name, namespace } = ref;
  if (typeof name !== "string" || typeof namespace !== "string") return undefined;
  return isSubdomain(name) && isLabelName(namespace) ? { name, namespace } : undefined;
}

/** The parts of the reference have to be names. Security: T-07. */
export const referenceSyntax: Check = ({ spec }) => {
  const ref = spec["clusterProfileRef"];
  if (!isRecord(ref)) return [];
  const { name, namespace } = ref;
  const problems: Problem[] = [];
  if (typeof name === "string" && !isSubdomain(name)) {
    const message = `must be the name of a ClusterProfile: at most 253 lower-case letters, digits, '-' and '.' (is ${shown(name)})`;
    problems.push({ path: `${path}.name`, message });
  }
  if (typeof namespace === "string" && !isLabelName(namespace)) {
    const message = `must be the name of a Namespace: at most 63 lower-case letters, digits and '-' (is ${shown(namespace)})`;
    problems.push({ path: `${path}.namespace`, message });
  }
  return problems;
};

/** Who stores a reference must have the right to use the cluster; the text is the same whether or not it exists. Security: T-01, T-02. */
export const referenceRight: Check = ({ ref, username }, { mayUse }) =>
  ref !== undefined && mayUse === false
    ? [{ path, message: `user ${shown(username)} may not use ${profileOf(ref)}` }]
    : [];

/** Security: T-03. */
export const referenceRightUnknown: Check = ({ ref }, { mayUse }) =>
  ref !== undefined && mayUse === "unknown"
    ? [
        {
          path,
          message: `the SubjectAccessReview for the right to use ${profileOf(ref)} was not answered; try again`,
        },
      ]
    : [];

/** What the controller would not permit; the text is the same whether or not the profile exists. Security: T-04, T-20. */
export const referencePermitted: Check = ({ ref, namespace }, { references }) => {
  if (ref === undefined || references === undefined) return [];
  const refusal = refusedReference(namespace, ref, references);
  return refusal === undefined ? [] : [{ path, message: `ReferenceNotPermitted: ${refusal}` }];
};

/** Another cluster would leave the old installation behind. Security: T-06. */
export const referenceImmutable: Check = ({ spec, before }) => {
  if (before === undefined) return [];
  const [old, now] = [
    before["clusterProfileRef"] ?? undefined,
    spec["clusterProfileRef"] ?? undefined,
  ];
  if (isSameJson(old, now)) return [];
  const message =
    old === undefined
      ? "cannot be added later; delete the resource and create it for the new cluster"
      : "immutable once set; delete the resource and create it for the new cluster";
  return [{ path, message }];
};

/** One component of a kind on a cluster: two would overwrite each other. An update changes no cluster. */
export const duplicate: Check = (subject, facts) => {
  if (subject.before !== undefined) return [];
  const twin = twinOf(subject, facts);
  return twin === undefined
    ? []
    : [{ path: pathOfTarget(subject), message: `${twinText(twin)}; change or delete that one` }];
};

/** Whether the cluster is free could not be found out. */
export const duplicateUnknown: Check = (subject, { components }) =>
  subject.before === undefined && components === "unknown"
    ? [
        {
          path: pathOfTarget(subject),
          message: `whether another ${subject.kind} has the cluster already could not be found out; try again`,
        },
      ]
    : [];

/** Two components of a kind that are there in spite of the rule. */
export const duplicateWarning: Check = (subject, facts) => {
  if (subject.before === undefined) return [];
  const twin = twinOf(subject, facts);
  return twin === undefined
    ? []
    : [{ path: pathOfTarget(subject), message: `${twinText(twin)}; one of the two has to go` }];
};

/** Without the right to use the cluster nobody hears who has it. */
function twinOf(
  subject: Subject,
  { components, mayUse, references }: ComponentFacts,
): StoredComponent | undefined {
  const { kind, namespace, name, ref, spec } = subject;
  const isHidden = ref === undefined ? isRecord(spec["clusterProfileRef"]) : mayUse !== true;
  if (isHidden || components === "unknown") return undefined;
  return components.find(
    (other) =>
      other.kind === kind &&
      !(other.namespace === namespace && other.name === name) &&
      // One that may not use the cluster keeps nobody from it.
      (references === undefined ||
        other.ref === undefined ||
        refusedReference(other.namespace, other.ref, references) === undefined) &&
      other.ref?.name === ref?.name &&
      other.ref?.namespace === ref?.namespace,
  );
}

function twinText(twin: StoredComponent): string {
  const where = twin.ref === undefined ? "this cluster" : "the same cluster";
  return `${describe(twin)} is on ${where} already, and one ${twin.kind} is all that a cluster can have`;
}

function pathOfTarget({ ref }: Subject): string {
  return ref === undefined ? "spec" : path;
}

function profileOf({ namespace, name }: ClusterProfileRef): string {
  return `ClusterProfile "${namespace}/${name}"`;
}
