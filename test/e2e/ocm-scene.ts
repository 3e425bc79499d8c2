import { readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";

import { afterAll, beforeAll } from "vitest";
import { parse } from "yaml";

import { clusterProfileApiVersion } from "../../api/cluster-profile.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import { knfleetFile, runKnfleet, type Ran } from "../cmd/kubectl/run-knfleet.ts";
import { ensureBinaries } from "../fleet/binaries.ts";
import type { Cluster, Fleet } from "../fleet/fleet.ts";
import { isRecord, valueAt } from "../fleet/json-record.ts";
import { manifestsIn } from "../fleet/manifest-files.ts";
import type { Addons, SpokeAddons } from "../fleet/ocm/addons.ts";
import { startOcm } from "../fleet/ocm/ocm.ts";
import { useFleet } from "../fleet/use-fleet.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { startControllerProcess, type ControllerProcess } from "../support/controller-process.ts";

/** The namespace of the ClusterProfiles, in docs/examples/ocm. */
export const profileNamespace = "fleet";

/** A spoke that joined through Open Cluster Management and is reached through cluster-proxy alone, and the real controller. */
export interface OcmScene extends AsyncDisposable {
  readonly fleet: Fleet;
  readonly hub: Cluster;
  readonly spoke: Cluster;
  readonly addons: Addons;
  readonly spokeAddons: SpokeAddons;
  readonly controller: ControllerProcess;
  /** Runs the plugin where the tunnel can be reached. */
  knfleet(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Ran>;
}

const patience = { timeoutMs: 180_000 };
const examples = resolve(import.meta.dirname, "../../docs/examples/ocm");
// Of a shell whose first argument is a hosts file, followed by the command to run.
const withHosts = 'mount --bind "$0" /etc/hosts && exec "$@"';

/**
 * Sets the scene for all tests of a file: does with a hub and a spoke what docs/examples/ocm does, with OCM's ClusterProfile CRD, until the spoke has a
 * ClusterProfile with a way in, a token beside it and the rights of the example. `releaseDir` is asked for the releases of the controller.
 */
export function useOcmScene(releaseDir: (fleet: Fleet) => Promise<string>): () => OcmScene {
  const fleet = useFleet({ spokes: 1 });
  let scene: OcmScene | undefined;
  beforeAll(async () => {
    try {
      scene = await setScene(fleet(), await releaseDir(fleet()));
    } catch (error) {
      // A test that fails keeps the logs, a hook does not.
      fleet().keep();
      throw error;
    }
  }, 1_800_000);
  afterAll(async () => scene?.[Symbol.asyncDispose]());
  return () => {
    if (scene === undefined) throw new Error("The scene exists only in tests and hooks");
    return scene;
  };
}

async function setScene(fleet: Fleet, releaseDir: string): Promise<OcmScene> {
  const { hub } = fleet;
  const spoke = fleet.spoke(0);
  await using undo = new AsyncDisposableStack();
  const ocm = undo.use(await startOcm(fleet, { profileCrd: "ocm", log: printLine }));
  await applyExample(hub, "hub.yaml", spoke);
  const [addons, agent] = await Promise.all([ocm.startAddons(), ocm.startAgent(spoke)]);
  await ocm.accept(spoke);
  await agent.startWork();
  await applyExample(hub, "access.yaml", spoke);
  await applyExample(hub, "managed-service-account.yaml", spoke);
  const spokeAddons = await addons.startOn(spoke);
  await wayIn(hub, spoke);
  const hosts = join(fleet.folder, "hosts");
  await writeFile(hosts, `127.0.0.1 localhost\n${addons.hostsLine}\n`);
  const isolated = ["unshare", "--user", "--map-root-user", "--mount"];
  const through = [...isolated, "sh", "-c", withHosts, hosts];
  const providerFile = await writeProviders(fleet);
  const kubeconfig = await fleet.controllerKubeconfig();
  const options = { kubeconfig, providerFile, releaseDir, through };
  const controller = undo.use(await startControllerProcess(options));
  const running = undo.move();
  return {
    fleet,
    hub,
    spoke,
    addons,
    spokeAddons,
    controller,
    knfleet(args, more = {}) {
      const [command = "", ...words] = [...through, process.execPath, knfleetFile, ...args];
      const env = { KUBECONFIG: hub.adminKubeconfigPath, KNFLEET_PROVIDER_FILE: providerFile };
      return runKnfleet(words, { command, env: { ...env, ...more } });
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

function printLine(line: string): void {
  console.error(line);
}

/** Waits until OCM has written a way into the spoke and a token for it; the answer is the ClusterProfile. */
export async function wayIn({ admin }: Cluster, { name }: Cluster): Promise<KubeObject> {
  const namespace = profileNamespace;
  const secret = { apiVersion: "v1", kind: "Secret", namespace, name: `${name}-knfleet` };
  await waitFor("the token beside the profile", () => admin.get(secret), patience);
  const key = { apiVersion: clusterProfileApiVersion, kind: "ClusterProfile", namespace, name };
  const found = async (): Promise<KubeObject | false | undefined> => {
    const profile = await admin.get(key);
    return (
      valueAt(profile, "status", "accessProviders", 0, "cluster", "server") !== undefined && profile
    );
  };
  return waitFor("the way in", found, patience);
}

/** Applies a file of the example, for this spoke in place of `cluster1`. */
async function applyExample({ admin }: Cluster, file: string, { name }: Cluster): Promise<void> {
  const text = await readFile(join(examples, file), "utf8");
  for (const manifest of manifestsIn(text.replaceAll("cluster1", name), file)) {
    await waitFor(`${file} to be taken`, () => admin.apply(manifest));
  }
}

/** The provider file of the example's values, with the plugin of this machine in place of that of the image, and with the providers of the fleet. */
async function writeProviders(fleet: Fleet): Promise<string> {
  const { hub } = fleet;
  const binary = await ensureBinaries(["clusterprofile-credentials-plugin"]);
  const { token } = await hub.serviceAccountToken({
    namespace: profileNamespace,
    name: "ocm-plugin",
    namespaceRules: [{ apiGroups: [""], resources: ["secrets"], verbs: ["get"] }],
  });
  const kubeconfig = await hub.writeKubeconfig("ocm-plugin.kubeconfig", { identity: { token } });
  const values: unknown = parse(await readFile(join(examples, "values.yaml"), "utf8"));
  const config = valueAt(values, "multicluster", "accessProvidersConfig");
  const provider = valueAt(config, "providers", 0, "execConfig");
  if (!isRecord(provider) || !Array.isArray(provider["env"])) throw new Error("No provider");
  provider["command"] = binary("clusterprofile-credentials-plugin");
  provider["env"].push({ name: "KUBECONFIG", value: kubeconfig });
  const others: unknown = JSON.parse(await readFile(await fleet.providerFile(), "utf8"));
  const file = join(hub.folder, "ocm-providers.json");
  const providers = [config, others].flatMap((one) => valueAt(one, "providers"));
  await writeFile(file, JSON.stringify({ providers }), { mode: 0o600 });
  return file;
}
