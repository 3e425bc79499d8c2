import { describe, expect, test } from "vitest";

import { serverClock } from "../../../webhook/certificates/server-clock.ts";

const day = 86_400_000;
const server = Date.UTC(2026, 10, 21, 12);

function clock(
  now: number,
  answer: unknown = { metadata: { creationTimestamp: new Date(server) } },
) {
  const paths: string[] = [];
  const client = {
    request: (_method: string, path: string) => {
      paths.push(path);
      const text: unknown = JSON.parse(JSON.stringify(answer));
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(text);
    },
  };
  return {
    paths,
    clock: serverClock(client, { namespace: "a", clock: { date: () => new Date(now) } }),
  };
}

describe("the clock of the API server", () => {
  test.each([
    ["8 days ahead", 8 * day],
    ["an hour behind", -3_600_000],
  ])("is taken by a machine that is %s", async (_name, offset) => {
    const one = clock(server + offset);
    expect(one.clock.now()).toBe(server + offset);
    await one.clock.set(AbortSignal.timeout(1_000));
    expect(one.clock.now()).toBe(server);
    expect(one.paths).toEqual(["/api/v1/namespaces/a/secrets?dryRun=All"]);
  });

  test.each([
    ["is seconds apart", { metadata: { creationTimestamp: new Date(server) } }],
    ["does not say", {}],
    ["refuses", new Error("forbidden")],
  ])("that %s changes nothing", async (_name, answer) => {
    const one = clock(server + 5_000, answer);
    await one.clock.set(AbortSignal.timeout(1_000));
    expect(one.clock.now()).toBe(server + 5_000);
  });
});
