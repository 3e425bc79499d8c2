import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { componentReview } from "../../../webhook/reviews/component-review.ts";
import { readingOf } from "../../../webhook/reviews/provider-reader.ts";
import { admissionRequestOf } from "../../../webhook/reviews/review.ts";
import { runsOf, seed } from "../../support/fuzz.ts";
import { factsOf } from "../component-stage.ts";

const reviews = runsOf(16_000);
const files = runsOf(4_500);

/** The most processor time of this thread that one input took, in milliseconds; the first ones warm it up. Others work on this machine. */
function watched() {
  let longest = 0;
  let count = 0;
  return {
    took(before: NodeJS.CpuUsage): void {
      count += 1;
      const { user } = process.threadCpuUsage(before);
      if (count > 200) longest = Math.max(longest, user / 1_000);
    },
    longest: () => longest,
  };
}

const text = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc.constantFrom(
    "${NAME}",
    "a/b",
    "..",
    "\0",
    "__proto__",
    "constructor",
    "1.23",
    "v1.2.3-x",
    "latest",
    "https://a/b",
  ),
  fc.string({ minLength: 200, maxLength: 400 }),
);
const json = fc.jsonValue({ maxDepth: 2 });
const names = [
  "version",
  "manifests",
  "additionalManifests",
  "config",
  "registry",
  "namespace",
  "namespaceConfiguration",
];
const lists = ["workloads", "deployments", "services", "podDisruptionBudgets", "resources"];
const entry = fc.record(
  {
    name: fc.oneof(text, json),
    URL: fc.oneof(text, json),
    labels: fc.dictionary(text, fc.oneof(text, json), { maxKeys: 3 }),
    annotations: fc.dictionary(text, fc.oneof(text, json), { maxKeys: 3 }),
    replicas: fc.oneof(fc.integer(), json),
    minAvailable: fc.oneof(fc.integer(), text),
    maxUnavailable: fc.oneof(fc.integer(), text),
    env: fc.array(
      fc.oneof(
        json,
        fc.record({
          container: text,
          envVars: fc.array(
            fc.oneof(json, fc.record({ name: text, value: text, valueFrom: json })),
          ),
        }),
      ),
    ),
    resources: json,
  },
  { requiredKeys: [] },
);
const spec = fc.record(
  {
    ...Object.fromEntries(
      names.map((name) => [name, fc.oneof(text, json, entry, fc.array(entry, { maxLength: 3 }))]),
    ),
    ...Object.fromEntries(
      lists.map((name) => [
        name,
        fc.oneof(json, fc.array(fc.oneof(entry, json), { maxLength: 3 })),
      ]),
    ),
    clusterProfileRef: fc.oneof(json, fc.record({ name: text, namespace: text })),
    ingress: fc.oneof(json, fc.record({ kourier: json, istio: json })),
    "high-availability": fc.oneof(json, fc.record({ replicas: fc.integer() })),
  },
  { requiredKeys: [] },
);
const object = fc.oneof(
  { weight: 1, arbitrary: json },
  {
    weight: 6,
    arbitrary: fc.record(
      {
        metadata: fc.oneof(json, fc.record({ name: text, namespace: text })),
        spec: fc.oneof(spec, json),
        status: json,
      },
      { requiredKeys: [] },
    ),
  },
);
const body = fc.oneof(
  { weight: 1, arbitrary: json },
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant("AdmissionReview"),
      apiVersion: fc.constant("admission.k8s.io/v1"),
      request: fc.record(
        {
          uid: fc.oneof({ weight: 9, arbitrary: fc.constant("u") }, { weight: 1, arbitrary: json }),
          kind: fc.record({
            group: fc.constant("operator.knative.dev"),
            version: fc.constant("v1beta1"),
            kind: fc.constantFrom("KnativeServing", "KnativeEventing"),
          }),
          resource: fc.constant({
            group: "operator.knative.dev",
            version: "v1beta1",
            resource: "knativeservings",
          }),
          operation: fc.constantFrom("CREATE", "UPDATE", "DELETE", "CONNECT"),
          userInfo: fc.oneof(fc.constant({ username: "alice" }), json),
          object,
          oldObject: object,
          name: text,
          namespace: text,
        },
        { requiredKeys: ["uid", "kind", "resource", "operation", "userInfo"] },
      ),
    }),
  },
);

// With more runs more than 2 s: thousands of random reviews are made and looked at; KNFLEET_FUZZ_SHARE says how many.
describe("rules under random inputs", () => {
  test(`components: ${reviews} reviews never throw, and every problem has a path (seed ${seed})`, async () => {
    const accessReviews = { may: async () => true };
    const review = componentReview({
      facts: factsOf({}),
      accessReviews,
      manifestSources: [],
      manifestRight: true,
    });
    const time = watched();
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(body, async (value) => {
        const request = admissionRequestOf(value);
        if (typeof request === "string") return;
        const before = process.threadCpuUsage();
        const { violations, warnings } = await review(request, new AbortController().signal);
        time.took(before);
        refused += violations.length > 0 ? 1 : 0;
        expect(violations.every(({ path, message }) => path !== "" && message !== "")).toBe(true);
        expect(warnings.every((one) => /^(?:spec|metadata)/.test(one))).toBe(true);
      }),
      { numRuns: reviews, seed },
    );
    expect(refused).toBeGreaterThan(reviews / 20);
    // G5 says 100 ms on the machine that it is measured on.
    expect(time.longest()).toBeLessThan(500);
  }, 900_000);

  test(`provider files: ${files} texts never throw, keep to their position and do not quote (seed ${seed})`, () => {
    const time = watched();
    const canary = "canary31";
    const word = fc.oneof(
      fc.constant(canary),
      fc.string({ maxLength: 8 }),
      fc.constantFrom("name", "execConfig", "__proto__", "command", "/plugins/x", "sh"),
    );
    const provider = fc.dictionary(
      fc.oneof(word, fc.constantFrom("name", "execConfig", "timeout", "allowedServers")),
      fc.oneof(word, fc.dictionary(word, word), fc.jsonValue({ maxDepth: 3 })),
    );
    const file = fc.oneof(
      fc
        .record({
          providers: fc.array(fc.oneof(provider, fc.jsonValue({ maxDepth: 3 })), { maxLength: 5 }),
        })
        .map((one) => JSON.stringify(one, null, 1)),
      fc.jsonValue({ maxDepth: 2 }).map((one) => JSON.stringify(one)),
      fc
        .array(
          fc.constantFrom(
            "{",
            "}",
            "[",
            "]",
            ":",
            ",",
            '"',
            "- ",
            "\n",
            "  ",
            "a",
            "&a ",
            "*a",
            "!",
            "?",
            "|",
            ">",
            "#",
            "\\",
            canary,
          ),
          { maxLength: 60 },
        )
        .map((all) => all.join("")),
      fc.string({ maxLength: 200 }),
    );
    fc.assert(
      fc.property(file, fc.constantFrom("json", "yaml"), (content, format) => {
        const before = process.threadCpuUsage();
        const {
          file: read,
          problems,
          warnings,
        } = readingOf({ key: "p", text: content, format }, ["/plugins"]);
        time.took(before);
        expect(problems.every((one) => one !== "")).toBe(true);
        // Names of keys are shown, values are not.
        const values = [...problems, ...warnings].filter(
          (one) => !/^[^(]*canary31[\w.-]* \(|key [\w.-]*canary31[\w.-]* /.test(one),
        );
        expect(values.filter((one) => one.includes(canary))).toEqual([]);
        expect(read !== undefined || problems.length === 1).toBe(true);
      }),
      { numRuns: files, seed },
    );
    expect(time.longest()).toBeLessThan(500);
  }, 900_000);
});
