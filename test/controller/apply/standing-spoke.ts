import { keyOf, type KubeObject, type Manifest } from "../../../api/kubernetes.ts";
import { anchorManifest } from "../../../installation/anchor-object.ts";
import { componentUidLabel } from "../../../installation/anchor.ts";
import { encodeInventory, type InventoryEntry } from "../../../installation/inventory.ts";
import { fingerprintOf } from "../../../installation/managed-fields.ts";
import type { StubAnswer, StubRequest } from "../../access/api-stub.ts";
import { bareInstaller, component, json, roots } from "./bare-spoke.ts";
import { preparedOf } from "./prepared.ts";

const { namespace, uid } = component.metadata;
const fieldManager = "knfleet-hub-a";
const profile = { namespace: "fleet", name: "spoke-1" };

/** Fields of an object that our apply owns. */
export interface Own {
  readonly fieldsV1: NonNullable<NonNullable<Manifest["metadata"]["managedFields"]>[0]["fieldsV1"]>;
  readonly time: string;
}

/** An object of the component on a cluster, with these fields of ours and those entries of others. */
export function liveOf(
  manifest: Manifest,
  own: Own,
  others: NonNullable<Manifest["metadata"]["managedFields"]> = [],
): KubeObject {
  const entry = { manager: fieldManager, operation: "Apply", fieldsType: "FieldsV1", ...own };
  const { name = "" } = manifest.metadata;
  const metadata = { ...manifest.metadata, name, uid: `uid-${name}`, resourceVersion: "10" };
  const labels = { [componentUidLabel]: uid };
  return { ...manifest, metadata: { ...metadata, labels, managedFields: [entry, ...others] } };
}

/** How an inventory names an object that was accepted with these fields. */
export function entryOf(manifest: Manifest, { fieldsV1 }: Pick<Own, "fieldsV1">): InventoryEntry {
  const [prepared] = preparedOf([manifest]);
  const managedFields = [{ manager: fieldManager, operation: "Apply", fieldsV1 }];
  const object = { ...manifest, metadata: { ...manifest.metadata, managedFields } };
  const fingerprint = fingerprintOf(object, fieldManager);
  return { ...keyOf(manifest), hash: prepared?.hash ?? "", ...(fingerprint && { fingerprint }) };
}

/** The namespace, as a bare spoke has it. */
const ground: KubeObject = {
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name: namespace, uid: "n", resourceVersion: "1" },
};

interface Standing {
  /** What the anchor names. */
  readonly entries: readonly InventoryEntry[];
  /** What the watches show, by the plural of its kind. */
  readonly objects: Readonly<Record<string, readonly KubeObject[]>>;
  /** Asked before all else. */
  readonly answer: (request: StubRequest) => StubAnswer | undefined;
}

/** An installer with a spoke on which the component is installed already. */
export function standingInstaller({ entries, objects, answer }: Standing) {
  const inventory = encodeInventory({ version: "1.23.0", complete: true, entries });
  const target = { namespace, hubId: "hub-a", profile };
  const manifest = anchorManifest({ component, target }, inventory);
  const { name = "" } = manifest.metadata;
  const metadata = { ...manifest.metadata, name, uid: "uid-of-root", resourceVersion: "5" };
  return bareInstaller((request) => {
    const { method, path, body } = request;
    const own = answer(request);
    if (own !== undefined) return own;
    const isOfAnchor = path.startsWith(`${roots}/${manifest.metadata.name}`);
    if (isOfAnchor && method === "GET") return json({ ...manifest, metadata });
    if (isOfAnchor && method === "PATCH") return json({ ...JSON.parse(body), metadata });
    if (method !== "GET" || !path.includes("watch=true")) return undefined;
    if (path.includes("fieldSelector=")) {
      return watched(path.includes("/configmaps?") ? [{ ...manifest, metadata }] : [ground]);
    }
    const plural = Object.keys(objects).find((one) => path.includes(`/${one}?`));
    return plural === undefined ? undefined : watched(objects[plural] ?? []);
  });
}

/** A list with these objects, and nothing after it. */
function watched(objects: readonly KubeObject[]): StubAnswer {
  const annotations = { "k8s.io/initial-events-end": "true" };
  const end = { type: "BOOKMARK", object: { metadata: { resourceVersion: "20", annotations } } };
  const events = [...objects.map((object) => ({ type: "ADDED", object })), end];
  return { body: events.map((event) => `${JSON.stringify(event)}\n`).join(""), open: true };
}
