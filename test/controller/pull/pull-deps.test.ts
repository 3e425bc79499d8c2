import { expect, onTestFinished, test } from "vitest";

import type { Component } from "../../../api/component.ts";
import { openPull } from "../../../controller/pull/pull-deps.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { MemoryHub } from "../../support/memory-hub.ts";
import { silentLog } from "../../support/silent-log.ts";
import { pulled } from "./pull-hub.ts";

/** Pull delivery over a hub with a work for `spoke-1`; the components that are tried again. */
function opened(settings: Parameters<typeof openPull>[0]) {
  const clock = new FakeClock();
  const client = new MemoryHub();
  client.edit("ManifestWork", "work", {
    metadata: { namespace: "spoke-1", name: "work", uid: "1" },
  });
  const components: readonly Component[] = [
    pulled({ name: "here" }),
    pulled({ name: "elsewhere", annotations: { "knfleet.dev/managed-cluster": "spoke-2" } }),
    pulled({ name: "pushed", annotations: {} }),
  ];
  const requeued: string[] = [];
  const requeue = (isChosen: (component: Component) => boolean): void => {
    requeued.push(...components.filter(isChosen).map(({ metadata }) => metadata.name));
  };
  const life = new AbortController();
  onTestFinished(() => life.abort(new Error("The test is over")));
  const { pull } = openPull(settings, { clock, client, log: silentLog, requeue }, life.signal);
  return { clock, pull, requeued };
}

test("a work that changes has the components of its cluster tried again, and no others", async () => {
  const { clock, pull, requeued } = opened({ mode: "Auto", agentImage: "image", namespaces: [] });
  pull?.watch.open();
  await clock.advance(0);
  expect(requeued).toEqual(["here"]);
});

test("nothing can be pulled without the image of the agent", () => {
  expect(opened(undefined).pull).toBeUndefined();
});
