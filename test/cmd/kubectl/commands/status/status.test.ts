import { describe, expect, test } from "vitest";

import type { Component } from "../../../../../api/component.ts";
import {
  statusItemOf,
  worstFirst,
} from "../../../../../cmd/kubectl/commands/status/status-item.ts";
import {
  type FailOn,
  fleetStatusOf,
  statusExitCode,
} from "../../../../../cmd/kubectl/commands/status/status.ts";
import type { SpokeReading } from "../../../../../cmd/kubectl/spokes/spoke-facts.ts";
import { anchorOf, component, deployment, reading } from "../../fleet-facts.ts";

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
    severity: "warning",
    reason: null,
    exits: { error: 0, warning: 1, never: 0 },
  },
];

describe("an installation that is", () => {
  test.each(cases)("$name: $severity, $reason, exit $exits", (entry) => {
    const item = statusItemOf(entry.of, entry.reading);
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
