import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, test } from "vitest";

import { ApiError } from "../../../access/kube/api-error.ts";
import { FleetError } from "../../../api/errors.ts";
import { QuickClock } from "../../support/quick-clock.ts";
import type { StubAnswer } from "../api-stub.ts";
import { untilTheEnd } from "../loopback.ts";
import { connected, output, patience, perhaps, watched } from "./quiet-connection.ts";

// A request, a plugin and the opening of a watch may take 30 s.
const shortly = { timeout: 20_000, interval: 20 };

/** Attempts follow each other in a fifth of the time, and questions as fast as ever. */
function quickly() {
  return { clock: untilTheEnd(new QuickClock(5)), quiet: { everyMs: 100, limit: 3 } };
}

test("a spoke that says nothing on its watches is asked again and again, and stays while it answers", async () => {
  const { keeper, client, asked } = await connected(() => ({ status: 403 }));
  void watched(client);
  await expect.poll(asked, patience).toBeGreaterThan(3);
  expect(keeper.state.kind).toBe("connected");
});

test("a spoke that says nothing but bookmarks is asked, also when those come all the time", async () => {
  const object = { metadata: { resourceVersion: "2" } };
  const body = `${JSON.stringify({ type: "BOOKMARK", object })}\n`;
  const { keeper, client, asked } = await connected(() => ({ status: 403 }), {
    all: ({ path }) => (path.includes("watch=true") ? { body } : undefined),
  });
  const before = asked();
  const over = new AbortController();
  const watching = (async () => {
    while (!over.signal.aborted) await watched(client);
  })();
  try {
    await expect.poll(asked, shortly).toBeGreaterThan(before + 3);
  } finally {
    over.abort();
  }
  await watching;
  expect(keeper.state.kind).toBe("connected");
});

test("a spoke that is silent and cannot work is lost: its watches end, and go on when it can", async () => {
  let status = 500;
  const { keeper, client } = await connected(() => ({ status }), quickly());
  const ended = watched(client);
  await expect.poll(() => keeper.state.kind, patience).toBe("lost");
  const { state } = keeper;
  const message = state.kind === "lost" ? state.error.message : "";
  expect(message).toMatch(/^\[Unreachable\] ClusterProfile .* answered 500 to GET \/readyz$/);
  expect(await ended).toBeInstanceOf(FleetError);
  // The stub would answer: it is the connection that says no.
  const unreachable = { reason: "RemoteClientCreationFailed", code: "Unreachable" };
  const soon = AbortSignal.timeout(60_000);
  await expect(keeper.acquire(soon)).rejects.toMatchObject(unreachable);
  const sent = client.request("POST", "/anything", {}, soon);
  await expect(sent).rejects.toMatchObject(unreachable);
  let isOver = false;
  void watched(client).finally(() => {
    isOver = true;
  });
  status = 200;
  await expect.poll(() => keeper.state.kind, patience).toBe("connected");
  expect(isOver).toBe(false);
  expect((await keeper.acquire(soon)).client).toBe(client);
});

// What kube-apiserver says while it stops, and when a plugin for the encryption of Secrets is away.
const checks = (failed: string): string =>
  ["ping", "log", "etcd", "etcd-readiness", "kms-providers", "shutdown"]
    .map((name) => (name === failed ? `[-]${name} failed: reason withheld` : `[+]${name} ok`))
    .join("\n");

test.each([
  { what: "it is about to stop", answer: { status: 500, body: checks("shutdown") } },
  { what: "it cannot decrypt Secrets", answer: { status: 500, body: checks("kms-providers") } },
  { what: "a gateway does not know the path", answer: { status: 404 } },
  {
    what: "a gateway sends unknown paths to a login",
    answer: { status: 302, headers: { location: "https://login.test/" } },
  },
])("a silent spoke is kept when $what", async ({ answer }) => {
  const { keeper, client, asked } = await connected(() => answer);
  void watched(client);
  await expect.poll(asked, patience).toBeGreaterThan(3);
  expect(keeper.state.kind).toBe("connected");
});

test.each(["etcd", "etcd-readiness"])("a silent spoke whose %s fails is lost", async (check) => {
  const { keeper, client } = await connected(() => ({ status: 500, body: checks(check) }));
  void watched(client);
  await expect.poll(() => keeper.state.kind, patience).toBe("lost");
});

test("a silent spoke behind a path of an HTTP/1.1 server is asked below that path", async () => {
  const { keeper, client, asked } = await connected(() => ({}), {
    prefix: "/spoke-1",
    http1: true,
  });
  void watched(client);
  await expect.poll(asked, patience).toBeGreaterThan(3);
  expect(keeper.state.kind).toBe("connected");
});

test("a spoke on which nothing is watched is left alone", async () => {
  const { client, asked } = await connected(() => ({ status: 500 }));
  const { keeper: other, client: followed, asked: otherAsked } = await connected(() => ({}));
  void watched(followed);
  await expect.poll(otherAsked, patience).toBeGreaterThan(3);
  expect(asked()).toBe(0);
  expect(other.state.kind).toBe("connected");
  await client.request("GET", "/version", undefined, AbortSignal.timeout(60_000));
});

test.each([false, true])(
  "a silent spoke is asked also while it lets as many requests hang as it is sent (HTTP/1.1: %s)",
  async (http1) => {
    const { keeper, client } = await connected(() => ({ status: 500 }), {
      http1,
      all: ({ path }) => (path === "/hang" ? { hang: true } : undefined),
    });
    void watched(client);
    const stop = new AbortController();
    const waiting = Array.from({ length: 60 }, () =>
      client.request("POST", "/hang", {}, stop.signal).catch(() => undefined),
    );
    // The question itself may take 7 s.
    await expect.poll(() => keeper.state.kind, { ...shortly, timeout: 7_000 }).toBe("lost");
    stop.abort();
    await Promise.all(waiting);
  },
);

// A webhook of the cluster may keep a write waiting for half a minute.
test("a spoke that lets a write hang is asked, and stays while it answers", async () => {
  const { keeper, client, asked } = await connected(() => ({}), {
    all: ({ path }) => (path === "/hang" ? { hang: true } : undefined),
  });
  const stop = new AbortController();
  const reason = new Error("Given up");
  const waiting = client.request("POST", "/hang", {}, stop.signal);
  waiting.catch(() => undefined);
  await expect.poll(asked, shortly).toBeGreaterThan(3);
  expect(keeper.state.kind).toBe("connected");
  stop.abort(reason);
  await expect(waiting).rejects.toBe(reason);
});

test("a write without an answer ends with the loss of its spoke, also when nothing is watched", async () => {
  const { keeper, client } = await connected(() => ({ status: 500 }), {
    all: ({ path }) => (path === "/hang" ? { hang: true } : undefined),
  });
  const waiting = client.request("POST", "/hang", {}, AbortSignal.timeout(60_000));
  await expect(waiting).rejects.toMatchObject({
    reason: "RemoteClientCreationFailed",
    code: "Unreachable",
  });
  expect(keeper.state.kind).toBe("lost");
}, 20_000);

test("a spoke that has no time for the question is there", async () => {
  let isBusy = false;
  const busy: StubAnswer = { status: 429, headers: { "retry-after": "30" } };
  const { keeper, client, asked, versions } = await connected(() => busy, {
    all: ({ path }) => {
      if (path.includes(`/${perhaps.plural}`)) return { status: 404 };
      return isBusy && path === "/version" ? busy : undefined;
    },
  });
  isBusy = true;
  const before = versions();
  expect(await watched(client, perhaps)).toBeInstanceOf(ApiError);
  void watched(client);
  await expect.poll(asked, shortly).toBeGreaterThan(3);
  expect(versions()).toBe(before + 1);
  expect(keeper.state.kind).toBe("connected");
});

test("a spoke that has no time from the beginning is connected to, and is asked once", async () => {
  const busy: StubAnswer = { status: 429, headers: { "retry-after": "30" } };
  const { keeper, client, versions } = await connected(() => busy, {
    all: ({ path }) => (path === "/version" ? busy : undefined),
  });
  expect(keeper.state.kind).toBe("connected");
  expect(versions()).toBe(1);
  await client.request("POST", "/anything", {}, AbortSignal.timeout(60_000));
});

test("a spoke is lost in the usual time when its credential has ended and its plugin hangs", async () => {
  const folder = await mkdtemp(join(tmpdir(), "knfleet-hangs-"));
  untilTheEnd({ [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) });
  const plugin = join(folder, "hangs");
  const inThreeSeconds = `date -u -d '+3 seconds' +%Y-%m-%dT%H:%M:%SZ`;
  const text = output.replace(`"T1"`, `"T1","expirationTimestamp":"'"$(${inThreeSeconds})"'"`);
  const again = `[ -e ${folder}/ran ] && sleep 100\ntouch ${folder}/ran`;
  await writeFile(plugin, `#!/bin/sh\n${again}\necho '${text}'\n`);
  await chmod(plugin, 0o755);
  const clock = untilTheEnd(new QuickClock(10));
  const { keeper, client } = await connected(() => ({}), { plugin, clock });
  void watched(client);
  await expect.poll(() => keeper.state.kind, shortly).toBe("lost");
}, 60_000);

test("a spoke that lets the opening of watches hang is asked", async () => {
  const { keeper, client } = await connected(() => ({ status: 500 }), {
    all: ({ path }) => (path.includes("watch=true") ? { hang: true } : undefined),
  });
  const ended = watched(client);
  await expect.poll(() => keeper.state.kind, shortly).toBe("lost");
  expect(await ended).toBeInstanceOf(FleetError);
});

const plain = { headers: { "content-type": "text/plain; charset=utf-8" } };
const inPlace: readonly { readonly what: string; readonly away: StubAnswer }[] = [
  { what: "502", away: { status: 502, body: "<html>Bad Gateway</html>" } },
  { what: "503 with Retry-After", away: { status: 503, headers: { "retry-after": "120" } } },
  { what: "504", away: { status: 504 } },
  { what: "404", away: { status: 404, body: "default backend - 404" } },
  { what: "400 because it has no tunnel", away: { ...plain, status: 400, body: "rpc error: EOF" } },
  {
    what: "401 because its spoke is frozen",
    away: { ...plain, status: 401, body: "managed cluster authentication failed: timeout" },
  },
  { what: "a redirect", away: { status: 302, headers: { location: "https://login.test/" } } },
];

// The watches end and cannot be opened again, so that none of them is there to fall silent.
test.each(inPlace)(
  "a spoke in whose place a load balancer or a proxy answers $what is lost until it is back",
  async ({ away }) => {
    let isAway = false;
    const { keeper, client } = await connected(() => ({}), {
      ...quickly(),
      all: () => (isAway ? away : undefined),
    });
    isAway = true;
    expect(await watched(client)).toBeInstanceOf(Error);
    await expect.poll(() => keeper.state.kind, patience).toBe("lost");
    isAway = false;
    await expect.poll(() => keeper.state.kind, patience).toBe("connected");
  },
);

test("a spoke that has one kind no more is asked whether it is there, and stays", async () => {
  const { keeper, client, versions } = await connected(() => ({}), {
    all: ({ path }) => (path.includes(`/${perhaps.plural}`) ? { status: 404 } : undefined),
  });
  const before = versions();
  expect(await watched(client, perhaps)).toBeInstanceOf(ApiError);
  await expect.poll(versions, patience).toBe(before + 1);
  expect(keeper.state.kind).toBe("connected");
});
