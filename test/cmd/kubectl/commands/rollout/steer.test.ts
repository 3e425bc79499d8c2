import { describe, expect, test } from "vitest";

import { clusterProfileApiVersion } from "../../../../../api/cluster-profile.ts";
import { recordAt } from "../../../../../api/fields.ts";
import { steering } from "../../../../../api/fleet-set.ts";
import { selectionShrank } from "../../../../../api/sentences.ts";
import { runText } from "../../run-text.ts";
import { type Answer, forbidden, startStubHub } from "../../stub-hub.ts";
import { inPhase, rolling as statusOfRolling, sampleSet, update } from "./sample-set.ts";

const rolling = sampleSet({ status: inPhase({ phase: "Rolling", stage: "early" }) });
const over = sampleSet({ status: inPhase({ phase: "Complete" }) });
const halted = sampleSet({ status: inPhase({ phase: "Halted", stage: "early" }) });
const paused = sampleSet({
  status: statusOfRolling,
  annotations: { "knfleet.dev/pause-rollout": "incident 7" },
});
const gated = sampleSet({
  status: {
    ...inPhase({ phase: "AwaitingApproval", stage: "canary" }),
    stages: (statusOfRolling.stages ?? []).map((stage) =>
      stage.name === "canary" ? { ...stage, state: "AwaitingApproval" } : stage,
    ),
  },
});
const shrunk = sampleSet({
  status: {
    ...statusOfRolling,
    conditions: [
      {
        type: "Selected",
        status: "False",
        reason: "SuspiciousShrink",
        message: selectionShrank.of(steering.acceptSelection, "0123456789"),
        lastTransitionTime: "2026-11-21T11:00:00Z",
      },
    ],
  },
});
const alice = { body: { status: { userInfo: { username: "alice" } } } };

/** Runs a command about a set, and returns the annotations that it writes. */
async function steered(args: readonly string[], set = rolling, review = 201) {
  const written: unknown[] = [];
  const answer: Answer = ({ method, path, body }) => {
    if (path.endsWith("/selfsubjectreviews")) {
      const refusal = { kind: "Status", code: review, message: "selfsubjectreviews: no" };
      return review === 201 ? alice : { status: review, body: refusal };
    }
    if (method !== "PATCH") return undefined;
    written.push(recordAt(body, "metadata", "annotations"));
    return { body: set };
  };
  const names = ["eu-1", "eu-2", "eu-17"];
  const profiles = names.map((name) => ({
    apiVersion: clusterProfileApiVersion,
    kind: "ClusterProfile",
    metadata: { namespace: "fleet", name, uid: name, resourceVersion: "1" },
  }));
  await using hub = await startStubHub([set, ...profiles], answer);
  const [verb = "", ...rest] = args;
  const line = ["rollout", verb, "kss/prod", "-n", "platform", ...rest];
  return { ...(await runText(line, { env: hub.env })), written };
}

function deed(what: string, more: object) {
  const told = { at: "2026-11-21T12:00:00Z", user: "alice", ...more };
  return { [`knfleet.dev/did.${what}`]: JSON.stringify(told) };
}

describe("steering tells who did it, for the record of the revision", () => {
  test.each([
    {
      args: ["pause", "--reason", "incident 7"],
      writes: {
        "knfleet.dev/pause-rollout": "incident 7",
        ...deed("pause", { reason: "incident 7" }),
      },
    },
    {
      args: ["resume"],
      set: paused,
      writes: { "knfleet.dev/pause-rollout": null, ...deed("resume", {}) },
    },
    {
      args: ["retry"],
      set: halted,
      writes: { "knfleet.dev/retry": update, ...deed("retry", {}) },
    },
    {
      args: ["accept-selection"],
      set: shrunk,
      writes: { "knfleet.dev/accept-selection": "0123456789" },
    },
    {
      args: ["skip", "--cluster", "eu-17", "--reason", "broken disk"],
      writes: {
        "knfleet.dev/skip-clusters": `${update} fleet/eu-17`,
        ...deed("skip", { subject: "cluster fleet/eu-17", reason: "broken disk" }),
      },
    },
    {
      args: ["skip", "--stage", "early", "--reason", "holidays"],
      writes: {
        "knfleet.dev/skip-stages": `${update} early`,
        ...deed("skip", { subject: "stage early", reason: "holidays" }),
      },
    },
    {
      args: ["abort", "--reason", "wrong registry"],
      writes: {
        "knfleet.dev/abort": `${update} wrong registry`,
        ...deed("abort", { reason: "wrong registry" }),
      },
    },
  ])("rollout $args", async ({ args, set, writes }) => {
    const { written, exitCode } = await steered(args, set);
    expect(written).toEqual([writes]);
    expect(exitCode).toBe(0);
  });

  test("and writes it without a name where the hub does not tell it", async () => {
    const { written } = await steered(["pause", "--reason", "incident 7"], rolling, 404);
    expect(JSON.stringify(written)).not.toContain("user");
  });
});

test.each([
  { verb: "approve", set: gated },
  { verb: "pause", set: rolling },
  { verb: "resume", set: paused },
  { verb: "retry", set: halted },
])("rollout $verb without the right to patch the set is forbidden", async ({ verb, set }) => {
  await using hub = await startStubHub([set], ({ method, path }) => {
    if (path.endsWith("/selfsubjectreviews")) return alice;
    return method === "PATCH" ? forbidden("cannot patch it") : undefined;
  });
  const line = ["rollout", verb, "kss/prod", "-n", "platform"];
  const { stderr, exitCode } = await runText(line, { env: hub.env });
  expect(stderr).toMatch(/^error: Forbidden: .*cannot patch it/);
  expect(exitCode).toBe(2);
});

describe("rollout skip", () => {
  test("adds to what is skipped in this revision, and forgets what was skipped in another one", async () => {
    const key = "knfleet.dev/skip-clusters";
    const again = ["skip", "--cluster", "fleet/eu-2", "--reason", "no"];
    const of = (value: string) =>
      sampleSet({ status: rolling.status ?? {}, annotations: { [key]: value } });
    const more = await steered(again, of(`${update} fleet/eu-1`));
    expect(more.written).toMatchObject([{ [key]: `${update} fleet/eu-1 fleet/eu-2` }]);
    const other = await steered(again, of("prod-0123456789 fleet/eu-1"));
    expect(other.written).toMatchObject([{ [key]: `${update} fleet/eu-2` }]);
    expect((await steered(again, of(`${update} fleet/eu-2`))).stdout).toContain("already");
  });

  test.each([
    { args: ["skip", "--cluster", "eu-1"], says: "--reason", code: 2 },
    { args: ["abort"], says: "--reason", code: 2 },
    { args: ["skip", "--reason", "a"], says: "one of --cluster and --stage", code: 2 },
    {
      args: ["skip", "--stage", "a", "--cluster", "b", "--reason", "a"],
      says: "one of --cluster and --stage",
      code: 2,
    },
    { args: ["skip", "--cluster", "eu-*", "--reason", "a"], says: "[NAMESPACE/]NAME", code: 2 },
    {
      args: ["skip", "--cluster", "canari-1", "--reason", "a"],
      says: "ClusterProfile fleet/canari-1 does not exist",
      code: 2,
    },
    { args: ["skip", "--stage", "none", "--reason", "a"], says: 'no stage "none"', code: 1 },
  ])("refuses $args", async ({ args, says, code }) => {
    const { stderr, exitCode, written } = await steered(args);
    expect({ exitCode, written }).toEqual({ exitCode: code, written: [] });
    expect(stderr).toContain(says);
  });

  test.each([403, 500])("refuses what it cannot record who did: %d", async (status) => {
    const told = await steered(["abort", "--reason", "a"], rolling, status);
    expect(told).toMatchObject({ exitCode: 2, written: [] });
    expect(told.stderr).toContain("selfsubjectreviews");
  });

  test.each([
    ["skip", "--stage", "early", "--reason", "a"],
    ["abort", "--reason", "a"],
  ])("and abort refuse a rollout that is over: %s", async (...args) => {
    const { stderr, exitCode } = await steered(args, over);
    expect(stderr).toContain("is over");
    expect(exitCode).toBe(1);
  });
});

describe("a set that is being deleted is not written by", () => {
  const { metadata, ...rest } = rolling;
  const deleted = { ...rest, metadata: { ...metadata, deletionTimestamp: "2026-11-21T11:00:00Z" } };

  test.each([
    [["approve", "--stage", "early"]],
    [["pause"]],
    [["resume"]],
    [["retry"]],
    [["skip", "--stage", "early", "--reason", "x"]],
    [["abort", "--reason", "x"]],
    [["accept-selection"]],
  ])("%s", async (args) => {
    const { written, stderr, exitCode } = await steered(args, deleted);
    expect(stderr).toContain(
      "KnativeServingSet platform/prod is being deleted: nothing was written",
    );
    expect(exitCode).toBe(1);
    expect(written).toEqual([]);
  });
});
