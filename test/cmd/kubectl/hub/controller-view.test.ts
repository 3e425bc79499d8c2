import { describe, expect, test } from "vitest";

import type { KubeObject } from "../../../../api/kubernetes.ts";
import { controllerViewOf } from "../../../../cmd/kubectl/hub/controller-view.ts";
import { verdictOf } from "../../../../cmd/kubectl/page/fleet-view.ts";
import { recordedBinding } from "../controller-binding.ts";
import { now } from "../fleet-facts.ts";
import { runText } from "../run-text.ts";
import { fleetSet, phased } from "../set-facts.ts";
import { type Answer, startStubHub } from "../stub-hub.ts";
import { lease } from "./lease-facts.ts";
import { asks, binding, halfServed, mayNotList, mayNotListBindings, run } from "./two-shards.ts";

const shardNames = ["knfleet-shard-0-of-2", "knfleet-shard-1-of-2", "knfleet-fleet"];

/** A Deployment whose ServiceAccount is a controller. */
function recordedDeployment(available: number, namespace = "knfleet-system"): KubeObject {
  const name = "knfleet-controller";
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { namespace, name, uid: `${namespace}/${name}`, resourceVersion: "1" },
    spec: { replicas: 1, template: { spec: {} } },
    status: { availableReplicas: available },
  };
}

/** One look of `wait`, in vain. */
async function waitFor(name: string): ReturnType<typeof runText> {
  return await run(["wait", `ks/${name}`, "--for=version=9", "--timeout=0"], halfServed);
}

/** Runs a command on a hub with a complete set. */
async function withSet(
  line: readonly string[],
  { leases, answer = asks }: { readonly leases: readonly KubeObject[]; readonly answer?: Answer },
): ReturnType<typeof runText> {
  const set = fleetSet({ namespace: "team-a", name: "prod", status: phased("Complete") });
  await using hub = await startStubHub([set, ...leases, binding], answer);
  return await runText([...line, "-n", "team-a"], { env: hub.env });
}

describe("while no controller works", () => {
  const dead = [lease("knfleet-controller", { holder: "pod-a", age: 113 })];
  const released = shardNames.map((name) => lease(name, { age: 60 }));
  const stopped: KubeObject = {
    ...recordedDeployment(0),
    spec: { replicas: 2, template: { spec: {} } },
  };
  const upstream = recordedBinding("upstream", "knative-operator");
  const itsDeployment: KubeObject = recordedDeployment(1, "knative-operator");

  test.each([
    {
      name: "a leader whose Lease ran out",
      leases: dead,
      says: "No controller works since 2026-11-21T11:58:22Z: Lease knfleet-system/knfleet-controller of pod-a has run out",
    },
    {
      name: "replicas that let all shards go",
      leases: released,
      says: "No controller works since 2026-11-21T11:59:00Z: Lease knfleet-system/knfleet-shard-0-of-2 was let go",
    },
    {
      name: "a shard that ran out",
      leases: halfServed,
      says: "No replica of the controller serves shard 1 of 2 since 2026-11-21T11:59:05Z: Lease knfleet-system/knfleet-shard-1-of-2 of pod-b has run out",
    },
    {
      name: "a Deployment that never had a Lease",
      leases: [stopped],
      says: "No controller works: Deployment knfleet-system/knfleet-controller has 0 of 2 available",
    },
  ])("status and top say so on top, with $name, and fail", async ({ leases, says }) => {
    const status = await run(["status", "--no-live"], leases);
    expect(status.stderr).toContain(`error: ${says}\nnext: kubectl get pods -n knfleet-system\n`);
    expect(status.stderr.indexOf("error: ")).toBe(0);
    expect(status.exitCode).toBe(1);
    const named = await run(["status", "--no-live", "-o", "name"], leases);
    expect(named).toMatchObject({ exitCode: 1, stderr: expect.stringContaining(says) });
    const never = await run(["status", "--no-live", "--fail-on", "never"], leases);
    expect(never.exitCode).toBe(0);
    const { stdout } = await run(["status", "--no-live", "-o", "json"], leases);
    expect(JSON.parse(stdout).controller).toMatchObject({
      works: false,
      reason: "NoController",
      code: "KNF1005",
      message: says,
      since: /since (\S+Z)/.exec(says)?.[1] ?? null,
    });
    const top = await run(["top", "--no-live", "--once"], leases);
    expect(top.stdout.split("\n")[1]).toContain(says.slice(0, 70));
    expect(top.exitCode).toBe(1);
  });

  const rival = { ...stopped, metadata: { ...stopped.metadata, name: "rival", uid: "rival" } };

  test("status names both of two Deployments that may be the controller", async () => {
    const { stderr, exitCode } = await run(["status", "--no-live"], [stopped, rival]);
    expect(stderr).toContain(
      "error: No controller works: Deployment knfleet-system/knfleet-controller has 0 of 2 available, Deployment knfleet-system/rival has 0 of 2 available\nnext: kubectl get pods -n knfleet-system\n",
    );
    expect(exitCode).toBe(1);
  });

  test("status says nothing while one of two Deployments that may be the controller is available", async () => {
    const available = { ...rival, status: { availableReplicas: 1 } };
    const { stderr, exitCode } = await run(["status", "--no-live"], [stopped, available]);
    expect(stderr).not.toContain("No controller works");
    expect(exitCode).toBe(0);
  });

  test.each([["--failed"], ["--reason", "SpokeUnreachable"]])(
    "status %s says so, also when the hub's last words leave no row",
    async (...more) => {
      const { exitCode, stderr } = await run(["status", "--no-live", ...more], dead);
      expect(stderr).toContain("error: No controller works since ");
      expect(exitCode).toBe(1);
    },
  );

  test("status of a fleet without installations says so", async () => {
    await using hub = await startStubHub([...dead, binding], asks);
    const { exitCode, stderr } = await runText(["status", "-A"], { env: hub.env });
    expect(stderr).toContain("error: No controller works since ");
    expect(exitCode).toBe(1);
  });

  test("an installation of a shard that is served is well", async () => {
    const { exitCode, stderr } = await run(["status", "ks/one", "--no-live"], halfServed);
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
    expect(stderr).not.toContain("No replica");
  });

  test("the clock of the hub decides, not that of this machine", async () => {
    const hubTime = new Date(now.getTime() - 110_000).toISOString();
    const ahead: Answer = (request) =>
      request.path.endsWith("/selfsubjectreviews")
        ? {
            status: 201,
            body: {
              metadata: { creationTimestamp: hubTime },
              status: { userInfo: { username: "jane" } },
            },
          }
        : asks(request);
    const { exitCode, stderr } = await run(["status", "--no-live"], dead, ahead);
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
    expect(stderr).not.toContain("No controller");
  });

  test("an upstream operator that works in its place is none", async () => {
    const { exitCode, stderr } = await run(
      ["status", "--no-live"],
      [...dead, upstream, itsDeployment],
    );
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
    expect(stderr).not.toContain("No controller");
  });

  test("a controller that works is said in the document", async () => {
    const leader = [lease("knfleet-controller", { holder: "pod-a" })];
    const { stdout } = await run(["status", "--no-live", "-o", "json"], leader);
    expect(JSON.parse(stdout).controller).toMatchObject({ works: true, message: null });
  });

  describe("without the right to list what proves it", () => {
    const note =
      "Whether a controller works could not be looked at: Leases or ClusterRoleBindings may not be listed";

    test.each([mayNotList, mayNotListBindings])("status and top say so once", async (answer) => {
      const { stderr, exitCode } = await run(["status", "--no-live"], dead, answer);
      expect(stderr.split(note)).toHaveLength(2);
      expect(stderr.indexOf(`note: ${note}\n`)).toBe(0);
      expect(exitCode).toBe(0);
      const { stdout } = await run(["status", "--no-live", "-o", "json"], dead, answer);
      expect(JSON.parse(stdout).controller).toMatchObject({ works: null, code: null });
      const top = await run(["top", "--no-live", "--once"], dead, answer);
      expect(top.stdout.split("\n")[1]).toContain(note.slice(0, 30));
      expect(top.exitCode).toBe(0);
    });

    test("the headline of the page says so, and stays what it is", () => {
      const facts = { serving: undefined, timeMs: 0, stopped: [], isUpstream: false } as const;
      const view = controllerViewOf(
        { ...facts, isForbidden: true },
        { clusters: [], hasSets: true },
      );
      const counts = { bad: 0, unreachable: 0, warning: 0, progress: 0, healthy: 2, deleting: 0 };
      expect(verdictOf({ counts, total: 2 }, view)).toEqual({
        tone: "healthy",
        text: `Nothing is wrong with 2 installations. ${note}`,
      });
    });

    test("rollout status says so, with the exit code of the rollout", async () => {
      const { stderr, exitCode } = await withSet(["rollout", "status", "kss/prod"], {
        leases: dead,
        answer: mayNotList,
      });
      expect(stderr).toContain(`note: ${note}\n`);
      expect(exitCode).toBe(0);
    });
  });

  describe("with a fleet set", () => {
    const idle =
      "error: No controller works since 2026-11-21T11:58:22Z: Lease knfleet-system/knfleet-controller of pod-a has run out\nnext: kubectl get pods -n knfleet-system\n";

    test.each([[[]], [["-w"]]])("rollout status says so, and fails: %s", async (more) => {
      const line = ["rollout", "status", "kss/prod", ...more];
      const { stderr, exitCode } = await withSet(line, { leases: dead });
      expect(stderr).toContain(idle);
      expect(exitCode).toBe(1);
    });

    test("rollout status fails where the shards work, and no replica serves the fleet", async () => {
      const leases = [...halfServed.slice(0, 1), lease("knfleet-fleet", { age: 60 })];
      const { stderr, exitCode } = await withSet(["rollout", "status", "kss/prod"], { leases });
      expect(stderr).toContain("error: No replica of the controller serves ");
      expect(exitCode).toBe(1);
    });

    test("wait says so when its time is over", async () => {
      const line = ["wait", "kss/prod", "--for=stage=other", "--timeout=0", "--no-fail-fast"];
      const { stderr, exitCode } = await withSet(line, { leases: dead });
      expect(stderr).toContain(idle);
      expect(exitCode).toBe(124);
    });
  });

  test("wait for an installation of a shard without a replica says so when its time is over", async () => {
    expect((await waitFor("two")).stderr).toContain(
      "error: No replica of the controller serves shard 1 of 2",
    );
    expect((await waitFor("one")).stderr).not.toContain("No replica");
  });
});
