import type { KubeClient } from "../../access/kube/kube-client.ts";
import { getProfile, ServedKind } from "../../access/kube/profile-versions.ts";
import { Reflector } from "../../access/kube/reflector.ts";
import { logWatchBug } from "../../access/log.ts";
import type { Log } from "../../access/log.ts";
import type { ProviderFile } from "../../access/providers/provider-config.ts";
import type { Clock } from "../../access/time/clock.ts";
import {
  type ClusterProfile,
  clusterProfileApiVersion,
  isClusterProfile,
} from "../../api/cluster-profile.ts";
import {
  type ClusterProfileRef,
  type ComponentKind,
  operatorApiVersion,
} from "../../api/component.ts";
import { recordAt } from "../../api/fields.ts";
import { nameId } from "../../api/keys.ts";
import { type KubeObject, withoutManagedFields } from "../../api/kubernetes.ts";
import { knownResource } from "../../api/resources.ts";
import { refOf } from "../rules/reference.ts";
import type { StoredComponent } from "../rules/rule.ts";
import { createBriefMemory } from "./brief-memory.ts";
import { providerLabel, providerTextsIn } from "./provider-maps.ts";
import { createProviderReader, type ProviderReader } from "./provider-reader.ts";

/** One provider file of a ConfigMap on the hub. */
export interface StoredProviderFile {
  /** Name of the ConfigMap. */
  readonly map: string;
  readonly file: ProviderFile;
}

/** What the hub holds. Each call answers from a watch when that is synced, otherwise it asks the hub. Rejects when nothing is known. */
export interface HubFacts {
  profile(ref: ClusterProfileRef, signal: AbortSignal): Promise<ClusterProfile | undefined>;
  profiles(signal: AbortSignal): Promise<readonly ClusterProfile[]>;
  components(kind: ComponentKind, signal: AbortSignal): Promise<readonly StoredComponent[]>;
  /** The provider files that can be read; empty when there is none. */
  providerFiles(signal: AbortSignal): Promise<readonly StoredProviderFile[]>;
}

export interface HubFactsOptions {
  readonly client: Pick<KubeClient, "get" | "list" | "watch">;
  /** Where the ConfigMaps with provider files are; absent: they are not read. */
  readonly providerNamespace?: string;
  /** A ConfigMap that is a provider file without the label, as Helm creates it. */
  readonly providerFile?: string;
  readonly clock: Clock;
  readonly log: Log;
}

const componentResources = {
  KnativeServing: knownResource(operatorApiVersion, "KnativeServing"),
  KnativeEventing: knownResource(operatorApiVersion, "KnativeEventing"),
} as const;
const profileCollection = { resource: knownResource(clusterProfileApiVersion, "ClusterProfile") };
const configMaps = knownResource("v1", "ConfigMap");
// For answers of the hub that no watch keeps.
const rememberedMs = 2_000;

/**
 * Watches components, ClusterProfiles and provider files of a hub. No call waits for a watch: it asks the hub, whose answer is remembered for two
 * seconds. Disposing it ends the watches.
 */
export function openHubFacts(options: HubFactsOptions, signal: AbortSignal): HubFacts & Disposable {
  const watches = new DisposableStack();
  const follow: Follow = (ref) => watches.use(reflectorOf(ref, options, signal));
  return {
    ...followProfiles(options, follow),
    components: followComponents(options, follow),
    providerFiles: followProviderFiles(options, follow),
    [Symbol.dispose]: () => watches.dispose(),
  };
}

type Follow = (ref: Following) => Reflector;

function followProfiles(
  { client, clock }: HubFactsOptions,
  follow: Follow,
): Pick<HubFacts, "profile" | "profiles"> {
  const keep = withoutManagedFields;
  const served = new ServedKind(client);
  const known = follow({ ...profileCollection, keep, client: served });
  const lookedUp = createBriefMemory<KubeObject | undefined>(clock, () => rememberedMs);
  const listed = createBriefMemory<readonly KubeObject[]>(clock, () => rememberedMs);
  return {
    profile: async (ref, signal) => {
      const found = known.isSynced ? known.get(nameId(ref)) : undefined;
      const find = () => getProfile(client, ref, signal);
      // The watch may not have shown a new profile yet.
      const object = found ?? (await lookedUp([ref.namespace, ref.name], find));
      return object === undefined || !isClusterProfile(object) ? undefined : object;
    },
    profiles: async (signal) => {
      const list = async () => (await served.list(profileCollection, {}, signal)).items;
      const objects = known.isSynced ? [...known.values()] : await listed([], list);
      return objects.filter(isClusterProfile);
    },
  };
}

function followComponents(
  { client, clock }: HubFactsOptions,
  follow: Follow,
): HubFacts["components"] {
  const watched = {
    KnativeServing: follow({ resource: componentResources.KnativeServing, keep: keyAndCluster }),
    KnativeEventing: follow({ resource: componentResources.KnativeEventing, keep: keyAndCluster }),
  };
  const listed = createBriefMemory<readonly StoredComponent[]>(clock, () => rememberedMs);
  const stored = new WeakMap<KubeObject, StoredComponent>();
  const remembered = (kind: ComponentKind, object: KubeObject): StoredComponent => {
    const one = stored.get(object) ?? storedOf(kind, object);
    stored.set(object, one);
    return one;
  };
  return async (kind, signal) => {
    const known = watched[kind];
    if (known.isSynced) return Array.from(known.values(), (one) => remembered(kind, one));
    return listed([kind], async () => {
      const list = await client.list({ resource: componentResources[kind] }, {}, signal);
      return list.items.map((object) => storedOf(kind, object));
    });
  };
}

function followProviderFiles(options: HubFactsOptions, follow: Follow): HubFacts["providerFiles"] {
  const maps = followConfigMaps(options, follow);
  const read = createProviderReader([]);
  const parsed = new WeakMap<KubeObject, readonly ProviderFile[]>();
  return async (signal) => {
    const objects = maps.flatMap((watched) => [...watched.values()]);
    const files = await Promise.all(
      objects.map(async (object) => {
        const found = parsed.get(object) ?? (await filesIn(object, read, signal));
        parsed.set(object, found);
        return found.map((file) => ({ map: object.metadata.name, file }));
      }),
    );
    return files.flat();
  };
}

interface Following {
  readonly resource: (typeof profileCollection)["resource"];
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly keep?: (object: KubeObject) => KubeObject;
  readonly client?: Pick<KubeClient, "list" | "watch">;
}

function reflectorOf(
  { keep, client, ...ref }: Following,
  options: HubFactsOptions,
  signal: AbortSignal,
): Reflector {
  const { clock, log } = options;
  return new Reflector(
    { client: client ?? options.client, clock, ref, ...(keep === undefined ? {} : { keep }) },
    {
      onChange: () => undefined,
      onDelete: () => undefined,
      onError: (error) =>
        log.debug({ err: error, kind: ref.resource.kind }, "A watch of the hub failed"),
      onBug: logWatchBug(log, ref.resource.kind),
    },
    signal,
  );
}

function followConfigMaps(
  { providerNamespace: namespace, providerFile }: HubFactsOptions,
  follow: Follow,
): readonly Reflector[] {
  if (namespace === undefined) return [];
  const place = { resource: configMaps, namespace };
  const labelled = follow({ ...place, labelSelector: providerLabel });
  if (providerFile === undefined) return [labelled];
  return [labelled, follow({ ...place, fieldSelector: `metadata.name=${providerFile}` })];
}

async function filesIn(
  object: KubeObject,
  read: ProviderReader,
  signal: AbortSignal,
): Promise<readonly ProviderFile[]> {
  const texts = providerTextsIn(object["data"]);
  const readings = await Promise.all(texts.map((text) => read(text, signal)));
  return readings.flatMap(({ file }) => file ?? []);
}

/** Only the fields that name the component and its cluster. */
function keyAndCluster({ apiVersion, kind, metadata, spec }: KubeObject): KubeObject {
  const { name, namespace, uid, resourceVersion } = metadata;
  const { clusterProfileRef } = recordAt(spec);
  return {
    apiVersion,
    kind,
    metadata: { name, uid, resourceVersion, ...(namespace === undefined ? {} : { namespace }) },
    ...(clusterProfileRef === undefined ? {} : { spec: { clusterProfileRef } }),
  };
}

function storedOf(kind: ComponentKind, { metadata, spec }: KubeObject): StoredComponent {
  const { name, namespace = "" } = metadata;
  return { kind, namespace, name, ref: refOf(recordAt(spec)) };
}
