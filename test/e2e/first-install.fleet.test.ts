import { afterEach, beforeAll, describe, expect, test } from "vitest";

import { operatorApiVersion } from "../../api/component.ts";
import type { AuditedRequest } from "../fleet/audit-log.ts";
import type { Cluster, Profile } from "../fleet/fleet.ts";
import { conditionOf, valueAt } from "../fleet/json-record.ts";
import { useFleet } from "../fleet/use-fleet.ts";
import { waitFor } from "../fleet/wait-for.ts";
import {
  type ControllerProcess,
  type ControllerProcessOptions,
  startControllerProcess,
} from "../support/controller-process.ts";
import { condition, create, gone, read, ready, remove } from "./installation.ts";
import { releaseDir } from "./release-dir.ts";
import { guardRequestsTo } from "./requests.ts";

const fleet = useFleet({ spokes: 2 });
const kind = "KnativeEventing";
const policies = /^validatingadmissionpolic/;

interface Install {
  readonly requests: readonly AuditedRequest[];
  /** Connections that the spoke accepted. */
  readonly connections: number;
  /** What `AnchorProtected` said when the component was Ready. */
  readonly atReady: string | undefined;
  /** Names of the policies and of the second owner that were on the spoke then. */
  readonly guard: readonly string[];
  /** What was asked of the spoke for a guard until then. */
  readonly guardRequests: readonly AuditedRequest[];
}

/** A controller of the fleet with flags of its own. */
async function started(flags: readonly string[] = []): Promise<ControllerProcess> {
  return startControllerProcess({
    ...(await withoutProviderFile()),
    providerFile: await fleet().providerFile(),
    flags,
  });
}

async function withoutProviderFile(): Promise<ControllerProcessOptions> {
  return {
    kubeconfig: await fleet().controllerKubeconfig(),
    releaseDir: await releaseDir(),
  };
}

/** The first component on a spoke, from its creation to the proof of the guard where there is one. */
async function firstInstall(spokeIndex: number, protection: "Auto" | "None"): Promise<Install> {
  const { hub } = fleet();
  const spoke = fleet().spoke(spokeIndex);
  const profile: Profile = await fleet().addProfile(spoke, { plugin: "secretreader" });
  await using controller = await started([`--anchor-protection=${protection}`]);
  spoke.proxy.resetCounts();
  await create(hub, { kind, on: profile });
  const atReady = conditionOf(await ready(hub, kind), "AnchorProtected");
  if (protection === "Auto") {
    await condition(hub, kind, ["AnchorProtected", { status: "True", reason: "Enforced" }]);
  }
  const { connections } = spoke.proxy.counts;
  const guard = await guardOn(spoke);
  const guardRequests = await guardRequestsTo(spoke);
  const requests = await spoke.auditLog.requests({ userAgent: "knfleet-controller" });
  await remove(hub, kind);
  await gone(hub, kind);
  await controller.stop();
  const reason = atReady?.reason;
  return {
    requests,
    connections,
    guard,
    guardRequests,
    atReady: typeof reason === "string" ? reason : undefined,
  };
}

describe("the first component on a fresh spoke", () => {
  let guarded: Install;
  let unguarded: Install;

  beforeAll(async () => {
    unguarded = await firstInstall(1, "None");
    guarded = await firstInstall(0, "Auto");
  }, 600_000);

  test("needs a tenth more requests than one without a guard, proof included, and eight connections at most", () => {
    expect(unguarded.atReady).toBeUndefined();
    expect(unguarded.guard).toEqual([]);
    expect(unguarded.guardRequests).toEqual([]);
    expect(unguarded.connections).toBe(1);
    const provenAt = Math.max(...receivedAt(guarded.requests, isProbe));
    const untilProven = guarded.requests.filter((one) => Number(one.receivedAt) <= provenAt);
    // A server that is slow to read its policies is asked again.
    const inVain = Math.max(0, untilProven.filter(isProbe).length - 12);
    expect(untilProven.length - inVain).toBeLessThanOrEqual(1.1 * unguarded.requests.length);
    expect(guarded.connections).toBeLessThanOrEqual(8);
  });

  test("is written behind the policies, and waits for no proof", () => {
    const { requests } = guarded;
    const written = receivedAt(
      requests,
      (one) => one.verb === "create" && policies.test(one.resource),
    );
    expect(written).toHaveLength(4);
    const others = receivedAt(
      requests,
      (one) =>
        ["create", "patch"].includes(one.verb) &&
        !policies.test(one.resource) &&
        one.resource !== "selfsubjectreviews" &&
        !isProbe(one),
    );
    expect(Math.min(...others)).toBeGreaterThanOrEqual(Math.min(...written));
    const [anchorAt = 0] = receivedAt(
      requests,
      (one) => one.verb === "create" && one.resource === "configmaps" && !isProbe(one),
    );
    expect(anchorAt).toBeGreaterThanOrEqual(Math.max(...written));
    expect(anchorAt).toBeLessThan(Math.max(...receivedAt(requests, isProbe)));
  });

  test("is proven by rounds that are all denied, each with both probes, over 2.5 s", () => {
    for (const resource of ["configmaps", "namespaces"]) {
      const all = guarded.requests.filter((one) => isProbe(one) && one.resource === resource);
      const denied = all.slice(all.findLastIndex(({ code }) => code !== 403) + 1);
      expect(denied.length).toBeGreaterThanOrEqual(6);
      const [first] = denied;
      const lastedMs = Number(denied.at(-1)?.receivedAt) - Number(first?.receivedAt);
      expect(lastedMs).toBeGreaterThanOrEqual(2_500);
    }
  });

  test("says that the guard is being proven until it is, and nothing of it without one", async () => {
    expect(["Probing", "Enforced"]).toContain(guarded.atReady);
    expect(await read(fleet().hub, kind)).toBeUndefined();
  });
});

describe("a component", () => {
  afterEach(async () => {
    fleet().spoke(0).proxy.setRtt(0);
    await using _controller = await started();
    await remove(fleet().hub, kind);
    await gone(fleet().hub, kind);
  });

  test("says in Ready and an Event that its controller has no provider file, and goes on when there is one; its status comes back when somebody wipes it", async () => {
    const { hub } = fleet();
    const without = await startControllerProcess(await withoutProviderFile());
    const profile = await fleet().addProfile(fleet().spoke(0), { plugin: "secretreader" });
    await create(hub, { kind, on: profile });
    const reason = "AccessProviderNotConfigured";
    const { metadata } = await condition(hub, kind, ["Ready", { status: "False", reason }]);
    const { namespace, name, finalizers } = metadata;
    expect(finalizers).toBeUndefined();
    await waitFor("the Event", async () => {
      const events = await hub.admin.list({ apiVersion: "v1", kind: "Event", namespace });
      return events.some((event) => event["reason"] === reason);
    });
    await without.stop();

    await using _with = await started();
    const before = await ready(hub, kind);
    expect(conditionOf(before, "TargetClusterResolved")).toMatchObject({ status: "True" });
    const key = { apiVersion: operatorApiVersion, kind, namespace, name };
    const wiped = { status: { conditions: null, version: null } };
    await hub.admin.patch(key, wiped, { subresource: "status" });
    const after = await ready(hub, kind);
    expect(valueAt(after, "status", "version")).toBe(valueAt(before, "status", "version"));
  });

  test("whose controller is told to stop in the middle of its installation is installed by the next one", async () => {
    const { hub } = fleet();
    const first = await started();
    const profile = await fleet().addProfile(fleet().spoke(0), { plugin: "secretreader" });
    fleet().spoke(0).proxy.setRtt(300);
    await create(hub, { kind, on: profile });
    await condition(hub, kind, ["TargetClusterResolved", { status: "True" }]);
    expect(await first.stop()).toEqual({ code: 0, signal: null });
    expect(first.stderr).toBe("");
    expect(conditionOf(await read(hub, kind), "Ready")?.status).not.toBe("True");
    fleet().spoke(0).proxy.setRtt(0);
    await using _second = await started();
    await ready(hub, kind);
  });
});

function isProbe({ uri }: AuditedRequest): boolean {
  return uri.includes("dryRun=All");
}

function receivedAt(requests: readonly AuditedRequest[], is: (one: AuditedRequest) => boolean) {
  return requests.filter(is).map((one) => one.receivedAt.getTime());
}

/** Names of the policies and of the second owner of the component that are on a cluster. */
async function guardOn({ admin }: Cluster): Promise<readonly string[]> {
  const ofPolicies = await admin.list({
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicy",
  });
  const secondOwner = await admin.get({
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    name: "knativeeventing-knative-eventing-knative-eventing-root-owner",
  });
  const all = secondOwner === undefined ? ofPolicies : [...ofPolicies, secondOwner];
  return all.map(({ metadata }) => metadata.name);
}
