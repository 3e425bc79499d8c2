import { describe, expect, onTestFinished, test } from "vitest";

import { AnswerBudget } from "../../../access/answer-limits.ts";
import { ApiError } from "../../../access/kube/api-error.ts";
import { createKubeClient } from "../../../access/kube/create-kube-client.ts";
import type { KubeClient } from "../../../access/kube/kube-client.ts";
import { Reflector } from "../../../access/kube/reflector.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import { knownResource } from "../../../api/resources.ts";
import { connectionTo } from "../../support/connection-to.ts";
import { rethrow } from "../../support/rethrow.ts";
import { startApiStub, type StubAnswer, type StubRequest } from "../api-stub.ts";
import { requesterTo, serverIdentity, untilTheEnd } from "../loopback.ts";

const signal = AbortSignal.timeout(600_000);
const resource = knownResource("v1", "ConfigMap");
const one = { resource, namespace: "a", name: "one" };
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const control = /[\u0000-\u001f\u007f-\u009f\u202e]/;

/** A client of an API server that answers like this, and what it was asked. */
async function clientOf(
  answer: (request: StubRequest) => StubAnswer,
): Promise<{ readonly client: KubeClient; readonly requests: readonly StubRequest[] }> {
  const api = untilTheEnd(await startApiStub({ identity: serverIdentity, answer }));
  return { client: createKubeClient(requesterTo(api)), requests: api.requests };
}

async function apiErrorOf(work: Promise<unknown>): Promise<ApiError> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof ApiError) return error;
  throw new Error("Expected an ApiError", { cause: error });
}

describe("T-51: what a spoke says", () => {
  const nasty = `\u001b[31mno\u001b[0m\u0000\r\n\u202e${"x".repeat(100_000)}`;

  test("gets into an error without control characters, sequences and length", async () => {
    const status = {
      kind: "Status",
      code: 422,
      reason: nasty,
      message: nasty,
      details: { causes: [{ reason: nasty, field: nasty, message: nasty }] },
    };
    const { client } = await clientOf(() => ({ status: 422, body: JSON.stringify(status) }));
    const error = await apiErrorOf(client.get(one, {}, signal));
    const { message, reason, causes } = error;
    const texts = [message, reason, ...causes.flatMap((cause) => Object.values(cause))];
    expect(texts.map(String).filter((text) => control.test(text) || text.length > 1_024)).toEqual(
      [],
    );
    expect(message.startsWith("no xxx")).toBe(true);
  });

  test.each(["__proto__", "constructor"])(
    "changes no object of ours by its key %s",
    async (key) => {
      const bad = `{"${key}":{"polluted":"yes","prototype":{"polluted":"yes"}}}`;
      const metadata = `{"name":"one","uid":"u","resourceVersion":"1","labels":${bad},"annotations":${bad},${bad.slice(1)}`;
      const body = `{"apiVersion":"v1","kind":"ConfigMap","metadata":${metadata},"data":${bad},${bad.slice(1)}`;
      const list = `{"metadata":{"resourceVersion":"1",${bad.slice(1)},"items":[${body}],${bad.slice(1)}`;
      const { client } = await clientOf(({ path }) => ({
        body: path.includes("/one") ? body : list,
      }));
      const found = await client.get(one, {}, signal);
      const { items } = await client.list({ resource }, {}, signal);
      expect(found?.metadata.name).toBe("one");
      expect(items).toHaveLength(1);
      expect("polluted" in {}).toBe(false);
      expect("polluted" in Object).toBe(false);
      for (const each of [found, ...items]) {
        expect(each?.["polluted"]).toBeUndefined();
        expect(Object.getPrototypeOf(each ?? {})).toBe(Object.prototype);
      }
    },
  );
});

function object(name: string): object {
  return { metadata: versioned(name, "1") };
}

function page(next: string): string {
  const metadata = { resourceVersion: "1", continue: next };
  return JSON.stringify({ metadata, items: [object("one")] });
}

test("what is sent has no characters that YAML does not take, which an API server reads when something is applied", async () => {
  const stored = { metadata: { ...one, uid: "1", resourceVersion: "1" } };
  const { client, requests } = await clientOf(() => ({ body: JSON.stringify(stored) }));
  const data = { text: "a\u007f\u0085\u009b\u{fffe}\u{ffff}é\u202e \u2028 b\u2029" };
  const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "one" }, data };
  await client.apply(one, body, { fieldManager: "knfleet", force: true }, signal);
  const sent = requests[0]?.body ?? "";
  expect(sent).not.toMatch(/[\u007f-\u009f\u2028\u2029\ufffe\uffff]/);
  expect(JSON.parse(sent)).toMatchObject({ data });
});

describe("T-54: a spoke that lies", () => {
  test("with pages that never end costs a bounded number of requests", async () => {
    let pages = 0;
    const { client, requests } = await clientOf(() => ({ body: page(`p${(pages += 1)}`) }));
    await expect(client.list({ resource }, {}, signal)).rejects.toMatchObject({
      failure: "tooLarge",
      message: expect.stringContaining("has no end"),
    });
    expect(requests).toHaveLength(2_000);
  });

  test("with the same page for ever is found out at once", async () => {
    const { client, requests } = await clientOf(() => ({ body: page("same") }));
    await expect(client.list({ resource }, {}, signal)).rejects.toThrow("has no end");
    expect(requests).toHaveLength(2);
  });

  // More than 2 s on a busy machine: 350 MiB are sent and parsed.
  test("with huge pages without end does not fill our memory", async () => {
    let pages = 0;
    const filler = "x".repeat(15 * 1024 * 1024);
    const { client, requests } = await clientOf(() => {
      pages += 1;
      const metadata = { resourceVersion: "1", continue: `p${pages}` };
      return { body: JSON.stringify({ filler, metadata, items: [] }) };
    });
    await expect(client.list({ resource }, {}, signal)).rejects.toThrow("has no end");
    expect(requests.length).toBeLessThan(24);
  });

  test.each([
    ["null"],
    ["{}"],
    ["[]"],
    ['"text"'],
    ['{"items":{}}'],
    ['{"items":[null]}'],
    ['{"items":[{}]}'],
    ["<html>"],
  ])("with %s for a list is no Kubernetes server", async (body) => {
    const { client } = await clientOf(() => ({ body }));
    const work = client.list({ resource }, {}, signal);
    await expect(work).rejects.toMatchObject({ name: "ConnectionError", failure: "standIn" });
  });

  test.each([["null"], ["{}"], ["[]"], ['{"metadata":{"name":"one"}}'], ["<html>"]])(
    "with %s for an object is no Kubernetes server",
    async (body) => {
      const { client } = await clientOf(() => ({ body }));
      const work = client.get(one, {}, signal);
      await expect(work).rejects.toMatchObject({ name: "ConnectionError", failure: "standIn" });
    },
  );

  test("with versions that run backwards is followed all the same", async () => {
    const events = [
      { type: "ADDED", object: { ...object("one") } },
      bookmark("9", true),
      bookmark("5"),
      bookmark("not a number"),
      { type: "MODIFIED", object: { metadata: versioned("one", "3") } },
      { type: "MODIFIED", object: { metadata: versioned("one", "2") } },
    ];
    const body = events.map((event) => `${JSON.stringify(event)}\n`).join("");
    const { client } = await clientOf(() => ({ body, open: true }));
    const seen: string[] = [];
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    const onChange = ({ metadata }: KubeObject): void => void seen.push(metadata.resourceVersion);
    const handlers = { onChange, onDelete: () => undefined, onBug: rethrow };
    using _reflector = new Reflector(
      { clock: systemClock, client, ref: { resource } },
      handlers,
      stop.signal,
    );
    await expect.poll(() => seen).toEqual(["1", "3", "2"]);
  });

  test.each([
    { gitVersion: "v1.35.2\u001b[31m\r\n", is: "v1.35.2" },
    { gitVersion: `v${"9".repeat(1_000_000)}`, is: `v${"9".repeat(63)}` },
    { gitVersion: { major: 1 }, is: undefined },
    { gitVersion: ["v1.35.2"], is: undefined },
  ])("about its version is not quoted at length", async ({ gitVersion, is }) => {
    const { client } = await clientOf(() => ({ body: JSON.stringify({ gitVersion }) }));
    expect(
      await connectionTo({ client, namespace: "", fieldManager: "", hubId: "" }).version(signal),
    ).toBe(is);
  });
});

describe("T-50: a spoke that answers too much", () => {
  const brackets = "[".repeat(10 * 1024 * 1024);
  const values = `[${"1,".repeat(600_000)}1]`;
  const large = JSON.stringify({ filler: "x".repeat(17 * 1024 * 1024) });

  test.each([
    { name: "10 MB of brackets", body: brackets, failure: "standIn" },
    { name: "600,000 values", body: values, failure: "tooLarge" },
    { name: "17 MiB", body: large, failure: "tooLarge" },
  ])("is told $failure of $name before anything is parsed", async ({ body, failure }) => {
    const { client } = await clientOf(() => ({ body }));
    const asked: readonly ((from: KubeClient) => Promise<unknown>)[] = [
      (from) => from.get(one, {}, signal),
      (from) => from.list({ resource }, {}, signal),
      (from) => from.request("GET", "/apis", undefined, signal),
      (from) => Array.fromAsync(from.watch({ resource }, {}, signal)),
      (from) =>
        from.apply(
          one,
          { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "one" } },
          { fieldManager: "m" },
          signal,
        ),
    ];
    for (const ask of asked) await expect(ask(client)).rejects.toMatchObject({ failure });
  });

  test("in an error is not read to the end", async () => {
    const { client } = await clientOf(() => ({ status: 500, body: brackets }));
    await expect(client.get(one, {}, signal)).rejects.toMatchObject({ failure: "standIn" });
  });

  test("in 500 items is asked for fewer at a time, and all of them are there", async () => {
    const filler = "x".repeat(400 * 1024);
    const { client, requests } = await clientOf(({ path }) => {
      const query = new URL(path, "https://a").searchParams;
      const from = Number(query.get("continue") ?? "0");
      const count = Math.min(Number(query.get("limit")), 100 - from);
      const items = Array.from({ length: count }, (_, at) => ({
        ...object(`o-${from + at}`),
        filler,
      }));
      const next = from + count < 100 ? { continue: String(from + count) } : {};
      return { body: JSON.stringify({ metadata: { resourceVersion: "1", ...next }, items }) };
    });
    const { items } = await client.list({ resource }, {}, signal);
    expect(items.map(({ metadata }) => metadata.name)).toEqual(
      Array.from({ length: 100 }, (_, at) => `o-${at}`),
    );
    const limits = requests.map(({ path }) => new URL(path, "https://a").searchParams.get("limit"));
    expect([...new Set(limits)]).toEqual(["500", "50", "5"]);
  });

  test("at the same time loses its largest answer, and others are served", async () => {
    const budget = new AnswerBudget({ total: 3 * 1024 * 1024, each: 2 * 1024 * 1024 });
    const hostile = untilTheEnd(
      await startApiStub({
        identity: serverIdentity,
        answer: () => ({ body: `{"filler":"${"x".repeat(1_500_000)}`, open: true }),
      }),
    );
    const small = JSON.stringify({ ...object("one"), filler: "x".repeat(500_000) });
    const fine = untilTheEnd(
      await startApiStub({ identity: serverIdentity, answer: () => ({ body: small }) }),
    );
    const hostiles = Array.from({ length: 3 }, () =>
      createKubeClient(requesterTo(hostile, undefined, { answers: budget.cluster() })),
    );
    const work = hostiles.map((client) => client.get(one, {}, signal));
    const ended = Promise.allSettled(work);
    // One of the three is too much for all together.
    await expect(Promise.race(work)).rejects.toMatchObject({ failure: "tooLarge" });
    const client = createKubeClient(requesterTo(fine, undefined, { answers: budget.cluster() }));
    for (let round = 0; round < 5; round += 1) {
      expect((await client.get(one, {}, signal))?.metadata.name).toBe("one");
    }
    await hostile[Symbol.asyncDispose]();
    expect((await ended).map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  });
});

function versioned(name: string, resourceVersion: string): object {
  return { name, namespace: "a", uid: name, resourceVersion };
}

function bookmark(resourceVersion: string, isEnd = false): object {
  const annotations = isEnd ? { "k8s.io/initial-events-end": "true" } : {};
  return { type: "BOOKMARK", object: { metadata: { resourceVersion, annotations } } };
}
