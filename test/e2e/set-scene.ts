import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { afterAll, beforeAll } from "vitest";

import { operatorApiVersion } from "../../api/component.ts";
import { fleetSetApiVersion, setLabels } from "../../api/fleet-set.ts";
import type { KubeObject, ObjectKey } from "../../api/kubernetes.ts";
import type { Cluster, Fleet, Profile } from "../fleet/fleet.ts";
import { applyFile } from "../fleet/hub-access.ts";
import { valueAt } from "../fleet/json-record.ts";
import { useFleet } from "../fleet/use-fleet.ts";
import { waitFor } from "../fleet/wait-for.ts";
import {
  type ControllerProcess,
  type ControllerProcessOptions,
  startControllerProcess,
} from "../support/controller-process.ts";
import { replicaKubeconfig } from "./built-in-access.ts";
import { writeThinRelease } from "./thin-release.ts";

export const setNamespace = "platform";
const kind = "KnativeEventingSet";
const setsRoleFile = join(import.meta.dirname, "../../docs/sets-role.yaml");
const quota = {
  apiVersion: "v1",
  kind: "ResourceQuota",
  namespace: "knative-eventing",
  name: "nothing-starts",
} as const;

/** A hub, three spokes with the label `ring`, and a controller that rolls sets of Eventing out. */
export interface SetScene {
  readonly fleet: Fleet;
  readonly hub: Cluster;
  /** By ring: 0, 1, 2. */
  readonly profiles: readonly Profile[];
  controller: ControllerProcess;
  /** With further flags, if there are any. */
  startController(flags?: readonly string[]): Promise<ControllerProcess>;
  /** Starts one of several replicas that share the fleet. It may read and write all Leases of its namespace, as with the chart. */
  startReplica(shards: number): Promise<ControllerProcess>;
  /** Puts one more version of Eventing into the release folder, and starts the controller again, as an upgrade of knfleet does. */
  restartWith(version: string): Promise<void>;
  /** Changes the release files of a version, and starts the controller again. */
  restartChanged(version: string, change: (text: string) => string): Promise<void>;
  /** A version for each ClusterProfile, by its name. */
  all(version: string): Readonly<Record<string, string>>;
  /** The images of the Deployment on spokes, by their numbers. */
  imagesOn(...spokes: readonly number[]): Promise<readonly string[]>;
}

/** Sets the scene for all tests of a file. */
export function useSetScene(
  clock: Pick<ControllerProcessOptions, "clockFactor"> = {},
): () => SetScene {
  const fleet = useFleet({ spokes: 3 });
  let scene: SetScene | undefined;
  beforeAll(async () => {
    scene = await setSceneOf(fleet(), clock);
  }, 600_000);
  afterAll(async () => scene?.controller[Symbol.asyncDispose]());
  return () => {
    if (scene === undefined) throw new Error("The scene exists only in tests and hooks");
    return scene;
  };
}

async function setSceneOf(
  fleet: Fleet,
  clock: Pick<ControllerProcessOptions, "clockFactor">,
): Promise<SetScene> {
  const { hub } = fleet;
  const { profiles, options: usual } = await prepareSets(fleet);
  const options = { ...usual, ...clock };
  const startController = (flags: readonly string[] = []) =>
    startControllerProcess({ ...options, flags: [...(options.flags ?? []), ...flags] });
  const controller = await startController();
  const scene: SetScene = {
    fleet,
    hub,
    profiles,
    controller,
    startController,
    async startReplica(shards) {
      return await startControllerProcess({
        ...options,
        kubeconfig: await replicaKubeconfig(hub, { name: "knfleet-controller" }),
        flags: [...(options.flags ?? []), `--shards=${shards}`],
        leaderElection: true,
      });
    },
    all: (version) => Object.fromEntries(profiles.map(({ name }) => [name, version])),
    imagesOn: (...spokes) => Promise.all(spokes.map((at) => imageOn(fleet.spoke(at)))),
    async restartWith(version) {
      await scene.controller.stop();
      await writeThinRelease(fleet.folder, 2, [version]);
      scene.controller = await startController();
    },
    async restartChanged(version, change) {
      await scene.controller.stop();
      const file = join(options.releaseDir ?? "", "knative-eventing", version, "1-thin.yaml");
      await writeFile(file, change(await readFile(file, "utf8")));
      scene.controller = await startController();
    },
  };
  return scene;
}

/** Publishes the spokes of a fleet in rings, and says how a controller is started that rolls sets of Eventing out. */
export async function prepareSets(
  fleet: Fleet,
): Promise<Pick<SetScene, "profiles"> & { readonly options: ControllerProcessOptions }> {
  const { hub } = fleet;
  const profiles: Profile[] = [];
  for (const [ring, spoke] of fleet.spokes.entries()) {
    const profile = await fleet.addProfile(spoke, { plugin: "secretreader" });
    profiles.push(profile);
    await labelProfile(hub, profile, { ring: String(ring) });
  }
  await hub.admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: setNamespace } });
  const kubeconfig = await fleet.controllerKubeconfig();
  await applyFile(hub, setsRoleFile);
  const options = {
    kubeconfig,
    providerFile: await fleet.providerFile(),
    releaseDir: await writeThinRelease(fleet.folder, 2, ["1.22.0", "1.23.0", "1.24.0"]),
    flags: ["--sets", "--log-level=debug", "--remote-deployments-poll-interval=1s"],
  };
  return { profiles, options };
}

/** Sets labels of a ClusterProfile; null removes one. */
export async function labelProfile(
  hub: Cluster,
  { namespace, name }: Pick<Profile, "namespace" | "name">,
  labels: Readonly<Record<string, string | null>>,
): Promise<void> {
  const key = { apiVersion: "multicluster.x-k8s.io/v1alpha1", kind: "ClusterProfile" };
  await hub.admin.patch({ ...key, namespace, name }, { metadata: { labels } });
}

/** No pod starts on a spoke any more, or they do again. */
export async function breakSpoke({ admin }: Cluster): Promise<void> {
  const { namespace, name, ...type } = quota;
  await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  await admin.apply({ ...type, metadata: { namespace, name }, spec: { hard: { pods: "0" } } });
}

export async function mendSpoke({ admin }: Cluster): Promise<void> {
  await admin.remove(quota);
}

export function setKey(name: string): ObjectKey {
  return { apiVersion: fleetSetApiVersion, kind, namespace: setNamespace, name };
}

/** A set over all profiles in two stages: ring 0, and the others. */
export function setOf(name: string, spec: Readonly<Record<string, unknown>>) {
  return {
    apiVersion: fleetSetApiVersion,
    kind,
    metadata: { namespace: setNamespace, name },
    spec: {
      clusters: { from: "Selector", selector: { namespaces: ["fleet"] } },
      template: { spec: { version: "1.22" } },
      deletionPolicy: "Delete",
      rollout: {
        progressDeadline: "20s",
        stages: [
          { name: "canary", selector: { matchLabels: { ring: "0" } } },
          { name: "rest", selector: {}, maxConcurrency: 2 },
        ],
      },
      ...spec,
    },
  };
}

export function versionTemplate(version: string) {
  return { template: { spec: { version } } };
}

/** Waits until a set has this phase for the spec that it has now, and returns it. */
export async function phase(hub: Cluster, name: string, wanted: string): Promise<KubeObject> {
  let last: KubeObject | undefined;
  try {
    return await waitFor(
      `${name} to be ${wanted}`,
      async () => {
        last = await hub.admin.get(setKey(name));
        const isObserved =
          valueAt(last, "status", "observedGeneration") === last?.metadata.generation;
        return isObserved && valueAt(last, "status", "rollout", "phase") === wanted && last;
      },
      { timeoutMs: 120_000 },
    );
  } catch (cause) {
    throw new Error(`${name} is ${JSON.stringify(last?.["status"])}`, { cause });
  }
}

/** The components of a set, by the name of their ClusterProfile. */
export async function childrenOf(
  hub: Cluster,
  name: string,
): Promise<ReadonlyMap<string, KubeObject>> {
  const labelSelector = `${setLabels.set}=${name},${setLabels.kind}=${kind}`;
  const found = await hub.admin.list({
    apiVersion: operatorApiVersion,
    kind: "KnativeEventing",
    namespace: setNamespace,
    labelSelector,
  });
  return new Map(
    found.map((one) => [String(valueAt(one, "spec", "clusterProfileRef", "name")), one]),
  );
}

/** The version that each component of a set wants, by the name of its ClusterProfile. */
export async function versionsOf(
  hub: Cluster,
  name: string,
): Promise<Readonly<Record<string, unknown>>> {
  const children = await childrenOf(hub, name);
  return Object.fromEntries(
    [...children].map(([profile, child]) => [profile, valueAt(child, "spec", "version")]),
  );
}

/** The image of the Deployment on a spoke. */
export async function imageOn({ admin }: Cluster): Promise<string> {
  const key = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    namespace: "knative-eventing",
    name: "thin",
  };
  const deployment = await admin.get(key);
  const image = valueAt(deployment, "spec", "template", "spec", "containers", 0, "image");
  return String(image).split(":").at(-1) ?? "";
}

/** Messages of the Events on a set with this reason. An Event follows the status that it tells of, so it is asked for again and again. */
export async function eventsOf(
  hub: Cluster,
  name: string,
  reason: string,
): Promise<readonly string[]> {
  const events = await hub.admin.list({ apiVersion: "v1", kind: "Event", namespace: setNamespace });
  return events
    .filter(
      (event) => valueAt(event, "involvedObject", "name") === name && event["reason"] === reason,
    )
    .map((event) => String(event["message"]));
}

/** Deletes a set and waits until it is gone. */
export async function removeSet(hub: Cluster, name: string): Promise<void> {
  await hub.admin.remove(setKey(name));
  await waitFor(
    `${name} to be gone`,
    async () => (await hub.admin.get(setKey(name))) === undefined,
    {
      timeoutMs: 120_000,
    },
  );
}

/** Sets annotations of a set; null removes one. */
export async function annotateSet(
  hub: Cluster,
  name: string,
  annotations: Readonly<Record<string, string | null>>,
): Promise<void> {
  await hub.admin.patch(setKey(name), { metadata: { annotations } });
}

/** Waits until a set says of its clusters what is wanted. */
export async function clustersOf(
  hub: Cluster,
  name: string,
  wanted: Readonly<Record<string, number>>,
): Promise<KubeObject> {
  let last: KubeObject | undefined;
  const says = async (): Promise<KubeObject | false> => {
    last = await hub.admin.get(setKey(name));
    const counts = Object.entries(wanted);
    const isSo = counts.every(
      ([state, count]) => valueAt(last, "status", "clusters", state) === count,
    );
    return isSo && last !== undefined && last;
  };
  try {
    return await waitFor(`${name} to say ${JSON.stringify(wanted)}`, says, { timeoutMs: 120_000 });
  } catch (cause) {
    throw new Error(`${name} is ${JSON.stringify(last?.["status"])}`, { cause });
  }
}
