import { beforeAll, describe, expect, test } from "vitest";

import { knfCodes } from "../../../../api/knf/knf-codes.ts";
import { useFleet } from "../../../fleet/use-fleet.ts";
import { accessFaults } from "./access-faults.ts";
import { componentFaults } from "./component-faults.ts";
import { worldOf, type World } from "./diagnose-world.ts";
import { hubFaults } from "./hub-faults.ts";
import { networkFaults } from "./network-faults.ts";
import { pluginFaults } from "./plugin-faults.ts";
import { spokeFaults, victims } from "./spoke-faults.ts";

const fleet = useFleet({ spokes: 1 });
let world: World;
beforeAll(async () => {
  world = await worldOf(fleet(), ["healthy", ...victims]);
}, 300_000);

const faults = [
  ...hubFaults,
  ...componentFaults,
  ...accessFaults,
  ...pluginFaults,
  ...networkFaults,
  ...spokeFaults,
];

test("a healthy installation is well in every step", async () => {
  const { report, exitCode } = await world.diagnose(["ke/healthy", "-n", "healthy"]);
  const [diagnosis] = report.items;
  expect(diagnosis?.hops.map(({ id, state }) => `${id} ${state}`)).toEqual(
    [
      ..."hub kinds controller webhook component twin profile health file provider".split(" "),
      ..."endpoint plugin credential dns tcp tls authentication authorization".split(" "),
      ..."version anchor guard objects deployments pods conditions".split(" "),
    ].map((id) => `${id} OK`),
  );
  expect(diagnosis?.rootCause).toBeNull();
  expect(exitCode).toBe(0);
});

test("there are at least 40 faults, and each thousand of codes has some", () => {
  expect(faults.length).toBeGreaterThanOrEqual(40);
  expect(new Set(faults.map(({ code }) => code.slice(0, 4))).size).toBe(6);
});

describe("the root cause is found when", () => {
  test.each(faults)(
    "$name: $code",
    async ({ code, severity = "error", says = /./, make }) => {
      const { args, options, undo } = await make(world);
      try {
        const { report, exitCode, stdout, stderr } = await world.diagnose(args, options);
        const cause = report.items[0]?.rootCause;
        expect(cause, `${stdout}${stderr}`).toMatchObject({ code, severity, name: nameOf(code) });
        expect(cause?.message).toMatch(says);
        expect(cause?.next.length).toBeGreaterThan(0);
        expect(exitCode).toBe(exitCodeOf(code, severity));
        for (const profile of world.installed.values()) expect(stdout).not.toContain(profile.token);
      } finally {
        await undo?.();
      }
    },
    120_000,
  );
});

function nameOf(code: string): string {
  return Object.entries(knfCodes).find(([known]) => known === code)?.[1].name ?? "";
}

/** 2: the hub could not be asked; 3: something was left out. */
function exitCodeOf(code: string, severity: string): number {
  if (/^KNF100[1-4]$/.test(code)) return 2;
  if (code === "KNF3001") return 3;
  return severity === "error" ? 1 : 0;
}
