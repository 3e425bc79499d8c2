import { expect, test } from "vitest";

import { PendingChanges } from "../../../controller/queue/pending-changes.ts";

const none: ReadonlySet<string> = new Set();

test("a changed object waits for the end of an attempt, unless the attempt planned it, still sends it, or has settled it", () => {
  const pendingChanges = new PendingChanges();
  expect(pendingChanges.hasOthersThan(none)).toBe(false);
  for (const id of ["planned", "open", "sent", "ground"]) pendingChanges.noteObjectChange(id);
  pendingChanges.dropPlanned(["planned", "open", "sent", "other"]);
  for (const id of ["open", "sent"]) pendingChanges.noteObjectChange(id);
  expect(pendingChanges.hasOthersThan(new Set(["open", "sent", "ground"]))).toBe(false);
  expect(pendingChanges.hasOthersThan(new Set(["open", "sent"]))).toBe(true);
  pendingChanges.dropSettled("ground");
  expect(pendingChanges.hasOthersThan(new Set(["open", "sent"]))).toBe(false);
  pendingChanges.dropSettled("sent");
  expect(pendingChanges.hasOthersThan(new Set(["open"]))).toBe(false);
  expect(pendingChanges.hasOthersThan(none)).toBe(true);
});

test("a change of the component waits for the end of an attempt, also when all objects are planned", () => {
  const pendingChanges = new PendingChanges();
  pendingChanges.noteComponentChange();
  pendingChanges.dropPlanned(["a"]);
  expect(pendingChanges.hasOthersThan(new Set(["a"]))).toBe(true);
});
