import { onTestFinished } from "vitest";

import type { WatchEvent } from "../../../access/kube/kube-client.ts";
import type { ReferencePolicy } from "../../../access/providers/reference-policy.ts";
import type { References } from "../../../access/providers/references.ts";
import { Components } from "../../../controller/components.ts";
import { FleetSets, type FleetSetsOptions } from "../../../controller/sets/fleet-sets.ts";
import { settled } from "../../support/fake-clock.ts";
import { silentLog } from "../../support/silent-log.ts";
import { apiError, type SetHub } from "./set-hub.ts";

/** Sets that are rolled out, and how often their facts were gathered: once for each look that writes no mark. */
interface LedSets {
  readonly sets: FleetSets;
  looks: number;
}

/** Begins to lead on a hub in memory, with watches that show each change. */
export function leadSets(
  hub: SetHub,
  { maxSetsPerNamespace = 100, log = silentLog }: Partial<FleetSetsOptions> = {},
): LedSets {
  async function* watch(kind: string, signal: AbortSignal): AsyncGenerator<WatchEvent> {
    const events: WatchEvent[] = [...hub.objects.values()].map((object) => ({
      type: "ADDED",
      object,
    }));
    events.push({ type: "BOOKMARK", resourceVersion: "1", initialEventsEnd: true });
    let wake = Promise.withResolvers<void>();
    hub.watchers.add((event) => {
      events.push(event);
      wake.resolve();
    });
    signal.addEventListener("abort", () => wake.reject(signal.reason));
    for (;;) {
      const event = events.shift();
      if (event === undefined) {
        // oxlint-disable-next-line no-await-in-loop -- a watch waits for its next event
        await wake.promise;
        wake = Promise.withResolvers<void>();
      } else if (event.type === "BOOKMARK" || event.object.kind === kind) yield event;
    }
  }
  const client = {
    ...hub.client,
    list: () => Promise.reject(apiError(500, "Unexpected")),
    watch: (ref, _options, signal) => watch(ref.resource.kind, signal),
  } satisfies FleetSetsOptions["hub"];
  const { clock } = hub;
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
  const events = { record: async () => undefined };
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
      clock,
      random: () => 0.5,
      log,
      maxSetsPerNamespace,
    },
    signal,
  );
  onTestFinished(async () => {
    components[Symbol.dispose]();
    await sets[Symbol.asyncDispose]();
  });
  return Object.assign(led, { sets });
}

/** Lets requests be answered and watches be read. */
export async function answered(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await settled();
}
