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
  state.close(unproven, new Error("no answer"));
  const unprotected = expect.objectContaining({ reason: "AnchorUnprotected" });
  await expect(waiting).rejects.toEqual(unprotected);
  await expect(state.needsSecondOwner(signal)).rejects.toEqual(unprotected);
  await expect(state.waitUntilOpen(signal)).rejects.toEqual(unprotected);
});

test("the error of the connection is told in place of the protection", async () => {
  const { state } = stateOf();
  const failure = new FleetError("SpokeUnreachable", "no answer");
  state.close(unproven, failure);
  await expect(state.waitUntilOpen(signal)).rejects.toBe(failure);
  await expect(state.needsSecondOwner(signal)).rejects.toBe(failure);
});

test("an error of the connection is not told any more when policies turn out to be impossible", async () => {
  const { state } = stateOf();
  state.close(unproven, new FleetError("SpokeUnreachable", "no answer"));
  state.closeWithoutSecondOwner({ reason: "PolicyForbidden", message: "no right" });
  const unprotected = { reason: "AnchorUnprotected", message: expect.stringContaining("no right") };
  await expect(state.waitUntilOpen(signal)).rejects.toMatchObject(unprotected);
  await expect(state.needsSecondOwner(signal)).resolves.toBe(false);
});

test("written policies let anchors be created without a second owner", async () => {
  const { state } = stateOf();
  const open = state.waitUntilOpen(signal);
  const second = state.needsSecondOwner(signal);
  state.open();
  await expect(open).resolves.toBeUndefined();
  await expect(second).resolves.toBe(false);
});

test("a second owner that is decided on stays so, also when the rest is forgotten", async () => {
  const { state } = stateOf();
  state.openWithSecondOwner(unproven);
  await expect(state.waitUntilOpen(signal)).resolves.toBeUndefined();
  await expect(state.needsSecondOwner(signal)).resolves.toBe(true);
  state.reset();
  expect(state.protection.reason).toBe("Probing");
  await expect(state.needsSecondOwner(signal)).resolves.toBe(true);
  state.noteSent();
  state.close(unproven, new Error("no answer"));
  await expect(state.needsSecondOwner(signal)).resolves.toBe(true);
  state.reinstall();
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
  state.close(unproven, undefined);
  await expect(state.waitUntilSent(signal)).resolves.toBeUndefined();
});

test("an anchor waits while policies are installed again, and requests about them count as sent", async () => {
  const { state } = stateOf();
  state.open();
  state.reinstall();
  let isOpen = false;
  const open = state.waitUntilOpen(signal).then(() => (isOpen = true));
  await state.waitUntilSent(signal);
  expect(isOpen).toBe(false);
  state.open();
  await open;
});

test("requests about policies that are sent again change nothing for an open or closed guard", async () => {
  const { state } = stateOf();
  state.open();
  state.noteSent();
  await expect(state.waitUntilOpen(signal)).resolves.toBeUndefined();
  state.close(unproven, undefined);
  state.noteSent();
  await expect(state.waitUntilOpen(signal)).rejects.toMatchObject({ reason: "AnchorUnprotected" });
});

test("a change of reason or message is told once", () => {
  const { state, changes } = stateOf();
  state.close(unproven, undefined);
  state.open({ ...unproven });
  state.open();
  expect(changes()).toBe(1);
  state.open({ ...unproven, message: "other" });
  state.openWithSecondOwner({ reason: "NotSupported", message: "other" });
  expect(changes()).toBe(3);
  state.reset();
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
