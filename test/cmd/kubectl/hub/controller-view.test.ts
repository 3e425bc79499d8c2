import { describe, expect, test } from "vitest";

import type { KubeObject } from "../../../../api/kubernetes.ts";
import { recordedBinding } from "../controller-binding.ts";
import { now } from "../fleet-facts.ts";
import { runText } from "../run-text.ts";
import { type Answer, startStubHub } from "../stub-hub.ts";
import { lease } from "./lease-facts.ts";
import { asks, binding, halfServed, mayNotList, run } from "./two-shards.ts";

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
    const unknown = await run(["status", "--no-live", "-o", "json"], dead, mayNotList);
    expect(JSON.parse(unknown.stdout).controller).toBeNull();
    expect(unknown.exitCode).toBe(0);
  });
});
