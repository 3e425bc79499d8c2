import { isKubeObject } from "../../../access/kube/api-answer.ts";
import { ApiError } from "../../../access/kube/api-error.ts";
import type {
  CollectionRef,
  KubeClient,
  KubeList,
  LogRef,
  ObjectRef,
} from "../../../access/kube/kube-client.ts";
import type { ClusterProfile } from "../../../api/cluster-profile.ts";
import { groupOf, type KubeObject } from "../../../api/kubernetes.ts";
import { UsageError } from "../errors.ts";
import { malformedOf } from "../hub/malformed-objects.ts";
import { ownReasons } from "../output/own-reasons.ts";
import type { ClusterAccess, SpokeAccess } from "../spokes/cluster-access.ts";
import type { LogList } from "../spokes/log-line.ts";
import type { ServedKind } from "../spokes/object-table.ts";
import { UnreadError } from "../spokes/spoke-reading.ts";
import type { RecordedCluster, RecordedFleet, RecordedTable } from "./bundle.ts";
import { logsOf, recordedLines } from "./recorded-logs.ts";
import { discoveryOf, recordedRows, tableAnswer, type ObjectFilter } from "./recorded-rows.ts";

/**
 * A client of a cluster in a bundle. Answers reads as the API server did: 404 for a kind that the bundle does not have, and the recorded refusals. Throws
 * UsageError for every other request.
 */
export function recordedClient(
  cluster: RecordedCluster,
  logs: (ref: LogRef) => readonly string[] = () => [],
): KubeClient {
  return {
    server: cluster.server ?? "",
    get: (ref, _options, signal) => read(() => getOne(cluster, ref), signal),
    list: (ref, _options, signal) => read(() => listOf(cluster, ref), signal),
    // oxlint-disable-next-line require-yield -- there is nothing to wait for
    watch: async function* () {
      await Promise.reject(refused("watched"));
    },
    create: () => Promise.reject(refused("changed")),
    apply: () => Promise.reject(refused("changed")),
    patch: () => Promise.reject(refused("changed")),
    replace: () => Promise.reject(refused("changed")),
    remove: () => Promise.reject(refused("changed")),
    removeCollection: () => Promise.reject(refused("changed")),
    request: (method, path, _body, signal) => read(() => answerTo(cluster, method, path), signal),
    logs: async function* (ref, signal) {
      yield* await read(() => logs(ref), signal);
    },
  };
}

async function read<Answer>(answer: () => Answer, signal: AbortSignal): Promise<Answer> {
  signal.throwIfAborted();
  return await Promise.resolve(answer());
}

function refused(what: string): UsageError {
  return new UsageError(`A bundle cannot be ${what}`, ["Give the same command without --bundle."]);
}

function getOne(cluster: RecordedCluster, { resource, namespace, name }: ObjectRef) {
  const table = tableOf(cluster, resource.apiVersion, resource.plural);
  if (table === undefined) return undefined;
  const filter = resource.namespaced ? { namespace } : {};
  return objectsOf(table, filter).find(({ metadata }) => metadata.name === name);
}

function listOf(cluster: RecordedCluster, ref: CollectionRef): KubeList {
  const { apiVersion, plural, namespaced } = ref.resource;
  const table = tableOf(cluster, apiVersion, plural);
  if (table === undefined) throw absent(`LIST ${plural}`);
  const { namespace, labelSelector, fieldSelector } = ref;
  const filter = { namespace: namespaced ? namespace : undefined, labelSelector, fieldSelector };
  return { items: objectsOf(table, filter), resourceVersion: "" };
}

function objectsOf(table: RecordedTable, filter: ObjectFilter): readonly KubeObject[] {
  const { apiVersion, kind } = table.kind;
  return recordedRows(table, filter).flatMap(({ object }) => {
    const own: unknown = { ...object, apiVersion, kind };
    return isKubeObject(own) ? [own] : [];
  });
}

function tableOf(
  { tables }: RecordedCluster,
  apiVersion: string,
  plural: string,
): RecordedTable | undefined {
  return tables.find(({ kind }) => kind.apiVersion === apiVersion && kind.plural === plural);
}

const collections =
  /^\/(?:api|apis\/(?<group>[^/]+))\/(?<version>[^/]+)(?:\/namespaces\/(?<namespace>[^/]+))?\/(?<plural>[a-z]+)$/;

function answerTo(cluster: RecordedCluster, method: string, path: string): unknown {
  if (method !== "GET") throw refused("asked that");
  const url = new URL(path, "https://recorded.invalid");
  const { tables, kubernetesVersion } = cluster;
  switch (url.pathname) {
    case "/version":
      return { gitVersion: kubernetesVersion };
    case "/api":
      return discoveryOf(tables, isCore);
    case "/apis":
      return discoveryOf(tables, (kind) => !isCore(kind));
    default:
      return tableAt(cluster, url);
  }
}

function tableAt(cluster: RecordedCluster, { pathname, searchParams }: URL): unknown {
  const { group, version = "", namespace, plural = "" } = collections.exec(pathname)?.groups ?? {};
  const table = tableOf(cluster, group === undefined ? version : `${group}/${version}`, plural);
  if (table === undefined) throw absent(`GET ${pathname}`);
  const labelSelector = searchParams.get("labelSelector") ?? undefined;
  const fieldSelector = searchParams.get("fieldSelector") ?? undefined;
  return tableAnswer(table, { namespace, labelSelector, fieldSelector });
}

function isCore({ apiVersion }: Pick<ServedKind, "apiVersion">): boolean {
  return groupOf(apiVersion) === "";
}

function absent(request: string): ApiError {
  const message = "the bundle has nothing about it";
  return new ApiError({
    status: 404,
    reason: "NotFound",
    message,
    causes: [],
    isStatus: false,
    request,
  });
}

/** The access to a recorded fleet. A cluster that could not be read stays unread, for the same reason. Malformed objects go where `flags` says. */
export function recordedAccess(
  fleet: RecordedFleet,
  flags: Pick<ClusterAccess, "malformed">,
): ClusterAccess {
  // Checked once, and only for who reads logs.
  let logs: LogList | undefined;
  const clientOf = (cluster: RecordedCluster): KubeClient =>
    recordedClient(cluster, (ref) => recordedLines((logs ??= logsOf(fleet)), cluster, ref));
  const reach = (profile: ClusterProfile): Promise<SpokeAccess> => {
    const id = `${profile.metadata.namespace}/${profile.metadata.name}`;
    const cluster = fleet.spokes.find((one) => one.cluster === id);
    if (cluster === undefined) return Promise.reject(new UnreadError(notInBundle));
    if (cluster.unread !== null) return Promise.reject(new UnreadError(cluster.unread));
    return Promise.resolve({
      client: clientOf(cluster),
      provider: cluster.provider ?? "",
      [Symbol.asyncDispose]: () => Promise.resolve(),
    });
  };
  return {
    hub: clientOf(fleet.hub),
    namespace: fleet.namespace,
    recordedAt: fleet.recordedAt,
    hubTimeoutMs: 60_000,
    ...malformedOf(flags),
    spokes: () => Promise.resolve({ reach }),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

const notInBundle = {
  state: "Unknown",
  reason: "NotInBundle",
  message: ownReasons.NotInBundle,
} as const;
