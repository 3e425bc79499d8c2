import { isRecord, recordAt } from "../api/fields.ts";
import { type FleetSet, revisionAnnotations, setLabels } from "../api/fleet-set.ts";
import type { KubeObject, Manifest } from "../api/kubernetes.ts";
import { type RevisionContent, revisionNameOf } from "./desired-spec.ts";
import type { Revision } from "./facts.ts";
import { recordOf } from "./status/record-entry.ts";

const apiVersion = "apps/v1";
const kind = "ControllerRevision";

/** The labels by which the ControllerRevisions and the components of a set are found. */
export function setSelectorOf({
  kind: setKind,
  metadata,
}: FleetSet): Readonly<Record<string, string>> {
  return { [setLabels.set]: metadata.name, [setLabels.kind]: setKind };
}

/** The ControllerRevision of a content of a set. The set owns it, so it is deleted with the set. */
export function revisionObject(
  set: FleetSet,
  { name, number, content }: Pick<Revision, "name" | "number" | "content">,
): Manifest {
  const { template, overrides = [], versions, digest } = content;
  const { namespace, name: owner, uid } = set.metadata;
  const ownerReference = { apiVersion: set.apiVersion, kind: set.kind, name: owner, uid };
  return {
    apiVersion,
    kind,
    metadata: {
      namespace,
      name,
      labels: { ...setSelectorOf(set) },
      ownerReferences: [{ ...ownerReference, controller: true }],
    },
    data: {
      template,
      overrides,
      ...(versions === undefined ? {} : { versions }),
      ...(digest === undefined ? {} : { digest }),
    },
    revision: number,
  };
}

/** The revision in a ControllerRevision; undefined when its name does not match its content, so that no set can have written it. */
export function revisionOf(object: KubeObject): Revision | undefined {
  const number = object["revision"];
  const content = namedContent(object);
  if (!Number.isSafeInteger(number) || typeof number !== "number") return undefined;
  if (content === undefined) return undefined;
  const { name } = object.metadata;
  const annotations: Readonly<Record<string, string | undefined>> =
    object.metadata.annotations ?? {};
  const completed = annotations[revisionAnnotations.completed];
  const retriedAt = annotations[revisionAnnotations.retriedAt];
  const failed = annotations[revisionAnnotations.failedAt] !== undefined;
  const record = recordOf(annotations[revisionAnnotations.record]);
  const digest = content.digest ?? annotations[revisionAnnotations.digest];
  return {
    name,
    number,
    ...(completed === undefined ? {} : { completedNumber: Number(completed) }),
    failed,
    ...(retriedAt === undefined ? {} : { retriedAt }),
    ...(record.length === 0 ? {} : { record }),
    content: digest === undefined ? content : { ...content, digest },
  };
}

/** The content of a ControllerRevision, if its name is the one of the content. */
function namedContent(object: KubeObject): RevisionContent | undefined {
  const content = contentOf(object);
  const { name, labels = {} } = object.metadata;
  const set = { name: labels[setLabels.set] ?? "", kind: labels[setLabels.kind] ?? "" };
  if (content === undefined) return undefined;
  const wanted = revisionNameOf({ kind: set.kind, metadata: set, spec: content });
  return name === wanted ? content : undefined;
}

function contentOf(object: KubeObject): RevisionContent | undefined {
  const { template, overrides, versions, digest } = recordAt(object, "data");
  if (!isRecord(template)) return undefined;
  return {
    template,
    ...(isOverrides(overrides) ? { overrides } : {}),
    ...(isVersions(versions) ? { versions } : {}),
    ...(typeof digest === "string" ? { digest } : {}),
  };
}

function isVersions(value: unknown): value is NonNullable<RevisionContent["versions"]> {
  return isRecord(value) && Object.values(value).every((one) => typeof one === "string");
}

/** True for a list. Its items are not checked, because the schema of the set has checked them. */
function isOverrides(value: unknown): value is NonNullable<RevisionContent["overrides"]> {
  return Array.isArray(value);
}
