import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { waitFor } from "../../../fleet/wait-for.ts";
import { startChangingCluster } from "../changing-cluster.ts";
import { component } from "../fleet-facts.ts";
import { runText } from "../run-text.ts";
import { fleetSet, phased, stamped } from "../set-facts.ts";
import { type Answer, startStubHub, type StubHub } from "../stub-hub.ts";

const serving = fleetSet();
const eventing = fleetSet({
  kind: "KnativeEventingSet",
  status: phased("Halted", { stage: "canary", waitingFor: "2 of 2 clusters failed" }),
});
const fresh = fleetSet({ namespace: "team-b", name: "lab", generation: 2, status: {} });
const own = stamped(serving, { cluster: "eu-1", name: "prod-eu-1" });
const other = component({ cluster: "eu-2", name: "by-hand" });

let hub: StubHub;
let bare: StubHub;
let refusing: StubHub;
beforeAll(async () => {
  const objects = [serving, eventing, fresh, own, other];
  hub = await startStubHub(objects, bySelector(objects));
  bare = await startStubHub([other], setsAnswer(404));
  refusing = await startStubHub([other], setsAnswer(403));
});
afterAll(async () => {
  for (const one of [hub, bare, refusing]) {
    // oxlint-disable-next-line no-await-in-loop -- three servers
    await one[Symbol.asyncDispose]();
  }
});

/** Of components those with the labels that a request selects. */
function bySelector(objects: Parameters<typeof startStubHub>[0]): Answer {
  return ({ path, query }) => {
    const selector = query?.get("labelSelector") ?? "";
    if (selector === "" || !path.includes("/operator.knative.dev/")) return undefined;
    const pairs = selector.split(",").map((pair) => pair.split("="));
    const items = objects.filter(
      ({ kind, metadata: { labels } }) =>
        path.endsWith(`/${kind.toLowerCase()}s`) &&
        pairs.every(([key = "", value]) => labels?.[key] === value),
    );
    return { body: { kind: "List", apiVersion: "v1", metadata: { resourceVersion: "7" }, items } };
  };
}

function setsAnswer(code: number): Answer {
  const body = { kind: "Status", apiVersion: "v1", code, message: "no" };
  return ({ path }) => (path.includes("/knfleet.dev/") ? { status: code, body } : undefined);
}

async function status(of: StubHub, ...args: readonly string[]) {
  return await runText(["status", "--no-live", ...args], { env: of.env });
}

const sets = `NAMESPACE   SET        VERSION   PHASE     STAGE    DONE   FAILED   MESSAGE
team-a      kes/prod   1.23      Halted    canary   5/12   1        2 of 2 clusters failed
team-a      kss/prod   1.23      Rolling   early    5/12   1        <none>
`;

describe("status", () => {
  test("shows the sets of the namespace below the installations", async () => {
    const { stdout, exitCode } = await status(hub);
    expect(stdout.split("\n\n")[1]).toBe(sets);
    expect(exitCode).toBe(0);
  });

  test("shows the sets of all namespaces, and which are not observed yet", async () => {
    const { stdout } = await status(hub, "-A", "--no-headers");
    expect(stdout).toContain(
      "team-b   kss/lab    1.23   <unknown>   <none>   0/0    0   The controller has not seen the latest change of the set\n",
    );
  });

  test("shows the sets of one kind beside the installations of one kind", async () => {
    const { stdout } = await status(hub, "ks", "-o", "wide");
    expect(stdout).toContain("kss/prod");
    expect(stdout).toContain("prod-7c9f1b77e2");
    expect(stdout).not.toContain("kes/prod");
  });

  test("has the sets in its document", async () => {
    const { stdout } = await status(hub, "ks", "-o", "json");
    expect(JSON.parse(stdout)).toMatchObject({
      items: [{ name: "by-hand" }, { name: "prod-eu-1" }],
      sets: [
        {
          namespace: "team-a",
          name: "prod",
          kind: "KnativeServingSet",
          version: "1.23",
          phase: "Rolling",
          stage: "early",
          selected: 12,
          done: 5,
          failed: 1,
          revision: "prod-7c9f1b77e2",
          message: null,
        },
      ],
    });
  });

  test.each([
    { name: "beside installations", beside: [other], stage: "canary" },
    { name: "without any installation", beside: [], stage: "canary" },
  ])("says which sets wait for an approval, and how it is given, $name", async (row) => {
    const gated = fleetSet({ status: phased("AwaitingApproval", { stage: row.stage }) });
    const early = "Stage canary waits for an approval before it begins";
    const before = fleetSet({
      kind: "KnativeEventingSet",
      namespace: "team-b",
      status: phased("AwaitingApproval", { stage: "canary", waitingFor: early }),
    });
    await using one = await startStubHub([gated, before, ...row.beside]);
    const { stdout, stderr } = await status(one, "-A");
    expect(stdout).toContain("Stage canary is done and waits for an approval\n");
    expect(stdout).toContain(`${early}\n`);
    expect(`${stdout}${stderr}`).toContain(
      "2 fleet sets wait for an approval:\n" +
        "next: kubectl knfleet rollout approve kss/prod -n team-a\n" +
        "next: kubectl knfleet rollout approve kes/prod -n team-b\n",
    );
    expect((await status(hub, "-A")).stderr).not.toContain("approval");
  });

  test("asks for no set when installations are named or selected", async () => {
    const before = hub.requests.length;
    const { stdout } = await status(hub, "ks/by-hand", "-o", "json");
    expect(JSON.parse(stdout)).toMatchObject({ sets: null });
    await status(hub, "-l", "knfleet.dev/set=prod");
    const asked = hub.requests
      .slice(before)
      .filter((line) => line.includes("knfleet.dev/v1alpha1"));
    expect(asked).toEqual([]);
  });
});

describe("status --set", () => {
  test.each(["kss/prod", "KnativeServingSet/prod", "knativeservingsets.knfleet.dev/prod"])(
    "of %s shows its installations and the set",
    async (set) => {
      const { stdout, exitCode } = await status(hub, "--set", set);
      expect(stdout).toContain("prod-eu-1");
      expect(stdout).toContain("kss/prod");
      expect(stdout).not.toMatch(/by-hand|kes\/prod/);
      expect(exitCode).toBe(0);
    },
  );

  test("has its installations and the set in its document", async () => {
    const { stdout } = await status(hub, "--set", "kss/prod", "-o", "json");
    expect(JSON.parse(stdout)).toMatchObject({
      items: [{ name: "prod-eu-1" }],
      sets: [{ kind: "KnativeServingSet", name: "prod", phase: "Rolling" }],
    });
  });

  test("of a name shows the sets of both kinds", async () => {
    const { stdout } = await status(hub, "--set", "prod");
    expect(stdout.split("\n\n")[1]).toBe(sets);
  });

  test("of a set that does not exist exits 1", async () => {
    const { stderr, exitCode } = await status(hub, "--set", "kss/gone");
    expect(exitCode).toBe(1);
    expect(stderr).toBe(
      'error: knativeservingsets.knfleet.dev "gone" not found\n' +
        "No matching Knative installations found in team-a namespace.\n" +
        "next: kubectl knfleet status -A\n",
    );
  });

  test.each([
    ["ks/prod", /There is no type of "ks\/prod"/],
    ["prod=x", /is not TYPE\/NAME/],
  ])("of %s is a wrong command line", async (set, says) => {
    const { stderr, exitCode } = await status(hub, "--set", set);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(says);
  });

  test("of one kind does not go with installations of the other", async () => {
    const { stderr, exitCode } = await status(hub, "ke", "--set", "kss/prod");
    expect(exitCode).toBe(2);
    expect(stderr).toContain("kss/prod stamps no KnativeEventing");
  });
});

test("status -w prints a set that changes", async () => {
  await using changing = await startChangingCluster(serving, own);
  const stop = new AbortController();
  const line = ["status", "--no-live", "-w"];
  const running = runText(line, { env: changing.env, signal: stop.signal });
  await waitFor("its watches", () => changing.requests.length >= 8);
  changing.put(fleetSet({ status: phased("Complete") }));
  // What one look shows is there when the next one begins.
  for (const name of ["prod-eu-2", "prod-eu-3"]) {
    const before = changing.requests.length;
    changing.put(stamped(serving, { cluster: "eu-1", name }));
    // oxlint-disable-next-line no-await-in-loop -- one look after another
    await waitFor("another look", () => changing.requests.length >= before + 4);
  }
  stop.abort();
  const { stdout } = await running;
  expect(stdout).toMatch(/^team-a +kss\/prod +1\.23 +Rolling +early +5\/12 +1 +<none>$/m);
  expect(stdout).toMatch(/^team-a +kss\/prod +1\.23 +Complete +<none> +5\/12 +1 +<none>$/m);
  expect(stdout.match(/^NAMESPACE +SET/gm)).toHaveLength(1);
});

test("status of a set as if it were an installation says how sets are named", async () => {
  const { stderr, exitCode } = await status(hub, "kss/prod");
  expect(exitCode).toBe(2);
  expect(stderr).toBe(
    'error: There is no type "kss": use KnativeServing (ks) or KnativeEventing (ke)\n' +
      "hint: Installations of a fleet set are selected by status --set kss/NAME; rollout status kss/NAME shows the set.\n",
  );
});

describe("on a hub without fleet sets", () => {
  test("or where they may not be read, status is as it was", async () => {
    const before = bare.requests.length;
    const plain = await status(bare);
    const refused = await status(refusing);
    expect(plain.stdout.trimEnd().split("\n")).toHaveLength(2);
    expect(plain).toMatchObject({ stderr: "1 installation: 1 healthy.\n", exitCode: 0 });
    expect(refused).toEqual(plain);
    const asked = bare.requests.slice(before).filter((line) => line.includes("/knfleet.dev/"));
    expect(asked).toHaveLength(2);
  });

  test("the document has none, or says that it does not know", async () => {
    const plain = await status(bare, "-o", "json");
    expect(JSON.parse(plain.stdout)).toMatchObject({ sets: [], errors: [] });
    const refused = await status(refusing, "-o", "json");
    expect(JSON.parse(refused.stdout)).toMatchObject({ sets: null, errors: [] });
  });
});
