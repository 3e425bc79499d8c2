import { expect, test } from "vitest";

import { withPermit } from "../../../access/http/permitted-requester.ts";
import { WriteRefusedError } from "../../../access/http/write-permit.ts";
import { get, post, requesterTo, stub } from "../loopback.ts";

const { signal } = new AbortController();

/** Two parts of the work over one connection, each with a permit of its own. */
async function twoParts() {
  const api = await stub();
  const inner = requesterTo({ server: api.server });
  const parts = [1, 2].map(() => {
    const state = { mayWrite: true, end: new AbortController() };
    const permit = { mayWrite: () => state.mayWrite, signal: state.end.signal };
    return Object.assign(state, { requester: withPermit(inner, permit) });
  });
  const [one, two] = parts;
  if (one === undefined || two === undefined) throw new Error("There are two");
  return { api, one, two };
}

test("without its permit a part writes nothing, but reads, and the other part writes", async () => {
  const { api, one, two } = await twoParts();
  one.mayWrite = false;
  await expect(one.requester.send(post, signal)).rejects.toThrow(WriteRefusedError);
  expect((await one.requester.send(get, signal)).status).toBe(200);
  expect((await two.requester.send(post, signal)).status).toBe(200);
  expect(api.requests.map(({ method }) => method)).toEqual(["GET", "POST"]);
});

test("writes of a part end with the part", async () => {
  const { api, one } = await twoParts();
  const writing = one.requester.send(post, signal);
  one.end.abort(new DOMException("The part is over", "AbortError"));
  await expect(writing).rejects.toThrow("The part is over");
  await expect(one.requester.send(post, signal)).rejects.toThrow("The part is over");
  expect(api.requests.filter(({ method }) => method === "POST").length).toBeLessThanOrEqual(1);
});
