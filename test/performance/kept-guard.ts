import { anchorAnnotations } from "../../installation/anchor.ts";
import type { Fleet } from "../fleet/fleet.ts";

/**
 * Leaves an anchor of another installation of this hub on each spoke, so that the guard stays when the measured installation goes. Has
 * to come before the guard, which lets nobody but the controller make one.
 */
export async function keepGuard({ hub, spokes }: Fleet): Promise<void> {
  const system = await hub.admin.get({ apiVersion: "v1", kind: "Namespace", name: "kube-system" });
  const hubId = system?.metadata.uid ?? "";
  const namespace = "another-installation";
  const annotations = {
    [anchorAnnotations.anchor]: "true",
    [anchorAnnotations.protected]: "true",
    [anchorAnnotations.componentUid]: "another-component",
    [anchorAnnotations.hubId]: hubId,
  };
  for (const { admin } of spokes) {
    await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
    await admin.apply({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "knativeserving-another-root-owner", namespace, annotations },
    });
  }
}
