import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import type { KubeObject } from "../../../../../api/kubernetes.ts";
import { clusterFindings } from "../../../../../cmd/kubectl/commands/orphans/cluster-findings.ts";
import {
  orphanFindings,
  type Traces,
  type Known,
} from "../../../../../cmd/kubectl/commands/orphans/orphan.ts";
import { sameClusters } from "../../../../../cmd/kubectl/commands/orphans/orphans.ts";
import { encodeInventory } from "../../../../../installation/inventory.ts";
import { component, now } from "../../fleet-facts.ts";
import { runText } from "../../run-text.ts";
import { startStubHub } from "../../stub-hub.ts";

const place = { namespace: "fleet", name: "eu-1" };
const remote = component({ cluster: "eu-1" });
const { uid, namespace } = remote.metadata;

const pulled = { "knfleet.dev/hub-id": "this-hub", "knfleet.dev/hub-component-uid": uid };

interface AnchorFacts {
  readonly namespace?: string;
  readonly name?: string;
  readonly uid?: string | undefined;
  readonly hub?: string;
  readonly pulled?: Readonly<Record<string, string>>;
  readonly deletedAt?: string;
}

function anchor(facts: AnchorFacts = {}): KubeObject {
  const { name = "knative-serving", hub = "this-hub" } = facts;
  const owner = "uid" in facts ? facts.uid : uid;
  const marks: Readonly<Record<string, string>> =
    owner === undefined
      ? {}
      : { "operator.knative.dev/cr-uid": owner, "operator.knative.dev/hub-id": hub };
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      namespace: facts.namespace ?? namespace,
      name: `knativeserving-${name}-root-owner`,
      uid: "uid-of-anchor",
      resourceVersion: "1",
      labels: {
        "app.kubernetes.io/managed-by": "knative-operator",
        "operator.knative.dev/cr-name": name,
      },
      annotations: { ...marks, ...facts.pulled },
      ...(facts.deletedAt === undefined
        ? {}
        : { deletionTimestamp: facts.deletedAt, finalizers: ["example.com/keep"] }),
    },
  };
}

function marked(kind: string, owner: string): KubeObject {
  const labels = { "knfleet.dev/component-uid": owner };
  return {
    apiVersion: "v1",
    kind,
    metadata: { namespace, name: "a", uid: "u", resourceVersion: "1", labels },
  };
}

const none: Traces = { anchors: [], marked: [], guarded: [], denied: [] };
const known: Known = {
  cluster: place,
  names: new Set(["fleet/eu-1"]),
  read: new Set(["", "fleet/eu-1", "fleet/us-1"]),
  components: [remote],
  hubId: "this-hub",
  nowMs: now.getTime(),
};

function found(traces: Partial<Traces>, more: Partial<Known> = {}) {
  return clusterFindings({ ...none, ...traces }, { ...known, ...more });
}

describe("an anchor", () => {
  test.each([
    ["of a component of this cluster", {}, {}, []],
    ["of upstream's operator, by its name", { uid: undefined }, {}, []],
    [
      "without its component",
      {},
      { components: [] },
      ["Orphan: the hub has no KnativeServing knative-serving"],
    ],
    [
      "of an earlier component of the name",
      { uid: "earlier" },
      {},
      ["Orphan: belongs to an earlier KnativeServing knative-serving, which"],
    ],
    [
      "of a component that is for another cluster now",
      {},
      { components: [component({ cluster: "us-1" })] },
      ["Orphan: KnativeServing team-a/knative-serving is for another cluster now: fleet/us-1"],
    ],
    [
      "of upstream's operator without its component",
      { uid: undefined, name: "other" },
      {},
      ["Orphan: the hub has no KnativeServing other for this cluster (uid"],
    ],
    ["of another hub", { hub: "that-hub" }, {}, ["AnotherHub: belongs to the hub that-hub"]],
    ["of a spoke that pulls", { hub: "the-spoke", uid: "on-spoke", pulled }, {}, []],
    [
      "of another hub, when this one's id is not known",
      { hub: "that-hub" },
      { hubId: undefined },
      [],
    ],
    [
      "that does not go",
      { deletedAt: "2026-11-21T11:00:00Z" },
      {},
      ["StuckDeletion: deleted at 2026-11-21T11:00:00Z, held by example.com/keep"],
    ],
    ["that has just been deleted", { deletedAt: "2026-11-21T11:59:50Z" }, {}, []],
  ] as const)("%s", (...[, facts, more, findings]) => {
    const items = found({ anchors: [anchor(facts)] }, more);
    expect(items).toHaveLength(findings.length);
    for (const [at, text] of findings.entries()) {
      expect(`${items[at]?.finding ?? ""}: ${items[at]?.message ?? ""}`).toContain(
        text.replace(" (uid", ""),
      );
    }
  });

  test("in the namespace that upstream's operator installed in before is left over (D12)", () => {
    const anchors = [
      anchor({ uid: undefined }),
      anchor({ uid: undefined, namespace: "knative-serving" }),
    ];
    const items = found({ anchors });
    expect(items).toMatchObject([{ finding: "OldNamespace", object: { namespace: "team-a" } }]);
  });

  test("that says only a name, as upstream's do, may be that of any component of the name", () => {
    const second = { ...remote.metadata, namespace: "knative-serving", uid: "another" };
    const here = [anchor({ uid: undefined }), anchor({ uid: undefined, namespace: "team-b" })];
    expect(found({ anchors: here })).toEqual([]);
    const fixed = anchor({ uid: undefined, namespace: "knative-serving" });
    const components = [remote, { ...remote, metadata: second }];
    expect(found({ anchors: [anchor({ uid: undefined }), fixed] }, { components })).toEqual([]);
  });

  test("is never to be deleted without being looked at and confirmed", () => {
    const [item] = found({ anchors: [anchor()] }, { components: [] });
    expect(item?.next[1]).toBe(
      "kubectl knfleet connect fleet/eu-1 -- kubectl get -o yaml configmap knativeserving-knative-serving-root-owner -n team-a",
    );
    expect(item?.next[4]).toContain("operator.knative.dev/confirm-deletion=uid-of-anchor");
  });
});

describe("the objects that go with an anchor", () => {
  const job = { apiVersion: "batch/v1", kind: "Job", namespace, name: "a", hash: "h" };
  const entries = [
    { ...job, fingerprint: "f" },
    { ...job, name: "never-accepted" },
    { apiVersion: "v1", kind: "Secret", namespace, name: "a", hash: "h", fingerprint: "f" },
  ];
  const data = { inventory: encodeInventory({ version: "1.23.0", complete: true, entries }) };
  const lost = { anchors: [{ ...anchor(), data }] };
  const there = { ...marked("Job", uid), apiVersion: "batch/v1" };

  test.each([
    ["do not count a finished Job that Kubernetes removed", {}, 2],
    ["count a finished Job that is there", { marked: [there] }, 3],
    ["count every Job when Jobs may not be listed", { denied: ["jobs"] }, 3],
  ])("%s", (_, more, objects) => {
    const items = found({ ...lost, ...more }, { components: [] });
    expect(items).toMatchObject([{ finding: "Orphan", objects }]);
  });
});

describe("a cluster with several ClusterProfiles", () => {
  const names = new Set(["fleet/eu-1", "other/eu-1"]);
  const everything = {
    anchors: [anchor()],
    marked: [marked("Secret", uid)],
    guarded: [guarded("this-hub", namespace)],
  };

  test("has nothing left over of a component that came by the other one", () => {
    expect(found(everything, { cluster: { namespace: "other", name: "eu-1" }, names })).toEqual([]);
  });

  test("is known by the objects that were seen by both names", () => {
    const one = { ...none, anchors: [anchor()] };
    const two = { ...none, marked: [marked("Secret", uid)] };
    const both = { ...none, anchors: [anchor()], marked: [marked("Secret", uid)] };
    const all = new Map([
      ["a/one", one],
      ["a/two", two],
      ["a/empty", none],
      ["a/both", both],
      ["a/blank", none],
    ]);
    expect(sameClusters(all).map(([ids]) => [...ids])).toEqual([
      ["a/one", "a/two", "a/both"],
      ["a/empty"],
      ["a/blank"],
    ]);
  });

  test("of which one was not read has nothing that is to be deleted", () => {
    const cluster = { namespace: "other", name: "eu-1" };
    const items = found(everything, { cluster, names: new Set(["other/eu-1"]), read: new Set() });
    expect(items).toMatchObject([
      { finding: "Orphan", message: expect.stringContaining("may be this same cluster") },
    ]);
    expect(JSON.stringify(items)).not.toMatch(/kubectl (?:delete|annotate|label)/);
  });
});

describe("objects with our mark", () => {
  test.each([
    ["whose anchor is there", { anchors: [anchor({ uid: "gone" })], components: [] }, 0],
    ["whose component is there", { anchors: [], components: [component({ cluster: "eu-1" })] }, 0],
    [
      "of a component that is for another cluster",
      { anchors: [], components: [component({ cluster: "us-1" })] },
      1,
    ],
  ])("%s", (_, { anchors, components }, count) => {
    const owner = anchors.length > 0 ? "gone" : uid;
    const items = found({ anchors, marked: [marked("Secret", owner)] }, { components });
    expect(items.filter(({ finding }) => finding === "Unanchored")).toHaveLength(count);
  });

  test("of one component are one finding", () => {
    const all = [marked("Secret", "gone"), marked("Secret", "gone"), marked("ConfigMap", "gone")];
    expect(found({ marked: all })).toMatchObject([
      {
        finding: "Unanchored",
        objects: 3,
        message: expect.stringMatching(/^2 Secret, 1 ConfigMap of component gone/),
      },
    ]);
  });
});

function guarded(hub: string, name: string): KubeObject {
  return {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: {
      name,
      uid: "u",
      resourceVersion: "1",
      labels: { "operator.knative.dev/anchor-namespace": hub },
    },
  };
}

describe("a guarded namespace", () => {
  test.each([
    ["that is used", "this-hub", "team-a", 0],
    ["that nobody uses", "this-hub", "old", 1],
    ["of another hub", "that-hub", "old", 0],
  ] as const)("%s", (...[, hub, name, count]) => {
    expect(found({ guarded: [guarded(hub, name)] })).toHaveLength(count);
  });
});

test("docs/cli.md has every finding with its meaning", async () => {
  const page = await readFile(join(import.meta.dirname, "../../../../../docs/cli.md"), "utf8");
  const rows = Array.from(page.matchAll(/^\| `(\w+)` +\| ([^|]+?) +\|$/gm), ([, name, text]) => [
    name,
    text,
  ]);
  expect(rows).toEqual(expect.arrayContaining(Object.entries(orphanFindings)));
});

describe("orphans", () => {
  const objects = [
    component({ kind: "KnativeEventing", cluster: null }),
    component({ kind: "KnativeEventing", cluster: null, namespace: "team-b" }),
    {
      ...component({ cluster: "eu-1", deletedAt: "2026-11-21T11:00:00Z" }),
      metadata: {
        ...component({ cluster: "eu-1", deletedAt: "2026-11-21T11:00:00Z" }).metadata,
        finalizers: ["knativeservings.operator.knative.dev"],
      },
    },
    anchor({ uid: undefined, name: "lost\u001b[2J" }),
  ];

  test.each([
    ["orphans.txt", []],
    ["orphans.wide.txt", ["-o", "wide"]],
    ["orphans.json.txt", ["-o", "json"]],
    ["orphans.name.txt", ["-o", "name"]],
    ["orphans.no-live.txt", ["--no-live"]],
  ])(
    "%s is printed as agreed, and the exit code says that something was found",
    async (name, more) => {
      await using hub = await startStubHub(objects);
      const { exitCode, stdout, stderr } = await runText(["orphans", ...more], {
        env: { ...hub.env, LANG: "C.UTF-8" },
      });
      const golden = join(import.meta.dirname, "../../../../golden/kubectl", name);
      await expect(`${stdout}--- stderr\n${stderr}`).toMatchFileSnapshot(golden);
      expect(exitCode).toBe(1);
      expect(new Set(hub.requests.map((line) => line.split(" ")[0]))).toEqual(new Set(["GET"]));
    },
  );

  test("of a hub with nothing left over is 0", async () => {
    await using hub = await startStubHub([component({ kind: "KnativeEventing", cluster: null })]);
    const { exitCode, stderr } = await runText(["orphans"], { env: hub.env });
    expect(stderr).toContain("Nothing is left over, 1 component and 1 cluster looked at.");
    expect(exitCode).toBe(0);
  });
});
