import type { Component } from "../../api/component.ts";
import {
  checkJobKeptSeconds,
  checkLabel,
  type CheckSpec,
  setAnnotations,
  setLabels,
} from "../../api/fleet-set.ts";
import type { KubeObject, Manifest, OwnerReference } from "../../api/kubernetes.ts";
import { hashOf } from "../../render/fields.ts";
import type { Verification } from "../../sets/check-answer.ts";
import { stampOf } from "../../sets/standing.ts";

/** A check with a Job. */
export interface JobCheck {
  readonly name: string;
  readonly job: NonNullable<CheckSpec["job"]>;
}

/** The component that a Job is about, and its set. */
export type JobSubject = Pick<Verification, "set" | "component" | "setUid" | "retriedAt">;

/** Labels of the Jobs of checks. */
export const checkLabels = {
  managedBy: "app.kubernetes.io/managed-by",
  check: checkLabel,
  setUid: setAnnotations.setUid,
} as const;

/** On a Job: the wish to try again after which it was made. */
const retriedAtAnnotation = "knfleet.dev/retried-at";

/** Where the Jobs of a component are. */
export interface JobPlace {
  readonly namespace: string;
  /** What they go with. Absent: a ManifestWork brings each, and takes it away. */
  readonly owner?: OwnerReference;
}

/** The name of the Job of a check: another one for each revision and stamp of the component, and for each template. At most 59 characters. */
export function jobNameOf(
  { name, job }: JobCheck,
  { component, setUid }: Pick<JobSubject, "component" | "setUid">,
): string {
  const { uid, labels = {} } = component.metadata;
  const identity = [setUid, uid, labels[setLabels.revision] ?? "", stampOf(component), name, job];
  return `knfleet-${name}-${hashOf(identity).slice(0, 10)}`;
}

/** The Job of a check: without a token, without capabilities, and gone with its owner. Security: T-33. */
export function jobManifest(
  check: JobCheck,
  { set, component, setUid, retriedAt = "" }: JobSubject,
  { namespace, owner }: JobPlace,
): Manifest {
  const { activeDeadlineSeconds, backoffLimit, template } = check.job;
  const { securityContext, containers } = template.spec;
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: {
      namespace,
      name: jobNameOf(check, { component, setUid }),
      labels: {
        [checkLabels.managedBy]: "knfleet",
        [checkLabels.check]: check.name,
        [checkLabels.setUid]: setUid,
      },
      annotations: {
        [setLabels.set]: `${set.namespace}/${set.name}`,
        [setAnnotations.updatedAt]: stampOf(component),
        [retriedAtAnnotation]: retriedAt,
      },
      ...(owner === undefined ? {} : { ownerReferences: [owner] }),
    },
    spec: {
      activeDeadlineSeconds,
      backoffLimit,
      // No limit for the Job of a work: if the Job went before its work, the agent of Open Cluster Management might run it again.
      ...(owner === undefined ? {} : { ttlSecondsAfterFinished: checkJobKeptSeconds }),
      template: {
        metadata: template.metadata ?? {},
        spec: {
          ...template.spec,
          restartPolicy: "Never",
          automountServiceAccountToken: false,
          securityContext: { seccompProfile: { type: "RuntimeDefault" }, ...securityContext },
          containers: containers.map((container) => ({
            ...container,
            securityContext: {
              ...container.securityContext,
              allowPrivilegeEscalation: false,
              capabilities: { drop: ["ALL"] },
            },
          })),
        },
      },
    },
  };
}

/** Whether a Job was made for a check of a set. */
export function isJobOf(
  { metadata: { labels = {} } }: KubeObject,
  check: JobCheck,
  setUid: string,
): boolean {
  return labels[checkLabels.setUid] === setUid && labels[checkLabels.check] === check.name;
}

/** Whether a Job of a set stands in for nothing any more: an earlier revision of the component, or an earlier template of the check, had it. */
export function isOutdatedJob(
  { metadata }: KubeObject,
  { metadata: present }: Manifest,
  component: Component,
): boolean {
  if (metadata.name === present.name) return false;
  const isOfCheck = metadata.labels?.[checkLabels.check] === present.labels?.[checkLabels.check];
  return isOfCheck || metadata.annotations?.[setAnnotations.updatedAt] !== stampOf(component);
}

/** Whether somebody asked to try again since a Job was made. */
export function isBeforeRetry(
  { metadata }: KubeObject,
  { retriedAt = "" }: Pick<JobSubject, "retriedAt">,
): boolean {
  return metadata.annotations?.[retriedAtAnnotation] !== retriedAt;
}
