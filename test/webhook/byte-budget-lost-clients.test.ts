import { connect, type TLSSocket } from "node:tls";

import { expect, test } from "vitest";

import { systemClock } from "../../access/time/system-clock.ts";
import { ByteBudget } from "../../webhook/byte-budget.ts";
import { ServiceState } from "../../webhook/readiness.ts";
import { reviewOf, serve, type Serving } from "./serving.ts";

const bodyBytes = 3 * 1024 * 1024;
const count = 16;
const head = `POST /validate?timeout=30s HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: ${bodyBytes}\r\n\r\n`;
const allow = () => Promise.resolve({ violations: [], warnings: [] });

/** A budget that counts who asked it and who was let in. */
class CountedBudget extends ByteBudget {
  asked = 0;
  admitted = 0;
  givenUp = 0;

  override async take(bytes: number, signal: AbortSignal) {
    this.asked += 1;
    try {
      const room = await super.take(bytes, signal);
      this.admitted += 1;
      return room;
    } catch (error) {
      this.givenUp += 1;
      throw error;
    }
  }
}

/** Sends requests whose bodies never come. */
async function announce({ server, authority }: Serving): Promise<readonly TLSSocket[]> {
  const options = { port: server.port, host: "127.0.0.1", ca: authority.certificatePem };
  const sockets = Array.from({ length: count }, () =>
    connect(options).on("error", () => undefined),
  );
  await Promise.all(
    sockets.map((socket) => new Promise((resolve) => socket.once("secureConnect", resolve))),
  );
  for (const socket of sockets) socket.write(head);
  return sockets;
}

function close(sockets: readonly TLSSocket[]): void {
  for (const socket of sockets) socket.destroy();
}

test("clients that leave while they wait for room take nothing from later reviews", async () => {
  const budget = new CountedBudget(systemClock, count * bodyBytes);
  await using serving = await serve(allow, { budget });
  const holding = await announce(serving);
  await expect.poll(() => budget.admitted, { timeout: 20_000 }).toBe(count);
  const waiting = await announce(serving);
  await expect.poll(() => budget.asked, { timeout: 20_000 }).toBe(2 * count);
  close(waiting);
  await expect.poll(() => budget.givenUp, { timeout: 20_000 }).toBe(count);
  close(holding);
  const body = JSON.stringify(reviewOf({ object: { text: "x".repeat(2_900_000) } }));
  const answers = await Promise.all(
    Array.from({ length: count }, () => serving.post("/validate?timeout=30s", body)),
  );
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: count }, () => 200));
  expect(budget.givenUp).toBe(count);
}, 120_000);

test("clients that leave in the middle of a body give its room back", async () => {
  const budget = new CountedBudget(systemClock, bodyBytes);
  await using serving = await serve(allow, { budget });
  const holding = await announce(serving);
  await expect.poll(() => budget.asked, { timeout: 20_000 }).toBe(count);
  holding[0]?.write("x");
  close(holding);
  const { status } = await serving.post("/validate?timeout=30s", JSON.stringify(reviewOf()));
  expect(status).toBe(200);
}, 120_000);

test("/readyz is 503 when no review could be read for a minute while some waited", async () => {
  const clock = { ms: 0 };
  const budget = new CountedBudget({ now: () => clock.ms }, count * bodyBytes);
  const state = new ServiceState({
    loop: { isSlow: () => false },
    budget,
    reviews: { waitingFor: () => [] },
  });
  state.certificates = { waitingFor: () => [] };
  await using serving = await serve(allow, { budget, ...state.view });
  const holding = await announce(serving);
  await expect.poll(() => budget.admitted, { timeout: 20_000 }).toBe(count);
  const late = await serving.post("/validate?timeout=1s", JSON.stringify(reviewOf()));
  expect(late.status).toBe(503);
  expect((await serving.send("GET", "/readyz")).status).toBe(200);
  clock.ms = 60_000;
  expect(await serving.send("GET", "/readyz")).toMatchObject({
    status: 503,
    text: "waiting for room for reviews: none could be read for a minute\n",
  });
  close(holding);
  await expect
    .poll(async () => (await serving.send("GET", "/readyz")).status, { timeout: 20_000 })
    .toBe(200);
}, 120_000);
