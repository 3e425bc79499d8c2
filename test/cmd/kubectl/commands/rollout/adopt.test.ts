import { join } from "node:path";

import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import type { ClusterProfile } from "../../../../../api/cluster-profile.ts";
import {
  type Component,
  type KnativeServing,
  operatorApiVersion,
} from "../../../../../api/component.ts";
import { isSameJson } from "../../../../../api/fields.ts";
import type { KubeObject } from "../../../../../api/kubernetes.ts";
import { adoptionSet } from "../../../../../cmd/kubectl/commands/rollout/adoption-set.ts";
import { commonOf, patchBetween } from "../../../../../cmd/kubectl/commands/rollout/common-spec.ts";
import { DesiredSpecs, mergePatch } from "../../../../../sets/desired-spec.ts";
import { textOf } from "../../golden/looks.ts";
import { runText } from "../../run-text.ts";
import { type Answer, forbidden, startStubHub } from "../../stub-hub.ts";

const golden = join(import.meta.dirname, "../../../../golden/rollout");

type Spec = NonNullable<KnativeServing["spec"]>;

function profile(name: string, namespace = "fleet"): ClusterProfile {
  return {
    apiVersion: "multicluster.x-k8s.io/v1alpha1",
    kind: "ClusterProfile",
    metadata: { namespace, name, uid: `uid-${namespace}-${name}`, resourceVersion: "1" },
  };
}

function component(
  cluster: string,
  spec: Spec,
  more: Partial<Component["metadata"]> = {},
): Component {
  return {
    apiVersion: operatorApiVersion,
    kind: "KnativeServing",
    metadata: {
      namespace: "platform",
      name: cluster,
      uid: `uid-of-${cluster}`,
      resourceVersion: "1",
      ...more,
    },
    spec: { clusterProfileRef: { namespace: "fleet", name: cluster }, ...spec },
  };
}

const wanted = {
  kind: "KnativeServingSet",
  name: "fleet",
  namespace: "platform",
  profiles: undefined,
} as const;

const usual: Spec = { version: "1.23", config: { network: { "ingress-class": "kourier" } } };
const components = [
  component("eu-1", usual),
  component("eu-2", { ...usual, "high-availability": { replicas: 3 } }),
  component("eu-3", { ...usual, "high-availability": { replicas: 3 } }),
  component("us-1", {
    version: "1.22",
    config: { network: {}, logging: { level: "$(cluster.name)" } },
  }),
  component("us-2", usual),
];

describe("the set of components that exist", () => {
  test("has what most share in the template, and the rest in overrides by names", () => {
    const { set, leftOut, problems } = adoptionSet(components, wanted);
    expect({ leftOut, problems }).toEqual({ leftOut: [], problems: [] });
    expect(set.spec.template).toEqual({ spec: usual });
    expect(set.spec.overrides).toEqual([
      {
        name: "eu-2-and-1-more",
        clusters: ["eu-2", "eu-3"],
        patch: { "high-availability": { replicas: 3 } },
      },
      {
        name: "us-1",
        clusters: ["us-1"],
        patch: {
          version: "1.22",
          config: {
            network: { "ingress-class": null },
            logging: { level: "$$(cluster.name)" },
          },
        },
      },
    ]);
  });

  test("excludes clusters that have none", () => {
    const profiles = [...components, component("us-9", {})].map(({ metadata }) =>
      profile(metadata.name),
    );
    const { set } = adoptionSet(components, { ...wanted, profiles });
    expect(set.spec.clusters).toEqual({
      from: "Selector",
      selector: { namespaces: ["fleet"] },
      exclude: [{ name: "us-9", namespace: "fleet", reason: "no KnativeServing of this set" }],
    });
  });

  test.each([
    [
      "on the hub itself",
      { ...component("hub", usual), spec: usual },
      "is installed on the hub itself, which no set can select",
    ],
    [
      "of another set",
      component("eu-8", usual, { labels: { "knfleet.dev/set": "prod" } }),
      "belongs to the set prod",
    ],
    [
      "that is being deleted",
      component("eu-8", usual, { deletionTimestamp: "2026-11-21T11:00:00Z" }),
      "is being deleted",
    ],
    [
      "on a cluster that has one",
      component("twin", { ...usual, clusterProfileRef: { namespace: "fleet", name: "eu-1" } }),
      "another component is for the same cluster",
    ],
    [
      "whose cluster shares its name",
      component("other", {
        version: "1.21",
        clusterProfileRef: { namespace: "lab", name: "eu-1" },
      }),
      "another ClusterProfile has the name eu-1 too, and overrides select clusters by name only",
    ],
  ] as const)("leaves one out %s", (_, one, why) => {
    const { set, leftOut } = adoptionSet([...components, one], wanted);
    expect(leftOut).toEqual([`KnativeServing platform/${one.metadata.name}: ${why}`]);
    expect(set).toEqual(adoptionSet(components, wanted).set);
  });

  test("says which limits of a set it exceeds", () => {
    const many = Array.from({ length: 65 }, (_, at) =>
      component(`c-${at}`, { registry: { default: `registry-${at}` } }),
    );
    const profiles = Array.from({ length: 400 }, (_, at) => profile(`c-${at}`));
    expect(adoptionSet(many, { ...wanted, profiles }).problems).toEqual([
      "a set has at most 64 overrides, and this one 65",
      "a set has at most 256 excluded clusters, and this one 335",
    ]);
  });
});

const leaf = fc.oneof(
  fc.constantFrom(
    "1.22",
    "1.23",
    "$(cluster.name)",
    "$$(cluster.labels[a])",
    "$$$(cluster.x",
    "$(A)",
  ),
  fc.integer({ min: 0, max: 3 }),
  fc.boolean(),
  fc.array(fc.constantFrom("a", "$(cluster.namespace)"), { maxLength: 2 }),
  fc.constantFrom(null, {}),
);
const names = fc.constantFrom("version", "config", "manifests", "a", "b", "__proto__");
const { spec } = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 3 }, leaf, tie("spec")),
  spec: fc.dictionary(names, tie("value"), { maxKeys: 4 }),
}));
const specs = fc.array(spec, { minLength: 1, maxLength: 6 });

/** What an API server would have stored; tests decide what it holds. */
function isSpec(_value: unknown): _value is Spec {
  return true;
}

describe("for any components", () => {
  test("the set gives every one that it does not leave out exactly its spec", () => {
    fc.assert(
      fc.property(specs, (all) => {
        const made = all.map((one, at) => component(`c-${at}`, isSpec(one) ? one : {}));
        const { set, leftOut } = adoptionSet(made, wanted);
        const desired = new DesiredSpecs(set.spec);
        const isRight = ({ metadata, spec: whole }: Component): boolean => {
          const title = `KnativeServing platform/${metadata.name}:`;
          // Only a null is a reason to leave one out.
          if (leftOut.some((text) => text.startsWith(title))) return hasNull(whole);
          const { clusterProfileRef: _ref, ...own } = whole ?? {};
          return isSameJson(recordIn(desired.of(profile(metadata.name))), own);
        };
        expect(made.filter((one) => !isRight(one))).toEqual([]);
      }),
    );
  });

  test("a patch makes one spec of another, unless there is a null in it", () => {
    const plain = specs.filter((all) => !hasNull(all));
    fc.assert(
      fc.property(plain, (all) => {
        const common = commonOf(all.map(recordOf));
        for (const one of all) {
          expect(mergePatch(common, patchBetween(common, recordOf(one)))).toEqual(one);
        }
      }),
    );
  });
});

function hasNull(value: unknown): boolean {
  return JSON.stringify(value).includes("null");
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null
    ? Object.fromEntries(Object.entries(value))
    : {};
}

function recordIn(desired: ReturnType<DesiredSpecs["of"]>): Readonly<Record<string, unknown>> {
  return "spec" in desired ? desired.spec : {};
}

async function ran(args: readonly string[], on: readonly KubeObject[], answer?: Answer) {
  await using hub = await startStubHub(on, answer);
  const said = await runText(["rollout", "adopt", ...args, "-n", "platform"], {
    env: { LANG: "C.UTF-8", ...hub.env },
  });
  return { ...said, writes: hub.requests.filter((one) => !one.startsWith("GET ")) };
}

const profiles = ["eu-1", "eu-2", "eu-3", "us-1", "us-2", "us-9"].map((name) => profile(name));

/** ClusterProfiles may not be listed. */
const denied: Answer = ({ path }) => {
  return path.endsWith("/clusterprofiles") ? forbidden() : undefined;
};

describe("rollout adopt", () => {
  test("prints the set, and writes nothing", async () => {
    const said = await ran(["ks"], [...components, ...profiles]);
    expect(said.writes).toEqual([]);
    await expect(textOf(said)).toMatchFileSnapshot(join(golden, "adopt.txt"));
  });

  test("prints it as JSON, with its name", async () => {
    const { stdout } = await ran(["ks", "--name", "prod", "-o", "json"], components);
    expect(JSON.parse(stdout)).toMatchObject({
      kind: "KnativeServingSet",
      metadata: { name: "prod", namespace: "platform" },
    });
  });

  test("says what it leaves out, and exits with 3", async () => {
    const on = [...components, { ...component("hub", usual), spec: usual }, ...profiles];
    const { exitCode, stderr } = await ran(["ks"], on);
    expect(exitCode).toBe(3);
    expect(stderr).toContain(
      "warning: left out: KnativeServing platform/hub: is installed on the hub",
    );
  });

  test("without the right to list ClusterProfiles says so", async () => {
    const { exitCode, stderr } = await ran(["ks"], components, denied);
    expect(exitCode).toBe(3);
    expect(stderr).toContain("ClusterProfiles could not be listed");
  });

  test("of nothing exits with 1", async () => {
    const { exitCode, stderr } = await ran(["ke"], components);
    expect(exitCode).toBe(1);
    expect(stderr).toContain("error: No KnativeEventing found in namespace platform");
  });

  test.each([
    [
      "when all belong to a set",
      [component("eu-1", usual, { labels: { "knfleet.dev/set": "prod" } })],
    ],
    ["when all are on the hub itself", [{ ...component("hub", usual), spec: usual }]],
    [
      "when each has its own obstacle",
      [
        component("eu-1", usual, { deletionTimestamp: "2026-11-21T11:00:00Z" }),
        component("eu-2", usual, { labels: { "knfleet.dev/set": "prod" } }),
      ],
    ],
  ] as const)("prints no set %s, and says why", async (_, on) => {
    const { exitCode, stdout, stderr } = await ran(["ks"], [...on, ...profiles]);
    expect(stdout).toBe("");
    expect(exitCode).toBe(1);
    expect(stderr).toContain(
      "error: No KnativeServing of namespace platform can become part of a new set",
    );
    expect(stderr.match(/^cause: KnativeServing platform\//gm)).toHaveLength(on.length);
    expect(stderr).toContain("next: kubectl knfleet status -A --no-live");
  });

  test.each([
    [[], "Name one type"],
    [["ks/a"], "Name one type"],
    [["ks", "--name", "A"], "--name"],
    [["ks", "-A"], "its own namespace"],
  ] as const)("refuses %j", async (args, says) => {
    const { exitCode, stderr } = await ran(args, components);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(says);
  });
});
