import { describe, expect, test } from "vitest";

import { isRecord } from "../../../../../api/fields.ts";
import { setLabels } from "../../../../../api/fleet-set.ts";
import type { KubeObject } from "../../../../../api/kubernetes.ts";
import { runText } from "../../run-text.ts";
import { fleetSet, phased } from "../../set-facts.ts";
import { type Answer, startStubHub } from "../../stub-hub.ts";

/** What `check` says of fleet sets on a hub with these objects, and what it asked for. */
async function setsChecked(objects: readonly KubeObject[], answer?: Answer) {
  await using hub = await startStubHub(objects, (request) => answer?.(request) ?? api(request));
  const { stdout } = await runText(["check", "-o", "json"], { env: hub.env });
  const document: unknown = JSON.parse(stdout);
  const items: unknown = isRecord(document) ? document["items"] : [];
  const all: readonly unknown[] = Array.isArray(items) ? items : [];
  const found = all.filter((item) => isRecord(item) && item["check"] === "fleet sets");
  return { items: found, requests: hub.requests };
}

const api: Answer = ({ path }) =>
  path.endsWith("/selfsubjectreviews")
    ? { body: { status: { userInfo: { username: "me", groups: [] } } } }
    : undefined;

function revision(name: string, set: string): KubeObject {
  const labels = { [setLabels.set]: set, [setLabels.kind]: "KnativeServingSet" };
  return {
    apiVersion: "apps/v1",
    kind: "ControllerRevision",
    metadata: { namespace: "team-a", name, uid: name, resourceVersion: "1", labels },
    revision: 1,
  };
}

const awaiting = (since: string) => ({
  ...phased("AwaitingApproval", { stage: "canary" }),
  conditions: [
    {
      type: "Progressing",
      status: "False",
      reason: "AwaitingApproval",
      message: "A finished stage waits for an approval",
      lastTransitionTime: since,
    } as const,
  ],
});

describe("check", () => {
  test("says in one line that no set is stuck", async () => {
    const recent = fleetSet({ name: "recent", status: awaiting("2026-11-21T11:00:00Z") });
    const { items } = await setsChecked([fleetSet(), recent, revision("prod-1", "prod")]);
    expect(items).toMatchObject([
      { subject: "hub", state: "OK", message: "2 sets, none of which is stuck" },
    ]);
  });

  test("names an object that has not the form of a set, and leaves its revisions alone", async () => {
    const odd = { ...fleetSet({ name: "odd" }), spec: {} };
    const { items } = await setsChecked([odd, revision("odd-1", "odd")]);
    expect(items).toEqual([
      expect.objectContaining({
        subject: expect.stringMatching(/^KnativeServingSet \S+\/odd$/),
        state: "WARN",
        message: "has not the form of a set: the CRD is not that of knfleet",
      }),
    ]);
  });

  test.each([
    {
      name: "a set that is halted",
      status: phased("Halted", { stage: "early", waitingFor: "2 of 10 clusters failed" }),
      says: {
        state: "FAIL",
        code: "Halted",
        message: "stage early: 2 of 10 clusters failed (1 cluster failed)",
        next: ["kubectl knfleet rollout status kss/prod -n team-a"],
      },
    },
    {
      name: "a set that is blocked",
      status: phased("Blocked", { waitingFor: "The Placement does not exist" }),
      says: {
        state: "FAIL",
        code: "Blocked",
        message: "the rollout: The Placement does not exist (1 cluster failed)",
      },
    },
    {
      name: "a selection that shrank suspiciously",
      status: {
        ...phased("Rolling"),
        conditions: [
          {
            type: "Selected",
            status: "False",
            reason: "SuspiciousShrink",
            message: "The selection lost many clusters at once",
          } as const,
        ],
      },
      says: {
        state: "WARN",
        code: "SuspiciousShrink",
        message: "The selection lost many clusters at once",
        next: ["kubectl knfleet explain SuspiciousShrink"],
      },
    },
    {
      name: "an approval that nobody gives",
      status: awaiting("2026-11-20T11:00:00Z"),
      says: {
        state: "WARN",
        code: "AwaitingApproval",
        message: "stage canary has waited for an approval for more than a day",
        next: ["kubectl knfleet rollout approve kss/prod -n team-a"],
      },
    },
  ])("tells of $name", async ({ status, says }) => {
    const { items } = await setsChecked([fleetSet({ status })]);
    expect(items).toMatchObject([{ subject: "KnativeServingSet team-a/prod", ...says }]);
  });

  test("fails for a set that is halted", async () => {
    const halted = fleetSet({ status: phased("Halted", { stage: "canary" }) });
    await using hub = await startStubHub([halted], api);
    const { stdout, exitCode } = await runText(["check", "-o", "short"], { env: hub.env });
    expect(stdout).toContain("FAIL KnativeServingSet team-a/prod fleet sets: Halted stage canary");
    expect(exitCode).toBe(1);
  });

  test("tells of ControllerRevisions without a set", async () => {
    const gone = [revision("gone-1", "gone"), revision("gone-2", "gone")];
    const objects = [fleetSet(), ...gone, revision("lost-1", "lost")];
    const { items } = await setsChecked(objects);
    const selector = "knfleet.dev/set=gone,knfleet.dev/set-kind=KnativeServingSet";
    expect(items).toMatchObject([
      {
        subject: "KnativeServingSet team-a/gone",
        state: "WARN",
        message: "the set does not exist, and has left 2 ControllerRevisions",
        next: [`kubectl delete controllerrevisions.apps -n team-a -l ${selector}`],
      },
      { message: "the set does not exist, and has left 1 ControllerRevision" },
    ]);
  });

  test("says nothing of sets when the hub does not serve them", async () => {
    const body = { kind: "Status", apiVersion: "v1", code: 404, message: "no" };
    const answer: Answer = ({ path }) =>
      path.includes("/knfleet.dev/") ? { status: 404, body } : undefined;
    const { items, requests } = await setsChecked([revision("gone-1", "gone")], answer);
    expect(items).toEqual([]);
    expect(requests.filter((line) => /knfleet.dev|controllerrevisions/.test(line))).toHaveLength(2);
  });
});
