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
  expect(blocking === undefined ? null : conditionCode(blocking, conditions)).toBe(code);
});

const failedWith = (text: string): Condition => ({
  ...said("InstallSucceeded", "False", "Error"),
  message: `Install failed with message: ${text}`,
});

test.each([
  ["webhook deployment not found in manifest", "ManifestInvalid", "KNF1017"],
  ["ConfigMap knative-serving/a: No", undefined, "KNF1018"],
  ["the version of the manifests 1.22.0 of the component is not 1.23.0", undefined, "KNF1017"],
  ["patch 0 target v1 Secret none matches no object", undefined, "KNF1017"],
  ["The release directory holds no version 1.99", "ReleaseNotFound", "KNF1016"],
])("a failure with the text %s, stalled by %s, has the code %s", (text, stalled, code) => {
  const condition = failedWith(text);
  const others = stalled === undefined ? [] : [said("Stalled", "True", stalled)];
  expect(conditionCode(condition, [condition, ...others])).toBe(code);
});
