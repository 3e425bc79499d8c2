import type { KubeClient } from "../../access/kube/kube-client.ts";
import { type KubeObject } from "../../api/kubernetes.ts";
import type { ResourceType } from "../../api/resources.ts";
import { knownResource } from "../../api/resources.ts";
import {
  isUserKind,
  sourceLabel,
  userGroups,
  type UserWorkload,
  userWorkloadOf,
  userWorkloadPart,
} from "../../installation/user-workloads.ts";
import { kindsOfGroups } from "../apply/served-kinds.ts";
import { refusalText } from "./unasked.ts";

/** The workloads of a cluster, and what could not be read of them. */
export interface WorkloadReading {
  readonly workloads: readonly UserWorkload[];
  /** A sentence for each kind that could not be listed; empty: all were. */
  readonly unread: readonly string[];
}

type Client = Pick<KubeClient, "list" | "request">;

const definitions = knownResource("apiextensions.k8s.io/v1", "CustomResourceDefinition");
// Far above what the users of a cluster have. Security: T-54.
const mostOfKind = 50_000;
// Of all kinds together: 16 thousand workloads with 1,000 characters each.
const mostCharacters = 16 * 1_024 * 1_024;
// Groups of sources that are not Knative's own.
const mostGroups = 20;

/**
 * Reads the objects by which the users of a cluster use Knative, without those that another object controls: one list for each kind that is served, in pages. Rejects with the error of
 * the connection and the reason of the signal; a kind that may not be listed is in `unread`. Spec: verify.md 1.
 */
export async function readUserWorkloads(
  client: Client,
  signal: AbortSignal,
): Promise<WorkloadReading> {
  const sources = await sourceNames(client, signal);
  const kinds = await servedUserKinds(sources.names, client, signal);
  const keep = bounded(mostCharacters);
  const readings = await Promise.all(kinds.map((kind) => readKind(kind, { client, keep }, signal)));
  return {
    workloads: readings.flatMap(({ workloads }) => workloads),
    unread: [...sources.unread, ...readings.flatMap(({ unread }) => unread)].toSorted(),
  };
}

/** The CRDs of event sources, as `plural.group`. */
async function sourceNames(
  client: Client,
  signal: AbortSignal,
): Promise<{ readonly names: ReadonlySet<string>; readonly unread: readonly string[] }> {
  const ref = { resource: definitions, labelSelector: sourceLabel };
  try {
    const { items } = await client.list(ref, { metadataOnly: true }, signal);
    return { names: new Set(items.map(({ metadata }) => metadata.name)), unread: [] };
  } catch (error) {
    return { names: new Set(), unread: [unreadSentence(definitions, error)] };
  }
}

async function servedUserKinds(
  sources: ReadonlySet<string>,
  client: Client,
  signal: AbortSignal,
): Promise<readonly ResourceType[]> {
  const others = [...sources].map((name) => name.slice(name.indexOf(".") + 1));
  const groups = [...new Set([...userGroups, ...others.toSorted()])];
  const most = userGroups.length + mostGroups;
  const served = await kindsOfGroups(client, groups.slice(0, most), signal);
  return served.filter((kind) => isUserKind(kind, sources));
}

/** Keeps the parts of objects that are read, up to a number of characters in all. A cluster can make each object as large as it likes, and the lists of all kinds stay in memory together. */
function bounded(most: number): (object: KubeObject) => KubeObject {
  let left = most;
  return (object) => {
    const part = userWorkloadPart(object);
    left -= JSON.stringify(part).length;
    if (left < 0) throw new TooMany(`The workloads have more than ${most} characters`);
    return part;
  };
}

interface Reading {
  readonly client: Client;
  readonly keep: (object: KubeObject) => KubeObject;
}

async function readKind(
  resource: ResourceType,
  { client, keep }: Reading,
  signal: AbortSignal,
): Promise<WorkloadReading> {
  const onCount = (objects: number): void => {
    if (objects > mostOfKind) {
      throw new TooMany(`There are more than ${mostOfKind} ${resource.plural}`);
    }
  };
  try {
    const { items } = await client.list({ resource }, { keep, onCount }, signal);
    return { workloads: items.flatMap((item) => userWorkloadOf(item) ?? []), unread: [] };
  } catch (error) {
    return { workloads: [], unread: [unreadSentence(resource, error)] };
  }
}

class TooMany extends Error {
  override readonly name = "TooMany";
}

/** Why a kind could not be listed. Throws what is no answer about the kind. */
function unreadSentence({ plural }: ResourceType, error: unknown): string {
  if (error instanceof TooMany) return error.message;
  return refusalText(error, ({ status }) => `Listing ${plural} was answered ${status}`);
}
