import { afterEach } from "vitest";

import { componentKinds, operatorApiVersion } from "../../api/component.ts";
import { keyOf, type KubeObject } from "../../api/kubernetes.ts";
import { anchorAnnotations } from "../../installation/anchor.ts";
import type { Cluster } from "../fleet/fleet.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { removeConfirmed } from "./installation.ts";
import type { Scene } from "./scene.ts";

const patience = { timeoutMs: 120_000 };

/**
 * Puts the scene back after a test that failed: all ways are open, all ClusterProfiles are there, a controller runs, and no component is left. For
 * files whose tests build on nothing, so that a test that fails does not make the next ones fail.
 */
export function useClearScene(scene: () => Scene): void {
  afterEach(async ({ task }) => {
    if (task.result?.state === "fail") await clear(scene());
  }, 300_000);
}

async function clear(scene: Scene): Promise<void> {
  const { fleet, hub, profiles } = scene;
  await Promise.all(
    fleet.spokes.map(async (spoke) => {
      spoke.resume();
      spoke.proxy.setRtt(0);
      await spoke.proxy.setMode("open");
    }),
  );
  for (const { spoke, plugin } of profiles) await fleet.addProfile(spoke, { plugin });
  if (!scene.controller.isRunning) scene.controller = await scene.startController();
  const left = await componentsOf(scene);
  await Promise.all(left.map((component) => hub.admin.remove(keyOf(component))));
  const isClear = async () => (await componentsOf(scene)).length === 0;
  await waitFor("the components to be gone", isClear, patience);
  await Promise.all([hub, ...fleet.spokes].map(removeAnchors));
  // A namespace that is going cannot take what the next test creates.
  const namespaces = Object.values(componentKinds).map(({ label }) => label);
  await waitFor(
    "no namespace to be going",
    async () => {
      const keys = namespaces.map((name) => ({ apiVersion: "v1", kind: "Namespace", name }));
      const found = await Promise.all(keys.map((key) => hub.admin.get(key)));
      return found.every((one) => one?.metadata.deletionTimestamp === undefined);
    },
    patience,
  );
}

/** What went without its installation has left it there: the garbage collector takes it with its anchor. */
async function removeAnchors(cluster: Cluster): Promise<void> {
  const maps = await cluster.admin.list({ apiVersion: "v1", kind: "ConfigMap" });
  const anchors = maps.filter(
    ({ metadata: { annotations = {} } }) => annotations[anchorAnnotations.protected] !== undefined,
  );
  await Promise.all(anchors.map((anchor) => removeConfirmed(cluster, keyOf(anchor))));
}

async function componentsOf({ hub }: Scene): Promise<readonly KubeObject[]> {
  const lists = Object.keys(componentKinds).map((kind) =>
    hub.admin.list({ apiVersion: operatorApiVersion, kind }),
  );
  return (await Promise.all(lists)).flat();
}
