import { expect, test } from "vitest";
import { parse } from "yaml";

import { firstSteps } from "../../../../cmd/kubectl/page/first-steps.ts";
import { clusterOf } from "./sample-items.ts";

test("a fleet without clusters begins with one", () => {
  const { commands, manifest } = firstSteps([], {
    kubectl: "kubectl --context hub",
    knfleet: "kubectl knfleet --context hub",
  });
  expect(commands.map(({ command }) => command)).toEqual([
    "kubectl knfleet --context hub register spoke-1",
    "kubectl knfleet --context hub diagnose fleet/spoke-1",
    "kubectl --context hub create namespace knative-serving",
    "kubectl --context hub apply -f knative-serving.yaml",
  ]);
  expect(parse(manifest)).toMatchObject({
    kind: "KnativeServing",
    metadata: { namespace: "knative-serving" },
    spec: { clusterProfileRef: { namespace: "fleet", name: "spoke-1" } },
  });
});

test("where there are clusters, the first of them is named", () => {
  const { commands, manifest } = firstSteps([clusterOf({ name: "eu-7" })], {
    kubectl: "kubectl",
    knfleet: "kubectl knfleet",
  });
  expect(commands[0]?.command).toBe("kubectl knfleet diagnose fleet/eu-7");
  expect(parse(manifest)).toMatchObject({
    spec: { clusterProfileRef: { namespace: "fleet", name: "eu-7" } },
  });
});
