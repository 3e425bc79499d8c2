import { expect, test } from "vitest";

import { FleetError } from "../../../api/errors.ts";
import { GuardState } from "../../../controller/guard/guard-state.ts";

const { signal } = new AbortController();
const unproven = { reason: "NotEnforced", message: "not refused for 30 s" } as const;

function stateOf() {
  let changes = 0;
  const state = new GuardState(signal, () => {
    changes += 1;
  });
  return { state, changes: () => changes };
}

test("an attempt does not wait for the second owner of anchors that may not be created", async () => {
  const { state } = stateOf();
  const waiting = state.needsSecondOwner(signal);
  state.setProtection(unproven, { isOpen: false });
  const unprotected = expect.objectContaining({ reason: "AnchorUnprotected" });
  await expect(waiting).rejects.toEqual(unprotected);
  await expect(state.needsSecondOwner(signal)).rejects.toEqual(unprotected);
  await expect(state.waitUntilOpen(signal)).rejects.toEqual(unprotected);
});

test("the error of the connection is told in place of the protection", async () => {
  const { state } = stateOf();
  state.failure = new FleetError("SpokeUnreachable", "no answer");
  state.setProtection(unproven, { isOpen: false });
  await expect(state.waitUntilOpen(signal)).rejects.toBe(state.failure);
  await expect(state.needsSecondOwner(signal)).rejects.toBe(state.failure);
});

test("settled policies let anchors be created without a second owner", async () => {
  const { state } = stateOf();
  const open = state.waitUntilOpen(signal);
  const second = state.needsSecondOwner(signal);
  state.noteSettled();
  await expect(open).resolves.toBeUndefined();
  await expect(second).resolves.toBe(false);
});

test("a second owner that is decided on stays so, also when the rest is forgotten", async () => {
  const { state } = stateOf();
  state.setSecondOwner(true);
  state.setProtection(unproven, { isOpen: true });
  await expect(state.needsSecondOwner(signal)).resolves.toBe(true);
  state.reset();
  expect(state.protection.reason).toBe("Probing");
  await expect(state.needsSecondOwner(signal)).resolves.toBe(true);
});

test("whoever waits for requests about policies goes on when they were sent, and waits anew after a reset", async () => {
  const { state } = stateOf();
  const sent = state.waitUntilSent(signal);
  state.noteSent();
  await expect(sent).resolves.toBeUndefined();
  state.reset();
  const ended = new AbortController();
  const again = state.waitUntilSent(ended.signal);
  ended.abort(new Error("not sent"));
  await expect(again).rejects.toThrow("not sent");
  state.setProtection(unproven, { isOpen: false });
  await expect(state.waitUntilSent(signal)).resolves.toBeUndefined();
});

test("an anchor waits again after the guard is closed, until it is settled", async () => {
  const { state } = stateOf();
  state.noteSettled();
  state.close();
  let isOpen = false;
  const open = state.waitUntilOpen(signal).then(() => (isOpen = true));
  await Promise.resolve();
  expect(isOpen).toBe(false);
  state.noteSettled();
  await open;
});

test("a change of reason or message is told once", () => {
  const { state, changes } = stateOf();
  state.setProtection(unproven, { isOpen: false });
  state.setProtection({ ...unproven }, { isOpen: true });
  expect(changes()).toBe(1);
  state.setProtection({ ...unproven, message: "other" }, { isOpen: true });
  state.setProtection({ reason: "NotSupported", message: "other" }, { isOpen: true });
  expect(changes()).toBe(3);
});

test("a wait ends with the connection", async () => {
  const connection = new AbortController();
  const state = new GuardState(connection.signal, () => undefined);
  const waiting = [
    state.waitUntilOpen(signal),
    state.waitUntilSent(signal),
    state.needsSecondOwner(signal),
  ];
  connection.abort(new Error("lost"));
  for (const wait of await Promise.allSettled(waiting)) {
    expect(wait).toMatchObject({ status: "rejected", reason: { message: "lost" } });
  }
});
