import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { FleetSet } from "../../../../api/fleet-set.ts";
import type { StatusItem } from "../../../../cmd/kubectl/fleet/status-item.ts";
import { fleetStatusOf } from "../../../../cmd/kubectl/fleet/status.ts";
import { rolloutItemOf, rolloutStatusOf } from "../../../../cmd/kubectl/hub/rollout-item.ts";
import { setItemOf } from "../../../../cmd/kubectl/hub/set-view.ts";
import { writtenPage } from "../../../../cmd/kubectl/page/page-html.ts";
import { recordedFolder } from "../golden/record-scene.ts";
import { runText } from "../run-text.ts";
import { fleetSet, phased } from "../set-facts.ts";
import { itemOf } from "./sample-items.ts";

const stamp = { generatedAt: "2026-11-22T01:58:19Z", cliVersion: "0.1.0" };

/** How many of the installations are in trouble. */
export type Health = "well" | "some" | "half";

const regions = ["eu-west", "eu-north", "us-east", "us-west", "ap-south"];
const serverOf = (cluster: string): string => `https://${cluster}.example:6443`;
const providers = ["secretreader", "gcp", "aws"];

type Trouble = (cluster: string) => Partial<Parameters<typeof itemOf>[0]>;

const unreachable: Trouble = (cluster) => ({
  severity: "error",
  reason: "Unreachable",
  code: "KNF4002",
  message: `ClusterProfile fleet/${cluster}: ${serverOf(cluster)} refused the connection (ECONNREFUSED)`,
  live: { state: "Unreachable" },
});

const troubles: readonly Trouble[] = [
  unreachable,
  () => ({
    severity: "error",
    reason: "DeploymentsNotReady",
    code: "KNF6009",
    message: "Not available: activator",
    live: { state: "NotAvailable", deployments: 6, notAvailable: ["activator"], provider: "gcp" },
  }),
  (cluster) => ({
    severity: "error",
    reason: "CredentialRejected",
    code: "KNF5001",
    message: `${serverOf(cluster)} does not accept the credential, also not a fresh one`,
    live: { state: "Denied", provider: "aws" },
  }),
  unreachable,
  () => ({
    severity: "error",
    reason: "ClusterProfileNotReady",
    code: "KNF2003",
    message: "ClusterProfile fleet/us-east-3 has no condition ControlPlaneHealthy=True",
    hub: { state: "NotReady" },
  }),
  () => ({ severity: "warning", hub: { state: "Deleting" } }),
];

const every: Readonly<Record<Health, number>> = { well: Infinity, some: 6, half: 2 };

/** A fleet of so many installations, both components on each cluster. */
export function sampleItems(count: number, health: Health): readonly StatusItem[] {
  return Array.from({ length: count }, (_, at) => {
    const number = Math.floor(at / 2);
    const cluster = `${regions[number % regions.length]}-${Math.floor(number / regions.length) + 1}`;
    const isServing = at % 2 === 0;
    const step = every[health];
    const isWell = number % step !== step - 1;
    const trouble = troubles[Math.floor(number / step) % troubles.length];
    return itemOf({
      kind: isServing ? "KnativeServing" : "KnativeEventing",
      namespace: "platform",
      name: `${isServing ? "serving" : "eventing"}-${cluster}`,
      cluster,
      version: number % 7 === 3 ? "1.22.0" : "1.23.0",
      since: new Date(Date.parse("2026-11-21T00:00:00Z") - number * 7_300_000).toISOString(),
      ...(isWell ? { live: { provider: providers[number % 3] } } : trouble?.(cluster)),
    });
  });
}

const halted = phased("Halted", {
  stage: "early",
  startedAt: "2026-11-22T01:10:00Z",
  waitingFor: "1 cluster failed: Stage early allows none",
});
const counts = { failed: 0, updating: 0, unreachable: 0 };
const stages = [
  { ...counts, name: "canary", state: "Passed", clusters: 2, done: 2, approvedBy: "ana" },
  { ...counts, name: "early", state: "Halted", clusters: 6, done: 3, updating: 1, failed: 1 },
  { ...counts, name: "rest", state: "Waiting", clusters: 12, done: 0 },
] as const;
const message = "Not available: activator, for longer than 15m0s";

/** A set that was halted, and one that is complete. */
const sampleSets: readonly FleetSet[] = [
  fleetSet({
    namespace: "platform",
    status: {
      ...halted,
      clusters: { selected: 20, done: 5, updating: 1, failed: 1, pending: 13 },
      stages,
      notable: [
        { cluster: "fleet/eu-north-1", state: "Failed", reason: "DeploymentsNotReady", message },
      ],
    },
  }),
  fleetSet({
    kind: "KnativeEventingSet",
    namespace: "platform",
    status: {
      ...phased("Complete"),
      clusters: { selected: 20, done: 20, failed: 0 },
      stages: stages.map((stage) => {
        return { ...stage, ...counts, state: "Passed", done: stage.clusters } as const;
      }),
    },
  }),
];

/** The page of a fleet as one file. Its first installation that is in trouble is a recorded one, with conditions, graph and Events. */
export async function samplePage(items: readonly StatusItem[]): Promise<string> {
  const { item, documents } = await recordedInstallation();
  const all = items.some(({ severity }) => severity === "error") ? [item, ...items] : items;
  return writtenPage({
    status: { ...fleetStatusOf(all, [], stamp), sets: sampleSets.map(setItemOf) },
    state: {
      revision: 1,
      hubReadAt: stamp.generatedAt,
      spokesReadAt: null,
      round: null,
      trouble: null,
      recordedAt: null,
      kubectl: "kubectl",
      knfleet: "kubectl knfleet",
    },
    documents: { ...documents, sets: rolloutStatusOf(sampleSets.map(rolloutItemOf), stamp) },
  });
}

/** Eventing with a Deployment that is not available, and the documents of all installations of its fleet. */
async function recordedInstallation() {
  const folder = await mkdtemp(join(tmpdir(), "knfleet-sample-page-"));
  try {
    const path = join(folder, "fleet.html");
    await runText(["ui", "--bundle", join(recordedFolder, "whole"), "--once", path]);
    const { status, documents } = heldIn(await readFile(path, "utf8"));
    const item = status.items.find(({ reason }) => reason === "DeploymentsNotReady");
    if (item === undefined) throw new Error("The recorded fleet has a Deployment that is down");
    return { item, documents };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface Held {
  readonly status: { readonly items: readonly StatusItem[] };
  readonly documents: Readonly<
    Record<string, { readonly items: unknown; readonly errors?: readonly object[] }>
  >;
}

/** What a page that was written as one file holds. */
export function heldIn(text: string): Held {
  const [, json = ""] =
    /<script type="application\/json" id="fleet">(.*?)<\/script>/.exec(text) ?? [];
  return JSON.parse(json);
}
