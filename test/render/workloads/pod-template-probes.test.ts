import { describe, expect, test } from "vitest";

import { withProbes } from "../../../render/workloads/pod-template.ts";
import { withContainer } from "../workload-objects.ts";

const httpGet = { path: "/", port: 8080 };
const probe = { httpGet, periodSeconds: 10, failureThreshold: 3 };

describe("probes", () => {
  test.each([
    { settings: { periodSeconds: 20 }, after: { ...probe, periodSeconds: 20 } },
    {
      settings: {
        initialDelaySeconds: 1,
        timeoutSeconds: 2,
        periodSeconds: 3,
        successThreshold: 4,
        failureThreshold: 5,
        terminationGracePeriodSeconds: 6,
      },
      after: {
        httpGet,
        initialDelaySeconds: 1,
        timeoutSeconds: 2,
        periodSeconds: 3,
        successThreshold: 4,
        failureThreshold: 5,
        terminationGracePeriodSeconds: 6,
      },
    },
    {
      settings: { periodSeconds: 0, failureThreshold: 7 },
      after: { ...probe, failureThreshold: 7 },
    },
    {
      settings: { periodSeconds: 0, terminationGracePeriodSeconds: 0 },
      after: { ...probe, terminationGracePeriodSeconds: 0 },
    },
  ])("with $settings become $after", ({ settings, after }) => {
    const overrides = [
      { container: "c", ...settings },
      { container: "c", periodSeconds: 99 },
    ];
    expect(
      withProbes(withContainer("a", { livenessProbe: probe }), "livenessProbe", [overrides]),
    ).toEqual(withContainer("a", { livenessProbe: after }));
  });

  test.each([{}, { periodSeconds: 0 }])("with %j are removed", (settings) => {
    const manifest = withContainer("a", { livenessProbe: probe, readinessProbe: probe });
    const overrides = [{ container: "c", ...settings }];
    expect(withProbes(manifest, "readinessProbe", [overrides])).toEqual(
      withContainer("a", { livenessProbe: probe }),
    );
    expect(withProbes(withContainer("a", {}), "readinessProbe", [overrides])).toEqual(
      withContainer("a", {}),
    );
  });

  test.each([{}, { livenessProbe: null }, { livenessProbe: { periodSeconds: 1 } }])(
    "of %j cannot be changed, which is said with the container's name (D-39)",
    (container) => {
      const overrides = [{ container: "c", periodSeconds: 5 }];
      expect(() => withProbes(withContainer("a", container), "livenessProbe", [overrides])).toThrow(
        expect.objectContaining({
          reason: "ManifestInvalid",
          message: expect.stringContaining("Deployment a has no livenessProbe in its container c"),
        }),
      );
    },
  );

  test("of other containers stay", () => {
    const manifest = withContainer("a", {});
    const overrides = [{ container: "other", periodSeconds: 5 }];
    expect(withProbes(manifest, "livenessProbe", [overrides])).toBe(manifest);
    expect(withProbes(manifest, "livenessProbe", [undefined, []])).toBe(manifest);
  });

  test("of several overrides are changed one after the other", () => {
    const manifest = withContainer("a", { livenessProbe: probe });
    const changed = withProbes(manifest, "livenessProbe", [
      [{ container: "c", periodSeconds: 5, timeoutSeconds: 6 }],
      undefined,
      [{ container: "c", periodSeconds: 7 }],
    ]);
    const after = { ...probe, periodSeconds: 7, timeoutSeconds: 6 };
    expect(changed).toEqual(withContainer("a", { livenessProbe: after }));
  });

  test("that an override removed cannot be changed by a later one, but by an earlier one", () => {
    const manifest = withContainer("a", { livenessProbe: probe });
    const [removal, change] = [[{ container: "c" }], [{ container: "c", periodSeconds: 5 }]];
    expect(withProbes(manifest, "livenessProbe", [change, removal])).toEqual(
      withContainer("a", {}),
    );
    expect(() => withProbes(manifest, "livenessProbe", [removal, change])).toThrow(
      expect.objectContaining({ reason: "ManifestInvalid" }),
    );
  });
});
