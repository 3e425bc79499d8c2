import { ifServed } from "../../../../access/kube/api-error.ts";
import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import { type Right, rightTexts } from "../../../../access/kube/missing-right.ts";
import { getProfile } from "../../../../access/kube/profile-versions.ts";
import { secretNamespace } from "../../../../access/plugins/built-in-plugins.ts";
import type { ProviderFile } from "../../../../access/providers/provider-config.ts";
import { loadProviderFile } from "../../../../access/providers/provider-file.ts";
import { withTimeout } from "../../../../access/time/deadline.ts";
import { systemClock } from "../../../../access/time/system-clock.ts";
import { clusterProfileApiVersions, isClusterProfile } from "../../../../api/cluster-profile.ts";
import { operatorApiVersion } from "../../../../api/component.ts";
import { listAt, recordAt, textAt } from "../../../../api/fields.ts";
import { groupOf, type NamespacedName } from "../../../../api/kubernetes.ts";
import { knownResource } from "../../../../api/resources.ts";
import { listVisibleComponents } from "../../findings/checks/hub-checks.ts";
import type { Flags } from "../../flags.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import {
  type Controllers,
  findControllers,
  flagValuesOf,
  onlyController,
} from "../../hub/find-controller.ts";
import { readHubProviderFile } from "../../hub/hub-provider-file.ts";
import { listVisible } from "../../hub/list-visible.ts";
import { listProfiles } from "../../hub/profiles.ts";
import { missingRights, NeededReads } from "../../rights/missing-rights.ts";
import { idOf } from "../../rights/spoke-objects.ts";
import { type HubReaders, readerOf, readersFor } from "./choose-reader.ts";
import { listsProfiles } from "./known-cluster.ts";
import { hostOf, isLoopbackHost } from "./reachable-server.ts";
import type { RegisterRequest } from "./register-request.ts";
import type { HubFacts } from "./registration-facts.ts";

/** Reads what a registration needs to know of the hub. `context`: its name in the kubeconfig. Throws the errors of KubeClient. */
export async function readHubFacts(
  request: Pick<RegisterRequest, "profile">,
  context: string,
  fleet: Fleet,
): Promise<HubFacts> {
  const { flags, signal } = fleet;
  const { hub: client } = await fleet.access();
  const late = (): AbortSignal => withTimeout(systemClock, flags.hub.requestTimeoutMs, signal);
  const reads = new NeededReads(client);
  const [system, profileVersion, servesComponents, controllers, readers, profile, others] =
    await Promise.all([
      reads.namespace("kube-system", late()),
      profileVersionOf(client, late()),
      isServed(operatorApiVersion, client, late()),
      findControllers(client, late()),
      readReaders(fleet, client, late()),
      getProfile(reads, request.profile, late()),
      readClusterUsers(client, late()),
    ]);
  return {
    context,
    uid: system?.metadata.uid ?? "",
    isLocal: isLoopbackHost(hostOf(client.server), []),
    ...controllerFacts(controllers, flags),
    profileVersion,
    servesComponents,
    readers,
    profile: profile !== undefined && isClusterProfile(profile) ? profile : undefined,
    ...others,
    ...(await readPlaces(request, { client, reads, readers, late })),
  };
}

/** Reads which ClusterProfiles and components the hub has, as far as they may be listed. */
async function readClusterUsers(
  client: KubeClient,
  signal: AbortSignal,
): Promise<Pick<HubFacts, "profiles" | "components" | "unlisted">> {
  const [profiles, { components, denied }] = await Promise.all([
    listVisible(listProfiles(client, undefined, signal), listsProfiles),
    listVisibleComponents({ hub: client }, signal),
  ]);
  return { profiles: profiles.items, components, unlisted: [...profiles.denied, ...denied] };
}

function controllerFacts(
  { deployments, leases = [] }: Controllers,
  { providerFile }: Flags,
): Pick<HubFacts, "hasPods" | "hasController" | "trusted"> {
  const ours = onlyController(deployments ?? [], "knfleet");
  const valuesOf = (flag: string): readonly string[] =>
    ours === undefined ? [] : flagValuesOf(ours, flag);
  const trusted = {
    managers: valuesOf("--trusted-cluster-manager"),
    namespaces: valuesOf("--trusted-inventory-namespace"),
  };
  // Without the right to look: a hub whose provider file is that of the chart has the pods of the chart.
  const hasPods = deployments === undefined ? providerFile === undefined : deployments.length > 0;
  const hasController =
    hasPods || deployments === undefined || leases.some(({ holder }) => holder !== "");
  return { hasPods, hasController, trusted };
}

interface HubReads {
  readonly client: KubeClient;
  readonly reads: NeededReads;
  /** The time limit of one request, which begins with the call. */
  readonly late: () => AbortSignal;
}

/** Reads the places on the hub where the registration writes: namespaces, Secrets, and the rights there. */
async function readPlaces(
  { profile }: Pick<RegisterRequest, "profile">,
  { client, reads, readers, late }: HubReads & Pick<HubFacts, "readers">,
): Promise<Pick<HubFacts, "namespaces" | "secrets" | "missingRights">> {
  const refs = typeof readers === "string" ? [] : readersFor(readers, profile);
  const places = refs.map(({ secret }) => secret);
  const needed = [...new Set([profile, ...places].map(({ namespace }) => namespace))];
  const resource = knownResource("v1", "Secret");
  const [found, secrets] = await Promise.all([
    Promise.all(needed.map((name) => reads.namespace(name, late()))),
    Promise.all(
      places.map(async ({ namespace, name }) => {
        const ref = { resource, namespace, name };
        const secret = await reads.get(ref, { metadataOnly: true }, late());
        return secret === undefined ? [] : [[idOf(ref), secret] as const];
      }),
    ),
  ]);
  const namespaces = found.flatMap((namespace) => namespace ?? []);
  const isOneAbsent =
    namespaces.length < needed.length &&
    reads.denied.every(({ resource: denied }) => denied !== "namespaces");
  const rights = [...hubRights(profile, places), ...(isOneAbsent ? [createNamespaces] : [])];
  const missing = await missingRights(rights, client, late());
  return {
    namespaces,
    secrets: new Map(secrets.flat()),
    missingRights: rightTexts([...reads.denied, ...missing]),
  };
}

const createNamespaces: Right = { group: "", resource: "namespaces", verb: "create" };

function hubRights(
  { namespace }: NamespacedName,
  places: readonly NamespacedName[],
): readonly Right[] {
  const group = groupOf(clusterProfileApiVersions[0]);
  const secrets = [...new Set(places.map((place) => place.namespace))];
  return [
    // Without them the controller would count as not there, and its flags as not set.
    { group: "apps", resource: "deployments", verb: "list" },
    { group: "rbac.authorization.k8s.io", resource: "clusterrolebindings", verb: "list" },
    { group, resource: "clusterprofiles/status", verb: "patch", namespace },
    ...["create", "patch"].flatMap((verb) => [
      { group, resource: "clusterprofiles", verb, namespace },
      ...secrets.map((place) => ({ group: "", resource: "secrets", verb, namespace: place })),
    ]),
  ];
}

async function profileVersionOf(
  client: KubeClient,
  signal: AbortSignal,
): Promise<string | undefined> {
  const path = `/apis/${groupOf(clusterProfileApiVersions[0])}`;
  const answer = await ifServed(client.request("GET", path, undefined, signal));
  const served = listAt(recordAt(answer), "versions").map((version) =>
    textAt(recordAt(version), "groupVersion"),
  );
  return clusterProfileApiVersions.find((version) => served.includes(version));
}

async function isServed(
  apiVersion: string,
  client: KubeClient,
  signal: AbortSignal,
): Promise<boolean> {
  const answer = await ifServed(client.request("GET", `/apis/${apiVersion}`, undefined, signal));
  return answer !== undefined;
}

/** The readers of the named provider file, or of the hub's. A sentence when there is none. */
async function readReaders(
  { flags, env: environment }: Fleet,
  client: KubeClient,
  signal: AbortSignal,
): Promise<HubReaders | string> {
  const { providerFile, pluginNamespace } = flags;
  if (providerFile !== undefined) {
    const file = await loadProviderFile({ path: providerFile }, signal);
    const namespaces = await secretNamespaces(file, { pluginNamespace, environment });
    return { file, place: providerFile, secretNamespaces: namespaces };
  }
  const timeoutMs = flags.hub.requestTimeoutMs;
  const request = { pluginNamespace, environment, timeoutMs };
  const found = await readHubProviderFile(client, request, signal);
  if (typeof found === "string") return found;
  const { file, place, credentialsNamespace } = found;
  const options = { pluginNamespace, credentialsNamespace, environment: found.environment };
  return { file, place, secretNamespaces: await secretNamespaces(file, options) };
}

async function secretNamespaces(
  { providers }: ProviderFile,
  {
    pluginNamespace,
    credentialsNamespace,
    environment,
  }: {
    readonly pluginNamespace: string | undefined;
    readonly credentialsNamespace?: string | undefined;
    readonly environment: Readonly<Record<string, string | undefined>>;
  },
): Promise<ReadonlyMap<string, string>> {
  const entries = providers.map(async (provider) => {
    const own = (provider.exec?.env ?? []).map(({ name, value }) => [name, value] as const);
    // What the file says wins over this machine, which is not where the reader runs.
    const saysWhere = own.some(([name]) => name === "POD_NAMESPACE" || name === "KUBECONFIG");
    const rest = Object.entries(saysWhere ? {} : environment);
    const texts = rest.flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value] as const],
    );
    const usual = await secretNamespace(Object.fromEntries([...texts, ...own]));
    // Only this reader is told the namespace by the profile.
    const isTold = readerOf(provider) === "kubeconfig-secretreader";
    const told = isTold ? credentialsNamespace : undefined;
    return [provider.name, pluginNamespace ?? told ?? usual] as const;
  });
  return new Map(await Promise.all(entries));
}
