import { describe, expect, test } from "vitest";

import type { FleetSet, FleetSetStatus } from "../../../../api/fleet-set.ts";
import { setLabels } from "../../../../api/fleet-set.ts";
import type { KubeObject } from "../../../../api/kubernetes.ts";
import { valueAt } from "../../../fleet/json-record.ts";
import { component } from "../fleet-facts.ts";
import { reviews } from "../reviews.ts";
import { runText } from "../run-text.ts";
import { fleetSet, phased } from "../set-facts.ts";
import { startStubHub } from "../stub-hub.ts";

const notable = [
  {
    cluster: "fleet/spoke-1",
    state: "Failed",
    reason: "ClusterProfileNotFound",
    message: "ClusterProfile fleet/spoke-1 does not exist",
  },
  { cluster: "fleet/spoke-2", state: "Blocked", reason: "NotOwned", message: "Made by hand" },
  { cluster: "fleet/spoke-3", state: "Updating", reason: "Updating", message: "" },
];
const halted: FleetSetStatus = {
  ...phased("Halted", { stage: "early", waitingFor: "1 cluster failed: Stage early allows none" }),
  notable,
};

const stamped = component({ namespace: "team-a", name: "prod-spoke-1", cluster: "spoke-1" });
const child: KubeObject = {
  ...stamped,
  metadata: { ...stamped.metadata, labels: { [setLabels.set]: "prod" } },
};

const refusal = "The hub does not take the status of the set: denied the request: no";

function writtenAt(time: string) {
  const written = { manager: "knfleet", operation: "Update", subresource: "status" } as const;
  return { ...written, time: `2026-11-21T${time}:00Z` };
}

/** The Event by which the controller tells it. */
function refusalOf({ kind, metadata: { namespace, name, uid } }: FleetSet): KubeObject {
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { namespace, name: "refused", uid: "event", resourceVersion: "1" },
    involvedObject: { kind, namespace, name, uid },
    type: "Warning",
    reason: "WriteRefused",
    message: refusal,
    lastTimestamp: "2026-11-21T12:00:00Z",
  };
}

async function run(line: string, status: FleetSetStatus, ...more: readonly KubeObject[]) {
  const set = fleetSet({ namespace: "team-a", name: "prod", status });
  await using hub = await startStubHub(
    [set, child, ...more],
    reviews(() => true),
  );
  return await runText(line.split(" "), { env: hub.env });
}

describe("diagnose of a fleet set", () => {
  test.each(["diagnose kss/prod -n team-a", "diagnose kss prod -n team-a"])(
    "%s says why it halted, and walks to the failed clusters",
    async (line) => {
      const { stdout, exitCode } = await run(line, halted);
      expect(stdout).toMatch(/^KnativeServingSet team-a\/prod, walked from this machine\n/);
      expect(stdout).toContain(
        "root cause: KNF1024 RolloutHalted: Halted, stage early: 1 cluster failed: Stage early allows none\n",
      );
      expect(stdout).toMatch(
        / {2}evidence: fleet\/spoke-1 Failed: KNF2002 ClusterProfileNotFound: /,
      );
      expect(stdout).toContain("  evidence: fleet/spoke-2 Blocked NotOwned: Made by hand\n");
      expect(stdout).not.toContain("spoke-3");
      expect(stdout).toContain("kubectl knfleet diagnose knativeserving/prod-spoke-1 -n team-a\n");
      expect(stdout).toContain("kubectl knfleet rollout retry kss/prod -n team-a\n");
      // The walk to the failed cluster is a row.
      expect(stdout).toMatch(/^team-a +prod-spoke-1 +KnativeServing +FAIL +KNF2002 /m);
      expect(exitCode).toBe(1);
    },
  );

  test("that waits says for what, and is no failure", async () => {
    const status = phased("AwaitingApproval", { stage: "early" });
    const { stdout, exitCode } = await run("diagnose kss/prod -n team-a", status);
    expect(stdout).toContain("warning: KNF1025 RolloutWaits: AwaitingApproval, stage early: ");
    expect(stdout).toContain("kubectl knfleet rollout approve kss/prod -n team-a\n");
    expect(exitCode).toBe(0);
  });

  test("that is being deleted says for which cluster it waits", async () => {
    const set = fleetSet({ namespace: "team-a", name: "prod", status: phased("Complete") });
    const deletionTimestamp = "2026-11-21T11:59:00Z";
    const leaving = { ...set, metadata: { ...set.metadata, deletionTimestamp } };
    await using hub = await startStubHub(
      [leaving],
      reviews(() => true),
    );
    const line = ["diagnose", "kss/prod", "-n", "team-a"];
    const { stdout } = await runText(line, { env: hub.env });
    expect(stdout).toContain("warning: KNF1025 RolloutWaits: ");
    expect(stdout).toMatch(/deleted and waits|is being deleted/);
  });

  test("that is complete is well", async () => {
    const { stdout } = await run("diagnose kss/prod -n team-a -o json", phased("Complete"));
    expect(JSON.parse(stdout)).toMatchObject({
      items: [
        {
          target: { kind: "KnativeServingSet", namespace: "team-a", name: "prod" },
          hops: expect.arrayContaining([
            expect.objectContaining({ id: "rollout", state: "OK", message: "Complete" }),
          ]),
        },
      ],
    });
  });

  test("that does not know its clusters says so, and not that it waits", async () => {
    const status: FleetSetStatus = {
      ...phased("Blocked"),
      conditions: [
        {
          type: "Selected",
          status: "False",
          reason: "SuspiciousShrink",
          message: "12 clusters before, 1 now",
        },
      ],
    };
    const { stdout } = await run("diagnose kss/prod -n team-a", status);
    expect(stdout).toContain("root cause: KNF1026 SetBlocked: Selected=False SuspiciousShrink: ");
    expect(stdout).toContain("kubectl knfleet rollout accept-selection kss/prod -n team-a\n");
  });

  test.each([
    { when: "the status was never written", managedFields: [], isTold: true },
    { when: "the status was written later", managedFields: [writtenAt("12:05")], isTold: false },
    { when: "the status was written before", managedFields: [writtenAt("11:00")], isTold: true },
  ])(
    "whose status the hub refuses says so, unless it was written since: $when",
    async ({ managedFields, isTold }) => {
      const set = fleetSet({ namespace: "team-a", name: "prod", status: phased("Complete") });
      const object = { ...set, metadata: { ...set.metadata, managedFields } };
      await using hub = await startStubHub(
        [object, refusalOf(set)],
        reviews(() => true),
      );
      const text = async (line: string) => await runText(line.split(" "), { env: hub.env });
      const { stdout } = await text("diagnose kss/prod -n team-a");
      const cause = `root cause: KNF1026 SetBlocked: ${refusal}\n`;
      expect(stdout.includes(cause)).toBe(isTold);
      expect(stdout.includes("kubectl knfleet explain WriteRefused")).toBe(isTold);
      const { stderr } = await text("rollout status kss/prod -n team-a");
      expect(stderr.includes(`warning: this status is old: ${refusal}\n`)).toBe(isTold);
      const document = await text("rollout status kss/prod -n team-a -o json");
      const told = isTold ? refusal : undefined;
      expect(valueAt(JSON.parse(document.stdout), "items", 0, "statusRefused")).toBe(told);
      const watched = await text("rollout status kss/prod -n team-a -w");
      expect(watched.stderr.includes(`warning: this status is old: ${refusal}\n`)).toBe(isTold);
    },
  );

  test("whose revision the hub refuses is blocked, with the hub's words", async () => {
    const waitingFor = "The hub does not take the revision of the set: exceeded quota: few";
    const stalled = { type: "Stalled", status: "True", reason: "WriteRefused" } as const;
    const status = { ...phased("Blocked", { waitingFor }), conditions: [stalled] };
    const { stdout } = await run("diagnose kss/prod -n team-a", status);
    expect(stdout).toContain(`root cause: KNF1026 SetBlocked: Blocked: ${waitingFor}\n`);
    expect(stdout).toContain("kubectl knfleet explain WriteRefused");
  });

  test("names a ready cluster whose workloads somebody scaled to zero", async () => {
    const message = "fleet/spoke-1: Scaled to zero: activator";
    const status: FleetSetStatus = {
      ...phased("Complete"),
      conditions: [{ type: "Healthy", status: "True", reason: "ScaledToZero", message }],
    };
    const { stdout, exitCode } = await run("diagnose kss/prod -n team-a", status);
    expect(stdout).toContain(`warning: KNF6015 ScaledToZero: ${message}\n`);
    expect(exitCode).toBe(0);
  });

  test("that does not exist says so", async () => {
    const { stdout, exitCode } = await run("diagnose kss/other -n team-a", halted);
    expect(stdout).toContain("KNF1010");
    expect(stdout).toContain("KnativeServingSet team-a/other does not exist");
    expect(exitCode).toBe(1);
  });

  test("is refused in all namespaces, and from elsewhere", async () => {
    const all = await run("diagnose kss/prod -A", halted);
    expect(all).toMatchObject({ exitCode: 2, stdout: "" });
    const elsewhere = await run("diagnose kss/prod -n team-a --from controller-identity", halted);
    expect(elsewhere.exitCode).toBe(2);
    expect(elsewhere.stderr).toContain("A set is walked from this machine alone");
  });
});
