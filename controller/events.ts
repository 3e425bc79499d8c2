import { randomBytes } from "node:crypto";

import { ApiError } from "../access/api-error.ts";
import type { KubeClient } from "../access/kube-client.ts";
import { type Component, componentKinds } from "../api/component.ts";
import { timestampOf } from "../api/conditions.ts";
import { knownResource } from "../api/resources.ts";
import type { Clock } from "./clock.ts";
import type { Log } from "./log.ts";
import type { Happening } from "./transitions.ts";

export interface EventRecorderOptions {
  readonly client: Pick<KubeClient, "create" | "patch">;
  readonly clock: Clock;
  readonly log: Log;
}

interface Recorded {
  readonly name: string;
  count: number;
  at: number;
}

const events = knownResource("v1", "Event");
const maxMessageLength = 1_024;
const maxRemembered = 512;
const repeatMs = 10 * 60_000;

/**
 * Kubernetes Events on components, with the source that upstream uses. What was said in the last ten minutes is counted up
 * instead of said again. An Event that cannot be written is lost, with a line in the log.
 */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #recorded = new Map<string, Recorded>();

  constructor(options: EventRecorderOptions) {
    this.#options = options;
  }

  async record(component: Component, happening: Happening, signal: AbortSignal): Promise<void> {
    try {
      await this.#write(component, happening, signal);
    } catch (error) {
      this.#options.log.debug({ err: error, reason: happening.reason }, "Could not write an Event");
    }
  }

  async #write(component: Component, happening: Happening, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const id = [component.metadata.uid, happening.type, happening.reason, happening.message].join(
      "|",
    );
    const known = this.#recorded.get(id);
    if (known !== undefined && clock.now() - known.at < repeatMs) {
      known.count += 1;
      known.at = clock.now();
      if (await this.#countUp(component, known, signal)) return;
    }
    const name = `${component.metadata.name.slice(0, 200)}.${randomBytes(8).toString("hex")}`;
    this.#remember(id, { name, count: 1, at: clock.now() });
    await this.#create(component, { ...happening, name }, signal);
  }

  /** False when the Event is gone by now. */
  async #countUp(component: Component, known: Recorded, signal: AbortSignal): Promise<boolean> {
    const { client, clock } = this.#options;
    const { namespace } = component.metadata;
    const patch = { count: known.count, lastTimestamp: timestampOf(clock.date()) };
    try {
      await client.patch({ resource: events, namespace, name: known.name }, patch, {}, signal);
      return true;
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return false;
      throw error;
    }
  }

  async #create(
    component: Component,
    { name, type, reason, message }: Happening & { readonly name: string },
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
      metadata: { namespace, name },
      involvedObject: { apiVersion, kind, namespace, name: componentName, uid, resourceVersion },
      type,
      reason,
      message: message.slice(0, maxMessageLength),
      source: { component: eventSource },
      reportingComponent: eventSource,
      reportingInstance: "",
      firstTimestamp: time,
      lastTimestamp: time,
      count: 1,
    };
    await client.create({ resource: events, namespace }, event, {}, signal);
  }

  #remember(id: string, recorded: Recorded): void {
    this.#recorded.delete(id);
    this.#recorded.set(id, recorded);
    const [oldest] = this.#recorded.keys();
    if (this.#recorded.size > maxRemembered && oldest !== undefined) this.#recorded.delete(oldest);
  }
}
