import type { Anchor } from "../../../controller/apply/anchor/anchor.ts";
import { encodeInventory, type Inventory } from "../../../installation/inventory.ts";

/** An anchor as it is read that has all its marks and says this. */
export function anchorWith(inventory: Inventory, uid = "root-uid"): Anchor {
  const key = { apiVersion: "v1", kind: "ConfigMap", namespace: "knative", name: "root" };
  const metadata = { namespace: "knative", name: "root", uid, resourceVersion: "1" };
  const data = { inventory: encodeInventory(inventory) };
  const owner = { apiVersion: "v1", kind: "ConfigMap", name: "root", uid };
  const object = { apiVersion: "v1", kind: "ConfigMap", metadata, data };
  return { key, uid, resourceVersion: "1", inventory, owner, object, isMarked: true };
}
