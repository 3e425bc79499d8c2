import { onTestFinished } from "vitest";

import type { WatchEvent } from "../../../access/kube/kube-client.ts";
import type { ReferencePolicy } from "../../../access/providers/reference-policy.ts";
import type { References } from "../../../access/providers/references.ts";
import { abortable } from "../../../access/time/deadline.ts";
import { CheckSource } from "../../../access/urls/check-source.ts";
import { Components } from "../../../controller/components.ts";
import type { FleetSetsOptions } from "../../../controller/sets/fleet-sets-options.ts";
import { FleetSets } from "../../../controller/sets/fleet-sets.ts";
import { apiError } from "../../support/api-error.ts";
import { unexpected } from "../../support/bare-client.ts";
import { settled } from "../../support/fake-clock.ts";
import { silentLog } from "../../support/silent-log.ts";
import { emptyReleases } from "./empty-releases.ts";
import { type SetHub } from "./set-hub.ts";

/** Sets that are rolled out, and how often their facts were gathered: once for each look that writes no mark. */
export interface LedSets {
  readonly sets: FleetSets;
  looks: number;
}

/** Leads on a hub in memory until the test ends. */
export function leadSets(hub: SetHub, options: Partial<FleetSetsOptions> = {}): LedSets {
  const led = leadSetsOn(hub, options);
  onTestFinished(() => led[Symbol.asyncDispose]());
  return led;
}

/** Begins to lead on a hub in memory, with watches that show each change. */
export function leadSetsOn(
  hub: SetHub,
  {
    maxSetsPerNamespace = 100,
    log = silentLog,
    clock = hub.clock,
    events = { record: async () => undefined },
    releases = emptyReleases(() => hub.available),
    spokes = { acquire: () => Promise.reject(new Error("nobody asks")) },
  }: Partial<FleetSetsOptions> = {},
  requests: SetHub["client"] = hub.client,
): LedSets & AsyncDisposable {
  async function* watch(kind: string, signal: AbortSignal): AsyncGenerator<WatchEvent> {
    const shown: WatchEvent[] = [...hub.objects.values()].map((object) => ({
      type: "ADDED",
      object,
    }));
    shown.push({ type: "BOOKMARK", resourceVersion: "1", initialEventsEnd: true });
    let wake = Promise.withResolvers<void>();
    hub.watchers.add((event) => {
      shown.push(event);
      wake.resolve();
    });
    for (;;) {
      const event = shown.shift();
      if (event === undefined) {
        // oxlint-disable-next-line no-await-in-loop -- a watch waits for its next event
        await abortable(wake.promise, signal);
        wake = Promise.withResolvers<void>();
      } else if (event.type === "BOOKMARK" || event.object.kind === kind) yield event;
    }
  }
  const client = {
    ...requests,
    list: () => Promise.reject(apiError(500, "Unexpected")),
    watch: (ref, _options, signal) => watch(ref.resource.kind, signal),
  } satisfies FleetSetsOptions["hub"];
  const { signal } = new AbortController();
  const components = new Components(
    {
      client,
      clock,
      log: silentLog,
      onChange: (component, before) => sets.componentChanged(component, before),
      onDelete: (component) => sets.componentDeleted(component),
    },
    signal,
  );
  const led = { looks: 0 };
  const references: References = {
    get policy(): ReferencePolicy {
      led.looks += 1;
      return { mode: "Any", grants: [] };
    },
    isValid: undefined,
    onChange: () => ({ [Symbol.dispose]: () => undefined }),
  };
  const sets = new FleetSets(
    {
      hub: client,
      components,
      events,
      references,
      releases,
      rendering: {},
      spokes,
      onUnused: () => undefined,
      checkSource: new CheckSource({ sources: [], userAgent: "knfleet-test" }),
      pulledJobs: unexpected,
      clock,
      random: () => 0.5,
      log,
      maxSetsPerNamespace,
    },
    signal,
  );
  return Object.assign(led, {
    sets,
    async [Symbol.asyncDispose](): Promise<void> {
      components[Symbol.dispose]();
      await sets[Symbol.asyncDispose]();
    },
  });
}

/** Lets requests be answered and watches be read. */
export async function answered(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await settled();
}
