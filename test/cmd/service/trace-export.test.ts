import { describe, expect, onTestFinished, test } from "vitest";

import { connectSpoke, type SpokeDeps } from "../../../access/spokes/spoke-connection.ts";
import {
  type Tracing,
  type TracingSurroundings,
  tracing,
} from "../../../cmd/service/trace-export.ts";
import { entryOf, fileOf, profileOf, rawProvider } from "../../access/builders.ts";
import { authority, stub, untilTheEnd } from "../../access/loopback.ts";
import { startProxyStub } from "../../access/proxy-stub.ts";
import { freePort } from "../../fleet/ports.ts";
import { startTraceCollector, type TakenTraces } from "../../support/trace-collector.ts";

const signal = AbortSignal.timeout(600_000);
const canary = "kanarienvogel";

interface Line {
  readonly level: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

function surroundings(environment: TracingSurroundings["environment"] = {}) {
  const lines: Line[] = [];
  const say = (level: string) => (fields: object) => {
    lines.push({ level, fields: { ...fields } });
  };
  const log = { debug: say("debug"), info: say("info"), warn: say("warn") };
  return { lines, surroundings: { environment, version: "1.2.3", log } };
}

interface Way {
  readonly cluster?: object;
  readonly deps?: Pick<SpokeDeps, "mayWrite">;
}

/** Connects to a stub with a plugin that is a shell command. */
async function connect(traced: Tracing, script: string, way: Way = {}): Promise<void> {
  const api = await stub();
  const ca = Buffer.from(authority.certificatePem).toString("base64");
  const cluster = { server: api.server, "certificate-authority-data": ca, ...way.cluster };
  const profile = profileOf({ accessProviders: [entryOf("sr", cluster)] });
  const providers = fileOf(rawProvider("sr", {}, { command: "/bin/sh", args: ["-c", script] }));
  const { traces } = traced;
  const environment = { PATH: "/usr/bin:/bin" };
  const deps = { environment, userAgent: "test", traces, ...way.deps };
  await using _connection = await connectSpoke({ profile, providers }, deps, signal);
}

const credential = `{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"${canary}"}}`;
const printing = `echo '${credential}'; echo ${canary} >&2`;

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status: { readonly code?: number; readonly message?: string };
}

function spansOf(taken: readonly TakenTraces[]): readonly Span[] {
  return taken.flatMap(({ body }) => {
    const { resourceSpans } = JSON.parse(body);
    return resourceSpans[0].scopeSpans[0].spans;
  });
}

describe("a collector", () => {
  test("gets one trace of an attempt: resolve, plugin, TCP, TLS, first request", async () => {
    const { url, taken } = untilTheEnd(await startTraceCollector());
    const { surroundings: around } = surroundings({ OTEL_EXPORTER_OTLP_ENDPOINT: `${url}/` });
    {
      await using traced = tracing(undefined, around);
      await connect(traced, printing);
    }
    expect(taken.map(({ path, type }) => [path, type])).toEqual([
      ["/v1/traces", "application/json"],
    ]);
    const spans = spansOf(taken);
    expect(spans.map(({ name }) => name)).toEqual([
      "spoke.resolve",
      "spoke.plugin",
      "spoke.tcp",
      "spoke.tls",
      "spoke.request",
      "spoke.attempt",
    ]);
    const [resolve, ...others] = spans;
    const attempt = others.pop();
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
    expect(resolve?.traceId).toMatch(/^[0-9a-f]{32}$/);
    expect(resolve?.spanId).toMatch(/^[0-9a-f]{16}$/);
    expect(resolve).not.toHaveProperty("parentSpanId");
    expect(attempt?.parentSpanId).toBe(resolve?.spanId);
    expect(others.map(({ parentSpanId }) => parentSpanId)).toEqual(
      others.map(() => attempt?.spanId),
    );
    // One after the other, within the attempt.
    const marks = others.flatMap((span) => [span.startTimeUnixNano, span.endTimeUnixNano]);
    const inside = [attempt?.startTimeUnixNano, ...marks, attempt?.endTimeUnixNano].map(Number);
    expect(inside).toEqual(inside.toSorted((a, b) => a - b));
    const nowNs = Date.now() * 1e6;
    expect(Math.abs(nowNs - (inside[0] ?? 0))).toBeLessThan(60e9);
    expect(spans.every(({ status }) => status.code === undefined)).toBe(true);
    expect(JSON.parse(taken[0]?.body ?? "")).toMatchObject({
      resourceSpans: [
        {
          resource: {
            attributes: [{ key: "service.name", value: { stringValue: "knfleet-controller" } }],
          },
          scopeSpans: [{ scope: { name: "knfleet", version: "1.2.3" } }],
        },
      ],
    });
  });

  test("is told the code of a failure, and no secret (T-80)", async () => {
    const { url, taken } = untilTheEnd(await startTraceCollector());
    const { lines, surroundings: around } = surroundings();
    {
      await using traced = tracing(`${url}/own/path`, around);
      await connect(traced, printing);
      await expect(connect(traced, `${printing}; exit 3`)).rejects.toMatchObject({
        code: "PluginFailed",
      });
    }
    expect(taken[0]?.path).toBe("/own/path");
    const failed = spansOf(taken).filter(({ status }) => status.code === 2);
    expect(failed.map(({ name, status }) => [name, status.message])).toEqual([
      ["spoke.plugin", "PluginFailed"],
      ["spoke.attempt", "PluginFailed"],
    ]);
    expect(JSON.stringify([taken, lines])).not.toContain(canary);
    expect(lines.length).toBeGreaterThan(6);
  });

  test("that is away is told of once, and nothing waits for it", async () => {
    const { lines, surroundings: around } = surroundings();
    {
      await using traced = tracing(`http://127.0.0.1:${await freePort()}/v1/traces`, around);
      await connect(traced, printing);
    }
    expect(lines.filter(({ level }) => level === "warn")).toEqual([
      { level: "warn", fields: { problem: "it cannot be reached (ECONNREFUSED)" } },
    ]);
  });
});

test.each([
  { how: "directly", way: {}, first: "spoke.tcp" },
  { how: "with a permit to write", way: { deps: { mayWrite: () => true } }, first: "spoke.tcp" },
])("a connection that is made $how is $first and spoke.tls", async ({ way, first }) => {
  const { lines, surroundings: around } = surroundings();
  await using traced = tracing(undefined, around);
  await connect(traced, printing, way);
  expect(stepsOf(lines)).toEqual([first, "spoke.tls"]);
});

test("a connection through a proxy is spoke.tunnel and spoke.tls", async () => {
  const proxy = await startProxyStub();
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  const { lines, surroundings: around } = surroundings();
  await using traced = tracing(undefined, around);
  await connect(traced, printing, { cluster: { "proxy-url": `http://127.0.0.1:${proxy.port}` } });
  expect(stepsOf(lines)).toEqual(["spoke.tunnel", "spoke.tls"]);
});

function stepsOf(lines: readonly Line[]): readonly unknown[] {
  return lines.map(({ fields }) => fields["span"]).slice(2, -2);
}

test("without a collector each step is a line at debug, with ids and milliseconds", async () => {
  const { lines, surroundings: around } = surroundings();
  {
    await using traced = tracing(undefined, around);
    await connect(traced, printing);
  }
  expect(lines).toHaveLength(6);
  expect(lines[1]).toMatchObject({
    level: "debug",
    fields: {
      span: "spoke.plugin",
      spoke: "fleet/spoke-1",
      ms: expect.any(Number),
      traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
    },
  });
});
