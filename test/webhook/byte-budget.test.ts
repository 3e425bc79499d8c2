import { describe, expect, test } from "vitest";

import { ByteBudget, type Room } from "../../webhook/byte-budget.ts";

const forever = new AbortController().signal;

/** A budget of 10 bytes, and its clock. */
function budgetOfTen() {
  const clock = { ms: 0 };
  return { clock, budget: new ByteBudget({ now: () => clock.ms }, 10) };
}

/** What a request for room has come to, once everything that can happen has happened. */
async function stateOf(room: Promise<Room>): Promise<"has room" | "waits" | "gave up"> {
  const later = new Promise<"waits">((resolve) => void setImmediate(() => resolve("waits")));
  const settled = room.then(
    () => "has room" as const,
    () => "gave up" as const,
  );
  return Promise.race([settled, later]);
}

describe("room", () => {
  test("is there at once as long as bytes are free", async () => {
    const { budget } = budgetOfTen();
    expect(await stateOf(budget.take(6, forever))).toBe("has room");
    expect(await stateOf(budget.take(4, forever))).toBe("has room");
    expect(await stateOf(budget.take(1, forever))).toBe("waits");
  });

  test("goes to who waits longest, and a small body does not overtake a large one", async () => {
    const { budget } = budgetOfTen();
    const first = await budget.take(6, forever);
    const large = budget.take(8, forever);
    const small = budget.take(1, forever);
    expect(await stateOf(small)).toBe("waits");
    first[Symbol.dispose]();
    expect(await stateOf(large)).toBe("has room");
    expect(await stateOf(small)).toBe("has room");
  });

  test("for more than the whole budget is given alone", async () => {
    const { budget } = budgetOfTen();
    const first = await budget.take(1, forever);
    const huge = budget.take(11, forever);
    expect(await stateOf(huge)).toBe("waits");
    first[Symbol.dispose]();
    expect(await stateOf(huge)).toBe("has room");
    expect(await stateOf(budget.take(1, forever))).toBe("waits");
  });

  test("is given back once, however often it is disposed", async () => {
    const { budget } = budgetOfTen();
    const first = await budget.take(5, forever);
    await budget.take(5, forever);
    first[Symbol.dispose]();
    first[Symbol.dispose]();
    expect(await stateOf(budget.take(5, forever))).toBe("has room");
    expect(await stateOf(budget.take(5, forever))).toBe("waits");
  });
});

describe("a request that gives up", () => {
  test("while it waits gets the reason and holds nothing", async () => {
    const { budget } = budgetOfTen();
    const first = await budget.take(10, forever);
    const leaving = new AbortController();
    const left = budget.take(10, leaving.signal);
    leaving.abort(new Error("gone"));
    await expect(left).rejects.toThrow("gone");
    first[Symbol.dispose]();
    expect(await stateOf(budget.take(10, forever))).toBe("has room");
  });

  test("at the head of the queue lets the others in", async () => {
    const { budget } = budgetOfTen();
    await budget.take(5, forever);
    const leaving = new AbortController();
    const large = budget.take(10, leaving.signal);
    const small = budget.take(5, forever);
    leaving.abort(new Error("gone"));
    expect(await stateOf(large)).toBe("gave up");
    expect(await stateOf(small)).toBe("has room");
  });

  test("before it asks never waits", async () => {
    const { budget } = budgetOfTen();
    await expect(budget.take(1, AbortSignal.abort(new Error("gone")))).rejects.toThrow("gone");
    expect(await stateOf(budget.take(10, forever))).toBe("has room");
  });

  test("after it got room still has to give it back", async () => {
    const { budget } = budgetOfTen();
    const first = await budget.take(10, forever);
    const leaving = new AbortController();
    const second = budget.take(10, leaving.signal);
    first[Symbol.dispose]();
    leaving.abort(new Error("gone"));
    (await second)[Symbol.dispose]();
    expect(await stateOf(budget.take(10, forever))).toBe("has room");
  });
});

describe("a budget is stuck", () => {
  test("when a request has waited for a minute and no body arrived", async () => {
    const { budget, clock } = budgetOfTen();
    await budget.take(10, forever);
    void budget.take(1, forever);
    clock.ms = 59_999;
    expect(budget.isStuck()).toBe(false);
    clock.ms = 60_000;
    expect(budget.isStuck()).toBe(true);
  });

  test("also when those that waited have given up, as long as the room is not there again", async () => {
    const { budget, clock } = budgetOfTen();
    const room = await budget.take(10, forever);
    const leaving = new AbortController();
    const left = budget.take(1, leaving.signal);
    leaving.abort(new Error("gone"));
    await expect(left).rejects.toThrow("gone");
    clock.ms = 60_000;
    expect(budget.isStuck()).toBe(true);
    room[Symbol.dispose]();
    expect(budget.isStuck()).toBe(false);
  });

  test("never while nobody had to wait", async () => {
    const { budget, clock } = budgetOfTen();
    await budget.take(10, forever);
    clock.ms = 600_000;
    expect(budget.isStuck()).toBe(false);
  });

  test("not while bodies arrive, and a minute after the last one when others wait on", async () => {
    const { budget, clock } = budgetOfTen();
    const first = await budget.take(10, forever);
    void budget.take(10, forever);
    clock.ms = 50_000;
    first.arrived();
    clock.ms = 109_999;
    expect(budget.isStuck()).toBe(false);
    clock.ms = 110_000;
    expect(budget.isStuck()).toBe(true);
  });
});
