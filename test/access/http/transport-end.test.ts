import { setImmediate as turn } from "node:timers/promises";

import { expect, test } from "vitest";

import { Secret } from "../../../access/plugins/credential.ts";
import { authority, failureOf, get, post, requesterTo, stub } from "../loopback.ts";

const signal = AbortSignal.timeout(600_000);

test.each(
  [{}, { http1: true }].flatMap((server) => [0, 1, 2, 3, 4].map((turns) => ({ ...server, turns }))),
)(
  "a connection that was refused its last bytes is ended all the same, $turns turns later (C18, http1 $http1)",
  async ({ turns, ...server }) => {
    const api = await stub(() => ({ open: true }), server);
    const state = { permit: true };
    const requester = requesterTo({ server: api.server }, undefined, {
      mayWrite: () => state.permit,
    });
    using _watch = await requester.stream({ ...get, verb: "watch" }, 5_000, signal);
    const end = new AbortController();
    const writing = requester.stream({ ...post, verb: "watch" }, 5_000, end.signal);
    using _written = await writing;
    state.permit = false;
    // The reset of the stream is more than may be sent now: the connection breaks while it is being ended.
    end.abort();
    for (let left = turns; left > 0; left -= 1) await turn();
    await requester[Symbol.asyncDispose]();
    await requester[Symbol.asyncDispose]();
    expect(api.connections).toBe("http1" in server ? 2 : 1);
  },
);

test("what still runs on the connection of an earlier certificate ends with the owner", async () => {
  const api = await stub((times) => ({ open: times === 1 }), {
    clientCaPem: authority.certificatePem,
  });
  const [first, second] = ["first", "second"].map((commonName) => {
    const { certificatePem, keyPem } = authority.issue({ commonName, usage: "client" });
    return { certificate: { certificatePem, keyPem: new Secret(keyPem) } };
  });
  const credentials = [first, second];
  const current = () => Promise.resolve(credentials.shift() ?? second ?? {});
  const requester = requesterTo(api, { current, reject: () => undefined });
  using watch = await requester.stream({ ...get, verb: "watch" }, 30_000, signal);
  await requester.send(get, signal);
  expect(api.requests.map(({ client }) => client)).toEqual(["first", "second"]);
  const reading = failureOf(Array.fromAsync(watch.body));
  await requester[Symbol.asyncDispose]();
  expect(["closed", "other"]).toContain(await reading);
});
