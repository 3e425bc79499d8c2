import { execFile } from "node:child_process";
import { channel } from "node:diagnostics_channel";
import { EventEmitter, once } from "node:events";
import { connect, constants } from "node:http2";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { expect, onTestFinished, test } from "vitest";

import { mendHttp2Streams } from "../../../access/runtime/mend-http2-streams.ts";
import { valueAt } from "../../fleet/json-record.ts";
import { authority, get, post, requesterTo, stub } from "../loopback.ts";

const run = promisify(execFile);

test("a stream that is closed without a code is cancelled, however often that is asked for", async () => {
  mendHttp2Streams();
  mendHttp2Streams();
  const api = await stub(() => ({ hang: true }));
  const session = connect(api.server, { ca: authority.certificatePem });
  const stream = session.request({ ":path": "/" });
  stream.close();
  await once(stream, "close");
  expect(stream.rstCode).toBe(constants.NGHTTP2_CANCEL);
  session.destroy();
});

// An error without a listener ends the process. Before 8.12.4 undici listened to one late error only (nodejs/undici#5936).
test("undici listens to errors of the stream of a request that has ended", async () => {
  const streams: EventEmitter[] = [];
  const remember = (message: unknown): void => {
    const stream = valueAt(message, "stream");
    if (stream instanceof EventEmitter) streams.push(stream);
  };
  const created = channel("http2.client.stream.created");
  created.subscribe(remember);
  onTestFinished(() => {
    created.unsubscribe(remember);
  });
  const requester = requesterTo(await stub());
  await requester.send(get, AbortSignal.timeout(10_000));
  await requester.send(post, AbortSignal.timeout(10_000));
  expect(streams).toHaveLength(2);
  for (const stream of [...streams, ...streams]) stream.emit("error", new Error("Late"));
});

test("writes that are given up before they are sent do not stop the process for good (C15)", async () => {
  const api = await stub(() => ({ status: 401, body: "{}" }));
  const script = fileURLToPath(new URL("../../fixtures/give-up-writes.ts", import.meta.url));
  const { stdout } = await run(process.execPath, [script, api.server, authority.certificatePem], {
    timeout: 60_000,
    killSignal: "SIGKILL",
  });
  expect(stdout).toBe("done\n");
}, 90_000);
