import { expect, test } from "vitest";

import type { ClusterProfile } from "../../../api/cluster-profile.ts";
import { sourceOfCluster } from "../../../controller/discovery/cluster-api-source.ts";
import { planProfiles } from "../../../controller/discovery/plan.ts";
import { sourcesOfSecret } from "../../../controller/discovery/secret-source.ts";
import { producers, type Producer, type Source } from "../../../controller/discovery/source.ts";
import { clusterOf, profileOn, secretOf, settings } from "./source-objects.ts";

function secretIn(namespace: string, name: string, createdAt = "1"): readonly Source[] {
  const metadata = { namespace, creationTimestamp: createdAt };
  return sourcesOfSecret(secretOf(name, { metadata }), settings, Date.now());
}

function clusterIn(namespace: string, name: string): readonly Source[] {
  return [sourceOfCluster(clusterOf(name, {}, { namespace }))];
}

const fromSecret = (namespace: string, name: string): string => `v1/Secret/${namespace}/${name}/u`;
const long = "n".repeat(80);

const table: readonly {
  readonly name: string;
  readonly sources?: readonly (readonly Source[])[];
  readonly profiles?: readonly ClusterProfile[];
  readonly namespace?: string;
  readonly complete?: readonly Producer[];
  /** By profile: what is planned, and for which source. */
  readonly plan: Readonly<Record<string, string>>;
}[] = [
  {
    name: "a source gets its name in the namespace of the profiles",
    sources: [secretIn("a", "x")],
    plan: { "fleet/x": "discovered a" },
  },
  {
    name: "without such a namespace, a profile stands beside its source",
    namespace: "",
    sources: [secretIn("a", "x"), secretIn("b", "x")],
    plan: { "a/x": "discovered a", "b/x": "discovered b" },
  },
  {
    name: "of two sources with one name, the older one gets it",
    sources: [secretIn("a", "x", "2"), secretIn("b", "x", "1")],
    plan: { "fleet/x": "discovered b", "fleet/a-x": "discovered a" },
  },
  {
    name: "a source keeps its profile when an older one comes",
    sources: [secretIn("a", "x", "2"), secretIn("b", "x", "1")],
    profiles: [profileOn("fleet/x", { from: fromSecret("a", "x") })],
    plan: { "fleet/x": "discovered a", "fleet/b-x": "discovered b" },
  },
  {
    name: "a source keeps its longer name when the shorter one becomes free",
    sources: [secretIn("b", "x")],
    profiles: [profileOn("fleet/b-x", { from: fromSecret("b", "x") })],
    plan: { "fleet/b-x": "discovered b" },
  },
  {
    name: "the profile of a source that is gone goes to no other source",
    sources: [secretIn("b", "x")],
    profiles: [profileOn("fleet/x", { from: fromSecret("a", "x") })],
    plan: { "fleet/x": "gone", "fleet/b-x": "discovered b" },
  },
  {
    name: "a renamed source gets another profile",
    sources: [secretIn("a", "y")],
    profiles: [profileOn("fleet/x", { from: fromSecret("a", "x") })],
    plan: { "fleet/x": "gone", "fleet/y": "discovered a" },
  },
  {
    name: "three sources can want the same two names",
    sources: [
      secretIn("a", "x", "1"),
      secretIn("a", "x-kubeconfig", "2"),
      secretIn("b", "a-x", "0"),
    ],
    plan: {
      "fleet/x": "discovered a",
      "fleet/a-x": "discovered b",
      "fleet/a-x-*": "discovered a",
    },
  },
  {
    name: "a profile of another manager is left alone",
    sources: [secretIn("a", "x"), secretIn("a", "y")],
    profiles: [profileOn("fleet/x", { manager: "ocm" }), profileOn("fleet/z", { manager: "ocm" })],
    plan: { "fleet/x for Secret/a/x": "taken a by ocm", "fleet/y": "discovered a" },
  },
  {
    name: "a registered profile is left alone, too, but for its health",
    sources: [secretIn("a", "x")],
    profiles: ["fleet/x", "fleet/y"].map((key) => profileOn(key, { manager: "knfleet-register" })),
    plan: {
      "fleet/x for Secret/a/x": "taken a by knfleet-register",
      "fleet/x": "registered",
      "fleet/y": "registered",
    },
  },
  {
    name: "the profile of one producer is not for a source of another one",
    sources: [clusterIn("a", "x")],
    profiles: [profileOn("fleet/x", { from: fromSecret("a", "x") })],
    plan: { "fleet/x": "gone", "fleet/a-x": "discovered a" },
  },
  {
    name: "profiles stay as they are until all sources are known",
    complete: ["cluster-api"],
    profiles: [profileOn("fleet/x", { from: fromSecret("a", "x") })],
    plan: {},
  },
  {
    name: "a long name is cut and ends with its hash",
    sources: [secretIn("a", long), secretIn("a", `${long}2`)],
    plan: { "fleet/n*": "discovered a", "fleet/n**": "discovered a" },
  },
];

test.each(table)("$name", ({ sources = [], profiles = [], plan, ...facts }) => {
  const { namespace = "fleet", complete = producers } = facts;
  const planned = planProfiles({ sources: sources.flat(), profiles, namespace, complete });
  const texts = [...planned].map(([key, one]) => {
    const source = "source" in one ? ` ${one.source.object.metadata.namespace}` : "";
    return [
      key,
      `${one.kind}${source}${one.kind === "taken" ? ` by ${one.manager}` : ""}`,
    ] as const;
  });
  const wanted = Object.entries(plan);
  expect(texts.map(([, text]) => text).toSorted()).toEqual(
    wanted.map(([, text]) => text).toSorted(),
  );
  for (const [key] of wanted) {
    const pattern = new RegExp(`^${key.replaceAll(/\*+/g, "[a-z0-9-]+")}$`);
    expect(texts.some(([name]) => pattern.test(name))).toBe(true);
  }
  for (const [key] of texts) expect(key.split(/[/ ]/)[1]?.length).toBeLessThanOrEqual(63);
});

test("a profile of one context goes to no other context of its Secret", () => {
  const metadata = { annotations: { "knfleet.dev/contexts": "*" } };
  const sources = sourcesOfSecret(
    secretOf("x", { contexts: ["a", "b"], metadata }),
    settings,
    Date.now(),
  );
  const facts = { sources, namespace: "fleet", complete: producers };
  const planned = planProfiles({ ...facts, profiles: [] });
  expect([...planned.keys()]).toEqual(["fleet/x", "fleet/x-b"]);
  const profile = profileOn("fleet/x-b", { from: fromSecret("team-a", "x") });
  const annotations = { ...profile.metadata.annotations, "knfleet.dev/discovered-context": "b" };
  const profiles = [{ ...profile, metadata: { ...profile.metadata, annotations } }];
  expect([...planProfiles({ ...facts, profiles })]).toMatchObject([
    ["fleet/x", { kind: "discovered", source: { identity: "Secret/team-a/x" } }],
    ["fleet/x-b", { kind: "discovered", source: { identity: "Secret/team-a/x/b" } }],
  ]);
});

test("a source whose names are all taken by profiles of other sources overwrites none of them", () => {
  const [source] = secretIn("a", "x");
  const other = fromSecret("b", "y");
  const taken: ClusterProfile[] = [];
  const planned = () =>
    planProfiles({
      sources: source === undefined ? [] : [source],
      profiles: taken,
      namespace: "fleet",
      complete: [],
    });
  for (let names = 0; names < 3; names += 1) {
    const [name] = [...planned()].flatMap(([key, { kind }]) =>
      kind === "discovered" ? [key] : [],
    );
    if (name !== undefined) taken.push(profileOn(name, { from: other }));
  }
  expect(taken.map(({ metadata }) => metadata.name)).toEqual([
    "x",
    "a-x",
    expect.stringMatching(/^a-x-[0-9a-f]+$/),
  ]);
  expect([...planned().values()]).toEqual([expect.objectContaining({ kind: "taken", source })]);
});
