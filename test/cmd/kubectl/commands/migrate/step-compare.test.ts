import { expect, test } from "vitest";

import { compareStep } from "../../../../../cmd/kubectl/commands/migrate/step.ts";
import { factsOf, recorded, workload } from "./migration-input.ts";

test("who changed the Deployments is told to delete the record, and no other ConfigMap", () => {
  const clusters = [
    { id: "fleet/eu-1", workloads: [{ ...workload, template: "other" }], guards: 0 },
  ];
  const facts = { ...recorded(factsOf("from-upstream")), clusters };
  expect(compareStep(facts, [])).toMatchObject({
    state: "Blocked",
    next: [
      expect.stringContaining("forget the state before"),
      "kubectl delete configmap knfleet-migration --namespace knative-operator",
    ],
  });
});

test.each([
  {
    direction: "from-upstream" as const,
    pending: [expect.stringContaining("another generation, the same pods")],
  },
  // Upstream's operator raises each generation.
  { direction: "to-upstream" as const, pending: [] },
])(
  "a Deployment with another generation is told $direction: $pending",
  ({ direction, pending }) => {
    const clusters = [{ id: "fleet/eu-1", workloads: [{ ...workload, generation: 2 }], guards: 0 }];
    const facts = { ...recorded(factsOf(direction)), clusters };
    expect(compareStep(facts, []).pending).toEqual(pending);
  },
);
