import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { type Component, operatorApiVersion } from "../../../../../api/component.ts";
import {
  type FleetSet,
  holdLabel,
  setAnnotations,
  setLabels,
} from "../../../../../api/fleet-set.ts";
import type { KubeObject } from "../../../../../api/kubernetes.ts";
import { sampleDirOf } from "../../../../../cmd/release-files.ts";
import {
  ownFormats,
  pipe,
  sectionOf,
  textFormats,
  textOf,
  type Looks,
} from "../../golden/looks.ts";
import { runText } from "../../run-text.ts";
import { type Answer, forbidden, startStubHub } from "../../stub-hub.ts";
import { rolling, sampleSet, takenSet } from "./sample-set.ts";

const golden = join(import.meta.dirname, "../../../../golden/rollout");

function profile(
  name: string,
  labels: Readonly<Record<string, string>>,
  healthy = true,
): KubeObject {
  return {
    apiVersion: "multicluster.x-k8s.io/v1alpha1",
    kind: "ClusterProfile",
    metadata: { namespace: "fleet", name, uid: `uid-${name}`, resourceVersion: "1", labels },
    status: {
      conditions: [{ type: "ControlPlaneHealthy", status: healthy ? "True" : "False" }],
    },
  };
}

interface Installed {
  readonly version: string;
  readonly spec?: NonNullable<Component["spec"]>;
  /** False: nobody stamped it. */
  readonly stamped?: boolean;
}

function component(cluster: string, { version, spec, stamped = true }: Installed): KubeObject {
  const name = stamped ? `prod-fleet-${cluster}` : cluster;
  const annotations = {
    [setAnnotations.spec]: "0000000000",
    [setAnnotations.setUid]: "set-uid",
    [setAnnotations.component]: name,
  };
  const labels = {
    [setLabels.set]: "prod",
    [setLabels.kind]: "KnativeServingSet",
    [setLabels.revision]: "prod-0000000000",
    [setLabels.stage]: "rest",
  };
  return {
    apiVersion: operatorApiVersion,
    kind: "KnativeServing",
    metadata: {
      namespace: "platform",
      name,
      uid: `uid-of-${cluster}`,
      resourceVersion: "1",
      generation: 1,
      labels: stamped ? labels : {},
      annotations: stamped ? annotations : {},
    },
    spec: { ...(spec ?? { version }), clusterProfileRef: { namespace: "fleet", name: cluster } },
    status: {
      observedGeneration: 1,
      version: `${version}.0`,
      conditions: [{ type: "Ready", status: "True", lastTransitionTime: "2026-11-21T09:00:00Z" }],
    },
  };
}

const set = sampleSet({
  spec: {
    clusters: {
      from: "Selector",
      selector: { namespaces: ["fleet"], matchLabels: { env: "prod" } },
      exclude: [{ name: "eu-7", namespace: "fleet", reason: "decommissioned" }],
    },
    overrides: [
      { name: "pinned", clusters: ["eu-3"], patch: { version: "1.22" } },
      {
        name: "mirrored",
        clusters: ["eu-8"],
        patch: { registry: { default: "$(cluster.properties[registry])/${NAME}" } },
      },
    ],
    rollout: { ...rollout(), order: "Name" },
  },
});

function rollout() {
  const found = sampleSet().spec.rollout;
  if (found === undefined) throw new Error("The sample has stages");
  return found;
}

const prod = { env: "prod" };
const objects: readonly KubeObject[] = [
  profile("eu-0", { ...prod, ring: "0" }),
  profile("eu-1", { ...prod, ring: "1" }),
  profile("eu-2", { ...prod, ring: "1" }),
  profile("eu-3", prod),
  profile("eu-4", prod),
  profile("eu-5", prod),
  profile("eu-6", prod, false),
  profile("eu-7", prod),
  profile("eu-8", prod),
  profile("old-1", { env: "lab" }),
  component("eu-0", { version: "1.22" }),
  component("eu-1", { version: "1.21" }),
  component("eu-3", { version: "1.22" }),
  component("eu-4", { version: "1.23", stamped: false }),
  component("eu-5", { version: "1.22", stamped: false }),
  component("old-1", { version: "1.22" }),
];

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-rollout-plan-"));
});
afterAll(() => rm(folder, { recursive: true }));

interface Scene {
  readonly on?: readonly KubeObject[];
  readonly answer?: Answer;
  readonly looks?: Looks;
}

async function ran(
  args: readonly string[],
  { on = [set, ...objects], answer, looks = pipe }: Scene = {},
) {
  await using hub = await startStubHub(on, (request) => answer?.(request) ?? takenSet(request));
  const { columns, env = {} } = looks;
  const said = await runText(["rollout", "plan", ...args], {
    env: { LANG: "C.UTF-8", KNFLEET_RELEASE_DIR: sampleDirOf(), ...hub.env, ...env },
    ...(columns === undefined ? {} : { columns }),
  });
  const stdout = said.stdout.replaceAll(/prod-(?!0{10})[0-9a-f]{10}/g, "prod-0123456789");
  return { ...said, stdout, writes: hub.requests.filter((one) => !one.startsWith("GET ")) };
}

const line = ["kss/prod", "-n", "platform"];
const fields: [string, string] = [".cluster.name", ".action"];

/** Lists of all namespaces are refused. */
const denied: Answer = ({ path }) => {
  const isEverywhere = /\/v1(?:alpha1|beta1)\/(?:knative\w+|clusterprofiles)$/.test(path);
  const message = `${path} is forbidden`;
  return isEverywhere ? forbidden(message) : undefined;
};

const unserved: Answer = ({ path: asked }) =>
  asked.includes("/knfleet.dev/") ? { status: 404, body: "404 page not found" } : undefined;

describe("rollout plan", () => {
  test("looks as agreed in every format and width", async () => {
    const sections: string[] = [];
    for (const [format, all] of textFormats({ fields })) {
      for (const looks of all) {
        const args = [...line, "-o", format];
        // oxlint-disable-next-line no-await-in-loop -- one line after another
        sections.push(sectionOf(["rollout", "plan", ...args], looks, await ran(args, { looks })));
      }
    }
    await expect(sections.join("\n")).toMatchFileSnapshot(join(golden, "plan.txt"));
  });

  test.each(ownFormats({ fields }))("looks as agreed as %s", async (format) => {
    const said = textOf(await ran([...line, "-o", format]));
    await expect(said).toMatchFileSnapshot(join(golden, `plan.${format}.txt`));
  });

  test("asks and writes nothing but questions", async () => {
    const { writes, exitCode } = await ran(line);
    expect({ writes, exitCode }).toEqual({ writes: [], exitCode: 1 });
  });

  test("of a set that selects nothing and has nothing exits with 0", async () => {
    expect((await ran(line, { on: [set] })).exitCode).toBe(0);
  });

  test("of a selection that cannot be used says that nothing would happen", async () => {
    const clusters = { from: "OCMPlacement", ocmPlacement: { name: "prod" } } as const;
    const { stderr, exitCode } = await ran(line, { on: [sampleSet({ spec: { clusters } })] });
    expect(exitCode).toBe(1);
    expect(stderr).toContain("warning: nothing is written or removed: PlacementNotFound");
  });

  test("of a set with clusters of no stage says that it refuses them", async () => {
    const [canary] = rollout().stages ?? [];
    if (canary === undefined) throw new Error("The sample has stages");
    const refusing = { ...rollout(), stages: [canary], unmatched: "Refuse" } as const;
    const on = [sampleSet({ spec: { ...set.spec, rollout: refusing } }), ...objects];
    const { stderr, exitCode } = await ran(line, { on });
    expect(stderr).toContain(
      "warning: nothing begins: no stage selects fleet/eu-1, fleet/eu-2, fleet/eu-3 and 4 more",
    );
    expect(exitCode).toBe(1);
  });

  test("of a set whose clusters of no stage are all excluded or held says nothing of them", async () => {
    const [canary] = rollout().stages ?? [];
    if (canary === undefined) throw new Error("The sample has stages");
    const refusing = { ...rollout(), stages: [canary], unmatched: "Refuse" } as const;
    const held = profile("eu-1", { ...prod, ring: "1", [holdLabel]: "true" });
    const on = [sampleSet({ spec: { ...set.spec, rollout: refusing } }), held, objects[7]];
    const { stderr } = await ran(line, { on: on.filter((one) => one !== undefined) });
    expect(stderr).toBe("");
  });

  test("leaves the component of a held cluster that is not selected any more", async () => {
    const held = profile("old-1", { env: "lab", [holdLabel]: "true" });
    const on = [set, ...objects.map((one) => (one.metadata.name === "old-1" ? held : one))];
    expect((await ran(line, { on })).stdout).not.toContain("old-1");
  });

  test("without the right to look everywhere says what it could not see, and exits with 3", async () => {
    const { stdout, stderr, exitCode } = await ran(line, { on: [set], answer: denied });
    expect(exitCode).toBe(3);
    expect(stdout).toContain("0 of 0 components would be written");
    expect(stderr).toContain("warning: could not be read: knativeservings of other namespaces:");
    expect(stderr).toContain("warning: could not be read: other sets:");
  });
});

/** A set as somebody would write it. */
async function written(name: string, value: unknown): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, JSON.stringify(value));
  return path;
}

function asTyped({ apiVersion, kind, metadata, spec }: FleetSet, more: object = {}) {
  const { name, namespace } = metadata;
  return { apiVersion, kind, metadata: { name, namespace }, spec: { ...spec, ...more } };
}

describe("rollout plan -f", () => {
  test("plans a set that the hub does not have", async () => {
    const path = await written("new.json", asTyped(set));
    const on = objects.filter(({ metadata }) => metadata.labels?.[setLabels.set] === undefined);
    const { stdout, exitCode } = await ran(["-f", path, "-o", "json"], { on });
    expect(exitCode).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ summary: { clusters: 9, writes: 5, blocked: 2 } });
  });

  test("plans another spec of a set that it has, with its components", async () => {
    const older = sampleSet({ spec: { ...set.spec, template: { spec: { version: "1.22" } } } });
    const path = await written("other.json", asTyped(set, { overrides: [] }));
    const { stdout } = await ran(["-f", path, "-o", "json"], { on: [older, ...objects] });
    expect(JSON.parse(stdout).items.slice(0, 2)).toMatchObject([
      { cluster: { namespace: "fleet", name: "eu-0" }, action: "update", to: "1.23.1" },
      { cluster: { name: "eu-1" }, action: "blocked", reason: "VersionNotEligible" },
    ]);
  });

  test("names the rights that the webhook asks of whoever applies it, and none for what stays", async () => {
    const rightsOf = async (spec: object, on: readonly KubeObject[] = [set, ...objects]) => {
      const path = await written("rights.json", asTyped(set, spec));
      const { stdout, stderr } = await ran(["-f", path], { on });
      return `${stdout}${stderr}`.split("\n").filter((one) => one.startsWith("right: "));
    };
    const start = "right: whoever applies it has to be allowed to ";
    const use = `${start}use all ClusterProfiles of namespace "fleet" (spec.clusters.selector.namespaces[0])`;
    const create = `${start}create KnativeServings in namespace "platform" (spec.template)`;
    const strongIn = (path: string) =>
      expect.stringMatching(
        new RegExp(`${start}"apply-cluster-scoped" .* \\(${path}, with --manifest-right\\)$`),
      );
    expect(await rightsOf({}, objects)).toEqual([use, create, strongIn("spec.overrides.1..patch")]);
    expect(await rightsOf({})).toEqual([]);
    expect(await rightsOf({ deletionPolicy: "Delete" })).toEqual([
      `${start}delete KnativeServings in namespace "platform" (spec.deletionPolicy)`,
    ]);
    const image = { registry: { default: "example.com/${NAME}" } };
    const template = { spec: image };
    expect(await rightsOf({ template })).toContainEqual(strongIn("spec.template.spec"));
    expect(await rightsOf({ rollout: { ...rollout(), order: "Name", stages: [] } })).toContainEqual(
      expect.stringContaining("spec.rollout.stages"),
    );
  });

  test("works on a hub without sets", async () => {
    const path = await written("first.json", asTyped(set));
    expect((await ran(["-f", path], { on: objects, answer: unserved })).exitCode).toBe(1);
  });

  test.each([
    { name: "no set", value: objects[0], says: "holds no such fleet set" },
    { name: "a wrong spec", value: asTyped(set, { clusters: {} }), says: "clusters" },
    {
      name: "another set",
      value: asTyped({ ...set, metadata: { ...set.metadata, name: "test" } }),
      args: ["kss/prod"],
      says: "holds no such fleet set",
    },
    { name: "another namespace", value: asTyped(set), args: ["-n", "other"], says: "is platform" },
    {
      name: "two sets",
      value: { apiVersion: "v1", kind: "List", items: [asTyped(set), asTyped(set)] },
      says: "several fleet sets",
    },
    { name: "two arguments", value: asTyped(set), args: ["kss/a", "kss/b"], says: "one set" },
  ])("refuses $name", async ({ name, value, says, args = [] }) => {
    const path = await written(`${name.replaceAll(" ", "-")}.json`, value);
    const { exitCode, stderr } = await ran(["-f", path, ...args]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(says);
  });
});

test("a set that is rolling is planned as if it were not", async () => {
  const on = [sampleSet({ status: rolling, spec: set.spec }), ...objects];
  const { stdout } = await ran([...line, "-o", "json"], { on });
  expect(JSON.parse(stdout).summary).toMatchObject({ clusters: 9 });
});
