import { ApiError, ConnectionError } from "../../access/kube/api-error.ts";
import type { CollectionRef, KubeClient } from "../../access/kube/kube-client.ts";
import { missingRightOf } from "../../access/kube/missing-right.ts";
import { codeOfRefusal, obstacleIn } from "../../access/kube/obstacle.ts";
import { Reflector } from "../../access/kube/reflector.ts";
import { logWatchBug } from "../../access/log.ts";
import type { Clock } from "../../access/time/clock.ts";
import { abortable } from "../../access/time/deadline.ts";
import type { ClusterProfileRef } from "../../api/component.ts";
import { FleetError } from "../../api/errors.ts";
import { foreignText } from "../../api/foreign-text.ts";
import { nameId } from "../../api/keys.ts";
import { describe, type KubeObject } from "../../api/kubernetes.ts";
import { knownResource } from "../../api/resources.ts";
import { ofHub } from "../../api/sentences.ts";
import { claimLabel, claimName, claimPrefix, profileDigest } from "../../api/shards.ts";
import type { Log } from "../log.ts";
import type { TargetConnection } from "./target-connection.ts";

export interface ClusterClaimsOptions {
  readonly clock: Clock;
  readonly hub: Pick<KubeClient, "list" | "watch">;
  /** Namespace of the Leases. */
  readonly namespace: string;
  /** A client of the hub that may write for a ClusterProfile. */
  readonly hubFor: (profile: ClusterProfileRef) => Pick<KubeClient, "get" | "create" | "remove">;
  /** Called when a ClusterProfile has to claim its cluster again: another claim that stopped it is gone, or its own was deleted by somebody else. */
  readonly onFree: (profile: ClusterProfileRef) => void;
  readonly log: Log;
}

type ClaimedConnection = Pick<TargetConnection, "clusterId" | "signal">;

interface Claimed {
  readonly connection: ClaimedConnection;
  /** Of the Lease, as soon as it is there. */
  name?: string;
  /** Resolves when the cluster is claimed. */
  readonly claiming: Promise<void>;
}

const leases = knownResource("coordination.k8s.io/v1", "Lease");
const longestName = 350;

/**
 * Claims of clusters, for replicas that share the fleet: two ClusterProfiles that lead to one cluster may be in different shards, and then two replicas would write to
 * the cluster. A claim is a Lease that is named after the uid of the cluster's kube-system namespace and held by a ClusterProfile. The first ClusterProfile that claims a
 * cluster has it until its last component is gone. Only the replica that serves a ClusterProfile creates and removes its claims.
 */
export class ClusterClaims implements Disposable {
  readonly #options: ClusterClaimsOptions;
  readonly #watch: Reflector;
  /** By `namespace/name` of the ClusterProfile. */
  readonly #claimed = new Map<string, Claimed>();
  /** The last work for each ClusterProfile that has not ended. */
  readonly #turns = new Map<string, Promise<void>>();
  /** ClusterProfiles that were refused, by the name of the claim. */
  readonly #refused = new Map<string, Map<string, ClusterProfileRef>>();

  constructor(options: ClusterClaimsOptions, signal: AbortSignal) {
    this.#options = options;
    const { hub: client, clock, namespace, log } = options;
    this.#watch = new Reflector(
      { client, clock, ref: { resource: leases, namespace, labelSelector: claimLabel } },
      {
        // Nobody but its holder changes a claim; one that is another's now is asked for again.
        onChange: (claim, before) => {
          if (before !== undefined && !isOfSame(claim, before)) this.#lose(before);
        },
        onDelete: (claim) => {
          this.#lose(claim);
          this.#free(claim.metadata.name);
        },
        onError: (err) => log.warn({ err }, "Cannot watch the claims of clusters"),
        onBug: logWatchBug(log, "Lease"),
      },
      signal,
    );
  }

  /**
   * Claims the cluster of a ClusterProfile, once for each connection. Must resolve before the first write to the cluster. Throws FleetError `DuplicateComponent` when
   * another ClusterProfile has the cluster, the error of the connection to it, and for what fails on the hub a FleetError that says so.
   */
  async claim(
    profile: ClusterProfileRef,
    connection: ClaimedConnection,
    signal: AbortSignal,
  ): Promise<void> {
    const key = nameId(profile);
    const known = this.#claimed.get(key);
    if (known?.connection === connection) return abortable(known.claiming, signal);
    // Ends with the connection, and not with the attempt that began it: other components wait for it, too.
    const claiming = this.#inTurn(key, async () => {
      const name = await this.#claim(profile, connection);
      if (name !== undefined) claimed.name = name;
    });
    const claimed: Claimed = { connection, claiming };
    this.#claimed.set(key, claimed);
    claiming.catch(() => {
      if (this.#claimed.get(key) === claimed) this.#claimed.delete(key);
    });
    return abortable(claiming, signal);
  }

  /** Removes the claims of a ClusterProfile, unless a component uses it when that begins. Rejects when the hub fails. */
  release(
    profile: ClusterProfileRef,
    isUsed: (profile: string) => boolean,
    signal: AbortSignal,
  ): Promise<void> {
    const key = nameId(profile);
    return this.#inTurn(key, async () => {
      if (isUsed(key)) return;
      this.#claimed.delete(key);
      for (const claim of await this.#claimsOf(profile, signal)) {
        await this.#remove(profile, claim, signal);
      }
    });
  }

  /** Removes the claims of all ClusterProfiles that this process serves and no component uses. Rejects when the hub fails. */
  async sweep(
    { isServed, isUsed }: Readonly<Record<"isServed" | "isUsed", (profile: string) => boolean>>,
    signal: AbortSignal,
  ): Promise<void> {
    const { hub, namespace } = this.#options;
    const all = { resource: leases, namespace, labelSelector: claimLabel };
    const { items } = await hub.list(all, {}, signal);
    for (const profile of items.map(holderOf)) {
      if (profile === undefined || !isServed(nameId(profile))) continue;
      await this.release(profile, isUsed, signal);
    }
  }

  /** Forgets the claims of ClusterProfiles that another process serves from now on. */
  forget(isLeft: (profile: string) => boolean): void {
    for (const key of this.#claimed.keys()) if (isLeft(key)) this.#claimed.delete(key);
  }

  [Symbol.dispose](): void {
    this.#watch[Symbol.dispose]();
  }

  /** Runs the works for one ClusterProfile one after the other. */
  async #inTurn(key: string, work: () => Promise<void>): Promise<void> {
    const before = this.#turns.get(key);
    const turn = (async () => {
      await before?.catch(() => undefined);
      await work();
    })();
    this.#turns.set(key, turn);
    try {
      await turn;
    } finally {
      if (this.#turns.get(key) === turn) this.#turns.delete(key);
    }
  }

  /** Returns the name of the claim, and undefined for a cluster that cannot be claimed. */
  async #claim(
    profile: ClusterProfileRef,
    connection: ClaimedConnection,
  ): Promise<string | undefined> {
    const { signal } = connection;
    const uid = await connection.clusterId(signal);
    // A cluster that tells no uid cannot be claimed. The anchors there keep two installations apart.
    if (uid === undefined) return undefined;
    const name = claimName(uid);
    await onHub(() => this.#write(profile, name, signal));
    return name;
  }

  async #write(profile: ClusterProfileRef, name: string, signal: AbortSignal): Promise<void> {
    const claims = await this.#claimsOf(profile, signal);
    // The ClusterProfile led to another cluster before.
    for (const claim of claims) {
      if (claim.metadata.name !== name) await this.#remove(profile, claim, signal);
    }
    const hasClaim = claims.some(({ metadata }) => metadata.name === name);
    if (!hasClaim) await this.#create(profile, name, signal);
  }

  async #create(profile: ClusterProfileRef, name: string, signal: AbortSignal): Promise<void> {
    const { namespace, hubFor } = this.#options;
    const hub = hubFor(profile);
    const labels = { [claimLabel]: profileDigest(nameId(profile)) };
    const spec = { holderIdentity: nameId(profile) };
    const claim = { ...typeOf, metadata: { namespace, name, labels }, spec };
    this.#noteRefusal(name, profile);
    try {
      await hub.create({ resource: leases, namespace }, claim, {}, signal);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 409) throw error;
      const holder = holderOf(await hub.get({ resource: leases, namespace, name }, {}, signal));
      // Our own request arrived, but its answer did not.
      if (holder === undefined || nameId(holder) !== nameId(profile)) throw refusal(holder);
    }
    this.#refused.get(name)?.delete(nameId(profile));
  }

  async #claimsOf(profile: ClusterProfileRef, signal: AbortSignal): Promise<readonly KubeObject[]> {
    const { hub, namespace } = this.#options;
    const labelSelector = `${claimLabel}=${profileDigest(nameId(profile))}`;
    const ref: CollectionRef = { resource: leases, namespace, labelSelector };
    const { items } = await hub.list(ref, {}, signal);
    return items.filter((claim) => {
      const holder = holderOf(claim);
      return holder !== undefined && nameId(holder) === nameId(profile);
    });
  }

  async #remove(
    profile: ClusterProfileRef,
    { metadata: { namespace, name, uid } }: KubeObject,
    signal: AbortSignal,
  ): Promise<void> {
    const hub = this.#options.hubFor(profile);
    await hub.remove({ resource: leases, ...(namespace && { namespace }), name }, { uid }, signal);
  }

  /** Noted before the request, so that a claim that is removed meanwhile is not missed. */
  #noteRefusal(name: string, profile: ClusterProfileRef): void {
    const refused = this.#refused.get(name) ?? new Map<string, ClusterProfileRef>();
    this.#refused.set(name, refused.set(nameId(profile), profile));
  }

  /** A claim that somebody deleted is made again. Another ClusterProfile may be faster: then its holder learns that it is refused. */
  #lose(claim: KubeObject): void {
    const profile = holderOf(claim);
    if (profile === undefined) return;
    const key = nameId(profile);
    if (this.#claimed.get(key)?.name !== claim.metadata.name) return;
    this.#claimed.delete(key);
    this.#options.onFree(profile);
  }

  #free(name: string): void {
    const refused = this.#refused.get(name);
    this.#refused.delete(name);
    for (const profile of refused?.values() ?? []) this.#options.onFree(profile);
  }
}

/** Runs requests to the hub. Whoever awaits them awaits the cluster, and would tell a failure of that. */
async function onHub(run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (error instanceof ApiError) throw notTaken(error);
    if (!(error instanceof ConnectionError)) throw error;
    const message = `${ofHub.of()} ${error.message}`;
    throw new FleetError("ClusterProfileUnavailable", message, { cause: error });
  }
}

function notTaken(cause: ApiError): FleetError {
  const { status } = cause;
  const right = missingRightOf(cause);
  const lack = right === undefined ? obstacleIn(cause) : `the controller lacks ${right}`;
  const message = `${ofHub.of()} the claim of the cluster is not possible: ${lack ?? `status ${status}`}`;
  const isForNow = lack === undefined && (status >= 500 || status === 429);
  const reason = isForNow ? "ClusterProfileUnavailable" : "ApplyFailed";
  return new FleetError(reason, message, { code: codeOfRefusal(cause), cause });
}

const typeOf = { apiVersion: leases.apiVersion, kind: leases.kind };

/** The ClusterProfile that has a claim; undefined for a Lease that is none. */
function holderOf(claim: KubeObject | undefined): ClusterProfileRef | undefined {
  const spec = claim?.["spec"];
  if (claim?.metadata.name.startsWith(claimPrefix) !== true) return undefined;
  if (typeof spec !== "object" || spec === null || !("holderIdentity" in spec)) return undefined;
  const [namespace = "", name = "", ...more] = String(spec.holderIdentity).split("/");
  return namespace === "" || name === "" || more.length > 0 ? undefined : { namespace, name };
}

function isOfSame(claim: KubeObject, before: KubeObject): boolean {
  const [now, was] = [claim, before].map(holderOf);
  return now?.namespace === was?.namespace && now?.name === was?.name;
}

function refusal(holder: ClusterProfileRef | undefined): FleetError {
  const other =
    holder === undefined
      ? "Another ClusterProfile"
      : describe({ kind: "ClusterProfile", ...holder });
  return new FleetError(
    "DuplicateComponent",
    `${foreignText(other, longestName)} leads to the same cluster; with several shards only one ClusterProfile may be used for a cluster`,
  );
}
