import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { orphanFindings } from "../../../../../cmd/kubectl/findings/orphan-findings.ts";
import { encodeInventory } from "../../../../../installation/inventory.ts";
import { component } from "../../fleet-facts.ts";
import { runText } from "../../run-text.ts";
import { startStubHub } from "../../stub-hub.ts";
import { anchor, found, guarded, marked, namespace, remote, uid } from "./traces-input.ts";

const pulled = { "knfleet.dev/hub-id": "this-hub", "knfleet.dev/hub-component-uid": uid };

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

describe("a guarded namespace", () => {
  test.each([
    ["that is used", "this-hub", "team-a", 0],
    ["that nobody uses", "this-hub", "old", 1],
    ["of another hub", "that-hub", "old", 0],
  ] as const)("%s", (...[, hub, name, count]) => {
    expect(found({ guarded: [guarded(hub, name)] })).toHaveLength(count);
  });
});

test("docs/cli/orphans.md has every finding with its meaning", async () => {
  const page = await readFile(
    join(import.meta.dirname, "../../../../../docs/cli/orphans.md"),
    "utf8",
  );
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

  test("of an installation are those on its cluster, and its own", async () => {
    await using hub = await startStubHub(objects);
    const run = async (...more: readonly string[]) => {
      const args = ["orphans", ...more, "-n", "team-a", "-o", "custom-columns=:.finding"];
      const { stdout, stderr, exitCode } = await runText(args, { env: hub.env });
      return { findings: stdout.split("\n").filter(Boolean).toSorted(), stderr, exitCode };
    };
    expect(await run("ks/knative-serving", "--no-live")).toMatchObject({
      findings: ["StuckDeletion"],
      exitCode: 1,
    });
    const ofHub = await run("ke");
    expect(ofHub.findings).toContain("Orphan");
    expect(ofHub.findings).not.toContain("StuckDeletion");
    const none = await run("ks/other", "--no-live");
    expect(none.stderr).toContain(`"other" not found`);
    expect(none.exitCode).toBe(1);
  });
});
