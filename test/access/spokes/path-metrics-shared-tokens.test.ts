import { inspect } from "node:util";

import { expect, test } from "vitest";

import { Secret } from "../../../access/plugins/credential.ts";
import { PathMetrics, SharedTokens } from "../../../access/spokes/path-metrics.ts";
import { systemClock } from "../../../access/time/system-clock.ts";

const [a, b] = [new Secret("Bearer canary"), new Secret("Bearer other")];

test("the same token for two servers is noticed, with the names of those who have it (T-21)", () => {
  const tokens = new SharedTokens();
  expect(tokens.note("fleet/one", "https://one.test", a)).toEqual([]);
  expect(tokens.note("fleet/two", "https://two.test", b)).toEqual([]);
  expect(tokens.note("fleet/three", "https://three.test", a)).toEqual(["fleet/one"]);
  expect(tokens.count()).toBe(2);
  expect(inspect(tokens, { depth: 9, showHidden: true })).not.toContain("canary");
});

test("one cluster with two profiles shares nothing with anybody else (T-21)", () => {
  const tokens = new SharedTokens();
  tokens.note("a/one", "https://one.test", a);
  expect(tokens.note("b/one", "https://one.test", a)).toEqual([]);
  expect(tokens.note("b/cert", "https://two.test", undefined)).toEqual([]);
  expect(tokens.count()).toBe(0);
});

test("a spoke that got another token, or is gone, shares none (T-21)", () => {
  const path = new PathMetrics(systemClock);
  const { tokens } = path;
  tokens.note("fleet/one", "https://one.test", a);
  tokens.note("fleet/two", "https://two.test", a);
  tokens.note("fleet/one", "https://one.test", b);
  expect(tokens.count()).toBe(0);
  tokens.note("fleet/one", "https://one.test", a);
  path.removeSpoke("fleet/two");
  expect(tokens.count()).toBe(0);
});
