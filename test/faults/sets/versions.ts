import type { KubeObject } from "../../../api/kubernetes.ts";
import type { AdminClient } from "../../fleet/admin-client.ts";
import { isRecord, valueAt } from "../../fleet/json-record.ts";

/** All versions that a collection has had since a list, which come first, in the order in which the hub wrote them. */
export async function versionsOf(
  admin: AdminClient,
  collection: string,
  before: unknown,
): Promise<readonly KubeObject[]> {
  const listed = valueAt(before, "items");
  const end = await admin.request("GET", collection);
  const since = String(valueAt(before, "metadata", "resourceVersion"));
  const query = `watch=true&timeoutSeconds=2&resourceVersion=${since}`;
  const events = eventsOf(await admin.request("GET", `${collection}?${query}`));
  const objects = events.map(({ object }) => object);
  const seen = new Set(objects.map((object) => valueAt(object, "metadata", "resourceVersion")));
  const last = valueAt(end, "items");
  for (const one of Array.isArray(last) ? last : []) {
    if (!seen.has(valueAt(one, "metadata", "resourceVersion"))) {
      throw new Error(`The watch does not show all: ${JSON.stringify(events.at(-1))}`);
    }
  }
  return [...(Array.isArray(listed) ? listed : []), ...objects].filter(isObject);
}

/** A watch answers with one JSON object a line; with one alone it is parsed already. */
function eventsOf(answer: unknown): readonly Readonly<Record<string, unknown>>[] {
  const events: readonly unknown[] =
    typeof answer === "string"
      ? answer
          .split("\n")
          .filter(Boolean)
          .map((line): unknown => JSON.parse(line))
      : [answer];
  return events.filter(isRecord);
}

function isObject(value: unknown): value is KubeObject {
  return typeof valueAt(value, "metadata", "name") === "string";
}
