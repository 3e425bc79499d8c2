import { beforeAll, describe, expect, test } from "vitest";

import type { Component, KnativeServing } from "../../api/component.ts";
import { timestampOf } from "../../api/conditions.ts";
import { FleetError } from "../../api/errors.ts";
import { setAnnotations, setLabels } from "../../api/fleet-set.ts";
import { openReleases } from "../../cmd/open-releases.ts";
import { sampleDirOf } from "../../cmd/release-files.ts";
import { statusOf } from "../../controller/status/component-status.ts";
import type { Outcome } from "../../controller/status/outcome.ts";
import type { Releases } from "../../render/release/releases.ts";
import { assertVersionLabels } from "../../render/release/version.ts";
import { render } from "../../render/render.ts";
import { clusterState, type Timing } from "../../sets/cluster-state.ts";
import { statesByReason } from "../../sets/component-condition.ts";
import { serving } from "../support/component.ts";

const now = Date.parse("2026-11-25T12:00:00Z");
const secondsAgo = (seconds: number): Date => new Date(now - seconds * 1_000);
const timing: Timing = {
  now,
  minReadyMs: 0,
  deadlineMs: 900_000,
  resumedAt: 0,
  retriedAt: 0,
  isPaused: false,
  isHalted: false,
  mayBeHalted: false,
};

let releases: Releases;
const kourier = { ingress: { kourier: { enabled: true } } };

beforeAll(async () => {
  releases = await openReleases(sampleDirOf());
});

/** When a revision was stamped, and when the attempt ended that the status tells of, in seconds before now. */
interface Ago {
  readonly stamped: number;
  readonly attempted: number;
}

/** A component at 1.22.0 after a stamp and an attempt. */
function stampedChild(outcome: Outcome, { stamped, attempted }: Ago): Component {
  const child = serving({
    metadata: {
      generation: 2,
      labels: { [setLabels.revision]: "prod-2" },
      annotations: {
        [setAnnotations.updatedAt]: timestampOf(secondsAgo(stamped)),
        [setAnnotations.spec]: "hash",
      },
    },
    status: { version: "1.22.0" },
  });
  return { ...child, status: statusOf(child, outcome, secondsAgo(attempted)) };
}

function stateAfter(outcome: Outcome, ago: Ago = { stamped: 120, attempted: 100 }): string {
  const { name, reason } = clusterState(
    {
      profile: {
        apiVersion: "multicluster.x-k8s.io/v1alpha1",
        kind: "ClusterProfile",
        metadata: { namespace: "fleet", name: "a", uid: "a", resourceVersion: "1" },
        status: { conditions: [{ type: "ControlPlaneHealthy", status: "True" }] },
      },
      child: stampedChild(outcome, ago),
      desired: { spec: {}, hash: "hash" },
      revision: "prod-2",
      excluded: undefined,
      obstacle: undefined,
    },
    timing,
  );
  return `${name} ${reason}`;
}

function failed(error: unknown): Outcome {
  if (!(error instanceof FleetError))
    throw new Error("No failure of a component", { cause: error });
  return { kind: "failed", steps: { eligible: false, resolved: true }, error };
}

async function failureOf(work: () => unknown): Promise<Outcome> {
  const error: unknown = await Promise.try(work).then(
    () => undefined,
    (cause: unknown) => cause,
  );
  return failed(error);
}

function rendering(spec: KnativeServing["spec"]): Promise<Outcome> {
  const component = serving({ spec, status: { version: "1.23.0" } });
  return failureOf(() => render(component, releases));
}

describe("a failure that the condition calls Error", () => {
  test.each([
    ["a release that is not there", { version: "1.22.9" }, "Failed ReleaseNotFound"],
    [
      "an ingress that is not there",
      { version: "1.22", ingress: { "gateway-api": { enabled: true } } },
      "Failed ReleasePartNotFound",
    ],
    [
      "a field that cannot be used",
      { version: "1.23", ...kourier, registry: { default: "r".repeat(100_000) } },
      "Failed ManifestInvalid",
    ],
    [
      "a patch that fits nothing",
      {
        version: "1.23",
        ...kourier,
        patches: [
          {
            target: { apiVersion: "v1", kind: "Secret", name: "none" },
            patch: { type: "merge", content: '{"data":{}}' },
          },
        ],
      },
      "Failed ManifestInvalid",
    ],
  ] satisfies readonly (readonly [string, KnativeServing["spec"], string])[])(
    "is final at once: %s",
    async (_, spec, expected) => {
      expect(stateAfter(await rendering(spec))).toBe(expected);
    },
  );

  test("is final at once: manifests of another version", async () => {
    const metadata = { name: "webhook", labels: { "app.kubernetes.io/version": "1.22.0" } };
    const manifest = { apiVersion: "v1", kind: "ConfigMap", metadata };
    const outcome = await failureOf(() => assertVersionLabels([manifest], "1.23.0"));
    expect(stateAfter(outcome)).toBe("Failed ManifestInvalid");
  });

  test.each([
    "Manifest https://example.com/a.yaml is not valid YAML",
    "webhook deployment not found in manifest",
    "The spec names more than 20 manifests",
    "There is no object in the release files of serving",
  ])("is final at once, whatever its text is: %s", (message) => {
    expect(stateAfter(failed(new FleetError("ManifestInvalid", message)))).toBe(
      "Failed ManifestInvalid",
    );
  });

  test.each([
    ["what the cluster refused", new FleetError("ApplyFailed", "ConfigMap knative/a: No")],
    [
      "a refusal that quotes the text of a final failure",
      new FleetError("ApplyFailed", "ConfigMap knative/a: spec.registry.default: No"),
    ],
  ])("counts at the deadline when its text does not say that it is final: %s", (_, error) => {
    expect(stateAfter(failed(error))).toBe("Updating Error");
    expect(stateAfter(failed(error), { stamped: 910, attempted: 901 })).toBe("TimedOut Error");
  });

  test("counts only when it is about the spec that was stamped", () => {
    const text = "the manifests of the target version 1.99.0 are not available to this release";
    const outcome = failed(new FleetError("ReleaseNotFound", text));
    expect(stateAfter(outcome, { stamped: 59, attempted: 70 })).toBe("Updating ReleaseNotFound");
  });
});

const kept = ["ApplyFailed", "ManifestInvalid", "ReleaseNotFound", "DeploymentsNotReady"];
const told = Object.entries(statesByReason).filter(
  ([reason]) => !kept.includes(reason) && reason !== "VersionNotEligible",
);

test.each(["ProgressDeadlineExceeded", "no progress for 10 minutes"])(
  "a component with a workload that says %s is Failed, also before its deadline",
  (words) => {
    const message = `1 of 9 not available: StatefulSet a (0 of 1 pods available, ${words})`;
    const outcome: Outcome = {
      kind: "applied",
      version: "1.23.0",
      paths: [],
      changes: { applied: [], unchanged: 150, parked: [], failed: [] },
      readiness: { available: false, message },
    };
    expect(stateAfter(outcome)).toBe("Failed NotReady");
  },
);

test.each(told)("a component that failed with %s is %s", (reason, expected) => {
  const outcome = failed(Object.assign(new FleetError("ApplyFailed", "No"), { reason }));
  expect(stateAfter(outcome)).toBe(`${expected} ${reason}`);
});

test("a component whose version may not be installed is Blocked, though its condition says Error", () => {
  const outcome = failed(new FleetError("VersionNotEligible", "Too far"));
  expect(stateAfter(outcome)).toBe("Blocked VersionNotEligible");
});
