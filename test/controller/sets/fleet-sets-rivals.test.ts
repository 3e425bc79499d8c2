import { expect, test } from "vitest";

import type { FleetSet, FleetSetSpec } from "../../../api/fleet-set.ts";
import { rolloutWith } from "../../sets/set-world.ts";
import { SetHub } from "./set-hub.ts";

interface Row {
  readonly name: string;
  readonly spec?: Partial<FleetSetSpec>;
  readonly metadata?: Partial<FleetSet["metadata"]>;
  readonly blocks: boolean;
}

const canaries = { name: "canary", selector: { matchLabels: { ring: "0" } } };
const selector = { namespaces: ["fleet"] };

test.each<Row>([
  { name: "that selects it", blocks: true },
  {
    name: "that excludes it",
    spec: { clusters: { from: "Selector", exclude: [{ name: "eu" }] } },
    blocks: false,
  },
  {
    name: "that has no stage for it, and leaves such clusters alone",
    spec: { rollout: rolloutWith({ stages: [canaries], unmatched: "Exclude" }) },
    blocks: false,
  },
  {
    name: "that has no stage for it, and takes such clusters last",
    spec: { rollout: rolloutWith({ stages: [canaries] }) },
    blocks: true,
  },
  {
    name: "that is being deleted",
    metadata: { deletionTimestamp: "2026-11-25T12:00:00Z" },
    blocks: false,
  },
  {
    name: "that may not use it",
    spec: { clusters: { from: "Selector", selector } },
    metadata: { namespace: "team" },
    blocks: false,
  },
])("an older set $name blocks a cluster: $blocks", async ({ spec, metadata, blocks }) => {
  const hub = new SetHub();
  hub.policy = { mode: "Same", grants: [] };
  hub.putProfile("eu");
  const creationTimestamp = "2026-11-01T00:00:00Z";
  hub.putSet(spec, { name: "older", uid: "older", creationTimestamp, ...metadata });
  const key = hub.putSet(
    {},
    { name: "younger", uid: "younger", creationTimestamp: "2026-11-02T00:00:00Z" },
  );
  await hub.look(key);
  expect(hub.names()).toEqual(blocks ? [] : ["younger-eu"]);
  expect(hub.set(key).status?.clusters?.["blocked"]).toBe(blocks ? 1 : 0);
});
