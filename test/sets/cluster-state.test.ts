import { describe, expect, test } from "vitest";

import type { ClusterProfile } from "../../api/cluster-profile.ts";
import type { Component } from "../../api/component.ts";
import { timestampOf } from "../../api/conditions.ts";
import { setAnnotations, setLabels } from "../../api/fleet-set.ts";
import type { Condition } from "../../api/kubernetes.ts";
import { processReasons, reasons } from "../../api/reasons.ts";
import { clusterState, type Timing } from "../../sets/cluster-state.ts";
import { statesByReason } from "../../sets/component-condition.ts";
import { serving } from "../support/component.ts";

const now = Date.parse("2026-11-25T12:00:00Z");
const at = (secondsAgo: number): string => timestampOf(new Date(now - secondsAgo * 1_000));
const timing: Timing = {
  now,
  minReadyMs: 60_000,
  deadlineMs: 900_000,
  resumedAt: 0,
  retriedAt: 0,
  isPaused: false,
  isHalted: false,
  mayBeHalted: false,
};
const desired = { spec: { version: "1.23.0" }, hash: "hash" };
const ready: Condition = { type: "Ready", status: "True", lastTransitionTime: at(300) };

function profileWith(status: "True" | "False"): ClusterProfile {
  return {
    apiVersion: "multicluster.x-k8s.io/v1alpha1",
    kind: "ClusterProfile",
    metadata: { namespace: "fleet", name: "a", uid: "a", resourceVersion: "1" },
    status: { conditions: [{ type: "ControlPlaneHealthy", status }] },
  };
}

interface Child {
  readonly conditions?: readonly Condition[];
  readonly version?: string;
  readonly revision?: string;
  readonly hash?: string;
  readonly updatedSecondsAgo?: number;
  readonly observed?: number;
  readonly spec?: Component["spec"];
  readonly deleting?: boolean;
}

function childWith({
  conditions = [ready],
  version = "1.23.0",
  revision = "prod-2",
  hash = "hash",
  updatedSecondsAgo = 600,
  observed = 1,
  spec = { version: "1.23.0" },
  deleting = false,
}: Child = {}): Component {
  return serving({
    metadata: {
      generation: 1,
      labels: { [setLabels.revision]: revision },
      annotations: {
        [setAnnotations.updatedAt]: at(updatedSecondsAgo),
        [setAnnotations.spec]: hash,
      },
      ...(deleting ? { deletionTimestamp: at(1) } : {}),
    },
    spec,
    status: { observedGeneration: observed, conditions, version },
  });
}

function stateOf(child: Component | undefined, fields: object = {}, times: Partial<Timing> = {}) {
  const facts = {
    profile: profileWith("True"),
    child,
    desired,
    revision: "prod-2",
    excluded: undefined,
    obstacle: undefined,
    ...fields,
  };
  const { name, reason } = clusterState(facts, { ...timing, ...times });
  return `${name} ${reason}`;
}

function unready(
  type: string,
  reason: string,
  { secondsAgo = 120, message = "" } = {},
): readonly Condition[] {
  const said = { reason, message, lastTransitionTime: at(secondsAgo) } as const;
  return [
    { type, status: "False", ...said },
    { type: "Ready", status: "False", ...said },
  ];
}

test("every reason of a component means something for a rollout", () => {
  const ofProcess: readonly string[] = processReasons;
  const inConditions = Object.keys(reasons).filter((reason) => !ofProcess.includes(reason));
  expect(Object.keys(statesByReason).toSorted()).toEqual(inConditions.toSorted());
});

test("a cluster whose profile is being deleted gets nothing", () => {
  const { metadata, ...profile } = profileWith("True");
  const leaving = { ...profile, metadata: { ...metadata, deletionTimestamp: at(1) } };
  expect(stateOf(undefined, { profile: leaving })).toBe("Unreachable ClusterProfileNotReady");
});

describe("a cluster without an own component", () => {
  test.each([
    ["Pending Pending", {}],
    ["Excluded Excluded", { excluded: "it is named" }],
    ["Blocked NotOwned", { obstacle: { reason: "NotOwned", message: "x" } }],
    ["Blocked ValueMissing", { desired: { missing: "cluster.labels[a]" } }],
    ["Unreachable ClusterProfileNotFound", { profile: undefined }],
    ["Unreachable ClusterProfileNotReady", { profile: profileWith("False") }],
  ])("is %s", (expected, fields) => {
    expect(stateOf(undefined, fields)).toBe(expected);
  });
});

describe("a component of another revision or spec", () => {
  test.each([
    ["Pending Pending", { revision: "prod-1", version: "1.22.0" }],
    ["Pending Pending", { hash: "other" }],
    ["Pending Deleting", { revision: "prod-1", deleting: true }],
    ["Blocked VersionNotEligible", { revision: "prod-1", version: "1.20.0" }],
    [
      "Pending Pending",
      { revision: "prod-1", conditions: unready("InstallSucceeded", "ManifestInvalid") },
    ],
  ] satisfies readonly (readonly [string, Child])[])("is %s: %j", (expected, child) => {
    expect(stateOf(childWith(child))).toBe(expected);
  });
});

describe("a component of the revision", () => {
  test.each([
    ["Done Ready", {}],
    ["Settling Settling", { updatedSecondsAgo: 30 }],
    ["Settling Settling", { conditions: [{ ...ready, lastTransitionTime: at(59) }] }],
    // P2: what it says is about the spec before.
    ["Updating ", { observed: 0, updatedSecondsAgo: 30, conditions: [ready] }],
    [
      "Updating NotReady",
      { version: "1.22.0", conditions: unready("DeploymentsAvailable", "NotReady") },
    ],
    [
      "TimedOut NotReady",
      { updatedSecondsAgo: 901, conditions: unready("DeploymentsAvailable", "NotReady") },
    ],
    // Unready for a moment is no failure.
    [
      "Updating NotReady",
      {
        updatedSecondsAgo: 9_000,
        conditions: unready("DeploymentsAvailable", "NotReady", { secondsAgo: 30 }),
      },
    ],
    ["Failed ManifestInvalid", { conditions: unready("InstallSucceeded", "ManifestInvalid") }],
    [
      "Failed KubernetesVersionTooOld",
      { conditions: unready("InstallSucceeded", "KubernetesVersionTooOld") },
    ],
    // It may have been said before the stamp.
    [
      "Updating ManifestInvalid",
      { updatedSecondsAgo: 30, conditions: unready("InstallSucceeded", "ManifestInvalid") },
    ],
    [
      "Failed NotReady",
      {
        conditions: unready("DeploymentsAvailable", "NotReady", {
          message: "webhook ProgressDeadlineExceeded",
        }),
      },
    ],
    [
      "Blocked DuplicateComponent",
      { conditions: unready("InstallSucceeded", "DuplicateComponent") },
    ],
    ["Blocked VersionNotEligible", { conditions: unready("VersionMigrationEligible", "Error") }],
    [
      "Unreachable RemoteClientCreationFailed",
      { conditions: unready("TargetClusterResolved", "RemoteClientCreationFailed") },
    ],
    [
      "Unreachable SpokeUnreachable",
      { conditions: unready("TargetClusterResolved", "SpokeUnreachable") },
    ],
    [
      "Updating AccessProviderFailed",
      { conditions: unready("TargetClusterResolved", "AccessProviderFailed") },
    ],
    // P3: a difference on purpose holds nothing up when the cluster is ready.
    ["Diverged Ready", { spec: { version: "1.23.0", registry: {} }, hash: "hash2" }],
  ] satisfies readonly (readonly [string, Child])[])("is %s: %j", (expected, child) => {
    const wanted = expected.startsWith("Diverged")
      ? { desired: { spec: { version: "1.23.0", registry: { default: "r" } }, hash: "hash2" } }
      : {};
    expect(stateOf(childWith(child), wanted)).toBe(expected);
  });

  test("never times out while the set is paused, without a deadline, or right after a pause", () => {
    const late = childWith({
      updatedSecondsAgo: 2_000,
      conditions: unready("DeploymentsAvailable", "NotReady", { secondsAgo: 1_900 }),
    });
    expect(stateOf(late)).toBe("TimedOut NotReady");
    expect(stateOf(late, {}, { isPaused: true })).toBe("Updating NotReady");
    expect(stateOf(late, {}, { deadlineMs: undefined })).toBe("Updating NotReady");
    expect(stateOf(late, {}, { resumedAt: now - 60_000 })).toBe("Updating NotReady");
  });

  test("that failed is pending again when somebody asked to try again after its stamp", () => {
    const failed = childWith({ conditions: unready("InstallSucceeded", "ManifestInvalid") });
    expect(stateOf(failed, {}, { retriedAt: now - 1_000 })).toBe("Pending Pending");
    expect(stateOf(failed, {}, { retriedAt: now - 900_000 })).toBe("Failed ManifestInvalid");
    expect(stateOf(childWith(), {}, { retriedAt: now })).toBe("Done Ready");
  });

  test("that somebody else has changed names the field and its manager", () => {
    const child = childWith({ spec: { version: "1.22.9" } });
    const managedFields = [
      { manager: "kubectl-edit", fieldsV1: { "f:spec": { "f:version": {} } } },
    ];
    const changed = { ...child, metadata: { ...child.metadata, managedFields } };
    const facts = { profile: profileWith("True"), child: changed, desired, revision: "prod-2" };
    const none = { excluded: undefined, obstacle: undefined };
    expect(clusterState({ ...facts, ...none }, timing)).toMatchObject({
      name: "Diverged",
      message:
        "spec.version is not what the set wants; the field manager kubectl-edit has changed it",
    });
  });

  const dark = { profile: profileWith("False") };
  const broken = childWith({ conditions: unready("InstallSucceeded", "ManifestInvalid") });
  test.each([
    ["Unreachable ClusterProfileNotReady", broken, { isHalted: false }],
    ["Failed ClusterProfileNotReady", broken, {}],
    ["Failed ClusterProfileNotReady", broken, { isHalted: false, mayBeHalted: true }],
    ["Unreachable ClusterProfileNotReady", broken, { retriedAt: now - 1_000 }],
    ["Unreachable ClusterProfileNotReady", childWith(), {}],
    ["Unreachable ClusterProfileNotReady", childWith({ revision: "prod-1" }), {}],
  ])("is %s when its control plane goes dark during a halt", (expected, child, times) => {
    expect(stateOf(child, dark, { isHalted: true, ...times })).toBe(expected);
  });

  test("is not tried again and again after the clock went back", () => {
    const failed = childWith({ conditions: unready("InstallSucceeded", "ManifestInvalid") });
    expect(stateOf(failed, {}, { retriedAt: now + 3_600_000 })).toBe("Failed ManifestInvalid");
  });

  test("a time in the future is now", () => {
    expect(stateOf(childWith({ updatedSecondsAgo: -9_000 }))).toBe("Settling Settling");
  });
});
