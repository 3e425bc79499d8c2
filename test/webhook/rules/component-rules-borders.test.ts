import { expect, test } from "vitest";

import { linesOf, review, written } from "../component-stage.ts";

const workload = (fields: object) => ({ workloads: [{ name: "a", ...fields }] });
const requests = (amount: unknown) =>
  workload({ resources: [{ container: "c", requests: { cpu: amount } }] });
const liveness = (fields: object) => workload({ livenessProbes: [{ container: "c", ...fields }] });
const spread = (fields: object) => {
  const usual = { maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "ScheduleAnyway" };
  const labelSelector = { matchLabels: { a: "b" } };
  return workload({ topologySpreadConstraints: [{ ...usual, labelSelector, ...fields }] });
};
const variable = (valueFrom: object) =>
  workload({ env: [{ container: "c", envVars: [{ name: "A", valueFrom }] }] });
const keyOf = (key: string) => variable({ configMapKeyRef: { name: "a", key } });
const image = (queue: string) => ({ registry: { override: { queue } } });
const digest = `@sha256:${"0".repeat(64)}`;
const budget = (minAvailable: unknown) => ({ podDisruptionBudgets: [{ name: "a", minAvailable }] });
const kourier = (port: number) => ({
  ingress: {
    kourier: { enabled: true, "service-type": "NodePort", "http-port": port },
  },
});
const label = (name: string) => ({ namespace: { labels: { [name]: "a" } } });
const nested = (levels: number): unknown =>
  Array.from({ length: levels - 1 }).reduce((inner) => [inner], []);

const rows: readonly { name: string; good: object; bad: object; line: string }[] = [
  { name: "a request", good: requests("0"), bad: requests("-1m"), line: "must not be negative" },
  {
    name: "the seconds of a probe",
    good: liveness({ periodSeconds: 0, timeoutSeconds: 3 }),
    bad: liveness({ periodSeconds: -1 }),
    line: "must not be negative",
  },
  {
    name: "the successes of a liveness probe",
    good: liveness({ successThreshold: 1 }),
    bad: liveness({ successThreshold: 2 }),
    line: "must be 1 for a liveness probe",
  },
  {
    name: "the grace of a liveness probe",
    good: liveness({ terminationGracePeriodSeconds: 1 }),
    bad: liveness({ terminationGracePeriodSeconds: 0 }),
    line: "must be at least 1",
  },
  {
    name: "the domains of a constraint that may be broken",
    good: spread({}),
    bad: spread({ minDomains: 1 }),
    line: "needs whenUnsatisfiable DoNotSchedule",
  },
  {
    name: "the key of a ConfigMap",
    good: keyOf("a.b-c_1"),
    bad: keyOf("a b"),
    line: "must be a key of letters",
  },
  {
    name: "the source of a variable",
    good: variable({ fieldRef: { fieldPath: "metadata.name" } }),
    bad: variable({
      fieldRef: { fieldPath: "metadata.name" },
      secretKeyRef: { name: "a", key: "b" },
    }),
    line: "takes one source, not 2",
  },
  {
    name: "the tag of an image",
    good: image(`r.example.com:5000/a/b:v1.2${digest}`),
    bad: image("r.example.com:5000/a/b:-"),
    line: "must be an image reference",
  },
  {
    name: "the digest of an image",
    good: image(`a${digest}`),
    bad: image(`a${digest}${digest}`),
    line: "must be an image reference",
  },
  {
    name: "the registry of an image",
    good: image("R.example.com/a"),
    bad: image("R.example.com"),
    line: "must be an image reference",
  },
  {
    name: "the share of a PodDisruptionBudget",
    good: budget("100%"),
    bad: budget("10%0"),
    line: "must be a whole number that is not negative, or a percentage",
  },
  {
    name: "the label of a Namespace",
    good: label("example.com/managed-by"),
    bad: label("app.kubernetes.io/managed-by"),
    line: "is set by knfleet itself",
  },
];

test.each(rows)("$name is taken at the border and refused beyond it", async (row) => {
  expect(linesOf(await review(written(row.good)))).toEqual([]);
  expect(linesOf(await review(written(row.bad)))).toEqual([expect.stringContaining(row.line)]);
});

test.each([
  { levels: 62, isTooDeep: false },
  { levels: 63, isTooDeep: true },
])("a spec with a list of $levels levels is too deep: $isTooDeep", async (row) => {
  // Above the list are the object and its spec.
  const lines = linesOf(await review(written({ lists: nested(row.levels) })));
  const line = "422 spec: must not be nested deeper than 64 levels";
  expect(lines.filter((one) => one === line)).toHaveLength(row.isTooDeep ? 1 : 0);
});

test.each([
  { port: 29_999, isUsual: false },
  { port: 30_000, isUsual: true },
  { port: 32_767, isUsual: true },
  { port: 32_768, isUsual: false },
])("the port $port is one that clusters have by default: $isUsual", async ({ port, isUsual }) => {
  const { warnings } = await review(written(kourier(port)));
  const about = warnings.filter((line) => line.includes("is outside 30000 to 32767"));
  expect(about).toHaveLength(isUsual ? 0 : 1);
});

test("what the API server itself writes on an object does not make it too large", async () => {
  const managedFields = Array.from({ length: 5_000 }, () => ({ manager: "a" }));
  expect(linesOf(await review(written({}, { metadata: { managedFields } })))).toEqual([]);
  const ownerReferences = managedFields;
  expect(linesOf(await review(written({}, { metadata: { ownerReferences } })))).toEqual([
    "422 spec: must not hold more than 4096 list elements (holds 5000)",
  ]);
});
