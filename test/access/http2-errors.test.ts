import { connect } from "node:http2";

import { expect, test } from "vitest";

import { surviveStreamErrors } from "../../access/http2-errors.ts";
import { authority, stub } from "./loopback.ts";

test("an error of a stream that nobody listens to ends nothing, however often that is asked for", async () => {
  surviveStreamErrors();
  surviveStreamErrors();
  const api = await stub(() => ({ hang: true }));
  const session = connect(api.server, { ca: authority.certificatePem });
  session.on("error", () => undefined);
  const stream = session.request({ ":path": "/" });
  expect(stream.listenerCount("error")).toBe(1);
  stream.destroy(new Error("Unheard"));
  await new Promise((resolve) => stream.once("close", resolve));
  session.destroy();
});
