import { describe, expect, test } from "vitest";

import type { Component } from "../../../../../api/component.ts";
import { statusItemOf, worstFirst } from "../../../../../cmd/kubectl/fleet/status-item.ts";
import { fleetStatusOf, statusExitCode } from "../../../../../cmd/kubectl/fleet/status.ts";
import type { FailOn } from "../../../../../cmd/kubectl/main/command-flags.ts";
import type { SpokeReading } from "../../../../../cmd/kubectl/spokes/spoke-facts.ts";
import { anchorOf, component, deployment, now, reading } from "../../fleet-facts.ts";

const ready = component();
const deleting = component({ deletedAt: "2026-11-21T11:59:00Z" });
const notReady = component({ ready: { status: "False", reason: "ApplyFailed" } });
const healthy = reading([anchorOf(ready)], [deployment()]);
const broken = reading([anchorOf(ready)], [deployment({ available: false })]);
const unread = (state: "Unreachable" | "Unknown"): SpokeReading => ({
  kind: "unread",
  state,
  reason: state === "Unknown" ? "NoProviderFile" : "Timeout",
  message: "",
});

interface Case {
  readonly name: string;
  readonly of: Component;
  readonly reading: SpokeReading | undefined;
  readonly severity: string;
  readonly reason: string | null;
  readonly exits: Readonly<Record<FailOn, number>>;
}

const fine = { error: 0, warning: 0, never: 0 };
const bad = { error: 1, warning: 1, never: 0 };
const calm = { error: 0, warning: 1, never: 0 };
const rolling = reading([anchorOf(ready)], [deployment({ observedGeneration: 1 })]);

/** A component with one condition, such as `InstallSucceeded=Unknown Installing`, that it has for some minutes. */
function doing(text: string, since = "2026-11-21T11:58:00Z"): Component {
  const [, type = "", value = "", reason = ""] = /^(\w+)=(\w+) (\w+)$/.exec(text) ?? [];
  const status = value === "True" || value === "False" ? value : "Unknown";
  const one = { type, status, reason, message: "a", lastTransitionTime: since } as const;
  const conditions = [one, { ...one, type: "Ready", ...(status === "True" ? { reason: "" } : {}) }];
  return component({ status: { observedGeneration: 1, version: "1.23.0", conditions } });
}

const cases: readonly Case[] = [
  { name: "healthy twice", of: ready, reading: healthy, severity: "ok", reason: null, exits: fine },
  {
    name: "healthy on the hub, not looked at",
    of: ready,
    reading: undefined,
    severity: "ok",
    reason: null,
    exits: fine,
  },
  {
    name: "healthy on the hub, broken on the spoke",
    of: ready,
    reading: broken,
    severity: "error",
    reason: "DeploymentsNotReady",
    exits: bad,
  },
  {
    name: "healthy on the hub, spoke silent",
    of: ready,
    reading: unread("Unreachable"),
    severity: "error",
    reason: "Timeout",
    exits: bad,
  },
  {
    name: "healthy on the hub, no provider file",
    of: ready,
    reading: unread("Unknown"),
    severity: "ok",
    reason: "NoProviderFile",
    exits: { error: 3, warning: 3, never: 0 },
  },
  {
    name: "not ready on the hub, healthy on the spoke",
    of: notReady,
    reading: healthy,
    severity: "error",
    reason: "ApplyFailed",
    exits: bad,
  },
  {
    name: "being deleted",
    of: deleting,
    reading: healthy,
    severity: "progress",
    reason: null,
    exits: calm,
  },
  {
    name: "being deleted for too long",
    of: component({ deletedAt: "2026-11-21T11:30:00Z" }),
    reading: healthy,
    severity: "warning",
    reason: null,
    exits: calm,
  },
  {
    name: "installing, not looked at",
    of: doing("InstallSucceeded=Unknown Installing"),
    reading: undefined,
    severity: "progress",
    reason: "Installing",
    exits: calm,
  },
  {
    name: "installing, not there yet",
    of: doing("InstallSucceeded=Unknown Installing"),
    reading: reading([], []),
    severity: "progress",
    reason: "Installing",
    exits: calm,
  },
  {
    name: "in a rollout on the hub, and on the spoke",
    of: doing("DeploymentsAvailable=False RollingOut"),
    reading: rolling,
    severity: "progress",
    reason: "RollingOut",
    exits: calm,
  },
  {
    name: "in a rollout on the hub, on a spoke where it fails",
    of: doing("DeploymentsAvailable=False RollingOut"),
    reading: broken,
    severity: "error",
    reason: "RollingOut",
    exits: bad,
  },
  {
    name: "in a rollout on the hub for too long",
    of: doing("DeploymentsAvailable=False RollingOut", "2026-11-21T11:40:00Z"),
    reading: rolling,
    severity: "error",
    reason: "RollingOut",
    exits: bad,
  },
  {
    name: "healthy on the hub, in a rollout on the spoke",
    of: ready,
    reading: rolling,
    severity: "progress",
    reason: "RollingOut",
    exits: calm,
  },
  {
    name: "in a rollout of upstream, for which its hub has no word",
    of: doing("DeploymentsAvailable=False NotReady"),
    reading: rolling,
    severity: "progress",
    reason: "NotReady",
    exits: calm,
  },
  {
    name: "scaled to zero on the hub, not looked at",
    of: doing("DeploymentsAvailable=True ScaledToZero"),
    reading: undefined,
    severity: "warning",
    reason: "ScaledToZero",
    exits: calm,
  },
  {
    name: "healthy on the hub, scaled to zero on the spoke",
    of: ready,
    reading: reading([anchorOf(ready)], [deployment({ scaledBy: "kubectl" })]),
    severity: "warning",
    reason: "ScaledToZero",
    exits: calm,
  },
];

describe("an installation that is", () => {
  test.each(cases)("$name: $severity, $reason, exit $exits", (entry) => {
    const item = statusItemOf(entry.of, entry.reading, now);
    expect(item).toMatchObject({ severity: entry.severity, reason: entry.reason });
    const report = fleetStatusOf([item], [], { generatedAt: "", cliVersion: "" });
    const { error, warning, never } = entry.exits;
    expect(statusExitCode(report, "error")).toBe(error);
    expect(statusExitCode(report, "warning")).toBe(warning);
    expect(statusExitCode(report, "never")).toBe(never);
  });
});

describe("a fleet", () => {
  test("is sorted worst first, then by namespace and name, whatever order it came in", () => {
    const items = [
      statusItemOf(component({ namespace: "b" }), undefined),
      statusItemOf(component({ namespace: "a" }), undefined),
      statusItemOf(component({ namespace: "d", ready: { status: "False" } }), undefined),
      statusItemOf(component({ namespace: "c", deletedAt: "2026-11-21T11:59:00Z" }), undefined),
    ];
    const sorted = worstFirst(items).map(({ namespace }) => namespace);
    expect(sorted).toEqual(["d", "c", "a", "b"]);
    expect(worstFirst(items.toReversed())).toEqual(worstFirst(items));
  });

  test("lists a spoke that two installations share once in its errors, and counts causes", () => {
    const items = ["KnativeServing", "KnativeEventing"].map((kind) =>
      statusItemOf(
        component({ kind: kind === "KnativeServing" ? kind : "KnativeEventing" }),
        unread("Unreachable"),
      ),
    );
    const report = fleetStatusOf(items, [], { generatedAt: "", cliVersion: "" });
    expect(report.errors).toEqual([{ reason: "Timeout", message: "", cluster: "fleet/spoke-1" }]);
    const cause = { reason: "Timeout", code: "KNF4009", provider: null, count: 2 };
    expect(report.summary.causes).toEqual([cause]);
    expect(report.complete).toBe(false);
  });

  test("with a name that was not found exits 1", () => {
    const report = fleetStatusOf([], ["x"], { generatedAt: "", cliVersion: "" });
    expect(statusExitCode(report, "never")).toBe(1);
  });
});
