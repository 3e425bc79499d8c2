import { describe, expect, test } from "vitest";

import type { ClusterProfile } from "../../../../../api/cluster-profile.ts";
import { expiryItems, expiryWindow } from "../../../../../cmd/kubectl/findings/checks/expiry.ts";
import type { AccessEnds } from "../../../../../cmd/kubectl/findings/walk-target.ts";
import { createAuthority } from "../../../../fleet/certificates.ts";
import { now } from "../../fleet-facts.ts";

const cluster = { namespace: "fleet", name: "eu-1" };
const nowMs = now.getTime();

const none: AccessEnds = { credentialMs: undefined, serverMs: undefined, isStored: false };

function itemsOf(ends: Partial<AccessEnds>, within?: string) {
  const radar = expiryWindow(within, nowMs);
  return expiryItems({ ...none, ...ends }, { profile: undefined, cluster }, radar).map(
    ({ state, message, code }) => [state, message, code],
  );
}

const tokenIn = (days: number) => ({ credentialMs: nowMs + days * 86_400_000 });

describe("a token that a plugin reads", () => {
  const codes: Readonly<Record<string, unknown>> = {
    OK: null,
    WARN: "KNF3021",
    FAIL: expect.stringMatching(/^KNF30(?:21|14)$/),
  };
  test.each([
    [30, undefined, "OK"],
    [6, undefined, "WARN"],
    [13, "14d", "FAIL"],
    [15, "14d", "OK"],
    [0.5, "14d", "FAIL"],
    [0.5, "1h", "OK"],
    [-1, undefined, "FAIL"],
  ])("with %d days left, within %s, is %s", (days, within, state) => {
    expect(itemsOf({ ...tokenIn(days), isStored: true }, within)).toMatchObject([
      [state, expect.anything(), codes[state]],
    ]);
  });

  test("as docs/install.md makes it for 24 hours is a warning that says what to do, and when it ends", () => {
    const [item] = expiryItems(
      { ...none, ...tokenIn(1), isStored: true },
      { profile: undefined, cluster },
      expiryWindow(undefined, nowMs),
    );
    expect(item).toMatchObject({
      state: "WARN",
      code: "KNF3021",
      message: "the stored credential ends 2026-11-22T12:00:00Z, in 24 h",
      next: [expect.stringContaining("Write a new credential into the Secret")],
      endsAt: "2026-11-22T12:00:00Z",
    });
  });
});

test("a token that a plugin may make anew all the time is not taken for one that ends", () => {
  expect(itemsOf(tokenIn(0.5), "14d")).toEqual([
    [
      "WARN",
      "the credential ends 2026-11-22T00:00:00Z, in 12 h; it may be made anew by its plugin in time",
      "KNF3020",
    ],
  ]);
  expect(itemsOf(tokenIn(3), "14d")).toMatchObject([["FAIL", expect.anything(), "KNF3020"]]);
});

test("a server's certificate counts, and what says no end does not", () => {
  const serverMs = Date.parse("2026-11-30T12:00:00Z");
  expect(itemsOf({ serverMs, credentialMs: undefined }, "14d")).toEqual([
    ["FAIL", "the server's certificate ends 2026-11-30T12:00:00Z, in 9 d", "KNF4013"],
  ]);
});

test("the authority in a profile counts, and of a bundle the one that ends last", () => {
  const authority = createAuthority("test");
  const data = Buffer.from(authority.certificatePem).toString("base64");
  const status = {
    accessProviders: [{ name: "a", cluster: { "certificate-authority-data": data } }],
  };
  const profile: ClusterProfile = {
    apiVersion: "multicluster.x-k8s.io/v1alpha1",
    kind: "ClusterProfile",
    metadata: { ...cluster, uid: "1", resourceVersion: "1" },
    status,
  };
  const [item, ...more] = expiryItems(none, { profile, cluster }, expiryWindow("87600h", nowMs));
  expect(item?.message).toMatch(
    /^the authority in the ClusterProfile end(?:s|ed) \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/,
  );
  expect(more).toEqual([]);
});

test.each(["x", "-1h", "d", `${"9".repeat(400)}h`])("--warn-within %s is refused", (text) => {
  expect(() => expiryWindow(text, nowMs)).toThrow("--warn-within");
});
