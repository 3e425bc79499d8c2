import { execFile } from "node:child_process";
import { connect } from "node:http2";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { expect, test } from "vitest";

import { mendHttp2Streams } from "../../../access/runtime/mend-http2-streams.ts";
import { authority, stub } from "../loopback.ts";

const run = promisify(execFile);

test("an error of a stream that nobody listens to ends nothing, however often that is asked for", async () => {
  mendHttp2Streams();
  mendHttp2Streams();
  const api = await stub(() => ({ hang: true }));
  const session = connect(api.server, { ca: authority.certificatePem });
  session.on("error", () => undefined);
  const stream = session.request({ ":path": "/" });
  expect(stream.listenerCount("error")).toBe(1);
  stream.destroy(new Error("Unheard"));
  await new Promise((resolve) => stream.once("close", resolve));
  session.destroy();
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
