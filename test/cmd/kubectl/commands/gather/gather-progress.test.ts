import { expect, test } from "vitest";

import { component } from "../../fleet-facts.ts";
import { runText } from "../../run-text.ts";
import { startStubHub } from "../../stub-hub.ts";
import { fleetOf, startSpoke } from "../../stub-spoke.ts";
import { answersTables } from "../../stub-tables.ts";

/** The counts that `gather` of an installation on the hub and one on a spoke draws on a terminal. */
async function countsOf(args: readonly string[]): Promise<readonly string[]> {
  await using spoke = await startSpoke();
  const onSpoke = fleetOf(spoke.url, "tokens", { clusterName: "eu-1" });
  const objects = [component({ cluster: null, name: "by-hand" }), ...onSpoke];
  await using hub = await startStubHub(objects, answersTables(objects));
  const { stderr } = await runText(["gather", "--dry-run", ...args], { env: hub.env, columns: 80 });
  return Array.from(stderr.matchAll(/\[Kparts (\d+\/\d+)/g), ([, count = ""]) => count);
}

test.each([
  { args: ["-A"], last: "4/5" },
  { args: ["ks/by-hand", "-n", "team-a"], last: "2/3" },
  { args: ["-A", "--no-live"], last: "1/2" },
])("gather $args tells its progress until only one part is missing", async ({ args, last }) => {
  const counts = await countsOf(args);
  expect(counts.at(-1)).toBe(last);
});

test("gather -q tells no progress", async () => {
  expect(await countsOf(["-A", "-q"])).toEqual([]);
});
