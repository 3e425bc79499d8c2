import { expect, test } from "vitest";

import { apply } from "../../../controller/apply/apply.ts";
import { gateObjects } from "../../../installation/gates.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { manifestOf, preparedOf } from "./prepared.ts";
import { type Answer, Server } from "./scripted-server.ts";

test.each<{ what: string; answer: Answer; ms: number }>([
  { what: "C11: 429", answer: { status: 429, retryAfterMs: 120_000 }, ms: 60_000 },
  { what: "C12: 409", answer: { status: 409 }, ms: 50 },
])("$what for 1,000 objects at once does not bring them back at once", async ({ answer, ms }) => {
  const server = new Server();
  const names = Array.from({ length: 1_000 }, (_, index) => `c${index}`);
  for (const name of names) server.answer(name, answer, "taken");
  let drawn = 0;
  const random = (): number => (drawn += 1) / 1_001;
  const clock = new FakeClock();
  const objects = gateObjects(
    preparedOf(names.map((name) => manifestOf(`v1 ConfigMap knative/${name}`))),
  );
  const deps = { requests: server, clock, installNamespace: "knative", random };
  const result = apply(objects, deps, new AbortController().signal);
  await clock.advance(ms);
  expect(server.sent).toHaveLength(1_000);
  const perStep: number[] = [];
  // All of the quarter over which they are spread.
  for (let step = 0; step < 10; step += 1) {
    const before = server.sent.length;
    await clock.advance(ms / 40);
    perStep.push(server.sent.length - before);
  }
  expect(perStep.filter((count) => count < 99 || count > 101)).toEqual([]);
  expect((await result).applied).toHaveLength(1_000);
});
