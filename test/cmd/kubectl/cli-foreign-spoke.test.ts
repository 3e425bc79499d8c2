import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { binding, configMap, fileOf, type Provider } from "./hub-file.ts";
import { runText } from "./run-text.ts";
import { startStubHub, type StubHub } from "./stub-hub.ts";
import { fleetOf, secret } from "./stub-spoke.ts";

const reader: Provider = { name: "secretreader", command: "builtin:secretreader" };

/** What a spoke says to everything but its version. */
let said: { readonly status?: number; readonly body: unknown } = { body: {} };
let foreign: StubHub;
let fine: StubHub;
let hub: StubHub;

/** The installation and the ClusterProfile of `fleetOf`, for a second spoke. */
function fleetAt(name: string, server: string): ReturnType<typeof fleetOf> {
  const text = JSON.stringify(fleetOf(server, "secretreader", { clusterName: name }));
  return JSON.parse(text.replaceAll("eu-1", name).replaceAll("team-a", `team-${name}`));
}

beforeAll(async () => {
  foreign = await startStubHub([], ({ path }) => (path === "/version" ? undefined : said));
  fine = await startStubHub([]);
  hub = await startStubHub([
    ...fleetAt("foreign", foreign.url),
    ...fleetAt("fine", fine.url),
    binding,
    configMap({ data: { "config.json": fileOf(reader) } }),
    secret("knfleet-system", "foreign", { token: "t-1" }),
    secret("knfleet-system", "fine", { token: "t-2" }),
  ]);
});
afterAll(async () => {
  for (const server of [foreign, fine, hub]) await server[Symbol.asyncDispose]();
});

const answers: readonly { readonly name: string; readonly body: unknown }[] = [
  { name: "an object that is no list", body: { kind: "Pod", metadata: {} } },
  { name: "a list whose items are none", body: { items: [null, 1, {}] } },
  { name: "a list whose items are a text", body: { items: "none" } },
  { name: "an array", body: [] },
  { name: "a number", body: 7 },
  { name: "a page in place of JSON", body: "<html>Please log in</html>" },
  { name: "brackets without end", body: "[".repeat(100_000) },
];

/** Commands with what they print of the other spoke. */
const lines = [
  { line: "status -A -o wide", fine: "team-fine" },
  { line: "tree -A", fine: "KnativeServing team-fine/knative-serving" },
  { line: "version", fine: "team-fine" },
  { line: "top -A --once", fine: "team-fine" },
  { line: "orphans", fine: "2 components and 3 clusters looked at" },
  { line: "deployments -A", fine: "1 of 2 clusters could not be read" },
] as const;

describe.each(answers)("of a spoke that answers lists with $name", ({ body }) => {
  test.each(lines)(
    "$line tells KNF4015, and goes on with the others",
    async ({ line, fine: others }) => {
      said = { body };
      const { exitCode, stdout, stderr } = await runText(line.split(" "), { env: hub.env });
      expect(exitCode).not.toBe(2);
      // A screen of top has no room for numbers.
      expect(`${stdout}${stderr}`).toMatch(/KNF4015|NotKubernetes/);
      expect(`${stdout}${stderr}`).not.toContain("Internal error");
      expect(`${stdout}${stderr}`).toContain(others);
    },
  );
});

const odd = { name: "odd", namespace: "team-foreign", uid: "u", resourceVersion: "7" };
const oddObjects: readonly { readonly name: string; readonly item: object }[] = [
  { name: "nothing but metadata", item: { metadata: odd } },
  { name: "texts as spec and status", item: { metadata: odd, spec: "text", status: "text" } },
  { name: "lists as spec and status", item: { metadata: odd, spec: [], status: [null] } },
  {
    name: "conditions and containers that are none",
    item: {
      metadata: { ...odd, labels: "none", annotations: 7, ownerReferences: {} },
      spec: { template: 1, replicas: "many", containers: [null] },
      status: { conditions: [null, "Ready"], availableReplicas: {} },
    },
  },
];

describe.each(oddObjects)("of a spoke whose objects have $name", ({ item }) => {
  // Not every one of them has a failure of a cluster to count, so that deployments are left out.
  test.each(lines.slice(0, -1))("$line goes on with the others", async ({ line, fine: others }) => {
    said = { body: { metadata: { resourceVersion: "7" }, items: [item] } };
    const { exitCode, stdout, stderr } = await runText(line.split(" "), { env: hub.env });
    expect(exitCode).not.toBe(2);
    expect(`${stdout}${stderr}`).not.toContain("Internal error");
    expect(`${stdout}${stderr}`).toContain(others);
  });
});
