import { type Component, type ComponentKind, componentKinds } from "../../../../api/component.ts";
import { isRecord } from "../../../../api/fields.ts";
import { groupOf } from "../../../../api/kubernetes.ts";
import { type Fields } from "../../../../render/fields.ts";
import type { ComponentCheck } from "./component-schema.ts";
import { InputError } from "./input-error.ts";
import type { InputDocument } from "./yaml-documents.ts";

/** A component of a file. */
export interface ComponentDocument {
  readonly where: string;
  readonly component: Component;
}

/** The components of a file, and notes about what in it is none. */
export interface ComponentDocuments {
  readonly components: readonly ComponentDocument[];
  readonly notes: readonly string[];
}

interface Rules {
  /** Of the command line; for components that name none, and no other for those that do. */
  readonly namespace: string | undefined;
  /** For components that name none when the command line does not either; absent: they are refused. */
  readonly usual?: string | undefined;
  readonly check: (kind: ComponentKind) => ComponentCheck;
}

/**
 * Finds and checks the components among the documents of a file; other objects, such as the Namespace in front of a component, are only noted.
 * Throws InputError with one line for each problem.
 */
export function componentDocuments(
  documents: readonly InputDocument[],
  rules: Rules,
): ComponentDocuments {
  const read = documents.map((document) => readDocument(document, rules));
  const problems = read.flatMap((one) => one.problems ?? []);
  if (problems.length > 0) throw new InputError(problems);
  return {
    components: read.flatMap(({ where, component }) =>
      component === undefined ? [] : [{ where, component }],
    ),
    notes: read.flatMap(({ note }) => note ?? []),
  };
}

interface ReadDocument {
  readonly where: string;
  readonly component?: Component;
  readonly note?: string;
  readonly problems?: readonly string[];
}

function readDocument({ where, value }: InputDocument, rules: Rules): ReadDocument {
  const refused = (problems: readonly string[]): ReadDocument => ({
    where,
    problems: problems.map((problem) => `${where}: ${problem}`),
  });
  if (!isRecord(value)) return refused(["document: must be object"]);
  const { apiVersion, kind } = value;
  const isOurs =
    isKind(kind) ||
    typeof apiVersion !== "string" ||
    groupOf(apiVersion) === "operator.knative.dev" ||
    typeof kind !== "string";
  if (!isOurs) return { where, note: `${where}: ${kind} is no component and was left out` };
  if (!isKind(kind)) return refused(["kind: must be KnativeServing or KnativeEventing"]);
  const problems = [...rules.check(kind)(value), ...namespaceProblems(value, rules)];
  if (problems.length > 0) return refused(problems);
  const component = completed(value, rules.namespace ?? rules.usual);
  return isComponent(component) ? { where, component } : refused(["document: is no component"]);
}

function isKind(kind: unknown): kind is ComponentKind {
  return typeof kind === "string" && Object.hasOwn(componentKinds, kind);
}

function namespaceProblems(value: Fields, { namespace: wanted, usual }: Rules): readonly string[] {
  if (!isRecord(value["metadata"])) return [];
  const { namespace } = value["metadata"];
  if (namespace === undefined) {
    return (wanted ?? usual) === undefined
      ? ["metadata.namespace: is required, here or with -n"]
      : [];
  }
  if (typeof namespace !== "string" || wanted === undefined || namespace === wanted) return [];
  return [`metadata.namespace: is ${namespace}, but the command line says ${wanted}`];
}

/** With the fields that an API server gives to every object. */
function completed(value: Fields, namespace: string | undefined): Fields {
  const metadata = isRecord(value["metadata"]) ? value["metadata"] : {};
  const made = { namespace, uid: "", resourceVersion: "" };
  return { ...value, metadata: { ...made, ...metadata } };
}

function isComponent(value: Fields): value is Fields & Component {
  return isKind(value["kind"]);
}
