import { once } from "node:events";
import { createSecureServer, connect, type ClientHttp2Session } from "node:http2";
import { request as httpsRequest } from "node:https";
import { text } from "node:stream/consumers";

import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";

import { createAuthority } from "../fleet/certificates.ts";
import { portOf } from "../fleet/ports.ts";
import { startFaultProxy, type FaultProxy } from "./fault-proxy.ts";
import { conflict, everyNth, isWrite, tooManyRequests } from "./fault.ts";
import { WriteLog } from "./write-log.ts";

const authority = createAuthority("api-server-ca");
const { certificatePem: cert, keyPem: key } = authority.issue({
  commonName: "api-server",
  usage: "server",
  hosts: ["127.0.0.1"],
});
/** Says who asked for what, and goes on for ever when asked to watch. */
const server = createSecureServer({ cert, key }, (request, response) => {
  if (request.url.includes("watch=true")) {
    response.writeHead(200);
    response.write("first\n");
    setTimeout(() => response.write("second\n"), 50);
    return;
  }
  asked.push(`${request.method} ${request.url}`);
  response.setHeader("x-asked-by", String(request.headers.authorization));
  response.write(`${request.method} `);
  request.pipe(response);
});
server.on("sessionError", () => undefined);
server.on("secureConnection", (socket) => socket.on("error", () => undefined));
const asked: string[] = [];
const log = new WriteLog();
let proxy: FaultProxy;
let session: ClientHttp2Session;

beforeAll(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `https://127.0.0.1:${portOf(server.address())}`;
  const caPem = authority.certificatePem;
  proxy = await startFaultProxy({ cluster: "spoke-1", server: url, caPem, log });
});
afterEach(() => {
  session.destroy();
  log.restart();
  asked.length = 0;
});
afterAll(async () => {
  await proxy[Symbol.asyncDispose]();
  server.close();
});

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

function open(): void {
  session = connect(proxy.url, { ca: proxy.caPem });
  session.on("error", () => undefined);
}

/** Undefined: the connection broke before the answer was complete. */
function ask(method: string, path: string, body = ""): Promise<Answer | undefined> {
  const payload = Buffer.from('{"sub":"system:serviceaccount:a:b"}').toString("base64url");
  const authorization = `Bearer head.${payload}.signature`;
  const headers = { ":method": method, ":path": path, authorization };
  const endStream = method === "GET";
  const stream = session.request(headers, { endStream });
  if (!endStream) stream.end(body);
  const { promise, resolve } = Promise.withResolvers<Answer | undefined>();
  let answer: Omit<Answer, "body"> | undefined;
  let content = "";
  stream.on("error", () => undefined);
  stream.on("response", (head) => (answer = { status: head[":status"] ?? 0, headers: head }));
  stream.setEncoding("utf8").on("data", (chunk: string) => (content += chunk));
  stream.on("close", () => {
    const isWhole = stream.readableEnded && stream.rstCode === 0 && answer !== undefined;
    resolve(isWhole && answer !== undefined ? { ...answer, body: content } : undefined);
  });
  return promise;
}

describe("a fault proxy", () => {
  test("passes on requests with their token and body, and answers with their headers", async () => {
    open();
    const answer = await ask("PATCH", "/api/v1/things/one?force=true", "content");
    expect(answer).toMatchObject({ status: 200, body: "PATCH content" });
    expect(answer?.headers["x-asked-by"]).toMatch(/^Bearer head\./);
  });

  test("speaks HTTP/1.1 with clients that do", async () => {
    open();
    const request = httpsRequest(`${proxy.url}/old`, { ca: proxy.caPem });
    request.end();
    const [response] = await once(request, "response");
    expect(await text(response)).toBe("GET ");
  });

  test("passes a watch on piece by piece", async () => {
    open();
    const stream = session.request({ ":path": "/things?watch=true" });
    const [first] = await once(stream, "data");
    const [second] = await once(stream, "data");
    expect(`${first}${second}`).toBe("first\nsecond\n");
    stream.close();
  });

  test("numbers writes and says whose they are", async () => {
    open();
    await ask("GET", "/read");
    await ask("POST", "/one");
    await ask("DELETE", "/two", '{"preconditions":{}}');
    expect(log.writes).toMatchObject([
      { number: 1, method: "POST", path: "/one", who: "system:serviceaccount:a:b", status: 200 },
      { number: 2, method: "DELETE", cluster: "spoke-1", body: '{"preconditions":{}}' },
    ]);
  });

  test("answers in the server's place, every second write", async () => {
    open();
    using _ = proxy.inject(everyNth(2, conflict(), isWrite));
    const statuses = [
      await ask("POST", "/1"),
      await ask("GET", "/2"),
      await ask("POST", "/3"),
      await ask("POST", "/4"),
    ].map((answer) => answer?.status);
    expect(statuses).toEqual([409, 200, 200, 409]);
    expect(asked).toEqual(["GET /2", "POST /3"]);
  });

  test("says when to come back", async () => {
    open();
    using _ = proxy.inject(() => tooManyRequests(3));
    const answer = await ask("GET", "/1");
    expect(answer).toMatchObject({ status: 429, headers: { "retry-after": "3" } });
  });

  test.each([
    { name: "cuts before the server sees it", when: "before", seen: 0 },
    { name: "cuts after the server has done it", when: "after", seen: 1 },
  ] as const)("$name", async ({ when, seen }) => {
    open();
    using _ = proxy.inject(() => ({ kind: "reset", when }));
    expect(await ask("POST", "/1")).toBeUndefined();
    expect(asked).toHaveLength(seen);
  });

  test("ends an answer early as if it were whole", async () => {
    open();
    using _ = proxy.inject(() => ({ kind: "truncate", bytes: 3 }));
    expect(await ask("POST", "/1", "content")).toMatchObject({ status: 200, body: "POS" });
  });

  test("lets open connections fall silent while new ones work", async () => {
    open();
    await ask("GET", "/1");
    const silent = session;
    proxy.line.abandon();
    const stream = silent.request({ ":path": "/2" });
    let answered = false;
    stream.on("response", () => (answered = true));
    open();
    expect(await ask("GET", "/3")).toMatchObject({ status: 200 });
    expect({ answered, isOpen: !silent.destroyed }).toEqual({ answered: false, isOpen: true });
    silent.destroy();
  });
});

describe("a point to kill at", () => {
  test.each([
    { side: "before", seen: ["POST /1"] },
    { side: "after", seen: ["POST /1", "POST /2"] },
  ] as const)("$side a write: nothing passes any more", async ({ side, seen }) => {
    open();
    const kill = vi.fn<() => void>();
    log.restart({ write: 2, side, kill });
    await ask("POST", "/1");
    expect(await ask("POST", "/2")).toBeUndefined();
    expect(kill).toHaveBeenCalledOnce();
    open();
    expect(await ask("GET", "/3")).toBeUndefined();
    expect(asked).toEqual(seen);
    log.revive();
    open();
    expect(await ask("GET", "/4")).toMatchObject({ status: 200 });
    expect(log.struck).toBeUndefined();
  });

  test("can be one at which the process is only asked to end", async () => {
    open();
    const kill = vi.fn<() => void>();
    log.restart({ write: 1, side: "before", isGentle: true, kill });
    expect(await ask("POST", "/1")).toMatchObject({ status: 200 });
    expect(kill).toHaveBeenCalledOnce();
    expect(log.struck).toMatchObject({ path: "/1" });
  });
});
