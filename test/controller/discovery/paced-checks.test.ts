import { expect, test } from "vitest";

import type { EndpointCheck } from "../../../access/profiles/check-endpoint.ts";
import { PacedChecks } from "../../../controller/discovery/paced-checks.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const answers: EndpointCheck = { kind: "answers", kubernetes: "v1.36.1" };
const fails: EndpointCheck = { kind: "fails", reason: "Unreachable", message: "silent" };
const [cluster, moved] = ["https://a", "https://b"].map((server) => ({ server }));
const { signal } = new AbortController();

/** Checks whose server answers as it is told, and the servers that were asked. */
function checksOf(first: EndpointCheck) {
  const clock = new FakeClock();
  const asked: (string | undefined)[] = [];
  const lines: object[] = [];
  const log = { info: (fields: object): void => void lines.push(fields) };
  const world = { answer: first, clock, asked, lines };
  const check = ({ server }: { readonly server?: string }): Promise<EndpointCheck> => {
    asked.push(server);
    return Promise.resolve(world.answer);
  };
  const checks = new PacedChecks({ check, clock, log, random: () => 0.5 });
  const run = (way = cluster, told?: EndpointCheck): Promise<EndpointCheck> =>
    checks.run("fleet/a", { cluster: { ...way }, told }, signal);
  return { ...world, world, checks, run };
}

test("an answer counts for a minute, a failure for 15 s", async () => {
  const { world, clock, asked, checks, run } = checksOf(fails);
  expect(await run()).toBe(fails);
  expect(checks.untilDueMs("fleet/a")).toBe(15_000);
  await clock.advance(14_999);
  await run();
  expect(asked).toHaveLength(1);
  world.answer = answers;
  await clock.advance(1);
  expect(await run()).toBe(answers);
  expect(checks.untilDueMs("fleet/a")).toBe(60_000);
});

test("a server that answered is asked twice before it counts as unreachable", async () => {
  const { world, clock, asked, checks, run } = checksOf(answers);
  await run();
  world.answer = fails;
  await clock.advance(60_000);
  expect(await run()).toBe(answers);
  expect(checks.untilDueMs("fleet/a")).toBe(5_000);
  await clock.advance(5_000);
  expect(await run()).toBe(fails);
  expect(asked).toHaveLength(3);
});

test("after a start, what the profile says counts as the last answer: one lost packet is no outage", async () => {
  const { clock, run } = checksOf(fails);
  const told = { kind: "answers", kubernetes: "v1.35.0" } as const;
  expect(await run(cluster, told)).toEqual(told);
  await clock.advance(5_000);
  // Its own answer, not that of the profile, counts from then on.
  expect(await run(cluster, told)).toBe(fails);
  await clock.advance(15_000);
  expect(await run(cluster, told)).toBe(fails);
});

test("another address is asked at once, and nothing is doubted there", async () => {
  const { world, asked, checks, run } = checksOf(answers);
  await run();
  world.answer = fails;
  expect(await run(moved)).toBe(fails);
  expect(asked).toEqual(["https://a", "https://b"]);
  checks.forget("fleet/a");
  await run(moved);
  expect(asked).toHaveLength(3);
});

test("the log says why a server does not answer, each reason once", async () => {
  const [refused, untrusted] = [new Error("refused"), new Error("untrusted")];
  const { world, clock, lines, run } = checksOf({ ...fails, cause: refused });
  const again = async (answer: EndpointCheck): Promise<void> => {
    world.answer = answer;
    await clock.advance(60_000);
    await run();
  };
  await run();
  await again({ ...fails, cause: new Error("refused") });
  await again({ ...fails, cause: untrusted });
  await again(fails);
  await again(answers);
  await again({ ...fails, cause: untrusted });
  expect(lines).toEqual(
    [refused, untrusted, untrusted].map((err) => ({ profile: "fleet/a", err })),
  );
});
