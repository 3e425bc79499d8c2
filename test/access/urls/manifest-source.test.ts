import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";

import { describe, expect, onTestFinished, test } from "vitest";

import { systemClock } from "../../../access/time/system-clock.ts";
import { allowedSourceOf } from "../../../access/urls/allowed-source.ts";
import {
  ManifestSource,
  type ManifestSourceOptions,
} from "../../../access/urls/manifest-source.ts";
import { portOf } from "../../fleet/ports.ts";
import { type ApiStub, startApiStub, type StubAnswer } from "../api-stub.ts";
import { authority, serverIdentity, untilTheEnd } from "../loopback.ts";

const text = "kind: ConfigMap\n";

/** A server of files for the running test; `answer` gets the number of the request, from 1. */
async function files(answer: (times: number) => StubAnswer = () => ({ body: text })) {
  let times = 0;
  const counted = (): StubAnswer => {
    times += 1;
    return answer(times);
  };
  const identity = serverIdentity;
  return untilTheEnd(await startApiStub({ identity, answer: counted, http1: true }));
}

function sourceOf(server: string, options: Partial<ManifestSourceOptions> = {}): ManifestSource {
  const source = new ManifestSource({
    sources: [allowedSourceOf(`${server}/files/`)].filter((one) => one !== undefined),
    userAgent: "knfleet-test",
    caPem: authority.certificatePem,
    clock: { ...systemClock, now: () => 0 },
    ...options,
  });
  return untilTheEnd(source);
}

const digestOf = (content: string): string => createHash("sha256").update(content).digest("hex");

async function refusalOf(
  stub: ApiStub,
  options?: Partial<ManifestSourceOptions>,
): Promise<unknown> {
  return sourceOf(stub.server, options)
    .read(`${stub.server}/files/a.yaml`)
    .then(
      () => "read",
      (error: unknown) => error,
    );
}

describe("a source of manifests", () => {
  test("gives the text at a URL", async () => {
    const stub = await files();
    const url = `${stub.server}/files/1.23/a.yaml`;
    await expect(sourceOf(stub.server).read(url)).resolves.toBe(text);
    expect(stub.requests).toMatchObject([
      { method: "GET", path: "/files/1.23/a.yaml", authorization: undefined },
    ]);
  });

  test("T-31 contacts nobody for a URL that is not below it", async () => {
    const stub = await files();
    const source = sourceOf(stub.server);
    const urls = [`${stub.server}/other/a.yaml`, "/etc/hostname", "file:///etc/hostname"];
    for (const url of urls) {
      await expect(source.read(url)).rejects.toMatchObject({ reason: "ManifestSourceNotAllowed" });
    }
    expect(stub.connections).toBe(0);
  });

  test("T-12 follows no redirect", async () => {
    const stub = await files((times) =>
      times === 1 ? { status: 302, headers: { location: "/files/b.yaml" } } : { body: text },
    );
    expect(await refusalOf(stub)).toMatchObject({
      reason: "ManifestSourceUnavailable",
      message: expect.stringContaining("answered 302; redirects are not followed"),
    });
    expect(stub.requests).toHaveLength(1);
  });

  test.each<{ name: string; answer: StubAnswer; problem: string }>([
    { name: "404", answer: { status: 404, body: "kind: A" }, problem: "answered 404" },
    { name: "206", answer: { status: 206, body: "kind: A" }, problem: "answered 206" },
    {
      name: "packed bytes",
      answer: { headers: { "content-encoding": "gzip" }, body: text },
      problem: "encoding that was not asked for",
    },
    {
      name: "more than 8 MiB",
      answer: { body: "a".repeat(8 * 1024 * 1024 + 1) },
      problem: "is larger than 8 MiB",
    },
    { name: "a cut connection", answer: { reset: true }, problem: "broke the connection" },
  ])("T-32 takes no $name", async ({ answer, problem }) => {
    expect(await refusalOf(await files(() => answer))).toMatchObject({
      reason: "ManifestSourceUnavailable",
      message: expect.stringContaining(problem),
    });
  });

  test.each<{ name: string; answer: StubAnswer }>([
    { name: "says nothing", answer: { hang: true } },
    { name: "does not come to an end", answer: { body: text, open: true } },
  ])("T-32 gives up a server that $name", async ({ answer }) => {
    expect(await refusalOf(await files(() => answer), { timeoutMs: 300 })).toMatchObject({
      reason: "ManifestSourceUnavailable",
      message: expect.stringContaining("took more than 0.3 s"),
    });
  });

  test("takes nothing from a server that it does not trust, or that speaks plain HTTP", async () => {
    const stub = await files();
    const distrusted = sourceOf(stub.server, { caPem: undefined });
    await expect(distrusted.read(`${stub.server}/files/a.yaml`)).rejects.toMatchObject({
      reason: "ManifestSourceUnavailable",
      message: expect.stringContaining("not trusted"),
    });
    const plain = createServer((_, response) => response.end(text)).listen(0, "127.0.0.1");
    await once(plain, "listening");
    onTestFinished(() => void plain.close());
    const server = `https://127.0.0.1:${portOf(plain.address())}`;
    await expect(sourceOf(server).read(`${server}/files/a.yaml`)).rejects.toMatchObject({
      reason: "ManifestSourceUnavailable",
    });
    expect(stub.requests).toHaveLength(0);
  });

  test("asks for nothing behind a name that leads to this machine, whatever else it leads to", async () => {
    const stub = await files();
    const server = `https://kube.internal:${stub.port}`;
    const lost = sourceOf(server, {
      resolve: (_host, _options, callback) =>
        callback(null, [
          { address: "10.1.2.3", family: 4 },
          { address: "127.0.0.1", family: 4 },
        ]),
    });
    await expect(lost.read(`${server}/files/a.yaml`)).rejects.toMatchObject({
      reason: "ManifestSourceUnavailable",
      message: expect.stringContaining("forbidden address"),
    });
    expect(stub.connections).toBe(0);
  });

  test("T-34 takes pinned content once, and only with the right digest", async () => {
    const stub = await files();
    let now = 0;
    const source = sourceOf(stub.server, { clock: { ...systemClock, now: () => now } });
    const url = `${stub.server}/files/a.yaml`;
    await expect(source.read(`${url}#sha256=${digestOf(text)}`)).resolves.toBe(text);
    now = 3_600_000;
    await expect(source.read(`${url}#sha256=${digestOf(text)}`)).resolves.toBe(text);
    expect(stub.requests).toHaveLength(1);
    for (const wrong of [`#sha256=${digestOf("other")}`, "#sha256=abc", "#section"]) {
      await expect(source.read(`${url}${wrong}`)).rejects.toMatchObject({
        reason: "ManifestInvalid",
      });
    }
  });

  test("T-34 takes nothing that is not pinned where everything has to be", async () => {
    const stub = await files();
    const source = sourceOf(stub.server, { isPinned: true });
    const url = `${stub.server}/files/a.yaml`;
    await expect(source.read(url)).rejects.toMatchObject({ reason: "ManifestSourceNotAllowed" });
    expect(stub.requests).toEqual([]);
    await expect(source.read(`${url}#sha256=${digestOf(text)}`)).resolves.toBe(text);
  });

  test("refuses bytes that are no UTF-8", async () => {
    const server = await binaryFiles();
    await expect(sourceOf(server).read(`${server}/files/a.yaml`)).rejects.toMatchObject({
      reason: "ManifestInvalid",
      message: expect.stringContaining("not UTF-8"),
    });
  });

  test("asks again for what is not pinned after ten minutes, gives what it has until then, and says what is new", async () => {
    const stub = await files((times) => ({ body: times === 1 ? "one" : "two" }));
    let now = 0;
    const source = sourceOf(stub.server, { clock: { ...systemClock, now: () => now } });
    const read = (): Promise<string> => source.read(`${stub.server}/files/a.yaml`);
    expect(await Promise.all([read(), read(), read()])).toEqual(["one", "one", "one"]);
    now = 599_999;
    expect(await read()).toBe("one");
    expect(stub.requests).toHaveLength(1);
    now = 600_000;
    const news = newsOf(source);
    expect(await Promise.all([read(), read()])).toEqual(["one", "one"]);
    await news;
    expect([await read(), await read()]).toEqual(["two", "two"]);
    expect(stub.requests).toHaveLength(2);
  });

  test("gives at once what it has while its server says nothing", { timeout: 10_000 }, async () => {
    const stub = await files((times) => (times === 1 ? { body: text } : { hang: true }));
    let now = 0;
    const source = sourceOf(stub.server, { clock: { ...systemClock, now: () => now } });
    const read = (): Promise<string> => source.read(`${stub.server}/files/a.yaml`);
    expect(await read()).toBe(text);
    now = 600_000;
    expect([await read(), await read()]).toEqual([text, text]);
    await expect.poll(() => stub.requests.length).toBe(2);
  });

  test.each<{ name: string; answer: StubAnswer }>([
    { name: "says nothing", answer: { hang: true } },
    { name: "does not come to an end", answer: { body: "new", open: true } },
    { name: "fails", answer: { status: 500 } },
  ])(
    "asks a server that $name once a minute, and takes what it says in the end",
    async ({ answer }) => {
      let current: StubAnswer = { body: text };
      const stub = await files(() => current);
      let now = 0;
      const source = sourceOf(stub.server, {
        clock: { ...systemClock, now: () => now },
        timeoutMs: 300,
      });
      const read = (): Promise<string> => source.read(`${stub.server}/files/a.yaml`);
      expect(await read()).toBe(text);
      current = answer;
      for (const at of [600_000, 600_001, 659_999, 660_000, 719_999]) {
        now = at;
        expect(await read()).toBe(text);
        // Begun later, and as long: when it is over, so is what nobody waits for.
        await expect(source.read(`${stub.server}/files/b.yaml`)).rejects.toMatchObject({
          reason: "ManifestSourceUnavailable",
        });
      }
      expect(stub.requests.filter(({ path }) => path === "/files/a.yaml")).toHaveLength(3);
      current = { body: "new" };
      now = 720_000;
      const news = newsOf(source);
      expect(await read()).toBe(text);
      await news;
      expect(await read()).toBe("new");
    },
  );

  test("tells of several new texts when it has all of them", async () => {
    let current = "old";
    const stub = await files(() => ({ body: current }));
    let now = 0;
    const source = sourceOf(stub.server, { clock: { ...systemClock, now: () => now } });
    const read = (): Promise<readonly string[]> =>
      Promise.all(["a", "b", "c"].map((name) => source.read(`${stub.server}/files/${name}.yaml`)));
    await read();
    let told = 0;
    using _listening = source.onChange(() => (told += 1));
    current = "new";
    now = 600_000;
    const news = newsOf(source);
    await read();
    await news;
    expect(await read()).toEqual(["new", "new", "new"]);
    expect(told).toBe(1);
  });

  test("says that there is something that cannot be used in the place of a text", async () => {
    const server = await binaryFiles((times) => (times === 1 ? Buffer.from(text) : binary));
    let now = 0;
    const source = sourceOf(server, { clock: { ...systemClock, now: () => now } });
    const read = (): Promise<string> => source.read(`${server}/files/a.yaml`);
    await read();
    now = 600_000;
    const news = newsOf(source);
    expect(await read()).toBe(text);
    await news;
    await expect(read()).rejects.toMatchObject({ reason: "ManifestInvalid" });
  });

  test("ends what it fetches with itself", { timeout: 10_000 }, async () => {
    const { promise: asked, resolve } = Promise.withResolvers<void>();
    const stub = await files(() => {
      resolve();
      return { hang: true };
    });
    const source = sourceOf(stub.server);
    const ending = asked.then(() => source[Symbol.asyncDispose]());
    await expect(source.read(`${stub.server}/files/a.yaml`)).rejects.toMatchObject({
      reason: "ManifestSourceUnavailable",
    });
    await ending;
  });
});

/** Resolves when the source says that something is new. */
function newsOf(source: ManifestSource): Promise<void> {
  return new Promise((resolve) => {
    const listening = source.onChange(() => {
      listening[Symbol.dispose]();
      resolve();
    });
  });
}

const binary = Buffer.from([0xff, 0xfe, 0x00]);

/** A server of files that need not be text; `answer` gets the number of the request, from 1. */
async function binaryFiles(answer: (times: number) => Buffer = () => binary): Promise<string> {
  let times = 0;
  const { createServer: createSecureServer } = await import("node:https");
  const { certificatePem: cert, keyPem: key } = serverIdentity;
  const server = createSecureServer({ cert, key }, (_, response) => {
    times += 1;
    response.end(answer(times));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return `https://127.0.0.1:${portOf(server.address())}`;
}
