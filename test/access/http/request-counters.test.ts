import { expect, test } from "vitest";

import { RequestCounters, type RequestEnd } from "../../../access/http/request-counters.ts";
import { systemClock } from "../../../access/time/system-clock.ts";

const end = { host: "a:6443", method: "PATCH", verb: "apply", code: "200", elapsedMs: 12 } as const;

test("requests are counted by server, method and code, whatever their verb", () => {
  const counters = new RequestCounters(systemClock);
  counters.countEnd(end);
  counters.countEnd({ ...end, verb: "patch" });
  counters.countEnd({ ...end, code: "<error>" });
  counters.countEnd({ ...end, host: "b:6443" });
  expect(counters.ends()).toEqual([
    { host: "a:6443", method: "PATCH", code: "200", count: 2 },
    { host: "a:6443", method: "PATCH", code: "<error>", count: 1 },
    { host: "b:6443", method: "PATCH", code: "200", count: 1 },
  ]);
});

test("a server that nobody uses any more is forgotten after ten minutes", () => {
  let now = 0;
  const counters = new RequestCounters({ now: () => now });
  const first = counters.use("a:6443");
  const second = counters.use("a:6443");
  counters.countEnd(end);
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  now += 3_600_000;
  expect(counters.ends()).toHaveLength(1);
  second[Symbol.dispose]();
  now += 600_000;
  expect(counters.ends()).toHaveLength(1);
  now += 1;
  expect(counters.ends()).toEqual([]);
});

test("listeners are told of each request that ends until they are disposed", () => {
  const counters = new RequestCounters(systemClock);
  const told: RequestEnd[] = [];
  const listening = counters.onEnd((one) => told.push(one));
  counters.countEnd(end);
  listening[Symbol.dispose]();
  counters.countEnd(end);
  expect(told).toEqual([end]);
});
