import { describe, expect, test } from "vitest";

import type { Manifest } from "../../../api/kubernetes.ts";
import {
  type Config,
  configMaps,
  refuseShortConfigMaps,
  unusedConfig,
  unusedConfigMessage,
} from "../../../render/features/named-objects.ts";

const map = (name: string, data?: object): Manifest => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  ...(data === undefined ? {} : { data }),
});

describe("config maps", () => {
  test.each<{ config: Config; name: string; data: object }>([
    { config: { "config-network": { a: "1" } }, name: "config-network", data: { a: "1", b: "0" } },
    { config: { network: { a: "1" } }, name: "config-network", data: { a: "1", b: "0" } },
    {
      config: { network: { a: "short" }, "config-network": { c: "full" } },
      name: "config-network",
      data: { a: "0", b: "0", c: "full" },
    },
    { config: { "default-ch": { a: "1" } }, name: "default-ch", data: { a: "1", b: "0" } },
    { config: { "-bootstrap": { a: "1" } }, name: "kourier-bootstrap", data: { a: "1", b: "0" } },
    { config: { "": { a: "1" } }, name: "seven77", data: { a: "1", b: "0" } },
    { config: { short: { a: "1" } }, name: "short", data: { a: "1", b: "0" } },
    { config: { other: { a: "1" } }, name: "config-network", data: { a: "0", b: "0" } },
    { config: {}, name: "constructor", data: { a: "0", b: "0" } },
  ])("$name with $config becomes $data", ({ config, name, data }) => {
    expect(configMaps(config)(map(name, { a: "0", b: "0" }))).toEqual(map(name, data));
  });

  test("without data get some", () => {
    expect(configMaps({ a: { b: "c" } })(map("a"))).toEqual(map("a", { b: "c" }));
  });

  test("with data that is no map are invalid", () => {
    expect(() => configMaps({ a: { b: "c" } })(map("a", ["x"]))).toThrow(
      expect.objectContaining({ reason: "ManifestInvalid" }),
    );
  });

  test.each<Config>([{}, { "": { a: "1" } }])("with a short name need more than %j", (config) => {
    expect(() => refuseShortConfigMaps(config)(map("short"))).toThrow(
      expect.objectContaining({
        reason: "ManifestInvalid",
        message: expect.stringContaining("too short"),
      }),
    );
  });

  test.each(["short", "config-network"])("named %s are allowed where that is enough", (name) => {
    const manifest = map(name);
    expect(refuseShortConfigMaps({ short: { a: "1" } })(manifest)).toBe(manifest);
  });

  test("of another API group are left alone", () => {
    const other = { ...map("a", { b: "0" }), apiVersion: "example.com/v1" };
    expect(configMaps({ a: { b: "c" } })(other)).toBe(other);
    expect(refuseShortConfigMaps({})(other)).toBe(other);
  });
});

describe("entries of spec.config without a ConfigMap", () => {
  const names = ["config-network", "kourier-bootstrap", "short"];
  test.each<{ config: Config; unused: readonly string[] }>([
    { config: { network: {}, "config-network": {}, "-bootstrap": {}, short: {} }, unused: [] },
    { config: { zone: {}, newtork: { a: "1" }, network: {} }, unused: ["newtork", "zone"] },
    { config: { "config-newtork": {} }, unused: ["config-newtork"] },
    {
      config: { "config-config-network": {}, bootstrap: {} },
      unused: ["bootstrap", "config-config-network"],
    },
  ])("of $config are $unused", ({ config, unused }) => {
    expect(unusedConfig(config, names)).toEqual(unused);
  });

  test("are told in one sentence, the first by name", () => {
    expect(unusedConfigMessage([])).toBeUndefined();
    expect(unusedConfigMessage(["a"])).toBe(
      "spec.config changes nothing for a: nothing that is installed has such a ConfigMap",
    );
    expect(unusedConfigMessage(["a", "b", "c", "d", "e", "f"])).toContain(
      "a, b, c, d, e and 1 more:",
    );
  });
});
