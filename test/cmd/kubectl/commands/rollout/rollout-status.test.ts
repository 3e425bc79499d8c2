import { join } from "node:path";

import { describe, expect, test } from "vitest";

import type { FleetSet } from "../../../../../api/fleet-set.ts";
import { barOf } from "../../../../../cmd/kubectl/commands/rollout/rollout-text.ts";
import { outcomeOf, rolloutItemOf } from "../../../../../cmd/kubectl/hub/rollout-item.ts";
import { setItemOf } from "../../../../../cmd/kubectl/hub/set-view.ts";
import { waitFor } from "../../../../fleet/wait-for.ts";
import { startChangingCluster } from "../../changing-cluster.ts";
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
import { inPhase, rolling, sampleSet } from "./sample-set.ts";

const golden = join(import.meta.dirname, "../../../../golden/rollout");
const line = ["rollout", "status", "kss/prod", "-n", "platform"];
const formats = { fields: [".phase", ".stages[0].state"] as const };

async function ran(set: FleetSet | undefined, args: readonly string[], looks: Looks = pipe) {
  await using hub = await startStubHub(set === undefined ? [] : [set]);
  const { columns, env = {} } = looks;
  return await runText(args, {
    env: { LANG: "C.UTF-8", ...hub.env, ...env },
    ...(columns === undefined ? {} : { columns }),
  });
}

describe("rollout status", () => {
  test("looks as agreed in every format and width", async () => {
    const sections: string[] = [];
    for (const [format, all] of textFormats({ fields: [...formats.fields] })) {
      for (const looks of all) {
        const args = [...line, "-o", format];
        // oxlint-disable-next-line no-await-in-loop -- one line after another
        sections.push(sectionOf(args, looks, await ran(sampleSet(), args, looks)));
      }
    }
    await expect(sections.join("\n")).toMatchFileSnapshot(join(golden, "status.txt"));
  });

  test.each(ownFormats({ fields: [...formats.fields] }))(
    "looks as agreed as %s",
    async (format) => {
      const said = textOf(await ran(sampleSet(), [...line, "-o", format]));
      await expect(said).toMatchFileSnapshot(join(golden, `status.${format}.txt`));
    },
  );
});

const phases = {
  complete: sampleSet({ status: inPhase({ phase: "Complete" }, { notable: [] }) }),
  halted: sampleSet({
    status: inPhase({
      phase: "Halted",
      stage: "early",
      waitingFor:
        "Stage early halted: 2 clusters failed, maxFailures is 1. No rollback: onFailure is Pause",
    }),
  }),
  "rolled back": sampleSet({
    status: inPhase({ phase: "RolledBack", failedRevision: "prod-7c9f1b77e2" }),
  }),
  soaking: sampleSet({ status: inPhase({ phase: "Soaking", stage: "canary" }) }),
  gated: sampleSet({ status: inPhase({ phase: "AwaitingApproval", stage: "canary" }) }),
  paused: sampleSet({
    status: inPhase({ phase: "Paused", stage: "early" }),
    annotations: { "knfleet.dev/pause-rollout": "incident 7" },
  }),
  shrunk: sampleSet({
    status: inPhase(
      { phase: "Complete" },
      {
        conditions: [
          {
            type: "Selected",
            status: "False",
            reason: "SuspiciousShrink",
            message: "The selection lost many clusters at once",
          },
        ],
      },
    ),
  }),
  unseen: sampleSet({ status: inPhase({ phase: "Complete" }), generation: 8 }),
  new: sampleSet({ status: {} }),
} as const;

describe("a rollout that is", () => {
  test.each([
    ["complete", 0],
    ["halted", 1],
    ["rolled back", 1],
    ["soaking", 3],
    ["gated", 3],
    ["paused", 3],
    ["shrunk", 0],
    ["unseen", 3],
    ["new", 3],
  ] as const)("%s says so, and exits with %i", async (name, code) => {
    const said = await ran(phases[name], line);
    expect(said.exitCode).toBe(code);
    const file = join(golden, `status-${name.replace(" ", "-")}.txt`);
    await expect(textOf(said)).toMatchFileSnapshot(file);
  });
});

describe("a rollout with checks", () => {
  const { rollout } = sampleSet().spec;
  if (rollout === undefined) throw new Error("The sample has stages");
  const workloads = { maxNewlyBroken: 0 };
  const stages = (rollout.stages ?? []).map((stage) =>
    stage.name === "early" ? { ...stage, verify: { workloads } } : stage,
  );
  const spec = { rollout: { ...rollout, stages } };

  test("says how many clusters of a stage are verified, and which stages ask nothing", async () => {
    const { stdout } = await ran(sampleSet({ spec }), line);
    const rows = stdout.split("\n").map((row) => row.split(/ {2,}/).slice(0, 4).join(" | "));
    expect(rows).toEqual(
      expect.arrayContaining([
        "STAGE | STATE | DONE | VERIFIED",
        "canary | Passed | 12/12 | <none>",
        "early | Rolling | 115/120 | 115 of 120",
      ]),
    );
    const { items } = JSON.parse((await ran(sampleSet({ spec }), [...line, "-o", "json"])).stdout);
    expect(items[0].stages.map((stage: { verified?: number }) => stage.verified)).toEqual([
      undefined,
      115,
      undefined,
    ]);
  });

  test("counts none on the way back, when nobody is asked", async () => {
    const status = inPhase({ phase: "RollingBack", failedRevision: "prod-7c9f1b77e2" });
    expect((await ran(sampleSet({ spec, status }), line)).stdout).not.toContain("VERIFIED");
  });
});

const unserved: Answer = ({ path }) =>
  path.includes("/knfleet.dev/") ? { status: 404, body: "404 page not found" } : undefined;

describe("a set", () => {
  test("that does not exist exits with 1, and the list of sets is named", async () => {
    const { exitCode, stderr } = await ran(undefined, line);
    expect(exitCode).toBe(1);
    expect(stderr).toBe(
      'error: knativeservingsets.knfleet.dev "prod" not found in namespace platform\n' +
        "next: kubectl get knativeservingsets.knfleet.dev -A\n",
    );
  });

  test("of Knative Eventing that does not exist exits with 1", async () => {
    const { exitCode, stderr } = await ran(undefined, ["rollout", "status", "kes/prod"]);
    expect(stderr).toContain('knativeeventingsets.knfleet.dev "prod" not found');
    expect(exitCode).toBe(1);
  });

  test("of a hub without sets leads to the chart", async () => {
    await using hub = await startStubHub([], unserved);
    const { exitCode, stderr } = await runText(line, { env: hub.env });
    expect(exitCode).toBe(2);
    expect(stderr).toContain("sets.enabled=true");
  });

  test.each([
    { args: [], says: "Name a set" },
    { args: ["ks/prod"], says: '"ks/prod" is no set' },
    { args: ["kss/a", "kss/b"], says: "Name one set" },
    { args: ["kss/a", "-A"], says: "in all namespaces" },
    { args: ["kss/a", "-w", "-o", "name"], says: "cannot be used with --watch" },
  ])("is not named by $args", async ({ args, says }) => {
    const { exitCode, stderr } = await ran(sampleSet(), ["rollout", "status", ...args]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(says);
  });

  test("may be named by two words", async () => {
    const args = ["rollout", "status", "knativeservingset", "prod", "-n", "platform", "-o", "name"];
    expect((await ran(sampleSet(), args)).stdout).toBe("knativeservingset.knfleet.dev/prod\n");
  });
});

/** Watches a set whose status becomes one after the other, each when the one before was read. */
async function watched(
  [first, ...later]: readonly FleetSet["status"][],
  args: readonly string[],
  { columns, env = {} }: Looks,
) {
  await using hub = await startChangingCluster(sampleSet({ status: first ?? {} }));
  const running = runText([...line, "-w", ...args], {
    env: { LANG: "C.UTF-8", ...hub.env, ...env },
    ...(columns === undefined ? {} : { columns }),
  });
  const readings = () => hub.requests.filter((one) => one.endsWith("/knativeservingsets/prod"));
  await waitFor("the watch", () => hub.requests.some((one) => one.endsWith("/knativeservingsets")));
  for (const status of later) {
    const before = readings().length;
    hub.put(sampleSet({ status: status ?? {} }));
    // oxlint-disable-next-line no-await-in-loop -- one change after another
    await waitFor("the status to be read", () => readings().length > before);
  }
  return await running;
}

const course = [rolling, phases.gated.status, phases.gated.status, phases.complete.status];

describe("rollout status -w", () => {
  test("prints a line for each change in a pipe, and ends when the rollout is complete", async () => {
    const said = await watched(course, [], pipe);
    expect(said.exitCode).toBe(0);
    const phasesSeen = said.stdout
      .trimEnd()
      .split("\n")
      .map((one) => one.split(/[,;]/)[0]);
    expect(phasesSeen).toEqual(["Rolling", "AwaitingApproval", "Complete"]);
  });

  test("ends with 1 when it halts, and says what to do", async () => {
    const said = await watched([rolling, phases.halted.status], [], pipe);
    expect(said.exitCode).toBe(1);
    expect(said.stderr).toContain("next: kubectl knfleet rollout retry kss/prod -n platform\n");
  });

  test("draws the picture anew in a terminal", async () => {
    const { stdout } = await watched(course, [], { title: "", columns: 100 });
    const pictures = stdout.split("\u001b[J");
    expect(pictures).toHaveLength(3);
    expect(pictures.at(-1)).toContain("Complete");
  });

  test("prints one document a line", async () => {
    const { stdout } = await watched(course, ["-o", "json"], pipe);
    const items: readonly unknown[] = stdout
      .trimEnd()
      .split("\n")
      .map((one) => JSON.parse(one));
    expect(items).toMatchObject([
      { phase: "Rolling" },
      { phase: "AwaitingApproval" },
      { phase: "Complete" },
    ]);
  });

  test("ends with 124 when its time is over", async () => {
    expect((await watched([rolling], ["--timeout", "1s"], pipe)).exitCode).toBe(124);
  });
});

test("a pause that nobody annotated comes from the spec", () => {
  const { rollout } = sampleSet().spec;
  if (rollout === undefined) throw new Error("The sample has stages");
  const paused = sampleSet({
    status: inPhase({ phase: "Paused" }),
    spec: { rollout: { ...rollout, paused: true } },
  });
  expect(rolloutItemOf(paused).waitingFor).toBe("The set is paused: spec.rollout.paused");
});

test("a set that is being deleted is never complete", () => {
  const set = phases.complete;
  const metadata = { ...set.metadata, deletionTimestamp: "2026-11-21T11:59:00Z" };
  expect(outcomeOf({ ...set, metadata })).toBe("incomplete");
  expect(rolloutItemOf({ ...set, metadata }).waitingFor).toBe("The set is being deleted");
});

test("a set that is being deleted says for which cluster it waits, as its controller does", () => {
  const message = "The set is deleted and waits for fleet/eu-1";
  const lastTransitionTime = "2026-11-21T11:59:00Z";
  const deleting = { type: "Progressing", status: "True", reason: "Deleting" } as const;
  const conditions = [{ ...deleting, message, lastTransitionTime }];
  const set = sampleSet({ status: inPhase({ phase: "Complete" }, { conditions }) });
  const leaving = { ...set, metadata: { ...set.metadata, deletionTimestamp: lastTransitionTime } };
  expect(rolloutItemOf(leaving).waitingFor).toBe(message);
  expect(setItemOf(leaving).message).toBe(message);
});

test.each([
  [{ clusters: 4, done: 1, updating: 1, failed: 1 }, "[##>>!!..]"],
  [{ clusters: 1000, done: 1, updating: 1, failed: 1 }, "[#>!.....]"],
  [{ clusters: 3, done: 3, updating: 0, failed: 0 }, "[########]"],
  [{ clusters: 2, done: 2, updating: 2, failed: 2 }, "[!!!!!!!!]"],
  [{ clusters: 0, done: 0, updating: 0, failed: 0 }, "[........]"],
] as const)("the bar of %o is %s", (stage, bar) => expect(barOf(stage, 8)).toBe(bar));
