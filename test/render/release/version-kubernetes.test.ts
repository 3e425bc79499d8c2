import { describe, expect, test } from "vitest";

import { assertKubernetesVersion } from "../../../render/release/version.ts";

const least = (version: string) => ({ KUBERNETES_MIN_VERSION: version });

describe("a cluster", () => {
  test.each([
    { version: "v1.34.0", environment: {} },
    { version: "v1.34.0-rc.1", environment: {} },
    { version: "1.36.3", environment: {} },
    { version: "v2.0.0", environment: {} },
    { version: "v1.35.1-gke.1200", environment: {} },
    { version: "v1.35.1+k3s1", environment: {} },
    { version: "v1.25.3", environment: least("v1.25.0") },
    { version: "v1.25.3", environment: least("1.25") },
    { version: "v1.34.0", environment: least("") },
    { version: "nonsense", environment: {} },
  ])("with $version is new enough for $environment", ({ version, environment }) => {
    expect(assertKubernetesVersion(version, environment)).toBeUndefined();
  });

  test.each([
    { version: "v1.33.9", environment: {}, minimum: "v1.34.0" },
    { version: "v1.9.0", environment: {}, minimum: "v1.34.0" },
    { version: "v0.99.0", environment: {}, minimum: "v1.34.0" },
    { version: "v1.34.1", environment: least("v1.34.2"), minimum: "v1.34.2" },
    { version: "v1.33.0", environment: least(""), minimum: "v1.34.0" },
  ])("with $version is too old for $minimum", ({ version, environment, minimum }) => {
    expect(() => assertKubernetesVersion(version, environment)).toThrow(
      expect.objectContaining({
        reason: "KubernetesVersionTooOld",
        message: `The cluster runs Kubernetes ${version}, at least ${minimum} is needed`,
      }),
    );
  });

  test("is not compared with something that is no version", () => {
    expect(() => assertKubernetesVersion("v1.36.0", least("new"))).toThrow(
      expect.objectContaining({ reason: "ConfigInvalid" }),
    );
  });
});
