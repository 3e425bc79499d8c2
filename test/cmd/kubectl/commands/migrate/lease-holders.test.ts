import { expect, test } from "vitest";

import { readLeaseHolders } from "../../../../../cmd/kubectl/commands/migrate/lease-holders.ts";
import { bareClient } from "../../../../support/bare-client.ts";
import { now } from "../../fleet-facts.ts";
import { lease } from "../../hub/lease-facts.ts";

const upstream = "knative-operator.knative.dev.operator.pkg.reconciler.x.00-of-01";

test.each([
  { name: "knfleet-controller", age: 59, isHeld: true },
  { name: "knfleet-controller", age: 66, isHeld: false },
  { name: upstream, age: 59, isHeld: true },
  { name: upstream, age: 61, isHeld: false },
])("Lease $name for a day, renewed $age s ago, is held: $isHeld", async ({ name, age, isHeld }) => {
  const leases = [lease(name, { holder: "pod-a", age, seconds: 86_400 })];
  const nowMs = now.getTime();
  const { remarks } = await readLeaseHolders(
    { leases, bindings: [], nowMs },
    bareClient({}),
    new AbortController().signal,
  );
  // Without a ClusterRoleBinding a Lease that is held is a remark.
  expect(remarks.length > 0).toBe(isHeld);
});
