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

test.each([
  ["Waiting for the deletion of ConfigMap a/b (finalizer c.d/e)", "KNF6014"],
  ["Deleting ConfigMap a/b was not possible: the admission webhook c.d denies it", "KNF6012"],
  ["Waiting for the deletion of Job a/b: the ValidatingAdmissionPolicy c denies it", "KNF6012"],
  ["Waiting for the deletion of Job a/b: the MutatingAdmissionPolicy c denies it", "KNF6012"],
  ["ManagedCluster eu has been going since 2026-01-01, and gets no works", "KNF2016"],
  ["ManifestWork eu/a: the hub's namespace eu is being deleted", "KNF6011"],
  [
    "ManagedCluster eu: work a: Deployment b waits: its namespace on the spoke is being deleted",
    "KNF6011",
  ],
  [
    "Looking for users before the removal: the cluster cannot list Broker for now; their conversion webhook, Service a/b, may not answer",
    "KNF6016",
  ],
  ["Looking for users before the removal: the cluster cannot list Broker for now", "KNF4016"],
  ["The controller on the spoke still manages this installation, and has yet to let go", "KNF2017"],
  [
    "The hub installs this component itself: its annotation knfleet.dev/delivery is Push",
    "KNF2017",
  ],
  ["ManifestWork eu/a of another component has yet to go", "KNF2017"],
  ["ManifestWork eu/a is still being deleted", "KNF2017"],
  ["ManifestWork eu/a has been going since 2026-01-01; look at the spoke: x", "KNF2017"],
] as const)("the code of ClusterBusy follows what is waited for: %s is %s", (message, code) => {
  const condition = { ...said("InstallSucceeded", "False", "ClusterBusy"), message };
  expect(conditionCode(condition, [])).toBe(code);
});

test.each([
  ["ManagedCluster eu: its agent has not reported to the hub yet", "KNF2019"],
  ["ManagedCluster eu: its API server has not answered its agent since 2026-01-01", "KNF2019"],
  ["ClusterProfile fleet/eu: https://eu did not answer in time", "KNF4009"],
] as const)("the code of a silent cluster tells who dials: %s is %s", (told, code) => {
  const condition = said("TargetClusterResolved", "Unknown", "SpokeUnreachable");
  expect(conditionCode({ ...condition, message: `[Unreachable] ${told}` }, [])).toBe(code);
});

test("an exec plugin that has no folder to cache in has a code of its own", () => {
  const message = "[PluginFailed] Exec plugin /plugins/a of provider a: no HOME can be made for it";
  const condition = said("TargetClusterResolved", "False", "AccessProviderFailed");
  expect(conditionCode({ ...condition, message }, [])).toBe("KNF3023");
});

test("a component whose ClusterProfile leads to another ManagedCluster has a code of its own", () => {
  const message = "ClusterProfile a/b stands for ManagedCluster c now, and the works are for d";
  const condition = said("TargetClusterResolved", "False", "AccessProviderFailed");
  expect(conditionCode({ ...condition, message }, [])).toBe("KNF2018");
});

test.each([
  ["The hub: POST /api/v1/namespaces is not allowed", "KNF1028"],
  ["ClusterProfile fleet/a: POST /api/v1/namespaces is not allowed", "KNF5002"],
  ["knfleet.dev/keep-while-used needs the right to list brokers, which …", "KNF5006"],
] as const)("the code of a missing right tells where: %s is %s", (told, code) => {
  const message = `Install failed with message: [Forbidden] ${told}`;
  const condition = { ...said("InstallSucceeded", "False", "Error"), message };
  expect(conditionCode(condition, [])).toBe(code);
});
