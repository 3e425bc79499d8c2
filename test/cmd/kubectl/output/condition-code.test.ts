import { expect, test } from "vitest";

import type { Condition } from "../../../../api/kubernetes.ts";
import { blockingCondition, conditionCode } from "../../../../cmd/kubectl/output/condition-code.ts";

const said = (type: string, status: Condition["status"], reason?: string): Condition => ({
  type,
  status,
  ...(reason === undefined ? {} : { reason }),
});

test.each([
  {
    name: "a component that its cluster has already",
    conditions: [
      said("Ready", "False", "DuplicateComponent"),
      said("TargetClusterResolved", "Unknown"),
      said("InstallSucceeded", "False", "DuplicateComponent"),
    ],
    code: "KNF1013",
  },
  {
    name: "a component of which all but one Deployment is there",
    conditions: [
      said("Ready", "False", "NotReady"),
      said("InstallSucceeded", "Unknown", "Installing"),
      said("DeploymentsAvailable", "False", "NotReady"),
    ],
    code: "KNF6009",
  },
  {
    name: "a component that is being installed",
    conditions: [said("Ready", "Unknown"), said("InstallSucceeded", "Unknown", "Installing")],
    code: "KNF6008",
  },
  {
    name: "a component without a ClusterProfile",
    conditions: [
      said("Ready", "False", "ClusterProfileNotFound"),
      said("InstallSucceeded", "Unknown"),
      said("TargetClusterResolved", "False", "ClusterProfileNotFound"),
    ],
    code: "KNF2002",
  },
])("$name has the code $code", ({ conditions, code }) => {
  const blocking = blockingCondition(conditions);
  expect(blocking === undefined ? null : conditionCode(blocking)).toBe(code);
});
