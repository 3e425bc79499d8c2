import type { Provider, ProviderFile } from "../../access/providers/provider-config.ts";
import { distrustedProfile, refusedReference } from "../../access/providers/reference-policy.ts";
import { selectProvider } from "../../access/providers/select-provider.ts";
import { type ClusterProfile, isHealthy, leavingMessage } from "../../api/cluster-profile.ts";
import type { ClusterProfileRef } from "../../api/component.ts";
import { deliveryAnnotation } from "../../api/delivery.ts";
import { FleetError } from "../../api/errors.ts";
import { isRecord, isSameJson, recordAt } from "../../api/fields.ts";
import { describe } from "../../api/kubernetes.ts";
import { isLabelName, isSubdomain } from "./names.ts";
import {
  below,
  type Check,
  type ComponentFacts,
  type Fields,
  problemAt,
  problemIf,
  quoteValue,
  type StoredComponent,
  type Subject,
} from "./rule.ts";

const path = "spec.clusterProfileRef";

/** The reference of a spec; undefined when there is none, or when one of its two parts cannot be a name. */
export function refOf(spec: Fields): ClusterProfileRef | undefined {
  const { name, namespace } = recordAt(spec, "clusterProfileRef");
  if (typeof name !== "string" || typeof namespace !== "string") return undefined;
  return isSubdomain(name) && isLabelName(namespace) ? { name, namespace } : undefined;
}

/** The parts of the reference have to be names. Security: T-07. */
export const referenceSyntax: Check = ({ spec }) => {
  const { name, namespace } = recordAt(spec, "clusterProfileRef");
  return [
    ...problemIf(
      typeof name === "string" && !isSubdomain(name),
      `${path}.name`,
      `must be the name of a ClusterProfile: at most 253 lower-case letters, digits, '-' and '.' (is ${quoteValue(name)})`,
    ),
    ...problemIf(
      typeof namespace === "string" && !isLabelName(namespace),
      `${path}.namespace`,
      `must be the name of a Namespace: at most 63 lower-case letters, digits and '-' (is ${quoteValue(namespace)})`,
    ),
  ];
};

/** Who stores a reference must have the right to use the cluster. The text is the same for a profile that does not exist. Security: T-01, T-02. */
export const referenceRight: Check = ({ ref, username }, { mayUse }) =>
  ref !== undefined && mayUse === false
    ? [{ path, message: `user ${quoteValue(username)} may not use ${describeProfile(ref)}` }]
    : [];

/** Security: T-03. */
export const referenceRightUnknown: Check = ({ ref }, { mayUse }) => {
  if (ref === undefined || mayUse !== "unknown") return [];
  const message = `the SubjectAccessReview for the right to use ${describeProfile(ref)} was not answered; try again`;
  return [{ path, message }];
};

/** What the controller would not permit. The text is the same for a profile that does not exist. Security: T-04, T-20. */
export const referencePermitted: Check = ({ ref, namespace }, { references }) => {
  if (ref === undefined || references === undefined) return [];
  return refusal(refusedReference(namespace, ref, references));
};

/** Another cluster would leave the old installation behind. Security: T-06. */
export const referenceImmutable: Check = ({ spec, before }) => {
  if (before === undefined) return [];
  const [old, now] = [before, spec].map((one) => one["clusterProfileRef"] ?? undefined);
  if (isSameJson(old, now)) return [];
  const problem = old === undefined ? "cannot be added later" : "immutable once set";
  const remedy = "delete the resource and create it for the new cluster";
  return [{ path, message: `${problem}; ${remedy}` }];
};

/** A cluster takes one component of a kind: two would overwrite each other. An update changes no cluster. */
export const duplicate: Check = (subject, facts) =>
  subject.before === undefined ? otherProblems(subject, facts, "change or delete that one") : [];

/** Whether the cluster is free is not known. */
export const duplicateUnknown: Check = (subject, { components }) =>
  problemIf(
    subject.before === undefined && components === "unknown",
    pathOfTarget(subject),
    `whether another ${subject.kind} has the cluster already could not be found out; try again`,
  );

/** Two stored components of a kind are for one cluster in spite of the rule. */
export const duplicateWarning: Check = (subject, facts) =>
  subject.before === undefined ? [] : otherProblems(subject, facts, "one of the two has to go");

function otherProblems(subject: Subject, facts: ComponentFacts, remedy: string) {
  const other = otherOnCluster(subject, facts);
  if (other === undefined) return [];
  const where = other.ref === undefined ? "this cluster" : "the same cluster";
  const message = `${describe(other)} is on ${where} already, and one ${other.kind} is all that a cluster can have; ${remedy}`;
  return [{ path: pathOfTarget(subject), message }];
}

/** Undefined also for a user without the right to use the cluster, who must not learn which component has it. */
function otherOnCluster(
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
      // A component that may not use the cluster does not occupy it.
      (references === undefined ||
        other.ref === undefined ||
        refusedReference(other.namespace, other.ref, references) === undefined) &&
      other.ref?.name === ref?.name &&
      other.ref?.namespace === ref?.namespace,
  );
}

function pathOfTarget({ ref }: Subject): string {
  return ref === undefined ? "spec" : path;
}

/** The profile exists, stays, and is healthy. Said only to users who may use it. */
export const profileUsable: Check = ({ ref }, { mayUse, profile }) => {
  if (ref === undefined || mayUse !== true || profile === undefined) return [];
  const name = describeProfile(ref);
  if (profile === "unknown") return [{ path, message: `${name} could not be looked up` }];
  if (profile === "absent") {
    return [{ path, message: `${name} does not exist yet; nothing is installed until it does` }];
  }
  const leaving = leavingMessage(profile);
  if (leaving !== undefined) return [{ path, message: leaving }];
  const message = `${name} is not ready: its condition ControlPlaneHealthy is not True`;
  return problemIf(!isHealthy(profile), path, message);
};

/** The controller trusts the profile. */
export const profileTrusted: Check = (subject, facts) => {
  const profile = visibleProfile(subject, facts);
  return profile === undefined ? [] : refusal(distrustedProfile(profile, facts.references ?? {}));
};

/** One of the provider files on the hub serves the profile. */
export const providerThere: Check = (subject, facts) => {
  const profile = dialledProfile(subject, facts);
  if (profile === undefined || facts.providers === undefined) return [];
  const tried = facts.providers.map((file) => providerFor(profile, file));
  const problems = tried.filter((one) => one instanceof FleetError);
  return problems.length < tried.length ? [] : problemAt(path, problems[0]?.message);
};

/** The plugin of the provider exists. */
export const pluginThere: Check = (subject, facts) =>
  dialledProfile(subject, facts) === undefined ? [] : problemAt(path, facts.pluginProblem);

/** The profile, for a user who may know about it. */
function visibleProfile(
  { ref }: Subject,
  { mayUse, profile }: ComponentFacts,
): ClusterProfile | undefined {
  if (ref === undefined || mayUse !== true) return undefined;
  return typeof profile === "object" ? profile : undefined;
}

/** The visible profile of a component whose cluster the controller dials. */
function dialledProfile(subject: Subject, facts: ComponentFacts): ClusterProfile | undefined {
  const { [deliveryAnnotation]: value } = recordAt(subject.metadata, "annotations");
  return value === "Pull" ? undefined : visibleProfile(subject, facts);
}

/** The provider of a file that the controller would reach a profile with, or why there is none. */
export function providerFor(profile: ClusterProfile, file: ProviderFile): Provider | FleetError {
  try {
    return selectProvider(profile, file).provider;
  } catch (error) {
    if (error instanceof FleetError) return error;
    throw error;
  }
}

/** The delivery is one that there is, and only a spoke is delivered to by a ManifestWork. */
export const delivery: Check = ({ metadata = {}, ref }) => {
  const { [deliveryAnnotation]: value } = recordAt(metadata, "annotations");
  const at = below("metadata", "annotations", deliveryAnnotation);
  if (value === undefined || value === "Push") return [];
  if (value !== "Pull")
    return [{ path: at, message: `must be Push or Pull (is ${quoteValue(value)})` }];
  return problemIf(
    ref === undefined,
    at,
    "Pull needs spec.clusterProfileRef: the hub itself is not a spoke",
  );
};

function refusal(why: string | undefined) {
  return problemAt(path, why === undefined ? undefined : `ReferenceNotPermitted: ${why}`);
}

function describeProfile({ namespace, name }: ClusterProfileRef): string {
  return `ClusterProfile "${namespace}/${name}"`;
}
