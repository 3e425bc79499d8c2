import { isRecord } from "../../../api/fields.ts";
import { valueAt } from "../../fleet/json-record.ts";
import type { Ask, ComparedServer, Conversation, Reply } from "./conversation.ts";

/** Something that the simulation looks at. */
export interface Scenario {
  readonly name: string;
  /** Plays it in a namespace of its own. */
  readonly play: (talk: Conversation, namespace: string) => Promise<void>;
}

export const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/** Makes the namespace of a scenario. */
export async function namespaceIn(server: ComparedServer, index: number): Promise<string> {
  const name = `compared-${index}`;
  const body = { apiVersion: "v1", kind: "Namespace", metadata: { name } };
  const { status } = await server.ask({ method: "POST", path: "/api/v1/namespaces", body });
  if (status !== 201) throw new Error(`The namespace ${name} was not made: ${status}`);
  return name;
}

const mergeType = "application/merge-patch+json";
export const jsonPatchType = "application/json-patch+json";
const applyType = "application/apply-patch+yaml";
export const metadataType = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
export const metadataListType = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/** A kind of users, with a status. */
export const definition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "things.compared.test" },
  spec: definitionSpec("things", "Thing"),
};

export function definitionSpec(plural: string, kind: string): object {
  const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const properties = { spec: open, status: open };
  return {
    group: "compared.test",
    scope: "Namespaced",
    names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: { type: "object", properties } },
      },
    ],
  };
}

export function mapsOf(namespace: string): string {
  return `/api/v1/namespaces/${namespace}/configmaps`;
}

export function thingsOf(namespace: string): string {
  return `/apis/compared.test/v1/namespaces/${namespace}/things`;
}

export function map(metadata: object, data: object = { a: "1" }): object {
  return { apiVersion: "v1", kind: "ConfigMap", metadata, data };
}

export function thing(metadata: object, spec: object = { size: 1 }): object {
  return { apiVersion: "compared.test/v1", kind: "Thing", metadata, spec };
}

export function apply(path: string, body: object, query = "fieldManager=one&force=true"): Ask {
  return { method: "PATCH", path: `${path}?${query}`, body, type: applyType };
}

export function merge(path: string, body: object): Ask {
  return { method: "PATCH", path, body, type: mergeType };
}

export function uidOf({ body }: Reply): string {
  return String(valueAt(body, "metadata", "uid"));
}

export function versionOf({ body }: Reply): string {
  return String(valueAt(body, "metadata", "resourceVersion"));
}

export function isGone({ status }: Reply): boolean {
  return status === 404;
}

/** What a PUT sends: what was read, with something changed. */
export function changed({ body }: Reply, change: object): object {
  return { ...(isRecord(body) ? body : {}), ...change };
}

export function codeOf({ status }: Reply): number {
  return status;
}

export function namesIn({ body }: Reply): readonly unknown[] {
  const items = valueAt(body, "items");
  return (Array.isArray(items) ? items : []).map((item) => valueAt(item, "metadata", "name"));
}

export function ownersIn({ body }: Reply): number {
  const owners = valueAt(body, "metadata", "ownerReferences");
  return Array.isArray(owners) ? owners.length : 0;
}

/** The types of the conditions that are True. */
export function typesIn({ body }: Reply): readonly unknown[] {
  const conditions = valueAt(body, "status", "conditions");
  return (Array.isArray(conditions) ? conditions : [])
    .filter((condition) => valueAt(condition, "status") === "True")
    .map((condition) => String(valueAt(condition, "type")))
    .toSorted((one, other) => (one < other ? -1 : 1));
}

export function generationOf({ body }: Reply): unknown {
  return valueAt(body, "metadata", "generation");
}

export function isAvailable({ body }: Reply, replicas: number): boolean {
  const isSeen =
    valueAt(body, "status", "observedGeneration") === generationOf({ status: 200, body });
  return isSeen && valueAt(body, "status", "availableReplicas") === replicas;
}

export function statusOf(reply: Reply): object {
  const numbers = [
    "observedGeneration",
    "replicas",
    "updatedReplicas",
    "readyReplicas",
    "availableReplicas",
  ];
  const status = numbers.map((name) => [name, valueAt(reply.body, "status", name)]);
  return { ...Object.fromEntries(status), types: typesIn(reply) };
}
