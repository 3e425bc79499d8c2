import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { revisionAnnotations } from "../../../../../api/fleet-set.ts";
import type { KubeObject } from "../../../../../api/kubernetes.ts";
import { deedPatch, undoPatch } from "../../../../../cmd/kubectl/commands/rollout/undo.ts";
import { type RevisionContent, revisionNameOf } from "../../../../../sets/desired-spec.ts";
import { revisionObject } from "../../../../../sets/revision-object.ts";
import { component } from "../../fleet-facts.ts";
import {
  ownFormats,
  pipe,
  sectionOf,
  textFormats,
  textOf,
  type Looks,
} from "../../golden/looks.ts";
import { runText } from "../../run-text.ts";
import { type Answer, startStubHub } from "../../stub-hub.ts";
import { answersTables } from "../../stub-tables.ts";
import { sampleSet } from "./sample-set.ts";

const golden = join(import.meta.dirname, "../../../../golden/rollout");

const contents: readonly RevisionContent[] = [
  { template: { spec: { version: "1.21" } } },
  {
    template: { spec: { version: "1.22" } },
    overrides: [{ name: "pinned", clusters: ["eu-9"], patch: { version: "1.21" } }],
  },
  { template: { spec: { version: "1.23" } }, overrides: [] },
];

function nameOf(content: RevisionContent): string {
  return revisionNameOf(sampleSet({ spec: content }));
}

const [first, second, third] = contents.map((content) => nameOf(content));

/** The ControllerRevision of a content, recorded an hour apart. */
function recorded(content: RevisionContent, number: number, annotations = {}): KubeObject {
  const name = nameOf(content);
  const object = revisionObject(sampleSet({ spec: content }), { name, number, content });
  const metadata = {
    ...object.metadata,
    name,
    uid: `uid-${number}`,
    resourceVersion: "1",
    creationTimestamp: `2026-11-21T0${number}:00:00Z`,
    annotations,
  };
  return { ...object, metadata };
}

const completed = (number: number) => ({ [revisionAnnotations.completed]: String(number) });
const record = {
  [revisionAnnotations.record]: JSON.stringify([
    { what: "begin", at: "2026-11-21T03:00:00Z" },
    {
      what: "approve",
      at: "2026-11-21T03:10:00Z",
      user: "alice",
      stage: "canary",
      subject: "end of canary",
    },
    {
      what: "halt",
      at: "2026-11-21T03:30:00Z",
      stage: "early",
      reason: "Stage early halted: 1 cluster failed, maxFailures is 0",
    },
    { what: "abort", at: "2026-11-21T03:40:00Z", user: "bob", stage: "early", reason: "bad" },
  ]),
};
const failed = { [revisionAnnotations.failedAt]: "2026-11-21T04:00:00Z" };

const [one, two, three] = contents;
if (one === undefined || two === undefined || three === undefined)
  throw new Error("There are three");
const revisions = [
  recorded(one, 1, completed(1)),
  recorded(two, 2, completed(2)),
  recorded(three, 3, { ...failed, ...record }),
];

async function ran(args: readonly string[], looks: Looks = pipe, answer?: Answer) {
  await using hub = await startStubHub([sampleSet(), ...revisions], answer);
  const { columns, env = {} } = looks;
  return await runText(["rollout", ...args, "-n", "platform"], {
    env: { LANG: "C.UTF-8", ...hub.env, ...env },
    ...(columns === undefined ? {} : { columns }),
  });
}

const alice = { body: { status: { userInfo: { username: "alice" } } } };
const line = ["history", "kss/prod"];
const fields: [string, string] = [".name", ".number"];

describe("rollout history", () => {
  test("looks as agreed in every format and width", async () => {
    const sections: string[] = [];
    for (const [format, all] of textFormats({ fields })) {
      for (const looks of all) {
        const args = [...line, "-o", format];
        // oxlint-disable-next-line no-await-in-loop -- one line after another
        sections.push(sectionOf(["rollout", ...args], looks, await ran(args, looks)));
      }
    }
    await expect(sections.join("\n")).toMatchFileSnapshot(join(golden, "history.txt"));
  });

  test.each(ownFormats({ fields }))("looks as agreed as %s", async (format) => {
    const said = textOf(await ran([...line, "-o", format]));
    await expect(said).toMatchFileSnapshot(join(golden, `history.${format}.txt`));
  });

  test.each(["2", second ?? ""])("--revision %s prints what is in it", async (revision) => {
    const { stdout, exitCode } = await ran([...line, "--revision", revision]);
    expect(exitCode).toBe(0);
    expect(stdout).toBe(
      'template:\n  spec:\n    version: "1.22"\n' +
        'overrides:\n  - name: pinned\n    clusters:\n      - eu-9\n    patch:\n      version: "1.21"\n',
    );
  });

  test("--revision of one that there is not exits with 1", async () => {
    const { stderr, exitCode } = await ran([...line, "--revision", "9"]);
    expect(exitCode).toBe(1);
    expect(stderr).toContain('There is no revision "9"');
  });
});

describe("on a bundle of gather", () => {
  test("status and history are those of then, and nothing can be steered", async () => {
    const folder = await mkdtemp(join(tmpdir(), "knfleet-rollout-bundle-"));
    try {
      const bundle = join(folder, "fleet.tgz");
      const objects = [sampleSet(), component({ cluster: null }), ...revisions];
      await using hub = await startStubHub(objects, answersTables(objects));
      const gather = ["gather", "-A", "--no-live", "--tail", "0", "-o", bundle];
      expect((await runText(gather, { env: hub.env })).stderr).not.toContain("error:");
      const onBundle = (verb: string, ...more: readonly string[]) =>
        runText(["rollout", verb, "kss/prod", "-n", "platform", "--bundle", bundle, ...more]);
      const status = await onBundle("status");
      expect(status.stdout).toContain("KnativeServingSet platform/prod: Rolling, stage early");
      expect(status.exitCode).toBe(3);
      const history = await onBundle("history", "-o", "name");
      expect(history.stdout.trimEnd().split("\n")).toHaveLength(3);
      const paused = await onBundle("pause");
      expect(paused.stderr).toContain("rollout pause does not work on a bundle");
      expect(paused.exitCode).toBe(2);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe("of a set that names a minor version", () => {
  const template = { spec: { version: "1.23" } };
  const older = { template, versions: { "1.23": "1.23.0" } };
  const newer = { template, versions: { "1.23": "1.23.1" } };
  const on = [sampleSet(), recorded(older, 1, completed(1)), recorded(newer, 2)];
  const run = async (...args: readonly string[]) => {
    await using hub = await startStubHub(on);
    return await runText(["rollout", ...args, "-n", "platform"], { env: hub.env });
  };

  test("history has the exact version of each revision", async () => {
    const { stdout } = await run("history", "kss/prod", "-o", "json");
    const { items } = JSON.parse(stdout);
    expect(items.map(({ versions }: { versions: unknown }) => versions)).toEqual([
      ["1.23.0"],
      ["1.23.1"],
    ]);
  });

  test("undo wants the exact version that the revision before had", async () => {
    const { stdout } = await run("undo", "kss/prod", "-o", "json");
    expect(JSON.parse(stdout)).toMatchObject({
      spec: { template: { spec: { version: "1.23.0" } } },
    });
  });

  test("undo to the newest revision says that the set wants it already", async () => {
    const { stdout } = await run("undo", "kss/prod", "--to-revision", nameOf(newer));
    expect(stdout).toContain(`wants revision ${nameOf(newer)} already`);
  });
});

describe("rollout undo", () => {
  test("prints the set with the revision that was completed last", async () => {
    const said = await ran(["undo", "kss/prod"]);
    await expect(textOf(said)).toMatchFileSnapshot(join(golden, "undo.txt"));
  });

  test("prints the revision that is named", async () => {
    const { stdout } = await ran(["undo", "kss/prod", "--to-revision", first ?? "", "-o", "json"]);
    expect(JSON.parse(stdout)).toMatchObject({ spec: { template: { spec: { version: "1.21" } } } });
  });

  test("of what the set wants already changes nothing", async () => {
    const { stdout, exitCode } = await ran(["undo", "kss/prod", "--to-revision", third ?? ""]);
    expect(exitCode).toBe(0);
    expect(stdout).toContain(`wants revision ${third} already`);
  });

  test("of a revision that there is not exits with 1", async () => {
    const { stderr, exitCode } = await ran(["undo", "kss/prod", "--to-revision", "9"]);
    expect(exitCode).toBe(1);
    expect(stderr).toContain("rollout history kss/prod -n platform");
  });

  test("--apply writes these two fields, if the spec is still the same", async () => {
    const bodies: unknown[] = [];
    const answer: Answer = ({ method, body, path }) => {
      if (path.endsWith("/selfsubjectreviews")) return alice;
      if (method !== "PATCH") return undefined;
      bodies.push(body);
      return { body: sampleSet() };
    };
    const { stdout, exitCode } = await ran(["undo", "kss/prod", "--apply"], pipe, answer);
    expect({ exitCode, stdout }).toEqual({
      exitCode: 0,
      stdout: `knativeservingset.knfleet.dev/prod wants revision ${second} again\n`,
    });
    expect(bodies).toEqual([
      [
        { op: "test", path: "/metadata/uid", value: sampleSet().metadata.uid },
        { op: "test", path: "/metadata/generation", value: 7 },
        { op: "replace", path: "/spec/template", value: two.template },
        { op: "add", path: "/spec/overrides", value: two.overrides },
        {
          op: "add",
          path: "/metadata/annotations/knfleet.dev~1did.undo",
          value: `{"at":"2026-11-21T12:00:00Z","user":"alice","reason":"to revision ${second}"}`,
        },
      ],
    ]);
  });

  test("--apply of a set that was changed meanwhile writes nothing", async () => {
    const body = {
      kind: "Status",
      apiVersion: "v1",
      code: 422,
      reason: "Invalid",
      message: "test",
    };
    const answer: Answer = ({ method, path }) => {
      if (path.endsWith("/selfsubjectreviews")) return alice;
      return method === "PATCH" ? { status: 422, body } : undefined;
    };
    const { stderr, exitCode } = await ran(["undo", "kss/prod", "--apply"], pipe, answer);
    expect(exitCode).toBe(1);
    expect(stderr).toContain("changed in the meantime: nothing was written");
  });

  test("--apply of a set that is being deleted writes nothing", async () => {
    const set = sampleSet();
    const leaving = {
      ...set,
      metadata: { ...set.metadata, deletionTimestamp: "2026-11-21T11:59:00Z" },
    };
    const before = recorded({ template: { spec: { version: "1.22" } } }, 1, completed(1));
    await using hub = await startStubHub([leaving, before]);
    const args = ["rollout", "undo", "kss/prod", "-n", "platform", "--apply"];
    const { stderr, exitCode } = await runText(args, { env: hub.env });
    expect(exitCode).toBe(1);
    expect(stderr).toContain("is being deleted: nothing was written");
    expect(hub.requests.filter((request) => request.startsWith("PATCH"))).toEqual([]);
  });

  test("of a set without annotations writes only while nobody else has written", () => {
    const { annotations: _, ...metadata } = sampleSet().metadata;
    const { resourceVersion } = metadata;
    expect(deedPatch({ ...sampleSet(), metadata }, { a: "b" })).toEqual([
      { op: "test", path: "/metadata/resourceVersion", value: resourceVersion },
      { op: "add", path: "/metadata/annotations", value: { a: "b" } },
    ]);
  });

  test("takes overrides away that the revision does not have", () => {
    const set = sampleSet({ spec: { overrides: two.overrides ?? [] } });
    expect(undoPatch(set, one)).toContainEqual({ op: "remove", path: "/spec/overrides" });
    expect(undoPatch(sampleSet(), one)).toHaveLength(3);
  });
});
