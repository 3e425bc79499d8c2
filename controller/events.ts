import { createHash } from "node:crypto";

import { ApiError } from "../access/kube/api-error.ts";
import type { KubeClient } from "../access/kube/kube-client.ts";
import { denialIn, isNamespaceLeaving } from "../access/kube/obstacle.ts";
import { logFailure } from "../access/log.ts";
import type { Clock } from "../access/time/clock.ts";
import { TokenBucket } from "../access/time/token-bucket.ts";
import { type Component, componentKinds, operatorApiVersion } from "../api/component.ts";
import { timestampOf } from "../api/conditions.ts";
import { fleetSetApiVersion } from "../api/fleet-set.ts";
import { foreignText, plainLines, wholeWords } from "../api/foreign-text.ts";
import type { KubeObject } from "../api/kubernetes.ts";
import { knownResource } from "../api/resources.ts";
import { lastingLogFieldsOf, type Log } from "./log.ts";

export interface EventRecorderOptions {
  readonly client: Pick<KubeClient, "get" | "create" | "patch">;
  readonly clock: Clock;
  readonly log: Log;
  /** Ends what is written later. */
  readonly signal?: AbortSignal;
}

/** What Events are about: a component, a set, or an object that discovery reads or writes. */
export type EventSubject = Pick<KubeObject, "apiVersion" | "kind"> & {
  readonly metadata: Pick<KubeObject["metadata"], "name" | "uid" | "resourceVersion"> & {
    readonly namespace: string;
  };
};

/** An Event before it is written. */
export interface NewEvent {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
  /** For texts that are too long for a message. */
  readonly annotations?: Readonly<Record<string, string>>;
}

interface NamedEvent extends NewEvent {
  readonly name: string;
}

const events = knownResource("v1", "Event");
const maxMessageLength = 1_024;
// The API server takes 256 KiB of annotations.
const maxAnnotationBytes = 200 * 1_024;
const maxRemembered = 4_096;
/** How long a failure of an object with too many Events waits for a newer one. */
const failurePaceMs = 60_000;

/** A failure of an object that has too many Events. */
interface Withheld {
  /** Undefined: the last one is written, and the next one waits for its time. */
  readonly newest: readonly [EventSubject, NewEvent] | undefined;
  readonly timer: Disposable;
}

/**
 * Writes Kubernetes Events on components, with the source that upstream uses, and on sets. A repeated Event only gets a higher count, also when another process wrote it first, as long as
 * the hub keeps it. An Event that cannot be written is lost, with a line in the log.
 */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #correlator = new EventCorrelator();
  /** The count of each Event, by its name. */
  readonly #counts = new Map<string, number>();
  /** The newest failure of each object that has too many Events, by uid. */
  readonly #withheld = new Map<string, Withheld>();

  /** Events that must not be lost and that the hub refuses, as the log says. */
  readonly #refused = new Map<string, true>();

  constructor(options: EventRecorderOptions) {
    this.#options = options;
  }

  /**
   * Writes an Event, unless the component has too many. Of its failures the newest one is written all the same: at once or within a minute, and those with one reason as one Event. Never
   * rejects.
   */
  async record(subject: EventSubject, said: NewEvent, signal: AbortSignal): Promise<void> {
    const event = plainEvent(said);
    const { clock, log } = this.#options;
    const { uid } = subject.metadata;
    const admitted = this.#correlator.admit(uid, event, clock.now());
    if (admitted === undefined) {
      log.debug({ ...fieldsOf(subject), reason: event.reason }, "Too many Events on an object");
      if (event.type === "Warning") await this.#withhold(subject, event, signal);
      return;
    }
    if (admitted.type === "Warning") this.#supersede(uid);
    await this.#tryToWrite(subject, admitted, signal);
  }

  /** Writes a failure at once when none was written in this way for a minute, else the newest of them when the minute is over. */
  async #withhold(subject: EventSubject, event: NewEvent, signal: AbortSignal): Promise<void> {
    const { uid } = subject.metadata;
    const waiting = this.#withheld.get(uid);
    const newest = [subject, combined(event)] as const;
    if (waiting !== undefined) {
      this.#withheld.set(uid, { ...waiting, newest });
      return;
    }
    this.#pauseFailures(uid);
    await this.#tryToWrite(...newest, signal);
  }

  #pauseFailures(uid: string): void {
    const onTime = (): void => this.#writeNewest(uid);
    const timer = this.#options.clock.after(failurePaceMs, onTime, "background");
    const dropped = remember(this.#withheld, uid, { newest: undefined, timer });
    if (dropped === undefined) return;
    // Left alone, it would end the wait of a later failure of the object.
    dropped.timer[Symbol.dispose]();
    this.#writeLater(dropped.newest);
  }

  #writeNewest(uid: string): void {
    const newest = this.#withheld.get(uid)?.newest;
    this.#withheld.delete(uid);
    if (this.#writeLater(newest)) this.#pauseFailures(uid);
  }

  /** Writes a failure that waited. False when there is none, or nothing is written any more. */
  #writeLater(newest: Withheld["newest"]): boolean {
    const { signal = new AbortController().signal } = this.#options;
    if (newest === undefined || signal.aborted) return false;
    void this.#tryToWrite(...newest, signal);
    return true;
  }

  /** A newer failure is written. */
  #supersede(uid: string): void {
    const waiting = this.#withheld.get(uid);
    if (waiting !== undefined) this.#withheld.set(uid, { ...waiting, newest: undefined });
  }

  async #tryToWrite(subject: EventSubject, admitted: NewEvent, signal: AbortSignal): Promise<void> {
    const { log } = this.#options;
    const { reason } = admitted;
    try {
      await this.#write(subject, admitted, signal);
    } catch (err) {
      logFailure(log, "debug", { ...fieldsOf(subject), err, reason }, "Could not write an Event");
    }
  }

  /**
   * Writes an Event that must not be lost, also for a component that has too many. Rejects when another try may succeed, also where a right or a quota is in the way (403), which somebody
   * can mend: the log says so once. Resolves where no Event can be any more, with a line in the log: the namespace is gone (404) or being deleted (403).
   */
  async audit(subject: EventSubject, event: NewEvent, signal: AbortSignal): Promise<void> {
    const { reason } = event;
    const id = `${subject.metadata.uid} ${reason}`;
    try {
      await this.#write(subject, plainEvent(event), signal);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const fields = { ...fieldsOf(subject), err: error, reason };
      const { log } = this.#options;
      if (error.status === 404 || isOfLeavingNamespace(error)) {
        log.warn(fields, "An Event is lost, because its namespace is gone or being deleted");
        return;
      }
      if (error.status === 403 && !this.#refused.has(id)) {
        remember(this.#refused, id, true);
        log.warn(fields, "The hub refuses an Event that must not be lost; it is tried again");
      }
      throw error;
    }
    this.#refused.delete(id);
  }

  async #write(subject: EventSubject, event: NewEvent, signal: AbortSignal): Promise<void> {
    const message = wholeWords(event.message, event.message.slice(0, maxMessageLength));
    const named = { ...event, message, name: eventName(subject, event) };
    const count = this.#counts.get(named.name);
    if (count !== undefined && (await this.#countUp(subject, named, count + 1, signal))) return;
    if (await this.#create(subject, named, signal)) return;
    const ref = { resource: events, namespace: subject.metadata.namespace, name: named.name };
    const stored = await this.#options.client.get(ref, {}, signal);
    const next = countOf(stored) + 1;
    if (stored !== undefined && (await this.#countUp(subject, named, next, signal))) return;
    // The hub deletes an old Event at any moment.
    await this.#create(subject, named, signal);
  }

  /** False when the Event is gone by now. */
  async #countUp(
    { metadata }: EventSubject,
    { name, message }: NamedEvent,
    count: number,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { client, clock } = this.#options;
    const patch = { count, message, lastTimestamp: timestampOf(clock.date()) };
    const ref = { resource: events, namespace: metadata.namespace, name };
    try {
      await client.patch(ref, patch, {}, signal);
      remember(this.#counts, name, count);
      return true;
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return false;
      throw error;
    }
  }

  /** False when the hub has the Event already. */
  async #create(
    subject: EventSubject,
    { name, type, reason, message, annotations }: NamedEvent,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { client, clock } = this.#options;
    const { apiVersion, kind } = subject;
    const { namespace, name: subjectName, uid, resourceVersion } = subject.metadata;
    const eventSource = sourceOf(subject);
    const time = timestampOf(clock.date());
    const event = {
      apiVersion: "v1",
      kind: "Event",
      metadata: { namespace, name, ...(annotations === undefined ? {} : { annotations }) },
      involvedObject: { apiVersion, kind, namespace, name: subjectName, uid, resourceVersion },
      type,
      reason,
      message,
      source: { component: eventSource },
      reportingComponent: eventSource,
      reportingInstance: "",
      firstTimestamp: time,
      lastTimestamp: time,
      count: 1,
    };
    try {
      await client.create({ resource: events, namespace }, event, {}, signal);
    } catch (error) {
      if (error instanceof ApiError && error.status === 409) return false;
      throw error;
    }
    remember(this.#counts, name, 1);
    return true;
  }
}

/** The namespace takes nothing new, because it is being deleted. */
function isOfLeavingNamespace({ status, message }: ApiError): boolean {
  return status === 403 && denialIn(message) === undefined && isNamespaceLeaving(message);
}

/** An Event that can be shown: clusters, plugins and other teams' objects have a say in the texts. */
function plainEvent({ message, annotations, ...event }: NewEvent): NewEvent {
  const plain = Object.entries(annotations ?? {}).map(([name, text]) => [
    name,
    plainLines(Buffer.from(text).subarray(0, maxAnnotationBytes).toString()),
  ]);
  return {
    ...event,
    message: foreignText(message, maxMessageLength),
    ...(annotations === undefined ? {} : { annotations: Object.fromEntries(plain) }),
  };
}

/** The same name for equal Events on one component in every process, so that a repeated Event meets the first one. */
function eventName({ metadata }: EventSubject, event: NewEvent): string {
  const { type, reason, message } = event;
  const text = isCombined(event) ? "" : message;
  const id = [metadata.uid, type, reason, text].join("|");
  const digest = createHash("sha256").update(id).digest("hex").slice(0, 16);
  // Each part of a name must end with a letter or digit.
  return `${metadata.name.slice(0, 200).replace(/[-.]+$/, "")}.${digest}`;
}

function sourceOf(subject: EventSubject): string {
  if (isComponent(subject)) return componentKinds[subject.kind].eventSource;
  return subject.apiVersion === fleetSetApiVersion ? "knfleet-set" : "knfleet-discovery";
}

function isComponent(subject: EventSubject): subject is Component {
  return subject.apiVersion === operatorApiVersion && subject.kind in componentKinds;
}

/** How lines of the log name it. */
function fieldsOf(subject: EventSubject): object {
  if (isComponent(subject)) return lastingLogFieldsOf(subject);
  const { apiVersion, kind, metadata } = subject;
  const { namespace, name, uid } = metadata;
  return {
    [apiVersion === fleetSetApiVersion ? "set" : "object"]: `${kind} ${namespace}/${name}`,
    uid,
  };
}

function countOf(event: Readonly<Record<string, unknown>> | undefined): number {
  const count = event?.["count"];
  return typeof count === "number" ? count : 1;
}

interface Similar {
  readonly since: number;
  readonly messages: Set<string>;
}

const similarWithinMs = 10 * 60_000;
const maxSimilar = 10;
const pace = { burst: 25, intervalMs: 5 * 60_000 };

/**
 * Keeps one component from flooding the hub with Events, by the rules of client-go: more than ten messages with one reason within ten
 * minutes become one Event that is counted up, and after 25 Events a component gets one more every five minutes.
 */
export class EventCorrelator {
  readonly #similar = new Map<string, Similar>();
  readonly #buckets = new Map<string, TokenBucket>();

  /** The Event to write; undefined for one too many. `now` in ms. */
  admit(uid: string, event: NewEvent, now: number): NewEvent | undefined {
    if (!this.#isAllowed(uid, now)) return undefined;
    const { type, reason, message } = event;
    const key = [uid, type, reason].join("|");
    const earlier = this.#similar.get(key);
    const isOpen = earlier !== undefined && now - earlier.since < similarWithinMs;
    const similar = isOpen ? earlier : { since: now, messages: new Set<string>() };
    remember(this.#similar, key, similar);
    if (similar.messages.size < maxSimilar) similar.messages.add(message);
    if (similar.messages.has(message)) return event;
    return combined(event);
  }

  #isAllowed(uid: string, now: number): boolean {
    const bucket = this.#buckets.get(uid) ?? new TokenBucket(pace);
    remember(this.#buckets, uid, bucket);
    if (bucket.untilMs(now) > 0) return false;
    bucket.take(now);
    return true;
  }
}

const combinedPrefix = "(combined from similar events): ";

/** An Event that stands for several messages, and has the latest of them. */
function combined(event: NewEvent): NewEvent {
  return { ...event, message: `${combinedPrefix}${event.message}` };
}

function isCombined({ message }: NewEvent): boolean {
  return message.startsWith(combinedPrefix);
}

/** Sets a value, and drops and returns the one that was not used for the longest time when there are too many. */
function remember<Value>(map: Map<string, Value>, key: string, value: Value): Value | undefined {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map;
  if (map.size <= maxRemembered || oldest === undefined) return undefined;
  map.delete(oldest[0]);
  return oldest[1];
}
