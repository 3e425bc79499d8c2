import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { FleetSet } from "../../../../../api/fleet-set.ts";
import { setGoalOf, setStandingOf } from "../../../../../cmd/kubectl/commands/wait/wait-sets.ts";
import { waitFor } from "../../../../fleet/wait-for.ts";
import { startChangingCluster } from "../../changing-cluster.ts";
import { component } from "../../fleet-facts.ts";
import { runText } from "../../run-text.ts";
import { fleetSet, phased } from "../../set-facts.ts";
import { startStubHub, type StubHub } from "../../stub-hub.ts";

const complete = fleetSet({ status: phased("Complete") });
const rolling = fleetSet();
const halted = fleetSet({ status: phased("Halted", { stage: "early", waitingFor: "2 failed" }) });
const passed = fleetSet({
  status: {
    ...rolling.status,
    stages: (rolling.status?.stages ?? []).map((stage) => ({ ...stage, state: "Passed" })),
  },
});
const deleted: FleetSet = {
  ...complete,
  metadata: { ...complete.metadata, deletionTimestamp: "2026-11-21T11:59:00Z" },
};

describe("a set", () => {
  test.each([
    { name: "that is complete", goal: "complete", of: complete, state: "met" },
    { name: "as kubectl asks", goal: "condition=Complete", of: complete, state: "met" },
    { name: "that rolls out", goal: "complete", of: rolling, state: "waiting", reason: "Rolling" },
    { name: "that is halted", goal: "complete", of: halted, state: "failed", reason: "Halted" },
    {
      name: "that is rolled back",
      goal: "complete",
      of: fleetSet({ status: phased("RolledBack") }),
      state: "failed",
      reason: "RolledBack",
    },
    {
      name: "that goes back",
      goal: "complete",
      of: fleetSet({ status: phased("RollingBack") }),
      state: "failed",
      reason: "RollingBack",
    },
    {
      name: "that waits for an approval",
      goal: "complete",
      of: fleetSet({ status: phased("AwaitingApproval", { waitingFor: "an approval" }) }),
      state: "waiting",
      reason: "AwaitingApproval",
    },
    {
      name: "that was complete before its spec changed",
      goal: "complete",
      of: fleetSet({ status: phased("Complete"), generation: 2 }),
      state: "waiting",
      reason: "NotObserved",
    },
    {
      name: "that was halted before its spec changed",
      goal: "complete",
      of: fleetSet({ status: phased("Halted"), generation: 2 }),
      state: "waiting",
      reason: "NotObserved",
    },
    {
      name: "without a status",
      goal: "complete",
      of: fleetSet({ status: {} }),
      state: "waiting",
      reason: "NoStatus",
    },
    { name: "that is deleted", goal: "complete", of: deleted, state: "failed", reason: "Deleting" },
    { name: "whose stage was passed", goal: "stage=canary", of: rolling, state: "met" },
    {
      name: "whose stage was passed before a later one was halted",
      goal: "stage=canary",
      of: halted,
      state: "met",
    },
    {
      name: "whose stage is rolled out",
      goal: "stage=early",
      of: rolling,
      state: "waiting",
      reason: "Rolling",
    },
    {
      name: "whose stage was halted",
      goal: "stage=early",
      of: halted,
      state: "failed",
      reason: "Halted",
    },
    {
      name: "without such a stage",
      goal: "stage=late",
      of: rolling,
      state: "failed",
      reason: "NotFound",
    },
  ])("$name is $state for $goal", ({ goal, of, state, reason = null }) => {
    expect(setStandingOf(setGoalOf(goal), of)).toMatchObject({ state, reason });
  });

  test("that is halted tells why", () => {
    expect(setStandingOf({ kind: "complete" }, halted).message).toBe("2 failed");
  });
});

let hub: StubHub;
beforeAll(async () => {
  const eventing = { kind: "KnativeEventingSet" } as const;
  hub = await startStubHub(
    [
      complete,
      fleetSet({ name: "slow" }),
      fleetSet({ name: "bad", status: phased("Halted", { waitingFor: "2 failed" }) }),
      fleetSet({ ...eventing, status: phased("Complete") }),
      component(),
    ],
    ({ path, query }) => {
      if (query?.has("watch") === true) return { stream: () => undefined };
      if (!path.includes("/namespaces/none/")) return undefined;
      return { status: 404, body: "404 page not found" };
    },
  );
});
afterAll(() => hub[Symbol.asyncDispose]());

async function wait(...args: readonly string[]) {
  return await runText(["wait", ...args], { env: hub.env });
}

describe("wait", () => {
  test("for a set that is complete exits 0", async () => {
    const { stdout, stderr, exitCode } = await wait("kss/prod");
    expect(stdout).toBe(
      "NAMESPACE   NAME   KIND                CLUSTER   STATE   REASON   MESSAGE\n" +
        "team-a      prod   KnativeServingSet   <hub>     met     <none>   <none>\n",
    );
    expect(stderr).toMatch(/^met: 1 of 1, 1 wanted, after \d+ s\n$/);
    expect(exitCode).toBe(0);
  });

  test("for a set that is halted exits 1 and says why", async () => {
    const { stdout, stderr, exitCode } = await wait("kss/bad", "--for=complete");
    expect(stdout).toContain("failed   Halted   2 failed\n");
    expect(stderr).toContain("error: it cannot become true without help");
    expect(exitCode).toBe(1);
  });

  test("for a set that goes on exits 124 after its time", async () => {
    const { stdout, exitCode } = await wait("kss/slow", "--timeout", "300ms");
    expect(stdout).toContain("waiting   Rolling");
    expect(exitCode).toBe(124);
  });

  test("for a stage exits 0 when it was passed", async () => {
    expect((await wait("kss/slow", "--for=stage=canary")).exitCode).toBe(0);
  });

  test("for all sets of a type names those that are complete", async () => {
    const { stdout } = await wait("kes", "-A", "-o", "name");
    expect(stdout).toBe("knativeeventingset.knfleet.dev/prod\n");
  });

  test("for sets is one document", async () => {
    const { stdout } = await wait("kss", "prod", "bad", "-o", "json", "--min", "1");
    expect(JSON.parse(stdout)).toMatchObject({
      kind: "Wait",
      summary: { total: 2, met: 1, failed: 1, outcome: "met" },
      items: [
        { kind: "KnativeServingSet", name: "bad", cluster: null, state: "failed", code: null },
        { kind: "KnativeServingSet", name: "prod", state: "met" },
      ],
    });
  });

  test.each([
    { name: "is complete", goal: "complete", later: complete, code: 0, says: " met " },
    { name: "has passed the stage", goal: "stage=early", later: passed, code: 0, says: " met " },
    { name: "halts", goal: "complete", later: halted, code: 1, says: "failed   Halted   2 failed" },
  ])("for a set that goes on ends when it $name", async ({ goal, later, code, says }) => {
    await using changing = await startChangingCluster(rolling);
    const running = runText(["wait", "kss/prod", `--for=${goal}`], { env: changing.env });
    await waitFor("its watch", () => changing.watches === 1);
    changing.put(later);
    const { stdout, exitCode } = await running;
    expect(stdout).toContain(says);
    expect(exitCode).toBe(code);
  });

  test("for a set that was complete before its spec changed exits 124 after its time", async () => {
    await using older = await startStubHub([
      fleetSet({ status: phased("Complete"), generation: 2 }),
    ]);
    const line = ["wait", "kss/prod", "--timeout", "300ms"];
    const { stdout, exitCode } = await runText(line, { env: older.env });
    expect(stdout).toContain("NotObserved");
    expect(exitCode).toBe(124);
  });

  test("for a set on a hub without sets says so at once", async () => {
    const { stderr, exitCode } = await wait("kss/prod", "-n", "none");
    expect(stderr).toContain(`The server doesn't have a resource type "knativeservingsets"`);
    expect(exitCode).toBe(2);
  });

  test.each([
    [["kss/prod", "ks/knative-serving"], /not for both/],
    [["kss/prod", "--for=ready"], /of a fleet set want complete or stage=NAME/],
    [["ks/knative-serving", "--for=complete"], /of a fleet set complete or stage=NAME/],
    [["kss/prod", "--cluster", "eu-1"], /no fleet sets/],
    [["kss/prod", "--min", "2"], /more than the 1/],
    [["kss/prod/x"], /is not TYPE\/NAME/],
  ])("%s is a wrong command line", async (args, says) => {
    const { stderr, exitCode } = await wait(...args);
    expect(stderr).toMatch(says);
    expect(exitCode).toBe(2);
  });
});
