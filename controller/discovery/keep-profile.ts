import { ApiError } from "../../access/kube/api-error.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import { lastingRefusalIn } from "../../access/kube/obstacle.ts";
import type { CheckEndpoint, EndpointCheck } from "../../access/profiles/check-endpoint.ts";
import type { ProfileSource } from "../../access/profiles/profile-objects.ts";
import type { Clock } from "../../access/time/clock.ts";
import type { AccessCluster, ClusterProfile } from "../../api/cluster-profile.ts";
import { conditionOf } from "../../api/conditions.ts";
import { isSameJson } from "../../api/fields.ts";
import { foreignText } from "../../api/foreign-text.ts";
import { describe, type NamespacedName } from "../../api/kubernetes.ts";
import { knownResource } from "../../api/resources.ts";
import type { EventRecorder } from "../events.ts";
import type { Log } from "../log.ts";
import type { Next } from "../queue/delays.ts";
import {
  type ClusterFacts,
  deletableAt,
  desiredProfile,
  goneStatus,
  graceMs,
  healthCondition,
  registeredCluster,
  registeredStatus,
  toldCheck,
} from "./desired-profile.ts";
import { PacedChecks } from "./paced-checks.ts";
import { managerOf, type PlannedProfile } from "./plan.ts";
import { accessOfSecret } from "./secret-source.ts";
import type { SourceCaches } from "./source-caches.ts";
import { managers, type Source, type SourceAccess, type SourceObject } from "./source.ts";
import { profileRef, ProfileWriter } from "./write-profile.ts";

export interface ProfileKeeperOptions {
  readonly hub: Pick<KubeClient, "get" | "apply" | "remove">;
  readonly caches: Pick<SourceCaches, "profiles" | "profileVersion" | "noteWritten">;
  readonly check: CheckEndpoint;
  /** Whether a component names a profile, by `namespace/name`. */
  readonly isUsed: (profile: string) => boolean;
  readonly events: Pick<EventRecorder, "record">;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
}

/** How a profile stands. */
export type ProfileState = "healthy" | "unhealthy" | "refused" | "taken" | "gone" | "failed";

/** What came of a look at a profile, and when to look again. */
export interface Kept {
  readonly state: ProfileState;
  readonly next: Next;
}

type Planned<Kind extends PlannedProfile["kind"]> = Extract<
  PlannedProfile,
  { readonly kind: Kind }
>;

/** A profile that a component holds up is looked at again after this time, and so is the Secret of a Cluster. */
const restMs = 60_000;
/** A Secret that does not exist yet is looked for again after this time. */
const missingMs = 15_000;

/** Does what is planned for one profile at a time: writes it, marks it, deletes it, or leaves it alone. */
export class ProfileKeeper {
  readonly #options: ProfileKeeperOptions;
  readonly #checks: PacedChecks;
  readonly #writer: ProfileWriter;
  /** The last Event about a name that another manager has, by the key of the profile. */
  readonly #taken = new Map<string, string>();

  /** Why the hub refused a profile, as it was told last, by the key of the profile. */
  readonly #refused = new Map<string, string>();

  constructor(options: ProfileKeeperOptions) {
    this.#options = options;
    this.#checks = new PacedChecks(options);
    this.#writer = new ProfileWriter({
      hub: options.hub,
      now: () => options.clock.date(),
      onWritten: (profile) => options.caches.noteWritten(profile),
    });
  }

  /** Does what is planned for a profile. Throws as the client of the hub does. */
  async keep(key: string, planned: PlannedProfile, signal: AbortSignal): Promise<Kept> {
    if (this.#isLeaving(key)) return { state: "gone", next: { kind: "done" } };
    if (planned.kind === "discovered") return await this.#writeDiscovered(key, planned, signal);
    if (planned.kind === "taken") return this.#leaveTaken(key, planned, signal);
    if (planned.kind === "registered") return await this.#refreshRegistered(key, signal);
    return { state: "gone", next: await this.#endGone(key, signal) };
  }

  /** Whether a profile is being deleted and a finalizer holds it: nothing is written to it, and it is not deleted again. */
  #isLeaving(key: string): boolean {
    const deletedAt = this.#options.caches.profiles.get(key)?.metadata.deletionTimestamp;
    return deletedAt !== undefined;
  }

  /** Drops what is remembered of a profile. */
  forget(key: string): void {
    this.#checks.forget(key);
    this.#writer.forget(key);
    this.#taken.delete(key);
    this.#refused.delete(key);
  }

  async #writeDiscovered(
    key: string,
    { source, ref }: Planned<"discovered">,
    signal: AbortSignal,
  ): Promise<Kept> {
    const { caches } = this.#options;
    const facts = await this.#factsOf(key, source, signal);
    const present = caches.profiles.get(key);
    // Another manager made it during the check: the next plan says so.
    if (present !== undefined && managerOf(present) !== managers[source.producer]) {
      return { state: "failed", next: { kind: "done" } };
    }
    const apiVersion = caches.profileVersion;
    const desired = desiredProfile(source, facts, { ref, apiVersion, present });
    const hasChanged = await this.#orTell(
      { key, subject: source.object, ref },
      () => this.#writer.write(desired, present, signal),
      signal,
    );
    const next = this.#nextOf(key, source, facts);
    const health = healthIn(desired);
    if (facts.access.kind !== "refused") {
      return { state: health.status === "True" ? "healthy" : "unhealthy", next };
    }
    if (hasChanged) this.#record(source.object, health, signal);
    return { state: "refused", next };
  }

  #nextOf(key: string, source: Source, { access, check }: ClusterFacts): Next {
    if (check !== undefined) return { kind: "after", ms: this.#checks.untilDueMs(key) };
    // The watch shows each change of a Secret with a kubeconfig.
    if (source.access.kind !== "unread") return { kind: "done" };
    return { kind: "after", ms: access.kind === "missing" ? missingMs : restMs };
  }

  async #factsOf(key: string, source: Source, signal: AbortSignal): Promise<ClusterFacts> {
    const access = await this.#accessOf(source, signal);
    if (access.kind !== "cluster") return { access, check: undefined };
    // Nothing is asked of a cluster that is not ready, or of which all is known.
    const { health, kubernetes } = source;
    const isTold = health !== undefined && (kubernetes !== undefined || health.status !== "True");
    if (isTold) return { access, check: undefined };
    return { access, check: await this.#check(key, access.cluster, signal) };
  }

  #check(key: string, cluster: AccessCluster, signal: AbortSignal): Promise<EndpointCheck> {
    const told = toldCheck(this.#options.caches.profiles.get(key), cluster);
    return this.#checks.run(key, { cluster, told }, signal);
  }

  async #accessOf({ access, secret }: Source, signal: AbortSignal): Promise<SourceAccess> {
    if (access.kind !== "unread") return access;
    const { namespace, name, key } = secret;
    const ref = { resource: knownResource("v1", "Secret"), namespace, name };
    const { clock, hub } = this.#options;
    return accessOfSecret(await hub.get(ref, {}, signal), key, clock.date().getTime());
  }

  /** Writes a profile. What the hub will refuse again is told at its source, once. Rejects as the write does. */
  async #orTell<T>(
    {
      key,
      subject,
      ref,
    }: { readonly key: string; readonly subject: SourceObject; readonly ref: NamespacedName },
    write: () => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    try {
      const written = await write();
      this.#refused.delete(key);
      return written;
    } catch (error) {
      const why = error instanceof ApiError ? refusalIn(error) : undefined;
      if (why !== undefined) {
        const profile = describe({ kind: "ClusterProfile", ...ref });
        const event = {
          reason: "ProfileRefused",
          message: `The hub does not take ${profile}: ${why}`,
        };
        this.#recordOnce(this.#refused, { key, subject, event }, signal);
      }
      throw error;
    }
  }

  #leaveTaken(key: string, { source, ref, manager }: Planned<"taken">, signal: AbortSignal): Kept {
    const profile = describe({ kind: "ClusterProfile", ...ref });
    const message = `${profile} belongs to the cluster manager ${manager} and is left alone`;
    // The other manager may write its profile every minute.
    const told = { key, subject: source.object, event: { reason: "NameTaken", message } };
    this.#recordOnce(this.#taken, told, signal);
    return { state: "taken", next: { kind: "done" } };
  }

  /** Marks a profile without a source, and deletes it when no component uses it any more. */
  async #endGone(key: string, signal: AbortSignal): Promise<Next> {
    const { clock, isUsed, caches } = this.#options;
    const profile = caches.profiles.get(key);
    this.#checks.forget(key);
    if (profile === undefined) return { kind: "done" };
    const dueAt = deletableAt(profile);
    if (dueAt === undefined) {
      const status = goneStatus(profile, clock.date());
      await this.#writer.writeStatus(status, profile, signal);
      const message = "The source of the profile is gone";
      this.#record(subjectOf(profile), { reason: "SourceGone", message }, signal);
      return { kind: "after", ms: graceMs };
    }
    const ms = dueAt - clock.date().getTime();
    if (ms > 0) return { kind: "after", ms };
    return isUsed(key) ? { kind: "after", ms: restMs } : await this.#remove(profile, signal);
  }

  async #remove(profile: ClusterProfile, signal: AbortSignal): Promise<Next> {
    const { hub, log } = this.#options;
    const { namespace, name, uid, resourceVersion } = profile.metadata;
    try {
      await hub.remove(profileRef(profile), { uid, resourceVersion }, signal);
    } catch (error) {
      // The profile was changed, and the watch shows how.
      if (error instanceof ApiError && error.status === 409) return { kind: "after", ms: restMs };
      throw error;
    }
    log.info({ namespace, name }, "Deleted a ClusterProfile whose source is gone");
    return { kind: "done" };
  }

  async #refreshRegistered(key: string, signal: AbortSignal): Promise<Kept> {
    const { clock, caches } = this.#options;
    const profile = caches.profiles.get(key);
    const cluster = profile === undefined ? undefined : registeredCluster(profile);
    if (cluster === undefined) return { state: "unhealthy", next: { kind: "done" } };
    const check = await this.#check(key, cluster, signal);
    const state = check.kind === "answers" ? "healthy" : "unhealthy";
    const present = caches.profiles.get(key);
    // `register` may have written another address during the check.
    if (present === undefined || !isSameJson(registeredCluster(present), cluster)) {
      return { state, next: { kind: "after", ms: 0 } };
    }
    await this.#writer.writeStatus(registeredStatus(present, check, clock.date()), present, signal);
    return { state, next: { kind: "after", ms: this.#checks.untilDueMs(key) } };
  }

  /** Records an Event at a source, unless it was the last one about the profile there. */
  #recordOnce(
    last: Map<string, string>,
    {
      key,
      subject,
      event,
    }: {
      readonly key: string;
      readonly subject: SourceObject;
      readonly event: { readonly reason: string; readonly message: string };
    },
    signal: AbortSignal,
  ): void {
    const told = `${subject.metadata.uid} ${event.message}`;
    if (last.get(key) !== told) this.#record(subject, event, signal);
    last.set(key, told);
  }

  #record(
    subject: SourceObject,
    { reason = "", message = "" }: { readonly reason?: string; readonly message?: string },
    signal: AbortSignal,
  ): void {
    const event = { type: "Warning", reason, message } as const;
    void this.#options.events.record(subject, event, signal);
  }
}

const longestText = 400;

/** Why the hub refuses a profile again and again, also for want of its namespace; undefined for an error that passes. */
function refusalIn(error: ApiError): string | undefined {
  return error.status === 404 ? foreignText(error.message, longestText) : lastingRefusalIn(error);
}

function healthIn({ conditions }: ProfileSource): ProfileSource["conditions"][number] {
  return conditionOf(conditions, healthCondition) ?? { type: healthCondition, status: "Unknown" };
}

function subjectOf({ apiVersion, kind, metadata }: ClusterProfile): SourceObject {
  return { apiVersion, kind, metadata };
}
