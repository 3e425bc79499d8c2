import { expect, test } from "vitest";

import { Awaiting } from "../../../controller/queue/awaiting.ts";

const none: ReadonlySet<string> = new Set();

test("what changed waits for the end of an attempt, unless that knows of it, has yet to send it, or has done so since", () => {
  const awaiting = new Awaiting();
  expect(awaiting.isBeside(none)).toBe(false);
  for (const id of ["planned", "open", "sent", "ground"]) awaiting.changed(id);
  awaiting.planned(["planned", "open", "sent", "other"]);
  for (const id of ["open", "sent"]) awaiting.changed(id);
  expect(awaiting.isBeside(new Set(["open", "sent", "ground"]))).toBe(false);
  expect(awaiting.isBeside(new Set(["open", "sent"]))).toBe(true);
  awaiting.settled("ground");
  expect(awaiting.isBeside(new Set(["open", "sent"]))).toBe(false);
  awaiting.settled("sent");
  expect(awaiting.isBeside(new Set(["open"]))).toBe(false);
  expect(awaiting.isBeside(none)).toBe(true);
  awaiting.begin();
  expect(awaiting.isBeside(none)).toBe(false);
});

test("news wait for the end of an attempt whatever that has planned, until the next one begins", () => {
  const awaiting = new Awaiting();
  awaiting.news();
  awaiting.planned(["a"]);
  expect(awaiting.isBeside(new Set(["a"]))).toBe(true);
  awaiting.begin();
  expect(awaiting.isBeside(none)).toBe(false);
});
