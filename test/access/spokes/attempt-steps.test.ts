import { expect, onTestFinished, test } from "vitest";

import type { PathStep } from "../../../access/spokes/attempt-steps.ts";
import { connectSpoke } from "../../../access/spokes/spoke-connection.ts";
import type { SpokeDeps } from "../../../access/spokes/spoke-deps.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { entryOf, fileOf, profileOf, rawProvider } from "../builders.ts";
import { authority, stub } from "../loopback.ts";
import { startProxyStub } from "../proxy-stub.ts";

const signal = AbortSignal.timeout(600_000);
const canary = "kanarienvogel";
const credential = `{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"${canary}"}}`;
const printing = `echo '${credential}'; echo ${canary} >&2`;

interface Way {
  readonly cluster?: object;
  readonly deps?: Pick<SpokeDeps, "mayWrite">;
}

/** Connects to a stub with a plugin that is a shell command, and returns the steps so far also when that fails. */
async function connect(script: string, way: Way = {}) {
  const api = await stub();
  const ca = Buffer.from(authority.certificatePem).toString("base64");
  const cluster = { server: api.server, "certificate-authority-data": ca, ...way.cluster };
  const profile = profileOf({ accessProviders: [entryOf("sr", cluster)] });
  const providers = fileOf(rawProvider("sr", {}, { command: "/bin/sh", args: ["-c", script] }));
  const steps: PathStep[] = [];
  const onStep = (step: PathStep): void => void steps.push(step);
  const environment = { PATH: "/usr/bin:/bin" };
  const deps = { clock: systemClock, environment, userAgent: "test", onStep, ...way.deps };
  let error: unknown;
  try {
    await using _connection = await connectSpoke({ profile, providers }, deps, signal);
  } catch (thrown) {
    error = thrown;
  }
  return { steps, error };
}

test("an attempt has the steps resolve, plugin, TCP, TLS, first request", async () => {
  const { steps } = await connect(printing);
  expect(steps.map(({ name }) => name)).toEqual([
    "spoke.resolve",
    "spoke.plugin",
    "spoke.tcp",
    "spoke.tls",
    "spoke.request",
    "spoke.attempt",
  ]);
  expect(new Set(steps.map((step) => step.attempt)).size).toBe(1);
  expect(steps[0]?.attempt).toMatch(/^[0-9a-f]{16}$/);
  expect(steps.every(({ spoke }) => spoke === "fleet/spoke-1")).toBe(true);
  // One after the other, within the attempt.
  const [, ...others] = steps;
  const attempt = others.pop();
  const marks = others.flatMap(({ startMs, endMs }) => [startMs, endMs]);
  const inside = [attempt?.startMs, ...marks, attempt?.endMs].map(Number);
  expect(inside).toEqual(inside.toSorted((a, b) => a - b));
  expect(Math.abs(performance.now() - (inside[0] ?? 0))).toBeLessThan(60e3);
  expect(steps.every(({ code }) => code === undefined)).toBe(true);
});

test("steps have the code of a failure, and no secret (T-80)", async () => {
  const fine = await connect(printing);
  const { steps, error } = await connect(`${printing}; exit 3`);
  expect(error).toMatchObject({ code: "PluginFailed" });
  const failed = steps.filter(({ code }) => code !== undefined);
  expect(failed.map(({ name, code }) => [name, code])).toEqual([
    ["spoke.plugin", "PluginFailed"],
    ["spoke.attempt", "PluginFailed"],
  ]);
  const all = [...fine.steps, ...steps];
  expect(JSON.stringify(all)).not.toContain(canary);
  expect(all.length).toBeGreaterThan(6);
});

test.each([
  { how: "directly", way: {}, first: "spoke.tcp" },
  { how: "with a permit to write", way: { deps: { mayWrite: () => true } }, first: "spoke.tcp" },
])("a connection that is made $how is $first and spoke.tls", async ({ way, first }) => {
  expect(waysOf(await connect(printing, way))).toEqual([first, "spoke.tls"]);
});

test("a connection through a proxy is spoke.tunnel and spoke.tls", async () => {
  const proxy = await startProxyStub();
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  const way = { cluster: { "proxy-url": `http://127.0.0.1:${proxy.port}` } };
  expect(waysOf(await connect(printing, way))).toEqual(["spoke.tunnel", "spoke.tls"]);
});

function waysOf({ steps }: { readonly steps: readonly PathStep[] }): readonly string[] {
  return steps.map(({ name }) => name).slice(2, -2);
}
