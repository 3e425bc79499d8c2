import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { startDelayProxy, type DelayProxy } from "./delay-proxy.ts";
import { portOf } from "./ports.ts";

const echo = createServer((socket) => {
  socket.on("error", () => undefined);
  socket.pipe(socket);
});
let proxy: DelayProxy;

beforeAll(async () => {
  echo.listen(0, "127.0.0.1");
  await once(echo, "listening");
  proxy = await startDelayProxy(portOf(echo.address()));
});

beforeEach(async () => {
  await proxy.setMode("open");
  proxy.setRtt(0);
  proxy.resetCounts();
});

afterAll(async () => {
  await proxy[Symbol.asyncDispose]();
  echo.close();
});

describe("a delay proxy", () => {
  test("counts bytes of each direction and connections", async () => {
    const { socket } = await ask("hello");
    socket.write("again");
    await once(socket, "data");
    socket.destroy();
    expect(proxy.counts).toEqual({ connections: 1, bytesUp: 10, bytesDown: 10 });
  });

  test("delays a round trip by the RTT and the first one by twice that", async () => {
    proxy.setRtt(80);
    const { socket, tookMs } = await ask("first");
    expect(tookMs).toBeGreaterThanOrEqual(159);
    const later: number[] = [];
    // A busy machine makes some of them slower, and none faster.
    while (later.length < 10 && !later.some((ms) => ms < 159)) {
      const startedAt = performance.now();
      socket.write("later");
      await once(socket, "data");
      later.push(performance.now() - startedAt);
    }
    socket.destroy();
    expect(Math.min(...later)).toBeGreaterThanOrEqual(79);
    expect(Math.min(...later)).toBeLessThan(159);
  });

  test("keeps the order of bytes when the RTT shrinks", async () => {
    proxy.setRtt(100);
    const { socket } = await ask("a");
    const received: string[] = [];
    socket.on("data", (chunk: Buffer) => received.push(chunk.toString()));
    socket.write("slow ");
    await expect.poll(() => proxy.counts.bytesUp).toBe(6);
    proxy.setRtt(0);
    socket.write("fast");
    await expect.poll(() => received.join("")).toBe("slow fast");
    socket.destroy();
  });

  test("passes a million bytes unchanged", async () => {
    proxy.setRtt(10);
    const sent = Buffer.alloc(1_000_000, "0123456789");
    const socket = connect(proxy.port, "127.0.0.1");
    const chunks: Buffer[] = [];
    socket.on("data", (chunk: Buffer) => chunks.push(chunk));
    socket.end(sent);
    await once(socket, "end");
    expect(Buffer.concat(chunks).equals(sent)).toBe(true);
    expect(proxy.counts).toMatchObject({ bytesUp: 1_000_000, bytesDown: 1_000_000 });
  });

  test("refuses new connections and resets old ones, and listens on the same port again", async () => {
    const { socket } = await ask("before");
    const reset = errorOf(socket);
    await proxy.setMode("refuse");
    expect(await reset).toBe("ECONNRESET");
    expect(await errorOf(connect(proxy.port, "127.0.0.1"))).toBe("ECONNREFUSED");
    await proxy.setMode("open");
    (await ask("after")).socket.destroy();
  });

  test("resets connections that it accepts", async () => {
    await proxy.setMode("reset");
    expect(await errorOf(connect(proxy.port, "127.0.0.1"))).toBe("ECONNRESET");
  });

  test("holds bytes in a black hole until it is opened", async () => {
    const { socket } = await ask("before");
    await proxy.setMode("blackhole");
    socket.write("held");
    await expect.poll(() => proxy.counts.bytesUp).toBe(10);
    expect(proxy.counts.bytesDown).toBe(6);
    const answered = once(socket, "data");
    await proxy.setMode("open");
    expect(String((await answered)[0])).toBe("held");
    socket.destroy();
  });

  test("lets go of a connection that it resets while it passes the end on", async () => {
    await expect.poll(connectionsOfEcho).toBe(0);
    await using other = await startDelayProxy(portOf(echo.address()));
    const socket = connect(other.port, "127.0.0.1");
    socket.write("hello");
    await once(socket, "data");
    await other.setMode("blackhole");
    socket.end();
    await new Promise((resolve) => socket.once("finish", resolve));
    await setTimeout(100);
    await other.setMode("open");
    await new Promise((resolve) => process.nextTick(resolve));
    const reset = errorOf(socket);
    await other.setMode("refuse");
    expect(await reset).toBe("ECONNRESET");
    await expect.poll(connectionsOfEcho).toBe(0);
  });

  test("passes a server's refusal on as a reset", async () => {
    const gone = createServer();
    gone.listen(0, "127.0.0.1");
    await once(gone, "listening");
    const port = portOf(gone.address());
    gone.close();
    await using lonely = await startDelayProxy(port);
    expect(await errorOf(connect(lonely.port, "127.0.0.1"))).toBe("ECONNRESET");
  });
});

async function ask(text: string): Promise<{ readonly socket: Socket; readonly tookMs: number }> {
  const startedAt = performance.now();
  const socket = connect(proxy.port, "127.0.0.1");
  socket.setNoDelay(true);
  socket.write(text);
  const [answer] = await once(socket, "data");
  expect(String(answer)).toBe(text);
  return { socket, tookMs: performance.now() - startedAt };
}

function connectionsOfEcho(): Promise<number> {
  return promisify(echo.getConnections.bind(echo))();
}

async function errorOf(socket: Socket): Promise<unknown> {
  const [error] = await once(socket, "error").catch((thrown: unknown) => [thrown]);
  return error instanceof Error && "code" in error ? error.code : error;
}
