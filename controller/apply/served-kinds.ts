import { ApiError } from "../../access/kube/api-error.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import { Follower } from "../../access/time/deadline.ts";
import { FleetError } from "../../api/errors.ts";
import { isRecord } from "../../api/fields.ts";
import { kindId, versionedKindId } from "../../api/keys.ts";
import type { ObjectKey } from "../../api/kubernetes.ts";
import { type ResourceType, tableResource } from "../../api/resources.ts";
import { outlives } from "../../installation/desired.ts";
import type { InventoryEntry } from "../../installation/inventory.ts";

// All limits are far above what a cluster serves. A hostile cluster with ever more kinds must not cause endless requests nor fill the memory.
// Security: T-54.
const maxVersions = 2_000;
const maxKinds = 10_000;
const longestName = 63;

/**
 * Resources of the kinds of some objects, by `versionedKindId`, without the kinds whose objects outlive an installation. Kinds that are not built in are
 * looked up in the API of the cluster, with one request a group version.
 *
 * A kind that is not served has no instances and is left out. A kind whose API does not answer at present is left out when none of its objects was
 * ever accepted. Throws FleetError `ApplyFailed` where there would be too many requests.
 */
export async function servedKinds(
  client: Pick<KubeClient, "request">,
  keys: readonly (ObjectKey & Pick<InventoryEntry, "fingerprint">)[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, ResourceType>> {
  const wanted = new Map(
    keys.filter((key) => !outlives(key)).map((key) => [versionedKindId(key), key]),
  );
  const foreign = [...wanted.values()].filter(
    ({ apiVersion, kind }) => tableResource(apiVersion, kind) === undefined,
  );
  const versions = [...new Set(foreign.map(({ apiVersion }) => apiVersion))];
  const proven = new Set(
    keys.flatMap(({ apiVersion, fingerprint }) => (fingerprint === undefined ? [] : [apiVersion])),
  );
  const lookUp: LookUp = async (version, either) => {
    try {
      return await resourcesOf(client, version, either);
    } catch (error) {
      const isAway = error instanceof ApiError && error.status >= 500;
      if (isAway && !proven.has(version)) return [];
      throw error;
    }
  };
  const served = new Map(
    (await lookedUp(versions, lookUp, signal)).map((resource) => [
      versionedKindId(resource),
      resource,
    ]),
  );
  const found = [...wanted].map(([id, { apiVersion, kind }]) => ({
    id,
    resource: tableResource(apiVersion, kind) ?? served.get(id),
  }));
  return new Map(
    found.flatMap(({ id, resource }) => (resource === undefined ? [] : [[id, resource] as const])),
  );
}

/**
 * Every kind of the cluster that can be listed and deleted, without the kinds whose objects outlive an installation. Each kind comes once, in the
 * preferred version of its group if that version serves it. An API that does not answer at present is left out. Throws FleetError `ApplyFailed` for a
 * cluster with more kinds than any real cluster has.
 */
export async function deletableKinds(
  client: Pick<KubeClient, "request">,
  signal: AbortSignal,
): Promise<readonly ResourceType[]> {
  const answer = await client.request("GET", "/apis", undefined, signal);
  const groups: unknown = isRecord(answer) ? answer["groups"] : undefined;
  const versions = ["v1", ...(Array.isArray(groups) ? groups : []).flatMap(versionsOf)];
  const lookUp: LookUp = async (version, either) => {
    try {
      return await resourcesOf(client, version, either, isDeletable);
    } catch (error) {
      if (error instanceof ApiError && error.status >= 500) return [];
      throw error;
    }
  };
  const served = await lookedUp(versions, lookUp, signal);
  return onceEach(served.filter((kind) => !outlives(kind)));
}

/**
 * Every kind of a group, once each, in the preferred version of the group if that version serves it: a preferred version may lack some kinds. Empty
 * for a group that is not served. Throws FleetError `ApplyFailed` for a group with more kinds than any real group has.
 */
export async function kindsOfGroup(
  client: Pick<KubeClient, "request">,
  group: string,
  signal: AbortSignal,
): Promise<readonly ResourceType[]> {
  const answer = await answerTo(client, `/apis/${group}`, signal);
  const lookUp: LookUp = (version, either) => resourcesOf(client, version, either);
  return onceEach(await lookedUp(versionsOf(answer), lookUp, signal));
}

/** The kinds of several groups, as `kindsOfGroup` finds those of one. */
export async function kindsOfGroups(
  client: Pick<KubeClient, "request">,
  groups: readonly string[],
  signal: AbortSignal,
): Promise<readonly ResourceType[]> {
  return (await Promise.all(groups.map((group) => kindsOfGroup(client, group, signal)))).flat();
}

/** The first of each kind, whatever its version. */
export function onceEach(kinds: readonly ResourceType[]): readonly ResourceType[] {
  return [...new Map(kinds.toReversed().map((kind) => [kindId(kind), kind])).values()].toReversed();
}

/** Versions of a group from discovery, the preferred version first. */
function versionsOf(group: unknown): readonly string[] {
  if (!isRecord(group)) return [];
  const { preferredVersion: preferred, versions } = group;
  const all: readonly unknown[] = [preferred, ...(Array.isArray(versions) ? versions : [])];
  const names = all.map((one) => (isRecord(one) ? one["groupVersion"] : undefined));
  return [...new Set(names)].filter((name) => typeof name === "string");
}

type LookUp = (version: string, signal: AbortSignal) => Promise<readonly ResourceType[]>;

/** The kinds of some versions, in the order of the versions. Sends no request when there are too many versions, and stops when there are too many kinds. */
async function lookedUp(
  versions: readonly string[],
  lookUp: LookUp,
  signal: AbortSignal,
): Promise<readonly ResourceType[]> {
  if (versions.length > maxVersions) throw tooMany("versions of API groups", maxVersions);
  using stop = new Follower(signal);
  let room = maxKinds;
  const counted = async (version: string): Promise<readonly ResourceType[]> => {
    const kinds = await lookUp(version, stop.signal);
    room -= kinds.length;
    if (room < 0) throw tooMany("kinds", maxKinds);
    return kinds;
  };
  try {
    return (await Promise.all(versions.map(counted))).flat();
  } finally {
    stop.abort();
  }
}

function tooMany(what: string, most: number): FleetError {
  const message = `The target cluster names more than ${most} ${what}, which are too many to look through for what was installed`;
  return new FleetError("ApplyFailed", message);
}

function isDeletable({ verbs }: Readonly<Record<string, unknown>>): boolean {
  return Array.isArray(verbs) && verbs.includes("list") && verbs.includes("delete");
}

async function resourcesOf(
  client: Pick<KubeClient, "request">,
  apiVersion: string,
  signal: AbortSignal,
  isWanted: (entry: Readonly<Record<string, unknown>>) => boolean = () => true,
): Promise<readonly ResourceType[]> {
  const root = apiVersion.includes("/") ? "/apis" : "/api";
  const answer = await answerTo(client, `${root}/${apiVersion}`, signal);
  const resources: unknown = isRecord(answer) ? answer["resources"] : undefined;
  if (!Array.isArray(resources)) return [];
  return resources
    .filter(isRecord)
    .filter(isWanted)
    .flatMap((entry) => resourceOf(entry, apiVersion));
}

/** Undefined where nothing is served under the path. */
async function answerTo(
  client: Pick<KubeClient, "request">,
  path: string,
  signal: AbortSignal,
): Promise<unknown> {
  try {
    return await client.request("GET", path, undefined, signal);
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  }
}

function resourceOf(
  { name, kind, namespaced }: Readonly<Record<string, unknown>>,
  apiVersion: string,
): readonly ResourceType[] {
  // A slash is a subresource.
  if (!isName(name) || !isName(kind) || name.includes("/")) return [];
  return [{ apiVersion, kind, plural: name, namespaced: namespaced === true }];
}

function isName(text: unknown): text is string {
  return typeof text === "string" && text.length <= longestName;
}
