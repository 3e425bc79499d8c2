import { afterAll, beforeAll, expect, test } from "vitest";

import { useFleet } from "../../fleet/use-fleet.ts";
import { seed } from "../../support/fuzz.ts";
import { seeded } from "../seeded.ts";
import { type AttackKind, kindOf, oneOfEach, sampleOf, type Trial } from "./attack.ts";
import { type CommandBench, startCommandBench } from "./command-bench.ts";
import { type CommandCase, titleOf } from "./command-case.ts";
import { commandCases } from "./command-cases.ts";
import { tryCommand } from "./try-command.ts";

const fleet = useFleet({ spokes: 1, hub: { kwok: true } });
let bench: CommandBench | undefined;
beforeAll(async () => {
  bench = await startCommandBench(fleet());
});
afterAll(async () => bench?.[Symbol.asyncDispose]());

const random = seeded(seed);
const [register, , unregister] = commandCases;
// A migration looks every two seconds: it is for `npm run faults`.
const rollouts = commandCases.filter(({ command }) => command.startsWith("rollout "));
// A cluster that is slow or dead costs `register` a minute, and a command with one write some seconds.
const answers = ["answer 403", "answer 409", "answer 503"] as const;
const answer = answers[Math.floor(random() * answers.length)] ?? answers[0];
const shortOnes = { kill: 1, [answer]: 1, right: 1, twice: 1, "dry run": 1 };

/** The attacks after which a law is broken. */
async function broken(
  one: CommandCase | undefined,
  choose: (trials: readonly Trial[]) => readonly Trial[],
): Promise<readonly unknown[]> {
  if (bench === undefined || one === undefined) throw new Error("The bench exists only in tests");
  console.error(`${titleOf(one)}, seed ${seed}`);
  const results = await tryCommand(bench, one, { choose });
  expect(results.length).toBeGreaterThan(0);
  return results.filter(({ survived }) => !survived);
}

// More than 15 s: the command runs whole to know its writes, and again for each of five attacks, with what follows them.
test("register that is harmed leaves nothing that is not named, and goes on", async () => {
  expect(await broken(register, (trials) => sampleOf(trials, shortOnes, random))).toEqual([]);
});

test("unregister takes back a register that was killed when the cluster had its token", async () => {
  const killed = await broken(register, (trials) =>
    trials.filter(
      ({ attack, sequel }) =>
        attack.kind === "kill" &&
        attack.write === 5 &&
        attack.side === "after" &&
        sequel === "counterpart",
    ),
  );
  expect(killed).toEqual([]);
});

test("unregister that fails in the middle names what is left", async () => {
  const failed = await broken(unregister, (trials) =>
    trials.filter(
      ({ attack }) =>
        attack.kind === "answer" &&
        attack.status === 403 &&
        "write" in attack.at &&
        attack.at.write === 3,
    ),
  );
  expect(failed).toEqual([]);
});

test("a command that steers a rollout, drawn by the seed, is harmed in every way once and ends as always", async () => {
  const kinds = new Set<AttackKind>();
  const results = await broken(rollouts[Math.floor(random() * rollouts.length)], (trials) => {
    const drawn = sampleOf(trials, oneOfEach, random);
    for (const { attack } of drawn) kinds.add(kindOf(attack));
    return drawn;
  });
  expect(results).toEqual([]);
  expect([...kinds].toSorted()).toEqual(Object.keys(oneOfEach).toSorted());
});
