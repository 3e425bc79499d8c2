import { beforeEach, expect, test } from "vitest";

import type { Component } from "../../../api/component.ts";
import { asComponent } from "../../../controller/component-identity.ts";
import { EventRecorder } from "../../../controller/events.ts";
import { greet } from "../../../controller/reconcile/between-attempts.ts";
import { Installation } from "../../../controller/reconcile/installation.ts";
import { serving } from "../../support/component.ts";
import { componentsOf } from "../../support/components.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { MemoryHub } from "../../support/memory-hub.ts";
import { silentLog } from "../../support/silent-log.ts";

const { signal } = new AbortController();
let hub: MemoryHub;
let clock: FakeClock;

beforeEach(() => {
  hub = new MemoryHub();
  clock = new FakeClock();
});

function stored(): Component {
  const component = asComponent(hub.find("KnativeServing", "knative-serving"));
  if (component === undefined) throw new Error("There is no component");
  return component;
}

async function greeted(component: Component, all: readonly Component[]): Promise<Installation> {
  const installation = new Installation(component.metadata.uid);
  const events = new EventRecorder({ client: hub, clock, log: silentLog });
  const deps = { hub, clock, events, components: componentsOf(() => all) };
  await greet({ component, installation }, deps, signal);
  return installation;
}

test("a component that waits for a worker gets conditions, none False, and the write needs no attempt", async () => {
  hub.edit("KnativeServing", "knative-serving", serving());
  const { latest } = await greeted(stored(), [stored()]);
  const { conditions = [] } = stored().status ?? {};
  const { Unknown = [], ...others } = Object.groupBy(conditions, ({ status }) => status);
  expect(Unknown).toHaveLength(6);
  expect(others).toMatchObject({ True: [{ type: "Reconciling" }] });
  expect(latest?.metadata.resourceVersion).toBe(stored().metadata.resourceVersion);
});

test("a duplicate gets no first conditions", async () => {
  hub.edit("KnativeServing", "knative-serving", serving());
  const older = serving({
    metadata: { namespace: "b", uid: "0", creationTimestamp: "2025-01-01T00:00:00Z" },
  });
  await greeted(stored(), [stored(), older]);
  expect(stored().status).toBeUndefined();
});

test("a refused greeting does not fail the attempt", async () => {
  hub.edit("KnativeServing", "knative-serving", serving());
  const component = stored();
  hub.fail();
  const { latest } = await greeted(component, [component]);
  expect(latest).toBeUndefined();
});
