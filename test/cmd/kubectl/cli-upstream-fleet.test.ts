import { readFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { checkDeletion } from "../../../cmd/kubectl/findings/hops/component-hops.ts";
import { checkHealth } from "../../../cmd/kubectl/findings/hops/profile-hops.ts";
import { profileOf } from "../../access/builders.ts";
import { component, now } from "./fleet-facts.ts";
import { recordedFolder } from "./golden/record-scene.ts";
import { rowsOf } from "./run-knfleet.ts";
import { runText } from "./run-text.ts";

/** A fleet as the upstream operator leaves it, recorded on real clusters. */
const bundle = join(recordedFolder, "upstream");
const index: { readonly generatedAt: string } = JSON.parse(
  readFileSync(join(bundle, "bundle.json"), "utf8"),
);
const at = new Date(Date.parse(index.generatedAt) + 60_000);

function knfleet(...line: readonly string[]) {
  return runText([...line, "--bundle", bundle], { at });
}

async function statusOf(namespace: string) {
  const { stdout } = await knfleet("status", "-n", namespace);
  return rowsOf(stdout)[0];
}

async function hopsOf(namespace: string): Promise<Readonly<Record<string, string>>> {
  const { stdout } = await knfleet("diagnose", "-n", namespace, "-o", "json");
  const { items }: { readonly items: readonly { readonly hops: readonly Hop[] }[] } =
    JSON.parse(stdout);
  const hops = items.flatMap((item) => item.hops);
  return Object.fromEntries(
    hops.map(({ id, state, code }) => [id, `${state} ${code ?? ""}`.trim()]),
  );
}

const walkContext = { now: () => now };

interface Hop {
  readonly id: string;
  readonly state: string;
  readonly code: string | null;
}

describe("of a fleet that the upstream operator runs", () => {
  test("MulticlusterDisabled is shown as the operator says it, beside what the walk finds (D1)", async () => {
    expect(await statusOf("up-off")).toMatchObject({
      HUB: "NotReady",
      REASON: "MulticlusterDisabled",
    });
    // It says nothing of the provider: that is matched, and the way leads to the cluster.
    expect(await hopsOf("up-off")).toMatchObject({
      provider: "OK",
      authentication: "OK",
      conditions: "FAIL KNF3004",
    });
    const { stdout } = await runText(["explain", "MulticlusterDisabled"]);
    expect(stdout).toMatch(
      /From the upstream operator .*: The operator was started without --clusterprofile-provider-file\.\n +It does not mean/,
    );
  });

  test("what failed in no condition is lifted out of the Events and found by the walk (D2)", async () => {
    const events = await knfleet("events", "-n", "up-stale");
    expect(events.stderr).toContain("1 x InternalError: a step failed of which no condition");
    const detail = await knfleet("status", "ks/knative-serving", "-n", "up-stale");
    expect(detail.stdout).toMatch(
      /Warning events:\n.*\n.* InternalError +failed to create the anc/,
    );
    expect(await hopsOf("up-stale")).toMatchObject({ tcp: "FAIL KNF4002", conditions: "OK" });
  });

  test("Ready=True of a cluster that nobody reaches is contradicted, and fails (D3)", async () => {
    expect(await statusOf("up-stale")).toMatchObject({ HUB: "Ready", LIVE: "Unreachable" });
    expect((await knfleet("status", "-n", "up-stale")).exitCode).toBe(1);
    expect((await knfleet("diagnose", "-n", "up-stale")).exitCode).toBe(1);
  });

  test("a deletion that waits for a forgotten connection is told with the way out (D5)", async () => {
    expect(await statusOf("up-hangs")).toMatchObject({
      HUB: "Deleting",
      REASON: "ClusterProfileUnavailable",
    });
    const message = "cluster profile not found in cache";
    const waiting = component({
      deletedAt: new Date(now.getTime() - 3_600_000).toISOString(),
      ready: { status: "False", reason: "ClusterProfileUnavailable", message },
    });
    const { findings = [] } = checkDeletion(waiting, walkContext);
    expect(findings).toMatchObject([
      {
        code: "KNF1012",
        evidence: [`Ready: ClusterProfileUnavailable: ${message}`],
        next: [
          expect.any(String),
          expect.stringMatching(/^With the upstream operator: create another component/),
          "Or give the cluster up, which leaves everything on it:",
          expect.stringMatching(/^kubectl annotate knativeservings? /),
        ],
      },
    ]);
  });

  test("an installation is found in the namespace of its own that later versions use (D12)", async () => {
    expect(await statusOf("up-fixed")).toMatchObject({ HUB: "Ready", LIVE: "1/2 in progress" });
    const { stdout } = await knfleet("deployments", "-n", "up-fixed");
    expect(rowsOf(stdout).map(({ NAMESPACE }) => NAMESPACE)).toEqual([
      "knative-serving",
      "knative-serving",
    ]);
    const tree = await knfleet("tree", "-n", "up-fixed");
    expect(tree.stdout).toMatch(/Namespace knative-serving +OK/);
  });

  test("a ClusterProfile without a word of health is another one than one that is not well (D13)", () => {
    expect(checkHealth(profileOf({ conditions: [] }))).toMatchObject({
      message: "ClusterProfile fleet/spoke-1 has no condition ControlPlaneHealthy",
      findings: [{ code: "KNF2004" }],
    });
    const down = { type: "ControlPlaneHealthy", status: "False", reason: "Down" } as const;
    expect(checkHealth(profileOf({ conditions: [down] }))).toMatchObject({
      message: "ClusterProfile fleet/spoke-1 says ControlPlaneHealthy=False Down",
      findings: [{ code: "KNF2003" }],
    });
  });

  test("no condition of health fails the walk there, although the cluster answers (D13)", async () => {
    expect(await hopsOf("up-off")).toMatchObject({ health: "FAIL KNF2004", version: "OK" });
  });
});
