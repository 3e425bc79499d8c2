import { describe, expect, test } from "vitest";

import type { Manifest } from "../../../api/kubernetes.ts";
import { defaultBroker } from "../../../render/features/eventing.ts";
import type { Config } from "../../../render/features/named-objects.ts";

const key = "default-br-config";

function map(data: Record<string, string> | undefined, name = "config-br-defaults"): Manifest {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data };
}

function textAfter(text: string, brokerClass?: string): unknown {
  return defaultBroker(brokerClass, {})(map({ [key]: text }))["data"];
}

describe("the default broker", () => {
  test.each([
    { brokerClass: undefined, name: "MTChannelBasedBroker" },
    { brokerClass: "", name: "MTChannelBasedBroker" },
    { brokerClass: "Kafka", name: "Kafka" },
  ])("is of the class $name for $brokerClass", ({ brokerClass, name }) => {
    const text =
      "clusterDefault:\n  name: b\n  brokerClass: Old\n  apiVersion: v1\nnamespaceDefaults:\n  x: {a: [1, 2]}\n";
    expect(textAfter(text, brokerClass)).toEqual({
      [key]: `clusterDefault:\n  apiVersion: v1\n  brokerClass: ${name}\n  name: b\nnamespaceDefaults:\n  x:\n    a:\n    - 1\n    - 2\n`,
    });
  });

  test("is read and written as YAML 1.1, without anchors", () => {
    const text =
      'clusterDefault: {name: b}\nnamespaceDefaults:\n  a: &a {name: "yes", retry: 010}\n  b: *a\n  c: {<<: *a, name: on}\n';
    expect(textAfter(text)).toEqual({
      [key]: `clusterDefault:\n  brokerClass: MTChannelBasedBroker\n  name: b\nnamespaceDefaults:\n  a:\n    name: "yes"\n    retry: 8\n  b:\n    name: "yes"\n    retry: 8\n  c:\n    name: true\n    retry: 8\n`,
    });
  });

  test.each(["namespaceDefaults: {}", "namespaceDefaults:"])("has no use for %s", (line) => {
    expect(textAfter(`clusterDefault: {a: b}\n${line}\n`)).toEqual({
      [key]: "clusterDefault:\n  a: b\n  brokerClass: MTChannelBasedBroker\n",
    });
  });

  test.each<{ config: Config }>([
    { config: { "br-defaults": { [key]: "clusterDefault: {brokerClass: A}" } } },
    { config: { "config-br-defaults": { [key]: "namespaceDefaults: {x: {brokerClass: A}}" } } },
    {
      config: {
        "br-defaults": { [key]: "# brokerClass: not even text" },
        "config-br-defaults": {},
      },
    },
  ])("is left to $config", ({ config }) => {
    const manifest = map({ [key]: "clusterDefault: [broken" });
    expect(defaultBroker("Kafka", config)(manifest)).toBe(manifest);
  });

  test("does not concern other objects", () => {
    const other = map({ [key]: "[broken" }, "config-br-default-channel");
    expect(defaultBroker("Kafka", {})(other)).toBe(other);
  });

  test.each<{ name: string; data: Record<string, string> | undefined; problem: string }>([
    { name: "no text", data: { [key]: "", b: "1" }, problem: "map[b:1 default-br-config:]" },
    { name: "no data", data: undefined, problem: "ConfigMap is missing (or empty) key" },
    {
      name: "broken YAML",
      data: { [key]: "clusterDefault: [a" },
      problem: "Failed to parse the entry",
    },
    { name: "no object", data: { [key]: "just text" }, problem: "has no clusterDefault" },
    {
      name: "defaults for namespaces only",
      data: { [key]: "namespaceDefaults: {}" },
      problem: "has no clusterDefault",
    },
  ])("cannot be set in $name", ({ data, problem }) => {
    expect(() => defaultBroker(undefined, {})(map(data))).toThrow(
      expect.objectContaining({
        reason: "ManifestInvalid",
        message: expect.stringContaining(problem),
      }),
    );
  });
});
