import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";

import {
  type Component,
  type ComponentKind,
  componentKinds,
  operatorApiVersion,
} from "../../../api/component.ts";
import { isRecord } from "../../../api/fields.ts";
import { tokensOf } from "../../../api/json-pointer.ts";
import { groupOf } from "../../../api/kubernetes.ts";
import { componentStatus } from "../../../api/schema/component-crd.ts";
import { specSchemas } from "../../../api/schema/component-spec.ts";
import { stringMap } from "../../../api/schema/primitives.ts";
import type { Fields } from "../../../render/fields.ts";
import { InputError, type InputDocument } from "./yaml-documents.ts";

/** A component of a file. */
export interface ComponentDocument {
  readonly where: string;
  readonly component: Component;
}

/** The components of a file, and notes about its other documents. */
interface ComponentDocuments {
  readonly components: readonly ComponentDocument[];
  readonly notes: readonly string[];
}

interface Rules {
  /** Namespace of the command line, for components without one; a component with another namespace is refused. */
  readonly namespace: string | undefined;
  /** Namespace for components without one when the command line has none either; absent: they are refused. */
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

/** The component with the fields that an API server adds to every object. */
function completed(value: Fields, namespace: string | undefined): Fields {
  const metadata = isRecord(value["metadata"]) ? value["metadata"] : {};
  const made = { namespace, uid: "", resourceVersion: "" };
  return { ...value, metadata: { ...made, ...metadata } };
}

function isComponent(value: Fields): value is Fields & Component {
  return isKind(value["kind"]);
}

/** Problems of a component, each as `path: problem`; fills in the schema's defaults. */
type ComponentCheck = (value: unknown) => readonly string[];

const text = { type: "string" } as const;
const metadata = {
  type: "object",
  required: ["name"],
  properties: {
    name: { type: "string", minLength: 1 },
    namespace: { type: "string", minLength: 1 },
    uid: text,
    resourceVersion: text,
    labels: stringMap,
    annotations: stringMap,
  },
} as const;

const limits = { int32: 2 ** 31, int64: 2 ** 63 } as const;

/** Checks components against the schemas of the CRDs. An unknown field is a problem, too. Compiles a schema when it is first used. */
export function componentCheck(): (kind: ComponentKind) => ComponentCheck {
  const ajv = new Ajv({
    allErrors: true,
    strict: false,
    useDefaults: true,
    // Compiling takes longer than all checks of a file.
    code: { optimize: false },
    formats: { int32: rangeOf("int32"), int64: rangeOf("int64") },
  });
  const compiled = new Map<ComponentKind, ValidateFunction>();
  return (kind) => (value) => {
    const validate = compiled.get(kind) ?? ajv.compile(schemaOf(kind));
    compiled.set(kind, validate);
    return validate(value) ? [] : [...new Set((validate.errors ?? []).map(problemOf))];
  };
}

function rangeOf(format: keyof typeof limits) {
  const limit = limits[format];
  return { type: "number", validate: (value: number) => value >= -limit && value < limit } as const;
}

function schemaOf(kind: ComponentKind): object {
  return {
    type: "object",
    required: ["apiVersion", "kind", "metadata"],
    additionalProperties: false,
    properties: {
      apiVersion: { const: operatorApiVersion },
      kind: { const: kind },
      metadata,
      spec: closed(specSchemas[kind]),
      status: componentStatus,
    },
  };
}

/** The schema without unknown fields. A number or text is a union, so that a wrong value is one error and not three. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (!isRecord(schema)) return schema;
  const inner = Object.fromEntries(
    Object.entries(schema).map(([field, value]) => [
      field,
      field === "properties" && isRecord(value) ? mapped(value) : closed(value),
    ]),
  );
  if (inner["x-kubernetes-int-or-string"] === true) {
    const { anyOf: _, ...rest } = inner;
    return { ...rest, type: ["integer", "string"] };
  }
  const isOpen = inner["properties"] === undefined || inner["additionalProperties"] !== undefined;
  return isOpen ? inner : { ...inner, additionalProperties: false };
}

function mapped(properties: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, closed(one)]));
}

type Problem = ErrorObject<string, Readonly<Record<string, unknown>>>;

function problemOf(error: ErrorObject): string {
  const { instancePath, keyword, params, message }: Problem = error;
  const path = pathOf(instancePath);
  if (keyword === "required")
    return `${joined(path, String(params["missingProperty"]))}: is required`;
  if (keyword === "additionalProperties") {
    return `${joined(path, String(params["additionalProperty"]))}: unknown field`;
  }
  const at = path === "" ? "document" : path;
  if (keyword === "type") return `${at}: must be ${String(params["type"]).replaceAll(",", " or ")}`;
  if (keyword === "const") return `${at}: must be ${String(params["allowedValue"])}`;
  if (keyword === "minLength") return `${at}: must not be empty`;
  if (keyword === "enum") return `${at}: must be one of ${String(params["allowedValues"])}`;
  if (keyword === "pattern") return `${at}: must be a quantity such as 250m or 1Gi`;
  if (keyword === "format") return `${at}: must fit into ${String(params["format"])}`;
  return `${at}: ${message ?? "is invalid"}`;
}

/** `/spec/workloads/0/name` as `spec.workloads[0].name`. */
function pathOf(pointer: string): string {
  return tokensOf(pointer).reduce(joined, "");
}

function joined(path: string, part: string): string {
  if (/^\d+$/.test(part) && path !== "") return `${path}[${part}]`;
  if (!/^[\w-]+$/.test(part)) return `${path}[${JSON.stringify(part)}]`;
  return path === "" ? part : `${path}.${part}`;
}
