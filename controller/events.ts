import { createHash } from "node:crypto";

import { ApiError } from "../access/kube/api-error.ts";
import type { KubeClient } from "../access/kube/kube-client.ts";
import { type Component, componentKinds } from "../api/component.ts";
import { timestampOf } from "../api/conditions.ts";
import { knownResource } from "../api/resources.ts";
import { lastingLogFieldsOf, type Log } from "./log.ts";
import type { Clock } from "./queue/clock.ts";

export interface EventRecorderOptions {
  readonly client: Pick<KubeClient, "get" | "create" | "patch">;
  readonly clock: Clock;
  readonly log: Log;
}

/** One thing worth an Event on a component. */
export interface Happening {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
  /** Of the Event, for what is too long for a message. */
  readonly annotations?: Readonly<Record<string, string>>;
}

interface Named extends Happening {
  readonly name: string;
}

const events = knownResource("v1", "Event");
const maxMessageLength = 1_024;
const maxRemembered = 4_096;

/**
 * Kubernetes Events on components, with the source that upstream uses. What was said before is counted up instead of said again, also when
 * another process said it, as long as the hub keeps the Event. An Event that cannot be written is lost, with a line in the log.
 */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #correlator = new EventCorrelator();
  /** How often an Event was said, by its name. */
  readonly #counts = new Map<string, number>();

  constructor(options: EventRecorderOptions) {
    this.#options = options;
  }

  /** Never rejects. */
  async record(component: Component, happening: Happening, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    const { reason } = happening;
    const admitted = this.#correlator.admit(component.metadata.uid, happening, clock.now());
    if (admitted === undefined) {
      log.debug({ ...lastingLogFieldsOf(component), reason }, "Too many Events on a component");
      return;
    }
    try {
      await this.#write(component, admitted, signal);
    } catch (error) {
      log.debug(
        { ...lastingLogFieldsOf(component), err: error, reason },
        "Could not write an Event",
      );
    }
  }

  /**
   * The same for what has to be on record: no component has had too many Events for it. Rejects when it could not be written, unless the hub
   * takes no Event there at all: nobody may write any (403), or the namespace is gone or going (403, 404).
   */
  async audit(component: Component, happening: Happening, signal: AbortSignal): Promise<void> {
    try {
      await this.#write(component, happening, signal);
    } catch (error) {
      if (!(error instanceof ApiError) || ![403, 404].includes(error.status)) throw error;
      const { reason } = happening;
      const fields = { ...lastingLogFieldsOf(component), err: error, reason };
      this.#options.log.warn(fields, "The hub takes no Event on a component");
    }
  }

  async #write(component: Component, happening: Happening, signal: AbortSignal): Promise<void> {
    const message = happening.message.slice(0, maxMessageLength);
    const event = { ...happening, message, name: nameOf(component, happening) };
    const known = this.#counts.get(event.name);
    if (known !== undefined && (await this.#countUp(component, event, known + 1, signal))) return;
    try {
      await this.#create(component, event, signal);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 409) throw error;
      const ref = { resource: events, namespace: component.metadata.namespace, name: event.name };
      const stored = await this.#options.client.get(ref, {}, signal);
      await this.#countUp(component, event, countOf(stored) + 1, signal);
    }
  }

  /** False when the Event is gone by now. */
  // oxlint-disable-next-line max-params -- three facts, and the signal last
  async #countUp(
    { metadata }: Component,
    { name, message }: Named,
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

  async #create(
    component: Component,
    { name, type, reason, message, annotations }: Named,
    signal: AbortSignal,
  ): Promise<void> {
    const { client, clock } = this.#options;
    const { apiVersion, kind } = component;
    const { namespace, name: componentName, uid, resourceVersion } = component.metadata;
    const { eventSource } = componentKinds[kind];
    const time = timestampOf(clock.date());
    const event = {
      apiVersion: "v1",
      kind: "Event",
      metadata: { namespace, name, ...(annotations === undefined ? {} : { annotations }) },
      involvedObject: { apiVersion, kind, namespace, name: componentName, uid, resourceVersion },
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
    await client.create({ resource: events, namespace }, event, {}, signal);
    remember(this.#counts, name, 1);
  }
}

/** The same for the same happening on the same component, in every process: a second one finds the first one's Event. */
function nameOf({ metadata }: Component, happening: Happening): string {
  const { type, reason, message } = happening;
  const said = isCombined(happening) ? "" : message;
  const id = [metadata.uid, type, reason, said].join("|");
  const digest = createHash("sha256").update(id).digest("hex").slice(0, 16);
  // A part of a name ends with a letter or digit, also where it is cut.
  return `${metadata.name.slice(0, 200).replace(/[-.]+$/, "")}.${digest}`;
}

function countOf(event: Readonly<Record<string, unknown>> | undefined): number {
  const count = event?.["count"];
  return typeof count === "number" ? count : 1;
}

interface Similar {
  readonly since: number;
  readonly messages: Set<string>;
}

interface Allowance {
  left: number;
  at: number;
}

const similarWithinMs = 10 * 60_000;
const maxSimilar = 10;
const burst = 25;
const refillMs = 5 * 60_000;

/**
 * Keeps one component from flooding the hub with Events, by the rules of client-go: more than ten messages with one reason within ten
 * minutes become one Event that is counted up, and after 25 Events a component gets one more every five minutes.
 */
export class EventCorrelator {
  readonly #similar = new Map<string, Similar>();
  readonly #allowances = new Map<string, Allowance>();

  /** What to write of a happening, or undefined when it is one too many. `now` in ms. */
  admit(uid: string, happening: Happening, now: number): Happening | undefined {
    if (!this.#isAllowed(uid, now)) return undefined;
    const { type, reason, message } = happening;
    const key = [uid, type, reason].join("|");
    const known = this.#similar.get(key);
    const isOpen = known !== undefined && now - known.since < similarWithinMs;
    const similar = isOpen ? known : { since: now, messages: new Set<string>() };
    remember(this.#similar, key, similar);
    if (similar.messages.size < maxSimilar) similar.messages.add(message);
    if (similar.messages.has(message)) return happening;
    return { ...happening, message: `(combined from similar events): ${message}` };
  }

  #isAllowed(uid: string, now: number): boolean {
    const known = this.#allowances.get(uid) ?? { left: burst, at: now };
    const refilled = Math.min(burst, known.left + (now - known.at) / refillMs);
    const isAllowed = refilled >= 1;
    remember(this.#allowances, uid, { left: isAllowed ? refilled - 1 : refilled, at: now });
    return isAllowed;
  }
}

/** Whether a message stands for many. */
function isCombined({ message }: Happening): boolean {
  return message.startsWith("(combined from similar events): ");
}

/** Keeps what was used last. */
function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > maxRemembered && oldest !== undefined) map.delete(oldest);
}
