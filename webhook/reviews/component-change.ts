import type { ComponentKind } from "../../api/component.ts";
import { isSameJson, recordAt, textAt } from "../../api/fields.ts";
import type { Fields } from "../rules/rule.ts";
import type { AdmissionRequest } from "./review.ts";

/** A component that is created, or whose spec changes. */
export interface ComponentChange {
  readonly kind: ComponentKind;
  readonly namespace: string;
  readonly name: string;
  readonly object: Fields;
  readonly spec: Fields;
  /** The spec that is stored; undefined on a create. */
  readonly before: Fields | undefined;
  /** `status.version` as it is stored. */
  readonly installed: string | undefined;
}

/**
 * What a request changes about a component; undefined for what always passes: other kinds, subresources, deletions, objects that are being deleted, and
 * changes of metadata only. Security: T-02, T-73.
 */
export function changeIn(request: AdmissionRequest): ComponentChange | undefined {
  const { kind, subResource, operation, object, oldObject } = request;
  const known = kindOf(kind);
  if (known === undefined || subResource !== undefined || object === undefined) return undefined;
  const metadata = recordAt(object, "metadata");
  if (typeof metadata["deletionTimestamp"] === "string") return undefined;
  const place = placeOf(request, metadata);
  const spec = recordAt(object, "spec");
  if (operation === "CREATE" || (operation === "UPDATE" && oldObject === undefined)) {
    return { kind: known, ...place, object, spec, before: undefined, installed: versionOf(object) };
  }
  if (operation !== "UPDATE") return undefined;
  const before = recordAt(oldObject, "spec");
  if (isSameJson(spec, before)) return undefined;
  return { kind: known, ...place, object, spec, before, installed: versionOf(oldObject) };
}

function kindOf({ group, kind }: AdmissionRequest["kind"]): ComponentKind | undefined {
  if (group !== "operator.knative.dev") return undefined;
  return kind === "KnativeServing" || kind === "KnativeEventing" ? kind : undefined;
}

function placeOf({ namespace, name }: AdmissionRequest, metadata: Fields) {
  return {
    namespace: namespace ?? textAt(metadata, "namespace") ?? "",
    name: name ?? textAt(metadata, "name") ?? "",
  };
}

function versionOf(object: unknown): string | undefined {
  return textAt(recordAt(object, "status"), "version");
}
