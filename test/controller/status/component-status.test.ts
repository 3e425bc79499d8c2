import { describe, expect, test } from "vitest";

import type { ComponentStatus } from "../../../api/component.ts";
import { FleetError } from "../../../api/errors.ts";
import type { Condition } from "../../../api/kubernetes.ts";
import { nextOf } from "../../../controller/reconcile/report.ts";
import { statusOf } from "../../../controller/status/component-status.ts";
import type { Outcome } from "../../../controller/status/outcome.ts";
import { serving } from "../../support/component.ts";

const now = new Date("2026-02-03T04:05:06Z");
const later = new Date("2026-02-03T05:00:00Z");
const both = { eligible: true, resolved: true };
const neither = { eligible: false, resolved: false };
const configMap = { apiVersion: "v1", kind: "ConfigMap", namespace: "ns", name: "a" };
const dependencies =
  "DependenciesInstalled=Unknown | Installing | Waiting for the installation to be complete";

type Applied = Extract<Outcome, { kind: "applied" }>;

function applied(fields: Partial<Applied> = {}): Applied {
  return {
    kind: "applied",
    version: "1.23.0",
    paths: ["knative-serving/1.23.0"],
    changes: { applied: [], unchanged: 150, parked: [], failed: [] },
    readiness: { available: true, message: "" },
    ...fields,
  };
}

const notAvailable = applied({
  readiness: { available: false, message: "1 of 9 not available: webhook (missing)" },
});

function failed(error: FleetError, steps = both): Outcome {
  return { kind: "failed", steps, error };
}

/** `Type=Status reason: message` of every condition. */
function lines({ conditions = [] }: ComponentStatus): readonly string[] {
  return conditions.map(({ type, status, reason, message }: Condition) => {
    return [`${type}=${status}`, reason, message].filter((word) => word !== undefined).join(" | ");
  });
}

/** What is said of the cluster after some outcomes in a row. */
function resolved(...outcomes: readonly Outcome[]): string | undefined {
  return lines(after(...outcomes).status ?? {}).find((line) => line.startsWith("TargetCluster"));
}

/** A component after some outcomes in a row. */
function after(...outcomes: readonly Outcome[]) {
  return outcomes.reduce(
    (component, outcome) => serving({ status: statusOf(component, outcome, now) }),
    serving(),
  );
}

describe("statusOf", () => {
  test("T-05 a component that may use its cluster again says so also when something else is wrong", () => {
    const refused = failed(new FleetError("ReferenceNotPermitted", "No grant"), neither);
    const twin = failed(new FleetError("DuplicateComponent", "b is there already"), neither);
    expect(resolved(refused)).toBe(
      "TargetClusterResolved=False | ReferenceNotPermitted | No grant",
    );
    expect(resolved(refused, twin)).toMatch(/^TargetClusterResolved=Unknown \| Connecting/);
  });

  test("a component at its very beginning is Unknown in everything, with a reason and a message", () => {
    const status = statusOf(serving(), { kind: "working", steps: neither }, now);
    expect(status.observedGeneration).toBe(1);
    expect(lines(status)).toEqual([
      dependencies,
      "DeploymentsAvailable=Unknown | Installing | Waiting for the objects to be applied",
      "InstallSucceeded=Unknown | Installing | Nothing is applied yet",
      "Ready=Unknown | Connecting | Connecting to the hub",
      "Reconciling=True | Connecting | Connecting to the hub",
      "TargetClusterResolved=Unknown | Connecting | Connecting to the hub",
      "VersionMigrationEligible=Unknown | Installing | Reading the release",
    ]);
  });

  test("a running install says how far it is", () => {
    const waiting = [{ message: "Waiting for webhook a.b", count: 2 }];
    const progress = { done: 81, total: 150, waiting, failed: 0 };
    const status = statusOf(serving(), { kind: "working", steps: both, progress }, now);
    expect(lines(status)).toEqual([
      dependencies,
      "DeploymentsAvailable=Unknown | Installing | Waiting for the objects to be applied",
      "InstallSucceeded=Unknown | Installing | 81 of 150 objects applied, 2 waiting for webhook a.b",
      "Ready=Unknown | Installing | 81 of 150 objects applied, 2 waiting for webhook a.b",
      "Reconciling=True | Installing | 81 of 150 objects applied, 2 waiting for webhook a.b",
      "TargetClusterResolved=True",
      "VersionMigrationEligible=True",
    ]);
  });

  test("what failed before is said until it is known better, also while work goes on", () => {
    const lost = failed(new FleetError("ClusterProfileNotReady", "Not healthy"), neither);
    const progress = { done: 81, total: 150, waiting: [], failed: 0 };
    const status = statusOf(after(lost), { kind: "working", steps: neither, progress }, now);
    expect(lines(status)).toContain(
      "TargetClusterResolved=False | ClusterProfileNotReady | Not healthy",
    );
  });

  test("a removal says how many objects are left, whatever state the component was in", () => {
    const remaining = { left: 34, total: 150 };
    const status = statusOf(after(notAvailable), { kind: "removing", steps: both, remaining }, now);
    const words = "Unknown | Finalizing | Removing from the hub: 34 of 150 objects left";
    expect(lines(status)).toEqual(
      expect.arrayContaining([`InstallSucceeded=${words}`, `Ready=${words}`]),
    );
  });

  test("everything applied, Deployments not available yet", () => {
    const status = statusOf(serving(), notAvailable, now);
    expect(status.version).toBeUndefined();
    expect(status.manifests).toEqual(["knative-serving/1.23.0"]);
    expect(lines(status)).toEqual([
      "DependenciesInstalled=Unknown",
      "DeploymentsAvailable=False | NotReady | 1 of 9 not available: webhook (missing)",
      "InstallSucceeded=Unknown | Installing | 150 of 150 objects applied",
      "Ready=False | NotReady | 1 of 9 not available: webhook (missing)",
      "Reconciling=True | NotReady | 1 of 9 not available: webhook (missing)",
      "TargetClusterResolved=True",
      "VersionMigrationEligible=True",
    ]);
  });

  test("everything applied and available", () => {
    const status = statusOf(after(notAvailable), applied(), later);
    expect(status.version).toBe("1.23.0");
    expect(lines(status)).toEqual([
      "DependenciesInstalled=True",
      "DeploymentsAvailable=True",
      "InstallSucceeded=True",
      "Ready=True",
      "TargetClusterResolved=True",
      "VersionMigrationEligible=True",
    ]);
  });

  test("the same outcome gives a byte-equal status", () => {
    const once = after(applied());
    expect(JSON.stringify(statusOf(once, applied(), later))).toBe(JSON.stringify(once.status));
  });

  test("a component that waits for its cluster has not been installed", () => {
    const parked = [
      { key: { ...configMap, name: "b" }, message: "Waiting for webhook a.b" },
      { key: configMap, message: "Waiting for webhook a.b" },
    ];
    const status = statusOf(
      serving(),
      applied({ changes: { applied: [], unchanged: 148, parked, failed: [] } }),
      now,
    );
    expect(status.version).toBeUndefined();
    expect(status.manifests).toBeUndefined();
    expect(lines(status)).toContain(
      "InstallSucceeded=Unknown | Installing | 148 of 150 objects applied, 2 waiting for webhook a.b: ConfigMap ns/a: Waiting for webhook a.b (and 1 more)",
    );
  });

  test("an obsolete object that is held is named, and the version is not reached before it is gone", () => {
    const message = "Obsolete and being deleted, held by finalizer a.b/c";
    const lingering = [{ key: configMap, message }];
    const changes = { applied: [], unchanged: 150, parked: [], failed: [], lingering };
    const outcome = applied({ version: "1.24.0", changes });
    const status = statusOf(after(applied()), outcome, now);
    expect(status.version).toBe("1.23.0");
    expect(lines(status)).toContain(
      `Ready=Unknown | Installing | 150 of 150 objects applied: ConfigMap ns/a: ${message}`,
    );
    expect(nextOf(outcome, 10_000)).toEqual({ kind: "sweep", firstMs: 10_000 });
  });

  test("refused objects fail the install and keep the version", () => {
    const refused = [{ key: configMap, message: "Forbidden" }];
    const changes = { applied: [], unchanged: 149, parked: [], failed: refused };
    const status = statusOf(after(applied()), applied({ version: "1.24.0", changes }), now);
    expect(status.version).toBe("1.23.0");
    expect(lines(status)).toContain(
      "Ready=False | Error | Install failed with message: ConfigMap ns/a: Forbidden",
    );
  });

  test("a failure that is over is forgotten before the Deployments are available", () => {
    const broken = failed(new FleetError("ApplyFailed", "No"));
    expect(lines(statusOf(after(broken), notAvailable, now))).toContain(
      "InstallSucceeded=Unknown | Installing | 150 of 150 objects applied",
    );
  });

  test("a Deployment that goes down does not undo the success of the install", () => {
    const status = statusOf(after(applied()), notAvailable, now);
    expect(lines(status)).toContain("InstallSucceeded=True");
    expect(status.version).toBe("1.23.0");
  });

  test.each([
    {
      name: "a target that is not resolved",
      error: new FleetError("ClusterProfileNotFound", "ClusterProfile a/b does not exist"),
      line: "TargetClusterResolved=False | ClusterProfileNotFound | ClusterProfile a/b does not exist",
    },
    {
      name: "a spoke that was never reached",
      error: new FleetError("RemoteClientCreationFailed", "It is silent", { code: "Unreachable" }),
      line: "TargetClusterResolved=False | RemoteClientCreationFailed | [Unreachable] It is silent",
    },
    {
      name: "a version that may not be installed",
      error: new FleetError("VersionNotEligible", "too far"),
      line: "VersionMigrationEligible=False | Error | Version migration is not eligible with message: too far",
    },
    {
      name: "an apply that failed",
      error: new FleetError("ApplyFailed", "It was refused"),
      line: "InstallSucceeded=False | Error | Install failed with message: It was refused",
    },
    {
      name: "an anchor of somebody else",
      error: new FleetError("AnchorConflict", "Another hub owns it"),
      line: "InstallSucceeded=False | AnchorConflict | Another hub owns it",
    },
  ])("$name is said where upstream says it, and Ready follows", ({ error, line }) => {
    const written = lines(statusOf(after(applied()), failed(error, neither), now));
    expect(written).toContain(line);
    expect(written).toContain(line.replace(/^\w+/, "Ready"));
  });

  test("a removal that fails is called so", () => {
    const going = serving({ metadata: { deletionTimestamp: "2026-02-03T04:00:00Z" } });
    const refused = failed(new FleetError("ApplyFailed", "Deleting is not allowed"));
    expect(lines(statusOf(going, refused, now))).toContain(
      "Ready=False | Error | Removal failed with message: Deleting is not allowed",
    );
  });

  test("a lost spoke makes Unknown what was known of it, and Ready with it", () => {
    const error = new FleetError("SpokeUnreachable", "It is silent", { code: "Unreachable" });
    for (const before of [applied(), notAvailable]) {
      const status = statusOf(after(before), failed(error, neither), now);
      for (const type of ["DeploymentsAvailable", "TargetClusterResolved", "Ready"]) {
        expect(lines(status)).toContain(
          `${type}=Unknown | SpokeUnreachable | [Unreachable] It is silent`,
        );
      }
    }
  });

  test("a spoke that stays lost in the middle of the work is told once", () => {
    const lost = failed(
      new FleetError("SpokeUnreachable", "Silent", { code: "Unreachable" }),
      both,
    );
    const once = after(lost);
    expect(statusOf(once, lost, later)).toEqual(once.status);
  });

  test("a spoke that is back is not called silent by any condition, whatever fails then", () => {
    const silent = failed(new FleetError("SpokeUnreachable", "Silent"), neither);
    const conflict = failed(new FleetError("AnchorConflict", "Another hub owns it"), both);
    const status = statusOf(after(silent), conflict, later);
    expect(lines(status).filter((line) => line.includes("Silent"))).toEqual([]);
    expect(lines(status).join()).toContain("DeploymentsAvailable=Unknown | Installing");
  });

  test("a target that is not resolved leaves the install's own condition alone", () => {
    const lost = failed(new FleetError("ClusterProfileNotReady", "Not healthy"), neither);
    expect(lines(statusOf(after(applied()), lost, now))).toContain("InstallSucceeded=True");
  });

  test("a condition that is new to a ready component begins as True", () => {
    const old = serving({ status: { conditions: [{ type: "Ready", status: "True" }] } });
    const progress = { done: 150, total: 150, waiting: [], failed: 0 };
    const status = statusOf(old, { kind: "working", steps: neither, progress }, now);
    expect(lines(status)).toContain("TargetClusterResolved=True");
  });

  test("fields of the status that others write stay", () => {
    const component = serving({ status: { annotations: { a: "b" } } });
    expect(statusOf(component, applied(), now).annotations).toEqual({ a: "b" });
  });
});

describe("nextOf", () => {
  const changes = {
    applied: [],
    unchanged: 1,
    parked: [],
    failed: [{ key: configMap, message: "No" }],
  };
  const parked = {
    applied: [],
    unchanged: 1,
    parked: [{ key: configMap, message: "Wait" }],
    failed: [],
  };
  test.each([
    { name: "a component that is ready waits for a change", outcome: applied(), next: "done" },
    { name: "one whose Deployments wait is swept", outcome: notAvailable, next: "sweep" },
    {
      name: "one whose objects wait is, too",
      outcome: applied({ changes: parked }),
      next: "sweep",
    },
    {
      name: "one whose objects are refused backs off",
      outcome: applied({ changes }),
      next: "backoff",
    },
    {
      name: "a failed apply backs off",
      outcome: failed(new FleetError("ApplyFailed", "No")),
      next: "backoff",
    },
    {
      name: "a missing profile is looked up more and more rarely, because a watch tells when it comes",
      outcome: failed(new FleetError("ClusterProfileNotFound", "No")),
      next: "sweep",
    },
  ])("$name", ({ outcome, next }) => expect(nextOf(outcome, 10_000).kind).toBe(next));

  test("a removal that waits for somebody else looks every minute at the latest", () => {
    const error = new FleetError("ClusterBusy", "Waiting");
    const busy = { kind: "failed", steps: both, error, isRemoval: true } as const;
    expect(nextOf(busy, 1_000)).toEqual({ kind: "backoff", mostMs: 60_000 });
    expect(nextOf(failed(error), 1_000)).toEqual({ kind: "backoff" });
  });
});
