import { describe, expect, onTestFinished, test, vi } from "vitest";

import { Lane } from "../../../access/http/lane.ts";
import type { StreamedBody } from "../../../access/http/streamed-answer.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import type { StubAnswer } from "../api-stub.ts";
import { authority, stub } from "../loopback.ts";

const patience = { timeout: 60_000 };

interface Streaming {
  readonly lane: Lane;
  readonly body: StreamedBody;
  readonly statusCode: number;
  /** Bytes that have arrived. */
  readonly arrived: () => number;
  readonly abort: AbortController;
}

/** A stream that has begun, over a connection of its own. */
async function streaming(answer: StubAnswer, server: { readonly http1?: boolean } = {}) {
  const api = await stub(() => answer, server);
  const abort = new AbortController();
  const lane = laneTo(api.server);
  let bytes = 0;
  const { body, statusCode } = await lane.stream(
    { method: "GET", path: "/watch", headers: {}, timeoutMs: 60_000, bodyTimeout: 60_000 },
    {
      onBytes: (more) => (bytes += more),
      explain: (cause) => new Error("Explained", { cause }),
    },
    abort.signal,
  );
  const scene: Streaming = { lane, body, statusCode, arrived: () => bytes, abort };
  return scene;
}

/** A connection of the running test. */
function laneTo(server: string): Lane {
  const lane = new Lane(server, {
    clock: systemClock,
    endpoint: { server, caPem: authority.certificatePem },
    connectTimeoutMs: 5_000,
    signal: new AbortController().signal,
    onBroken: () => undefined,
  });
  onTestFinished(() => lane.destroy(new Error("The test is over")));
  return lane;
}

describe.each([{ http1: false }, { http1: true }])("a streamed answer (http1 $http1)", (server) => {
  test("is read to its end", async () => {
    const { body, statusCode } = await streaming({ status: 201, body: "one\ntwo\n" }, server);
    expect(statusCode).toBe(201);
    expect(Buffer.concat(await Array.fromAsync(body)).toString()).toBe("one\ntwo\n");
    expect(await body.next()).toEqual({ done: true, value: undefined });
  });

  test("that nobody reads is left to the server, and loses nothing", async () => {
    const size = 24 * 1024 * 1024;
    const { body, arrived } = await streaming({ body: "x".repeat(size) }, server);
    await vi.waitUntil(() => arrived() > 8 * 1024, patience);
    let before = -1;
    // Until nothing more comes.
    await vi.waitUntil(
      () => {
        const isStill = arrived() === before;
        before = arrived();
        return isStill;
      },
      { ...patience, interval: 300 },
    );
    expect(arrived()).toBeLessThan(64 * 1024);
    let read = 0;
    for await (const chunk of body) read += chunk.length;
    expect([read, arrived()]).toEqual([size, size]);
  });

  test("that breaks gives what had come before", async () => {
    const { body, lane, arrived } = await streaming({ body: "begun", open: true }, server);
    await vi.waitUntil(() => arrived() === 5, patience);
    await lane.destroy(new Error("Cut"));
    expect((await body.next()).value?.toString()).toBe("begun");
    await expect(body.next()).rejects.toThrow("Explained");
  });

  test("ends with its signal, while it is waited for and afterwards", async () => {
    const { body, abort, arrived } = await streaming({ body: "begun", open: true }, server);
    await vi.waitUntil(() => arrived() === 5, patience);
    await body.next();
    const waiting = body.next();
    const reason = new Error("Enough");
    abort.abort(reason);
    await expect(waiting).rejects.toMatchObject({ message: "Explained", cause: reason });
    await expect(body.next()).rejects.toMatchObject({ cause: reason });
  });

  test("ends when its reader has enough, also one who waits", async () => {
    const { body } = await streaming({ body: "begun", open: true }, server);
    await body.next();
    const waiting = body.next();
    await body.return();
    expect([await waiting, await body.next()]).toEqual([
      { done: true, value: undefined },
      { done: true, value: undefined },
    ]);
  });
});

test("a stream that does not begin in time is a timeout", async () => {
  const api = await stub(() => ({ hang: true }));
  const lane = laneTo(api.server);
  const options = { method: "GET", path: "/silent", headers: {}, timeoutMs: 50 } as const;
  const reader = { onBytes: () => undefined, explain: (error: unknown) => error };
  const { signal } = new AbortController();
  await expect(lane.stream(options, reader, signal)).rejects.toMatchObject({
    name: "TimeoutError",
  });
});

test("a stream whose signal was aborted before is not sent", async () => {
  const { lane } = await streaming({ body: "{}" });
  const options = { method: "GET", path: "/never", headers: {}, timeoutMs: 60_000 } as const;
  const reader = { onBytes: () => undefined, explain: (error: unknown) => error };
  const reason = new Error("Too late");
  await expect(lane.stream(options, reader, AbortSignal.abort(reason))).rejects.toBe(reason);
});
