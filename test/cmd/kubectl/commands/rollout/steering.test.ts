import { describe, expect, test } from "vitest";

import { type FleetSet, type FleetSetStatus, steering } from "../../../../../api/fleet-set.ts";
import {
  acceptSelection,
  approval,
  pause,
  resume,
  retry,
} from "../../../../../cmd/kubectl/commands/rollout/steering.ts";
import { UsageError } from "../../../../../cmd/kubectl/errors.ts";
import { runText } from "../../run-text.ts";
import { type Answer, startStubHub } from "../../stub-hub.ts";
import { inPhase, rolling, sampleSet, update } from "./sample-set.ts";

/** The status with a stage in another state. */
function withStage(name: string, state: "Waiting" | "AwaitingApproval"): FleetSetStatus {
  const stages = (rolling.stages ?? []).map((stage) => {
    const { startedAt: _start, ...rest } = stage;
    return stage.name === name ? { ...(state === "Waiting" ? rest : stage), state } : stage;
  });
  return inPhase({ phase: state, stage: name }, { stages });
}

const atEnd = sampleSet({ status: withStage("canary", "AwaitingApproval") });
const atBeginning = sampleSet({ status: withStage("early", "Waiting") });
const value = `${update} alice`;

describe("an approval", () => {
  test.each([
    { name: "of what is waited for", set: atEnd, flags: {}, key: "canary-after" },
    { name: "of a beginning", set: atBeginning, flags: {}, key: "early-before" },
    {
      name: "of a stage with one gate",
      set: atBeginning,
      flags: { stage: "early" },
      key: "early-before",
    },
    {
      name: "of the gate that is named",
      set: atEnd,
      flags: { stage: "canary", after: true },
      key: "canary-after",
    },
  ])("$name is an annotation", ({ set, flags, key }) => {
    expect(approval(set, flags, "alice")).toMatchObject({
      kind: "write",
      annotations: { [`knfleet.dev/approve.${key}`]: value },
    });
  });

  test.each([
    ["that nobody waits for", sampleSet(), {}],
    ["of the other gate", atEnd, { before: true }],
    ["of a stage that there is not", atEnd, { stage: "none" }],
    ["that the stage does not ask for", atEnd, { stage: "rest", before: true }],
    ["of a spec that the controller has not seen", sampleSet({ generation: 8 }), {}],
    ["of a set without a status", sampleSet({ status: {} }), {}],
  ] as const)("%s is refused", (_, set, flags) => {
    expect(approval(set, flags, "alice").kind).toBe("refused");
  });

  test("is given once", () => {
    const annotations = { "knfleet.dev/approve.canary-after": `${update} bob` };
    const again = sampleSet({ status: withStage("canary", "AwaitingApproval"), annotations });
    expect(approval(again, {}, "alice")).toEqual({
      kind: "unchanged",
      said: "the end of stage canary was approved already by bob",
    });
  });

  test("of an older revision is given anew", () => {
    const annotations = { "knfleet.dev/approve.canary-after": "prod-0000000000 bob" };
    const other = sampleSet({ status: withStage("canary", "AwaitingApproval"), annotations });
    expect(approval(other, {}, "alice").kind).toBe("write");
  });

  test("of a stage that was passed changes nothing", () => {
    expect(approval(sampleSet(), { stage: "canary" }, "alice").kind).toBe("unchanged");
    expect(approval(sampleSet(), { stage: "early" }, "alice").kind).toBe("unchanged");
  });

  test("says which of two gates it is for", () => {
    const { rollout } = sampleSet().spec;
    if (rollout === undefined) throw new Error("The sample has stages");
    const stages = [
      { name: "rest", selector: {}, before: { approval: true }, after: { approval: true } },
    ];
    const set = sampleSet({ spec: { rollout: { ...rollout, stages } } });
    expect(() => approval(set, { stage: "rest" }, "alice")).toThrow(/--before or --after/);
    expect(() => approval(set, { before: true, after: true }, "alice")).toThrow(UsageError);
  });
});

const paused = { "knfleet.dev/pause-rollout": "incident 7" };

/** A set that its spec pauses. */
function pausedBySpec(annotations = {}): FleetSet {
  const { rollout } = sampleSet().spec;
  if (rollout === undefined) throw new Error("The sample has stages");
  return sampleSet({ spec: { rollout: { ...rollout, paused: true } }, annotations });
}

describe("a pause", () => {
  test("is an annotation with the reason", () => {
    expect(pause(sampleSet(), "incident 7")).toMatchObject({ kind: "write", annotations: paused });
    expect(pause(sampleSet({ annotations: paused }), "incident 7").kind).toBe("unchanged");
  });

  test("ends when the annotation goes", () => {
    expect(resume(sampleSet({ annotations: paused }))).toEqual({
      kind: "write",
      annotations: { "knfleet.dev/pause-rollout": null },
      said: "resumed",
      deed: { what: "resume" },
    });
    expect(resume(sampleSet()).kind).toBe("unchanged");
  });

  test("of the spec is told, because it goes on", () => {
    expect(resume(pausedBySpec()).kind).toBe("refused");
    expect(resume(pausedBySpec(paused))).toMatchObject({
      kind: "write",
      warning: expect.stringContaining("spec.rollout.paused"),
    });
  });
});

describe("a second try", () => {
  test.each(["Halted", "RollingBack", "RolledBack"] as const)("is there when %s", (phase) => {
    expect(retry(sampleSet({ status: inPhase({ phase }) }))).toMatchObject({
      kind: "write",
      annotations: { "knfleet.dev/retry": update },
    });
  });

  test("is refused when nothing failed", () => {
    const status = inPhase({ phase: "Rolling" }, { clusters: { failed: 0 } });
    expect(retry(sampleSet({ status })).kind).toBe("refused");
    expect(retry(sampleSet({ generation: 8 })).kind).toBe("refused");
  });

  test("of a paused set says that it is paused", () => {
    expect(retry(sampleSet({ annotations: paused }))).toMatchObject({
      warning: "The set is paused: incident 7",
    });
  });
});

describe("a selection that lost many clusters", () => {
  const message =
    "The selection lost many clusters at once; nothing is removed until the annotation knfleet.dev/accept-selection is 0123456789";
  const shrunk = {
    type: "Selected",
    status: "False",
    reason: "SuspiciousShrink",
    message,
  } as const;

  test("is accepted by its hash", () => {
    const status = { ...rolling, conditions: [shrunk] };
    expect(acceptSelection(sampleSet({ status }))).toMatchObject({
      annotations: { "knfleet.dev/accept-selection": "0123456789" },
    });
  });

  test("is not there most of the time", () => {
    expect(acceptSelection(sampleSet()).kind).toBe("refused");
  });
});

const conflict = {
  kind: "Status",
  status: "Failure",
  reason: "Conflict",
  code: 409,
  message: "the object has been modified",
};

/** As somebody else left the set after it was read. */
function later(set: FleetSet): FleetSet {
  return { ...set, metadata: { ...set.metadata, resourceVersion: "later" } };
}

interface Patched {
  readonly body: unknown;
  readonly query: string;
}

/** Runs a command on a hub that takes patches, as user alice. */
async function ran(
  set: FleetSet,
  args: readonly string[],
  { conflicts = 0, next = set }: { readonly conflicts?: number; readonly next?: FleetSet } = {},
) {
  const patches: Patched[] = [];
  const answer: Answer = ({ method, path, body, query }) => {
    if (path.endsWith("/selfsubjectreviews")) {
      return { body: { status: { userInfo: { username: "alice" } } } };
    }
    if (method === "GET" && path.endsWith("/prod") && patches.length > 0) return { body: next };
    if (method !== "PATCH") return undefined;
    patches.push({ body, query: String(query) });
    if (patches.length <= conflicts) return { status: 409, body: conflict };
    return { body: set };
  };
  await using hub = await startStubHub([set], answer);
  const line = ["rollout", ...args, "kss/prod", "-n", "platform"];
  return { ...(await runText(line, { env: hub.env })), patches };
}

describe("on the hub", () => {
  test("approve patches the annotation of the set that it read alone, and says what it did", async () => {
    expect(await ran(atEnd, ["approve"])).toEqual({
      exitCode: 0,
      stdout: `knativeservingset.knfleet.dev/prod approved the end of stage canary for revision ${update} as alice\n`,
      stderr: "",
      patches: [
        {
          body: {
            metadata: {
              uid: atEnd.metadata.uid,
              resourceVersion: atEnd.metadata.resourceVersion,
              annotations: { "knfleet.dev/approve.canary-after": value },
            },
          },
          query: "fieldManager=knfleet-cli",
        },
      ],
    });
  });

  test("a set whose status was written since it was read is read and written again", async () => {
    const { exitCode, patches } = await ran(atEnd, ["approve"], {
      conflicts: 1,
      next: later(atEnd),
    });
    const versions = [atEnd, later(atEnd)].map(({ metadata: { resourceVersion } }) => ({
      body: { metadata: { resourceVersion } },
    }));
    expect({ exitCode, patches }).toMatchObject({ exitCode: 0, patches: versions });
  });

  test("a set that wants another approval since it was read is not approved", async () => {
    const next = later({ ...atEnd, status: { ...atEnd.status, updateRevision: "prod-other" } });
    const { exitCode, stderr, patches } = await ran(atEnd, ["approve"], { conflicts: 1, next });
    expect({ exitCode, count: patches.length }).toEqual({ exitCode: 1, count: 1 });
    expect(stderr).toMatch(/^error: The set was changed in the meantime: nothing was written\n/);
  });

  test("a set that somebody else paused since it was read is told so", async () => {
    const set = sampleSet();
    const annotations = { ...set.metadata.annotations, [steering.pause]: "by alice" };
    const next = later({ ...set, metadata: { ...set.metadata, annotations } });
    const { exitCode, stdout } = await ran(set, ["pause"], { conflicts: 1, next });
    expect({ exitCode, stdout }).toEqual({
      exitCode: 0,
      stdout: "knativeservingset.knfleet.dev/prod is paused already: by alice\n",
    });
  });

  test("--dry-run lets the hub check, and writes nothing", async () => {
    const { stdout, patches } = await ran(atEnd, ["approve", "--dry-run"]);
    expect(stdout).toMatch(/ \(server dry run\)\n$/);
    expect(patches.map(({ query }) => query)).toEqual(["fieldManager=knfleet-cli&dryRun=All"]);
  });

  test("pause names who paused, or the reason", async () => {
    expect((await ran(sampleSet(), ["pause"])).stdout).toContain("prod paused: by alice\n");
    const { patches } = await ran(sampleSet(), ["pause", "--reason", "incident 7"]);
    expect(patches).toMatchObject([{ body: { metadata: { annotations: paused } } }]);
  });

  test("resume of a set that its spec pauses exits with 1", async () => {
    const { exitCode, stderr, patches } = await ran(pausedBySpec(paused), ["resume"]);
    expect({ exitCode, count: patches.length }).toEqual({ exitCode: 1, count: 1 });
    expect(stderr).toContain("error: spec.rollout.paused is true");
  });

  test("what is refused exits with 1, writes nothing and leads to the status", async () => {
    const { exitCode, stderr, patches } = await ran(sampleSet(), ["approve"]);
    expect({ exitCode, patches }).toEqual({ exitCode: 1, patches: [] });
    expect(stderr).toBe(
      "error: No stage waits for this approval now\n" +
        "next: kubectl knfleet rollout status kss/prod -n platform\n",
    );
  });

  test("what is so already changes nothing", async () => {
    const { exitCode, stdout, patches } = await ran(sampleSet(), ["resume"]);
    expect({ exitCode, patches }).toEqual({ exitCode: 0, patches: [] });
    expect(stdout).toBe("knativeservingset.knfleet.dev/prod is not paused\n");
  });

  test.each([
    ["name", /^knativeservingset\.knfleet\.dev\/prod\n$/],
    ["json", /^\{\n {2}"apiVersion": "knfleet\.dev\/v1alpha1"/],
    ["yaml", /^apiVersion: knfleet\.dev\/v1alpha1\n/],
  ])("-o %s prints it as kubectl does", async (format, looks) => {
    expect((await ran(sampleSet(), ["pause", "-o", format])).stdout).toMatch(looks);
  });

  test("other formats are refused", async () => {
    const { exitCode, stderr } = await ran(sampleSet(), ["pause", "-o", "jsonpath={.kind}"]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain("cannot be used with a command that writes");
  });

  test("retry and accept-selection are refused where there is nothing to do", async () => {
    const well = sampleSet({ status: inPhase({ phase: "Complete" }, { clusters: {} }) });
    expect((await ran(well, ["retry"])).exitCode).toBe(1);
    expect((await ran(well, ["accept-selection"])).exitCode).toBe(1);
  });
});
