import { expect, test } from "vitest";

import { unknownConfigKeys } from "../../../render/remarks/config-keys.ts";

const examples: Readonly<Record<string, string>> = {
  network: "# A comment: with a colon\nauto-tls: Disabled\n# http-protocol: Enabled\n",
  domain: "example.com: |\n  selector:\n    app: a\nexample.org: |\n",
  logging: "loglevel.controller: info\nzap-logger-config: |\n  {}\n",
};

const maps = Object.entries(examples).map(([name, _example]) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: `config-${name}` },
  data: { _example, "set-by-release": "a" },
}));
const plain = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "config-plain" },
  data: { a: "b" },
};

interface Row {
  readonly name: string;
  readonly config: Parameters<typeof unknownConfigKeys>[0];
  readonly unknown: readonly string[];
}

test.each<Row>([
  { name: "of the example", config: { network: { "auto-tls": "a" } }, unknown: [] },
  { name: "in a comment", config: { network: { "http-protocol": "a" } }, unknown: [] },
  { name: "that the release sets", config: { network: { "set-by-release": "a" } }, unknown: [] },
  { name: "that are domains", config: { domain: { "a.example": "" } }, unknown: [] },
  { name: "of one kind", config: { logging: { "loglevel.activator": "debug" } }, unknown: [] },
  {
    name: "that no example has, of the Lease of one controller",
    config: { logging: { "map-lease-prefix.reconciler": "a" } },
    unknown: [],
  },
  { name: "of a ConfigMap without example", config: { plain: { any: "a" } }, unknown: [] },
  {
    name: "of an old release",
    config: { "config-network": { autoTLS: "a" } },
    unknown: [
      'spec.config.config-network.autoTLS: config-network of the release documents no such key, so that Knative most likely ignores it; did you mean "auto-tls"',
    ],
  },
  {
    name: "of a thing that is gone",
    config: { network: { "metrics.backend": "a" } },
    unknown: [
      'spec.config.network["metrics.backend"]: config-network of the release documents no such key, so that Knative most likely ignores it',
    ],
  },
])("keys $name", ({ config, unknown }) => {
  const found = unknownConfigKeys(config, [...maps, plain]);
  expect(found.map(({ path, message }) => `${path}: ${message}`)).toEqual(unknown);
});
