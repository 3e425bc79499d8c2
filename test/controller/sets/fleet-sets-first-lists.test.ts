import { expect, onTestFinished, test } from "vitest";

import type { WatchEvent } from "../../../access/kube/kube-client.ts";
import { abortable } from "../../../access/time/deadline.ts";
import { CheckSource } from "../../../access/urls/check-source.ts";
import { clusterProfileApiVersion } from "../../../api/cluster-profile.ts";
import { ocmManager } from "../../../api/delivery.ts";
import { setAnnotations, setLabels } from "../../../api/fleet-set.ts";
import { componentId } from "../../../api/keys.ts";
import { ocmLabels } from "../../../controller/sets/find-selection.ts";
import type { FleetSetsOptions } from "../../../controller/sets/fleet-sets-options.ts";
import { FleetSets } from "../../../controller/sets/fleet-sets.ts";
import { apiError } from "../../support/api-error.ts";
import { unexpected } from "../../support/bare-client.ts";
import { settled } from "../../support/fake-clock.ts";
import { keptLines } from "../../support/kept-lines.ts";
import { silentLog } from "../../support/silent-log.ts";
import { emptyReleases } from "./empty-releases.ts";
import { leadSets } from "./lead-sets.ts";
import { ocmSlice } from "./ocm-slice.ts";
import { SetHub } from "./set-hub.ts";

const minuteMs = 60_000;

/** Stores a ClusterProfile of Open Cluster Management for a ManagedCluster. */
function putOcmProfile(
  hub: SetHub,
  metadata: { readonly name: string; readonly creationTimestamp?: string },
  cluster: string,
): void {
  hub.put({
    apiVersion: clusterProfileApiVersion,
    kind: "ClusterProfile",
    metadata: { namespace: "fleet", labels: { [ocmLabels.cluster]: cluster }, ...metadata },
    spec: { clusterManager: { name: ocmManager } },
    status: { conditions: [{ type: "ControlPlaneHealthy", status: "True" }] },
  });
}

/** A hub with two clusters that an older set has from a Placement, and a younger one by a selector. */
function hubWithRivals(): SetHub {
  const hub = new SetHub();
  for (const name of ["eu", "us"]) putOcmProfile(hub, { name }, name);
  const decisions = [{ clusterName: "eu" }, { clusterName: "us" }];
  hub.put(ocmSlice("prod-1", { [ocmLabels.placement]: "prod" }, decisions));
  hub.putSet(
    { clusters: { from: "OCMPlacement", ocmPlacement: { name: "prod" } } },
    { name: "older", uid: "older", creationTimestamp: "2026-11-01T00:00:00Z" },
  );
  hub.putSet({}, { name: "younger", uid: "younger", creationTimestamp: "2026-11-02T00:00:00Z" });
  return hub;
}

/** A component that the older set has stamped. */
function putComponent(hub: SetHub, cluster: string): void {
  const name = `older-${cluster}`;
  hub.put({
    apiVersion: "operator.knative.dev/v1beta1",
    kind: "KnativeServing",
    metadata: {
      namespace: "fleet",
      name,
      labels: { [setLabels.kind]: "KnativeServingSet", [setLabels.set]: "older" },
      annotations: { [setAnnotations.setUid]: "older", [setAnnotations.component]: name },
    },
    spec: { clusterProfileRef: { namespace: "fleet", name: cluster } },
  });
}

/** Begins to lead: the process knows nothing but what it lists. PlacementDecisions are listed once `placements` has resolved. */
function lead(hub: SetHub, placements: Promise<void>): void {
  async function* watch(kind: string, signal: AbortSignal): AsyncGenerator<WatchEvent> {
    if (kind === "PlacementDecision") await abortable(placements, signal);
    for (const object of hub.objects.values()) {
      if (object.kind === kind) yield { type: "ADDED", object };
    }
    yield { type: "BOOKMARK", resourceVersion: "1000", initialEventsEnd: true };
    await abortable(new Promise<never>(() => undefined), signal);
  }
  const client = {
    ...hub.client,
    list: () => Promise.reject(apiError(500, "Unexpected")),
    watch: (ref, _options, signal) => watch(ref.resource.kind, signal),
  } satisfies FleetSetsOptions["hub"];
  const sets = new FleetSets(
    {
      hub: client,
      components: { byKey: new Map(hub.components().map((one) => [componentId(one), one])) },
      events: { record: async () => undefined },
      clock: hub.clock,
      random: () => 0.5,
      releases: emptyReleases(),
      rendering: {},
      spokes: { acquire: () => Promise.reject(new Error("nobody asks")) },
      onUnused: () => undefined,
      checkSource: new CheckSource({ sources: [], userAgent: "knfleet-test" }),
      pulledJobs: unexpected,
      maxSetsPerNamespace: 100,
      log: silentLog,
    },
    new AbortController().signal,
  );
  onTestFinished(() => sets[Symbol.asyncDispose]());
}

/** Lets requests be answered. */
async function wait(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await settled();
}

test("a new leader leaves the clusters of an older set alone until their placements are listed", async () => {
  const hub = hubWithRivals();
  const placements = Promise.withResolvers<void>();
  lead(hub, placements.promise);
  await wait();
  expect(hub.names()).toEqual([]);
  placements.resolve();
  await hub.clock.advance(2_000);
  await wait();
  expect(hub.names()).toEqual(["older-us"]);
});

test.each([
  [403, "Forbidden"],
  [404, "NotFound"],
])("placements that cannot be listed (%i) stop no other set", async (status, reason) => {
  const hub = hubWithRivals();
  putComponent(hub, "eu");
  lead(hub, Promise.reject(apiError(status, reason)));
  await wait();
  // The older set keeps the cluster that it has a component on.
  expect(hub.names()).toEqual(["older-eu", "younger-us"]);
});

test("a later ClusterProfile with the label of a cluster does not take the cluster away", async () => {
  const hub = new SetHub();
  putOcmProfile(hub, { name: "later", creationTimestamp: "2026-11-02T00:00:00Z" }, "eu");
  putOcmProfile(hub, { name: "first", creationTimestamp: "2026-11-01T00:00:00Z" }, "eu");
  hub.put(ocmSlice("prod-1", { [ocmLabels.placement]: "prod" }, [{ clusterName: "eu" }]));
  hub.putSet({ clusters: { from: "OCMPlacement", ocmPlacement: { name: "prod" } } });
  leadSets(hub);
  await wait();
  expect(hub.names()).toEqual(["prod-first"]);
});

test("a bug at the start is an error in the log, and does not look like a hub without sets", async () => {
  const hub = new SetHub();
  hub.putProfile("eu");
  // The CRD refuses such a set.
  hub.putSet({ clusters: Object({ from: "Selector", selector: null }) });
  const { log, lines } = keptLines();
  leadSets(hub, { log });
  await wait();
  expect(lines).toEqual(["error: Fleet sets could not be started"]);
});

test("placements of a hub that is busy stop the other sets for a minute at most", async () => {
  const hub = hubWithRivals();
  lead(hub, Promise.reject(apiError(503, "ServiceUnavailable")));
  await wait();
  expect(hub.names()).toEqual([]);
  await hub.clock.advance(minuteMs);
  await wait();
  expect(hub.names()).toEqual(["younger-eu"]);
});
