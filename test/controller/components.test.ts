import { expect, onTestFinished, test } from "vitest";

import { Components } from "../../controller/components.ts";
import { serving } from "../support/component.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { MemoryHub } from "../support/memory-hub.ts";
import { silentLog } from "../support/silent-log.ts";

const version = { "f:spec": { "f:version": {} } };
const managedFields = [
  { manager: "knfleet-set", fieldsV1: version },
  { manager: "kubectl-edit", time: "2026-01-01T00:00:00Z", fieldsV1: { ...version, "f:a": {} } },
  { manager: "knfleet-controller", subresource: "status", fieldsV1: version },
  { manager: "labeller", fieldsV1: { "f:metadata": {} } },
];

function ignore(): void {}

/** The component of a hub as it is kept. */
async function kept(labels: Readonly<Record<string, string>>) {
  const hub = new MemoryHub();
  const component = serving({ metadata: { labels, managedFields } });
  hub.edit("KnativeServing", component.metadata.name, component);
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const options = { client: hub, clock: new FakeClock(), log: silentLog };
  const components = new Components(
    { ...options, onChange: ignore, onDelete: ignore },
    stop.signal,
  );
  await expect.poll(() => [...components.all()].length).toBe(1);
  return [...components.all()][0]?.metadata.managedFields;
}

test("of a set's component it is kept who else wrote its spec, and nothing more", async () => {
  expect(await kept({ "knfleet.dev/set": "prod" })).toEqual([
    { manager: "kubectl-edit", time: "2026-01-01T00:00:00Z", fieldsV1: version },
  ]);
});

test("of other components no field managers are kept", async () => {
  expect(await kept({})).toBeUndefined();
});
