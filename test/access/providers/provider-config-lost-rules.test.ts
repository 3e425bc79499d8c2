import { describe, expect, test } from "vitest";

import { parseProviderFile } from "../../../access/providers/provider-config.ts";
import { rawProvider } from "../builders.ts";

const json = { path: "providers.json", format: "json" } as const;
const yaml = { path: "providers.yaml", format: "yaml" } as const;

describe("a provider file", () => {
  test.each([
    ["allowedServers", null, "allowedServers (line 1, column 201)"],
    ["allowedNamespaces", null, "allowedNamespaces"],
    ["requiredConfig", null, "requiredConfig"],
    ["requiredConfig", { clusterName: null }, "requiredConfig.clusterName"],
    ["sha256", null, "sha256"],
  ])("whose rule %s is %j does not lose the rule", (key, value, place) => {
    const content = JSON.stringify({ providers: [rawProvider("sr", { [key]: value })] });
    const [provider] = parseProviderFile(content, json).providers;
    expect(provider?.exec).toBeUndefined();
    expect(provider?.problem).toContain(`providers[0].${place}`);
  });

  test("with a rule in YAML whose entries are all commented out does not lose the rule", () => {
    const content = `providers:\n- name: sr\n  allowedServers:\n  # - a.test\n`;
    expect(parseProviderFile(content, yaml).providers[0]?.problem).toMatch(
      /^providers\[0\]\.allowedServers \(line \d, column \d+\): must be array$/,
    );
  });

  test.each(["providers: *none", "providers:\n- <<: *none\n  name: sr", "x: *later\ny: &later 1"])(
    "%j has an alias without an anchor before it, and is refused",
    (content) => {
      expect(() => parseProviderFile(content, yaml)).toThrow(
        /an alias has no anchor before it \(line \d, column \d+\)$/,
      );
    },
  );
});
