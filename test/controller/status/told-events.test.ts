import { expect, test } from "vitest";

import type { NewEvent } from "../../../controller/events.ts";
import { ToldEvents } from "../../../controller/status/told-events.ts";

function eventOf(message: string): NewEvent {
  return { type: "Normal", reason: "Removed", message };
}

test("an Event is recorded once, and again only with another text", async () => {
  const told = new ToldEvents();
  const recorded: string[] = [];
  const record = async ({ message }: NewEvent): Promise<void> => {
    recorded.push(message);
    await Promise.resolve();
  };
  for (const message of ["a", "a", "b", "a"]) {
    // oxlint-disable-next-line no-await-in-loop -- one attempt after the other
    await told.recordOnce(eventOf(message), record);
  }
  expect(recorded).toEqual(["a", "b"]);
});

test("an Event that could not be recorded is tried again", async () => {
  const told = new ToldEvents();
  const refused = told.recordOnce(eventOf("a"), () => Promise.reject(new Error("refused")));
  await expect(refused).rejects.toThrow("refused");
  const recorded: NewEvent[] = [];
  await told.recordOnce(eventOf("a"), (event) => Promise.resolve(void recorded.push(event)));
  expect(recorded).toEqual([eventOf("a")]);
});
