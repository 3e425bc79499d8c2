import { ApiError } from "../../access/kube/api-error.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import { Follower } from "../../access/time/deadline.ts";
import { FleetError } from "../../api/errors.ts";
import { isRecord } from "../../api/fields.ts";
import type { ObjectKey } from "../../api/kubernetes.ts";
import { type ResourceType, tableResource } from "../../api/resources.ts";
import { outlives } from "../../installation/desired.ts";
import type { InventoryEntry } from "../../installation/inventory.ts";
import { kindIdOf, kindKeyOf } from "../../installation/kinds.ts";

// All are far above what a cluster serves; one that names more and more must neither be asked without end nor fill our memory. Security: T-54.
const maxVersions = 2_000;
const maxKinds = 10_000;
const longestName = 63;

/**
 * Resources of the kinds of some objects, by `kindKeyOf`, without those that stay behind. Kinds that are not built in are
 * looked up in the API of the cluster, one request a group version; one that is not served has no instances and is left out, and so is one that nobody
 * answers for at present and of which nothing was ever accepted. Throws FleetError `ApplyFailed` where there would be too many to ask for.
 */
export async function servedKinds(
  client: Pick<KubeClient, "request">,
  keys: readonly (ObjectKey & Pick<InventoryEntry, "fingerprint">)[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, ResourceType>> {
  const wanted = new Map(keys.filter((key) => !outlives(key)).map((key) => [kindKeyOf(key), key]));
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
    (await lookedUp(versions, lookUp, signal)).map((resource) => [kindKeyOf(resource), resource]),
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
 * Every kind of the cluster that can be listed and deleted, without those that stay behind: once each, in the version that its group prefers if it is served in that.
 * What nobody answers for at present is left out. Throws FleetError `ApplyFailed` for a cluster that says it has more kinds than any has.
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
 * Every kind of a group, once each, in the version that the group prefers if it is served in that: a preferred version need not have
 * all of them. None for a group that is not there. Throws FleetError `ApplyFailed` for one that says it has more than any has.
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

/** The first of each kind, whatever its version. */
export function onceEach(kinds: readonly ResourceType[]): readonly ResourceType[] {
  return [
    ...new Map(kinds.toReversed().map((kind) => [kindIdOf(kind), kind])).values(),
  ].toReversed();
}

/** Versions of a group as discovery tells them, the preferred one first. */
function versionsOf(group: unknown): readonly string[] {
  if (!isRecord(group)) return [];
  const { preferredVersion: preferred, versions } = group;
  const all: readonly unknown[] = [preferred, ...(Array.isArray(versions) ? versions : [])];
  const names = all.map((one) => (isRecord(one) ? one["groupVersion"] : undefined));
  return [...new Set(names)].filter((name) => typeof name === "string");
}

type LookUp = (version: string, signal: AbortSignal) => Promise<readonly ResourceType[]>;

/** What is served in some versions, in their order. Asks for nothing when they are too many, and for no more when their kinds are. */
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

// oxlint-disable-next-line max-params -- what, whereby, and what of it
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
