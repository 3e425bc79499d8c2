import { expect, test } from "vitest";

import type { KubeClient } from "../../../access/kube/kube-client.ts";
import type { SpokeConnection, Spokes } from "../../../access/spokes/spokes.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import type { ComponentStatus } from "../../../api/component.ts";
import { FleetError } from "../../../api/errors.ts";
import { asComponent } from "../../../controller/component-identity.ts";
import { Guards } from "../../../controller/guard/guards.ts";
import { Installation } from "../../../controller/reconcile/installation.ts";
import { Neighbours } from "../../../controller/reconcile/neighbours.ts";
import type { ReconcileDeps } from "../../../controller/reconcile/reconcile-deps.ts";
import { reconcile } from "../../../controller/reconcile/reconcile.ts";
import { statusOf } from "../../../controller/status/component-status.ts";
import type { Outcome } from "../../../controller/status/outcome.ts";
import { TargetConnections } from "../../../controller/target/target-connection.ts";
import { Preparations } from "../../../installation/desired.ts";
import { BoundedCache, type Rendered } from "../../../render/release/releases.ts";
import { bareClient, unexpected } from "../../support/bare-client.ts";
import { serving } from "../../support/component.ts";
import { componentsOf } from "../../support/components.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { MemoryHub } from "../../support/memory-hub.ts";
import { metricsOf } from "../../support/metrics.ts";
import { silentLog } from "../../support/silent-log.ts";

const { signal } = new AbortController();
const ref = { namespace: "fleet", name: "a" };
const name = "knative-serving";

const clientOf = (hub: MemoryHub): KubeClient =>
  bareClient({
    get: (...args) => hub.get(...args),
    replace: (...args) => hub.replace(...args),
  });

/** What is written on a component, whose spec names a version that there is not, when its spoke is as given. */
async function reconciled(before: Outcome, spokes: Pick<Spokes, "acquire" | "state">) {
  const hub = new MemoryHub();
  const client = clientOf(hub);
  const clock = new FakeClock();
  const spec = { version: "1.23.9", clusterProfileRef: ref };
  const metadata = { finalizers: ["knativeservings.operator.knative.dev"] };
  const status = statusOf(serving({ metadata, spec }), before, clock.date());
  hub.edit("KnativeServing", name, serving({ metadata, spec, status }));
  const component = asComponent(hub.find("KnativeServing", name)) ?? unexpected();
  const events: string[] = [];
  const record: ReconcileDeps["events"]["record"] = (_component, { reason, message }) => {
    events.push(`${reason}: ${message}`);
    return Promise.resolve();
  };
  const guarded = { clock, log: silentLog, hubId: "hub", protection: "None", crds: false } as const;
  const deps: ReconcileDeps = {
    hub: client,
    hubAsTarget: client,
    hubId: "hub",
    clock,
    log: silentLog,
    components: componentsOf(() => [component]),
    spokes,
    releases: {
      dir: "",
      versionsOf: () => ["1.23.0"],
      load: unexpected,
      rendered: new BoundedCache<Rendered>(1),
    },
    rendering: { environment: {}, manifestText: unexpected },
    connections: new TargetConnections(systemClock),
    neighbours: new Neighbours(systemClock),
    preparations: new Preparations(),
    events: { record, audit: record },
    metrics: metricsOf(),
    guards: new Guards({ ...guarded, onChange: unexpected, onEvent: unexpected }),
    guardsCrds: false,
    spokeNamespace: "Canonical",
    pollMs: 600_000,
    onChange: unexpected,
  };
  await using installation = new Installation(component.metadata.uid);
  const working = installation.attempt(
    { component, ...deps },
    (writer, either) => reconcile({ component, installation, writer }, deps, either),
    signal,
  );
  await clock.advance(1);
  await working;
  const latest = asComponent(hub.find("KnativeServing", name));
  return { lines: linesOf(latest?.status), events };
}

/** `Type=Status | reason | message` of every condition. */
function linesOf({ conditions = [] }: ComponentStatus = {}): readonly string[] {
  return conditions.map(({ type, status, reason, message }) =>
    [`${type}=${status}`, reason, message].filter((word) => word !== undefined).join(" | "),
  );
}

const silence = new FleetError("RemoteClientCreationFailed", "It is silent", {
  code: "Unreachable",
});
const lost: Outcome = {
  kind: "failed",
  steps: { eligible: false, resolved: false },
  error: new FleetError("SpokeUnreachable", "It is silent", { code: "Unreachable" }),
};
const ready: Outcome = {
  kind: "applied",
  version: "1.23.0",
  paths: [],
  changes: { applied: [], unchanged: 150, parked: [], failed: [] },
  readiness: { available: true, message: "" },
};
const connection: SpokeConnection = {
  client: clientOf(new MemoryHub()),
  profile: { ...ref, uid: "uid" },
  provider: "p",
  fingerprint: "f",
  signal,
};
const installFailed =
  "InstallSucceeded=False | Error | Install failed with message: the manifests of the target version 1.23.9 are not available to this release; it has 1.23.0";

/** A spoke of which the connection fails. */
function failing(failure: FleetError): Pick<Spokes, "acquire" | "state"> {
  return {
    acquire: () => Promise.reject(failure),
    state: () => ({ kind: "lost", connection, error: failure }),
  };
}

test("a spoke that is back is not called silent while the spec cannot be rendered", async () => {
  const { lines, events } = await reconciled(lost, {
    acquire: () => Promise.resolve(connection),
    state: () => ({ kind: "connected", connection }),
  });
  expect(lines).toContain(installFailed);
  expect(lines).toContain("TargetClusterResolved=True");
  expect(lines.join("\n")).not.toContain("silent");
  expect(events).toContain("Recovered: The target cluster is reached again");
});

test("a spoke that is lost is called so while the spec cannot be rendered", async () => {
  const { lines, events } = await reconciled(ready, failing(silence));
  expect(lines).toContain(installFailed);
  const words = "SpokeUnreachable | [Unreachable] It is silent";
  expect(lines).toContain(`TargetClusterResolved=Unknown | ${words}`);
  expect(lines).toContain(`DeploymentsAvailable=Unknown | ${words}`);
  expect(events.map((event) => event.split(":")[0])).toEqual([
    "ReleaseNotFound",
    "SpokeUnreachable",
  ]);
});

test("a ClusterProfile that is gone is missed while the spec cannot be rendered", async () => {
  const gone = new FleetError("ClusterProfileNotFound", "ClusterProfile fleet/a does not exist");
  const { lines } = await reconciled(ready, { ...failing(gone), state: () => undefined });
  expect(lines).toContain(
    "TargetClusterResolved=False | ClusterProfileNotFound | ClusterProfile fleet/a does not exist",
  );
});

test("what is wrong with the spec is said without waiting for the cluster", async () => {
  const { lines } = await reconciled(ready, {
    acquire: () => new Promise(() => undefined),
    state: () => ({ kind: "connecting" }),
  });
  expect(lines).toContain(installFailed);
  expect(lines).toContain("TargetClusterResolved=True");
});

test("a connection that is just being replaced says nothing of the cluster", async () => {
  const stale = new FleetError("RemoteClusterStale", "The connection waits for its turn");
  const { lines } = await reconciled(ready, failing(stale));
  expect(lines).toContain("TargetClusterResolved=True");
});
