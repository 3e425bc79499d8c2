import { isRecord } from "../../api/fields.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import type { ResourceType } from "../../api/resources.ts";
import { foreignAnswerError } from "../http/connection-failure.ts";
import { isKubeObject } from "./api-answer.ts";

/** One page of a list. */
export interface ListPage {
  readonly items: readonly KubeObject[];
  readonly resourceVersion: string;
  /** Token of the next page. */
  readonly next: string | undefined;
}

/**
 * An object out of an answer. Items of lists have no apiVersion and kind, metadata-only answers those of the envelope;
 * both get those of the resource. Throws ConnectionError `standIn` for something that is not an object.
 */
export function storedObject(body: unknown, resource: ResourceType): KubeObject {
  const { apiVersion, kind } = resource;
  const object: unknown = isRecord(body) ? { ...body, apiVersion, kind } : body;
  if (!isKubeObject(object)) throw foreignAnswerError(`no ${kind}`);
  return object;
}

/**
 * The object that the answer to a DELETE shows when something still holds it: a finalizer, or the time that it is given to end. Servers also
 * answer with objects of which nothing is left.
 */
export function remainsOf(body: unknown, resource: ResourceType): KubeObject | undefined {
  const { apiVersion, kind } = resource;
  const object: unknown = isRecord(body) ? { ...body, apiVersion, kind } : body;
  if (!isKubeObject(object)) return undefined;
  const { deletionTimestamp, finalizers = [], deletionGracePeriodSeconds = 0 } = object.metadata;
  const isHeld = finalizers.length > 0 || deletionGracePeriodSeconds > 0;
  return deletionTimestamp !== undefined && isHeld ? object : undefined;
}

/**
 * A page out of the answer to a LIST or a collection DELETE; `items: null` is what an empty metadata list says. Throws ConnectionError `standIn`
 * for something that is not a list.
 */
export function listedObjects(body: unknown, resource: ResourceType): ListPage {
  const items = isRecord(body) && Object.hasOwn(body, "items") ? (body["items"] ?? []) : undefined;
  if (!isRecord(body) || !Array.isArray(items)) {
    throw foreignAnswerError(`no list of ${resource.plural}`);
  }
  const metadata = isRecord(body["metadata"]) ? body["metadata"] : {};
  const { resourceVersion, continue: next } = metadata;
  return {
    items: items.map((item: unknown) => storedObject(item, resource)),
    resourceVersion: typeof resourceVersion === "string" ? resourceVersion : "",
    next: typeof next === "string" && next !== "" ? next : undefined,
  };
}
