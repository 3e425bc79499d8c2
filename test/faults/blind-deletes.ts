import { isRecord, valueAt } from "../fleet/json-record.ts";
import type { WriteLog } from "./write-log.ts";

// Their names end with the id of the hub, so that nobody else's object has one.
const guardPattern =
  /^\/apis\/admissionregistration\.k8s\.io\/v1\/validatingadmissionpolic(?:ies|ybindings)\/[a-z-]+\.[0-9a-f-]{36}\.operator\.knative\.dev(?:\?|$)/;

/**
 * Deletions by name that do not say which object they mean: by the time they arrive another may have that name. Collection
 * deletes select by the component's uid instead.
 */
export function blindDeletes({ writes }: WriteLog): readonly string[] {
  return writes
    .filter(({ method, path }) => method === "DELETE" && !path.includes("labelSelector="))
    .filter(({ path }) => !guardPattern.test(path))
    .filter(({ body }) => valueAt(parsed(body), "preconditions", "uid") === undefined)
    .map(({ path }) => `DELETE ${path} without the uid of what it means`);
}

function parsed(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
