import { expect, test } from "vitest";

import { setAnnotations, setLabels } from "../../../api/fleet-set.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import { brokenRules } from "./rollout-rules.ts";

const stages = [
  { name: "canary", maxConcurrency: 1 },
  { name: "rest", maxConcurrency: 1 },
];

/** A version of a component: the time of its last stamp, `old` for one of the revision before, and whether it is Ready at it. */
function version(name: string, stampedAt: string, isReady: boolean): KubeObject {
  const isOld = stampedAt === "old";
  return {
    apiVersion: "operator.knative.dev/v1beta1",
    kind: "KnativeEventing",
    metadata: {
      name,
      uid: name,
      resourceVersion: "1",
      generation: isOld ? 1 : 2,
      labels: {
        [setLabels.stage]: name === "a" ? "canary" : "rest",
        [setLabels.revision]: isOld ? "prod-1" : "prod-2",
      },
      annotations: { [setAnnotations.updatedAt]: stampedAt },
    },
    status: {
      observedGeneration: isReady && !isOld ? 2 : 1,
      version: isReady && !isOld ? "1.23.0" : "1.22.0",
      conditions: [{ type: "Ready", status: "True" }],
    },
  };
}

const before = ["a", "b", "c"].map((name) => version(name, "old", true));

type Change = readonly [name: string, stampedAt: string, isReady: boolean];

function broken(after: readonly Change[]): readonly string[] {
  const versions = [...before, ...after.map((one) => version(...one))];
  return brokenRules(versions, { revision: "prod-2", version: "1.23.0", stages });
}

test.each<readonly [string, readonly Change[], readonly string[]]>([
  [
    "one after the other breaks nothing, and Ready of the spec before does not count",
    [
      ["a", "1", false],
      ["a", "1", true],
      ["b", "2", false],
      ["b", "2", true],
      ["c", "3", false],
      ["c", "3", true],
    ],
    [],
  ],
  [
    "two at the same time are too many",
    [
      ["a", "1", true],
      ["b", "2", false],
      ["c", "3", false],
      ["b", "2", true],
      ["c", "3", true],
    ],
    ["In flight in rest: b, c"],
  ],
  [
    "the second stage may not begin before the first one is done",
    [
      ["a", "1", false],
      ["b", "2", true],
      ["a", "1", true],
      ["c", "3", true],
    ],
    ["rest had begun before these were done: a"],
  ],
  [
    "a second stamp and a missing one are told",
    [
      ["a", "1", true],
      ["b", "2", true],
      ["b", "4", true],
    ],
    ["b: 2 stamps", "c: 0 stamps"],
  ],
])("%s", (_what, versions, expected) => {
  expect(broken(versions)).toEqual(expected);
});
