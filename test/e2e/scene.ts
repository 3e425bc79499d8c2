import { afterAll, beforeAll } from "vitest";

import type { Cluster, Fleet, FleetOptions, Profile } from "../fleet/fleet.ts";
import { useFleet } from "../fleet/use-fleet.ts";
import {
  type ControllerProcess,
  type ControllerProcessOptions,
  startControllerProcess,
} from "../support/controller-process.ts";
import { releaseDir } from "./release-dir.ts";

/** A fleet with a published spoke for each cluster, and the real controller process running against it. */
export interface Scene {
  readonly fleet: Fleet;
  readonly hub: Cluster;
  /** One per spoke: the first reached through secretreader, all others through kubeconfig-secretreader. */
  readonly profiles: readonly Profile[];
  /** The controller that runs now. */
  controller: ControllerProcess;
  /** Starts another controller with the same flags, for example after the first was killed. */
  startController(): Promise<ControllerProcess>;
}

/** How the controller of a scene is started. */
interface SceneOptions extends Pick<ControllerProcessOptions, "flags" | "clockFactor"> {
  /** Its release directory. Absent: that of the file. */
  readonly releases?: (fleet: Fleet) => Promise<string>;
}

/** Sets the scene for all tests of a file. */
export function useScene(
  clusters: FleetOptions,
  { releases = releaseDir, ...controller }: SceneOptions = {},
): () => Scene {
  const fleet = useFleet(clusters);
  let scene: Scene | undefined;
  beforeAll(async () => {
    scene = await sceneOf(fleet(), { ...controller, releaseDir: await releases(fleet()) });
  }, 600_000);
  afterAll(async () => scene?.controller[Symbol.asyncDispose]());
  return () => {
    if (scene === undefined) throw new Error("The scene exists only in tests and hooks");
    return scene;
  };
}

async function sceneOf(
  fleet: Fleet,
  controller: Pick<ControllerProcessOptions, "flags" | "clockFactor" | "releaseDir">,
): Promise<Scene> {
  const profiles = await Promise.all(
    fleet.spokes.map((spoke, index) =>
      fleet.addProfile(spoke, {
        plugin: index === 0 ? "secretreader" : "kubeconfig-secretreader",
      }),
    ),
  );
  const kubeconfig = await fleet.controllerKubeconfig();
  const providerFile = await fleet.providerFile();
  const start = () => startControllerProcess({ kubeconfig, providerFile, ...controller });
  return {
    fleet,
    hub: fleet.hub,
    profiles,
    controller: await start(),
    startController: start,
  };
}
