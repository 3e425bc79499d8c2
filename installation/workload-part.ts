import { isRecord, listAt, recordAt } from "../api/fields.ts";
import { type KubeObject, lastWriteAt } from "../api/kubernetes.ts";
import { scaleFieldsOf } from "./scale.ts";

// Why a pod is refused stands at the beginning of a message.
const longestMessage = 2_048;
/** Annotations in which upstream's apply library remembers what it wrote. Spec: knative-operator.md, Appendix A. */
export const upstreamAnnotations = [
  "kubectl.kubernetes.io/last-applied-configuration",
  "manifestival",
] as const;

const readConditions: readonly unknown[] = ["Available", "Progressing", "ReplicaFailure"];

/**
 * The part of a workload that is kept in memory: its identity, and the fields that readiness.ts, the search for a cause and an adoption read. A
 * hostile cluster may put megabytes into all other fields. Of the annotations only the names are kept. Of the managedFields only the owners of the
 * scale of a workload without pods are kept, and when the status of a workload without a deadline was last written.
 */
export function workloadPart(object: KubeObject): KubeObject {
  const { apiVersion, kind, metadata, ...workload } = object;
  const { namespace, name, uid, resourceVersion, annotations = {} } = metadata;
  const present = upstreamAnnotations.filter((note) => Object.hasOwn(annotations, note));
  const status = recordAt(workload, "status");
  const spec = recordAt(workload, "spec");
  return {
    apiVersion,
    kind,
    metadata: {
      ...(namespace === undefined ? {} : { namespace }),
      name,
      uid,
      resourceVersion,
      ...numbersOf(metadata, ["generation"]),
      ...textsOf(metadata, ["deletionTimestamp"]),
      ...(present.length === 0
        ? {}
        : { annotations: Object.fromEntries(present.map((note) => [note, ""])) }),
      ...fieldOwnersOf(object),
    },
    spec: {
      ...numbersOf(spec, ["replicas"]),
      ...updateStrategyOf(spec),
      selector: { matchLabels: textsOf(recordAt(spec, "selector", "matchLabels")) },
    },
    status: {
      ...textsOf(status, ["currentRevision", "updateRevision"]),
      ...numbersOf(status, [
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "availableReplicas",
        "desiredNumberScheduled",
        "numberAvailable",
        "updatedNumberScheduled",
      ]),
      conditions: listAt(status, "conditions")
        .filter(isRecord)
        .filter(({ type }) => readConditions.includes(type))
        .slice(0, readConditions.length)
        .map((condition) => textsOf(condition, ["type", "status", "reason", "message"])),
    },
  };
}

type Fields = Readonly<Record<string, unknown>>;

function fieldOwnersOf(object: KubeObject): Pick<KubeObject["metadata"], "managedFields"> {
  const time = object.kind === "Deployment" ? undefined : lastWriteAt(object, "status");
  const managedFields = [
    ...(recordAt(object, "spec")["replicas"] === 0 ? scaleFieldsOf(object) : []),
    ...(time === undefined ? [] : [{ subresource: "status", time: time.slice(0, 32) }]),
  ];
  return managedFields.length === 0 ? {} : { managedFields };
}

function updateStrategyOf(spec: Fields): Fields {
  const strategy = recordAt(spec, "updateStrategy");
  const rollingUpdate = numbersOf(recordAt(strategy, "rollingUpdate"), ["partition"]);
  const { type } = textsOf(strategy, ["type"]);
  return type === undefined ? {} : { updateStrategy: { type, rollingUpdate } };
}

function numbersOf(fields: object, names: readonly string[]): Readonly<Record<string, number>> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value: unknown = Reflect.get(fields, name);
      return typeof value === "number" ? [[name, value] as const] : [];
    }),
  );
}

/** The texts at these names, or at all of them, each cut. */
function textsOf(
  fields: object,
  names: readonly string[] = Object.keys(fields),
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value: unknown = Reflect.get(fields, name);
      return typeof value === "string" ? [[name, beginningOf(value)] as const] : [];
    }),
  );
}

function beginningOf(text: string): string {
  if (text.length <= longestMessage) return text;
  // A copy: V8 keeps the whole text for a part of it.
  return Buffer.from(text.slice(0, longestMessage)).toString();
}
