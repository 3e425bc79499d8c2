import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { join } from "node:path";

import { expect, test } from "vitest";

import { recordedFolder } from "../../golden/record-scene.ts";
import { secretOf, startUi } from "./ui-session.ts";

const bundle = ["--bundle", join(recordedFolder, "whole")];

// More than 2 s: the limits are those of Node's server, which takes no clock of ours.
test("silent connections keep nobody out who has the secret, and are closed within seconds", async () => {
  await using ui = await startUi(bundle);
  const silent = await Promise.all(Array.from({ length: 70 }, () => opened(Number(ui.url.port))));
  const closed = silent.map((socket) => once(socket, "close"));
  const begun = performance.now();
  expect((await ui.read("/")).status).toBe(200);
  expect(silent.some((socket) => !socket.closed)).toBe(true);
  await Promise.all(closed);
  // 5 s, and Node looks each second; Node alone would look after 30 s.
  expect(performance.now() - begun).toBeLessThan(20_000);
});

test("a connection that has shown the secret stays when others come", async () => {
  await using ui = await startUi(bundle);
  const owner = await opened(Number(ui.url.port));
  const { authorization } = secretOf(ui.url);
  owner.write(`GET / HTTP/1.1\r\nHost: ${ui.url.host}\r\nAuthorization: ${authorization}\r\n\r\n`);
  await once(owner, "data");
  const silent = await Promise.all(Array.from({ length: 70 }, () => opened(Number(ui.url.port))));
  await expect.poll(() => silent.filter(({ closed }) => closed).length).toBeGreaterThan(5);
  expect(owner.closed).toBe(false);
  for (const socket of [owner, ...silent]) socket.destroy();
});

async function opened(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  // An end without an answer, or a reset.
  socket.on("error", () => undefined).resume();
  return socket;
}
