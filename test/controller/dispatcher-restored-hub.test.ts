import { expect, test } from "vitest";

import type { ClusterProfileRef, Component } from "../../api/component.ts";
import { FleetError } from "../../api/errors.ts";
import { serving } from "../support/component.ts";
import { MemoryHub } from "../support/memory-hub.ts";
import { hubWithNone, kind, name, workOf } from "./dispatched-hub.ts";

function on(cluster: string): Component {
  return serving({ spec: { clusterProfileRef: { namespace: "knative-serving", name: cluster } } });
}

/** A hub with one component, which remembers which cluster each attempt asked for. */
function hubWithOne() {
  const memory = new MemoryHub();
  const hub = hubWithNone({ memory, patch: memory.patch });
  const asked: string[] = [];
  const acquire = (ref: ClusterProfileRef): Promise<never> => {
    asked.push(ref.name);
    return Promise.reject(new FleetError("ClusterProfileNotFound", "There is none"));
  };
  const spokes = { ...hub.deps.spokes, acquire };
  hub.dispatcher.start(workOf({ ...hub.deps, spokes }));
  const settle = async (): Promise<void> => {
    for (let round = 0; round < 4; round += 1) {
      await hub.clock.advance(0);
      for (const { taken } of hub.told) taken();
    }
  };
  return { ...hub, asked, settle };
}

test.each([
  { what: "is at an earlier version", wentBack: true, furtherBy: 0 },
  { what: "has come further since", wentBack: false, furtherBy: 20 },
])(
  "edits of a component count after the hub was restored from a backup and $what",
  async ({ wentBack, furtherBy }) => {
    const { memory, dispatcher, stored, asked, settle } = hubWithOne();
    await using _dispatcher = dispatcher;
    memory.edit(kind, name, on("a"));
    const restore = memory.backUp();
    dispatcher.componentChanged(stored(), undefined);
    await settle();
    expect(asked).toEqual(["a"]);
    const written = stored();
    restore();
    for (let count = 0; count < furtherBy; count += 1) memory.edit("Namespace", "busy", {});
    // The watch was interrupted: the list tells what is different, and then that it is complete.
    dispatcher.componentChanged(stored(), written);
    const listing = { resourceVersion: memory.version, wentBack };
    dispatcher.componentsListed(kind, listing);
    await settle();
    const { spec, metadata } = stored();
    const edited = { ...on("b"), metadata: { ...metadata, generation: 2 } };
    expect(spec).toEqual(on("a").spec);
    const before = stored();
    memory.edit(kind, name, edited);
    dispatcher.componentChanged(stored(), before);
    await settle();
    expect(asked.at(-1)).toBe("b");
  },
);

test("a list that is older than our own write changes nothing", async () => {
  const { memory, dispatcher, stored, asked, settle } = hubWithOne();
  await using _dispatcher = dispatcher;
  memory.edit(kind, name, on("a"));
  const first = memory.version;
  dispatcher.componentChanged(stored(), undefined);
  await settle();
  dispatcher.componentsListed(kind, { resourceVersion: first, wentBack: false });
  await settle();
  expect(asked).toEqual(["a"]);
});
