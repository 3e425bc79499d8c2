import { describe, expect, test } from "vitest";

import { component } from "../../fleet-facts.ts";
import { runText } from "../../run-text.ts";
import { fleetSet, phased } from "../../set-facts.ts";
import { startStubHub } from "../../stub-hub.ts";

const sets = [
  fleetSet({ name: "a", status: phased("Complete") }),
  fleetSet({ name: "b" }),
  fleetSet({ name: "c", status: phased("Halted", { stage: "early", waitingFor: "2 failed" }) }),
  fleetSet({ name: "d", status: {} }),
];

/** The first screen of `top` on a terminal of so many lines. */
async function screen(rows: number, args: readonly string[] = [], objects = sets) {
  await using hub = await startStubHub([component(), ...objects]);
  const env = { ...hub.env, COLUMNS: "100", LINES: String(rows), LANG: "C.UTF-8" };
  const { stdout } = await runText(["top", "--once", "--no-live", ...args], { env });
  const lines = stdout.split("\n").slice(0, -1);
  const asked = hub.requests.filter((line) => line.includes("/knfleet.dev/"));
  return { lines, asked, shown: lines.filter((line) => line.startsWith("kss/")) };
}

describe("top", () => {
  test("shows sets above the table, those in trouble first", async () => {
    const { shown, lines } = await screen(24);
    expect(shown).toHaveLength(3);
    expect(shown.slice(0, 2)).toEqual([
      "kss/c -n team-a: Halted, stage early, 5/12 done, 1 failed, revision prod-7c9f1b77e2, 2 failed",
      "kss/b -n team-a: Rolling, stage early, 5/12 done, 1 failed, revision prod-7c9f1b77e2",
    ]);
    expect(shown[2]).toMatch(/^kss\/d -n team-a: no status, 0\/0 done/);
    expect(lines).toHaveLength(24);
    expect(lines[5]).toMatch(/^ {2}NAMESPACE +NAME/);
  });

  test("shows one on a low screen, and none on a lower one", async () => {
    const low = await screen(16);
    expect(low.shown).toHaveLength(1);
    expect(low.shown[0]).toMatch(/^kss\/c .*$/);
    expect(low.lines).toHaveLength(16);
    const lower = await screen(12);
    expect(lower.shown).toEqual([]);
    expect(lower.lines).toHaveLength(12);
  });

  test("counts the sets that do not fit", async () => {
    const many = Array.from({ length: 9 }, (_, at) => fleetSet({ name: `s${at}` }));
    const { shown } = await screen(24, [], many);
    expect(shown).toHaveLength(3);
    expect(shown[2]).toMatch(/\(and 6 more\)$/);
  });

  test("asks for no set when installations are selected", async () => {
    const { shown, asked } = await screen(24, ["ks/knative-serving"]);
    expect({ shown, asked }).toEqual({ shown: [], asked: [] });
  });
});
