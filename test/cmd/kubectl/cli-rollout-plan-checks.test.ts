import { describe, expect, test } from "vitest";

import { sampleDirOf } from "../../../cmd/release-files.ts";
import { runText } from "./run-text.ts";
import { startVerifiedFleet, type VerifiedFleet } from "./verified-fleet.ts";

async function plan({ hub }: VerifiedFleet, ...args: readonly string[]) {
  const env = { LANG: "C.UTF-8", KNFLEET_RELEASE_DIR: sampleDirOf(), ...hub.env };
  const line = ["rollout", "plan", "kss/prod", "-n", "platform", "--spoke-timeout", "60s"];
  return await runText([...line, ...args], { env });
}

describe("rollout plan", () => {
  test("asks every check once on the clusters as they are: a wrong one is found before the rollout", async () => {
    await using fleet = await startVerifiedFleet();
    const { stderr, exitCode } = await plan(fleet);
    const lines = stderr.split("\n").filter((line) => line.includes(" check "));
    expect(lines).toEqual([
      "warning: check error-rate: the query gives 0.25, more than 0.01 (fleet/bad)",
      expect.stringMatching(
        /^warning: could not be read: check workloads: The right to list triggers.* is missing \(fleet\/mute\)$/,
      ),
      "warning: could not be read: check workloads: Open Cluster Management brings the component to its cluster, to which the hub has no way (fleet/pulled)",
    ]);
    expect(exitCode).toBe(1);
    const queries = fleet.clusters.flatMap(({ requests }) =>
      requests.filter((request) => request.includes("prometheus")),
    );
    expect(queries).toHaveLength(1);
  });

  test("says in its document that checks are among what is not known", async () => {
    await using fleet = await startVerifiedFleet();
    const { complete, summary } = JSON.parse((await plan(fleet, "-o", "json")).stdout);
    expect(complete).toBe(false);
    expect(summary.warnings).toContain(
      "check error-rate: the query gives 0.25, more than 0.01 (fleet/bad)",
    );
  });

  test("reaches no cluster with --no-checks", async () => {
    await using fleet = await startVerifiedFleet();
    const { stderr, stdout } = await plan(fleet, "--no-checks");
    expect(stdout).toContain("components would be written");
    expect(stderr).not.toContain("check");
    expect(fleet.clusters.flatMap(({ requests }) => requests)).toEqual([]);
  });
});
