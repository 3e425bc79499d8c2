import { describe, expect, test } from "vitest";

import { selectProvider } from "../../../access/providers/select-provider.ts";
import { resolveAccess } from "../../../access/spokes/resolved-access.ts";
import { isHealthy } from "../../../api/cluster-profile.ts";
import { FleetError } from "../../../api/errors.ts";
import { entryOf, fileOf, healthy, profileOf, rawProvider } from "../builders.ts";

const joined = { ...healthy, type: "Joined" };

test.each([
  { name: "a profile without conditions", conditions: null, is: false },
  {
    name: "an unhealthy control plane",
    conditions: [{ ...healthy, status: "False" as const }],
    is: false,
  },
  {
    name: "an unknown control plane",
    conditions: [{ ...healthy, status: "Unknown" as const }],
    is: false,
  },
  { name: "a joined cluster alone", conditions: [joined], is: true },
  { name: "a cluster that left", conditions: [{ ...joined, status: "False" as const }], is: false },
  {
    name: "a joined cluster with an unhealthy control plane",
    conditions: [joined, { ...healthy, status: "False" as const }],
    is: false,
  },
  { name: "a healthy control plane", conditions: [healthy], is: true },
])("$name is healthy: $is", ({ conditions, is }) => {
  expect(isHealthy(profileOf({ conditions }))).toBe(is);
});

describe("the provider that is selected", () => {
  const file = fileOf(rawProvider("sr"), rawProvider("x"));
  test.each([
    {
      name: "is the first of the file, whatever the profile's order",
      offered: ["x", "sr"],
      is: "sr",
    },
    { name: "is the only one that both have", offered: ["x", "other"], is: "x" },
  ])("$name", ({ offered, is }) => {
    const profile = profileOf({ accessProviders: offered.map((name) => entryOf(name)) });
    expect(selectProvider(profile, file).provider.name).toBe(is);
  });

  test("may come from the deprecated list", () => {
    const profile = profileOf({ credentialProviders: [entryOf("sr")], accessProviders: null });
    expect(selectProvider(profile, file)).toMatchObject({ source: "credentialProviders" });
  });

  test("has the entry of the new list when both lists have it", () => {
    const profile = profileOf({
      credentialProviders: [entryOf("sr", { server: "https://old.test" })],
      accessProviders: [entryOf("sr", { server: "https://new.test" })],
    });
    const selected = selectProvider(profile, file);
    expect(selected.source).toBe("accessProviders");
    expect(selected.entry.cluster?.server).toBe("https://new.test");
  });

  test("is the next one when the first cannot be used", () => {
    const broken = fileOf(rawProvider("sr", { execConfig: null }), rawProvider("x"));
    const profile = profileOf({ accessProviders: [entryOf("sr"), entryOf("x")] });
    const selected = selectProvider(profile, broken);
    expect(selected.provider.name).toBe("x");
    expect(selected.skipped).toHaveLength(1);
  });

  test.each([
    { what: "has no server", cluster: { server: "" } },
    { what: "has no cluster", cluster: undefined },
    { what: "leads where its provider may not go", cluster: { server: "https://elsewhere.test" } },
    { what: "has no authority", cluster: { "certificate-authority-data": "" } },
    { what: "has an extension that cannot be read", cluster: { extensions: "none" } },
  ])("is the next one when the first entry $what", ({ cluster }) => {
    const rules = { allowedServers: ["spoke-1.test"] };
    const ruled = fileOf(rawProvider("sr", rules), rawProvider("x", rules));
    const first = cluster === undefined ? { name: "sr" } : entryOf("sr", cluster);
    const profile = profileOf({ accessProviders: [first, entryOf("x")] });
    const selected = selectProvider(profile, ruled);
    expect(selected.provider.name).toBe("x");
    expect(selected.skipped).toEqual([expect.stringMatching(/^"sr": /)]);
  });

  test("is that of the deprecated list when the entry of the new one cannot be used", () => {
    const profile = profileOf({
      credentialProviders: [entryOf("sr", { server: "https://old.test" })],
      accessProviders: [entryOf("sr", { server: "" })],
    });
    const selected = selectProvider(profile, file);
    expect(selected.source).toBe("credentialProviders");
    expect(selected.entry.cluster?.server).toBe("https://old.test");
  });

  test("stays when the authority of its entry runs out, so that no way in changes by itself", () => {
    const rooted = fileOf(rawProvider("sr"), rawProvider("x", { systemRoots: true }));
    const bare = entryOf("x", { "certificate-authority-data": "" });
    const profile = profileOf({ accessProviders: [entryOf("sr"), bare] });
    const late = Date.parse("2999-01-01");
    expect(refusalOf(() => resolveAccess(profile, rooted, late)).message).toContain("has expired");
  });

  test("is the first when no entry can be used, so that its mistake is told", () => {
    const dead = { server: "" };
    const profile = profileOf({ accessProviders: [entryOf("x", dead), entryOf("sr", dead)] });
    expect(selectProvider(profile, file)).toMatchObject({ provider: { name: "sr" }, skipped: [] });
  });

  test("is the first of two with one name, also when only the second could be used", () => {
    const repeated = fileOf(rawProvider("sr", { execConfig: null }), rawProvider("sr"));
    const profile = profileOf({ accessProviders: [entryOf("sr")] });
    expect(refusalOf(() => selectProvider(profile, repeated))).toMatchObject({
      reason: "AccessProviderFailed",
      code: "ProviderInvalid",
    });
  });
});

describe("no provider is selected", () => {
  test.each([
    { name: "without a status", status: undefined, providers: ["sr"] },
    {
      name: "for null lists",
      status: { accessProviders: null, credentialProviders: null },
      providers: ["sr"],
    },
    { name: "for another case", status: { accessProviders: [entryOf("SR")] }, providers: ["sr"] },
    { name: "from an empty file", status: { accessProviders: [entryOf("sr")] }, providers: [] },
  ])("$name", ({ status, providers }) => {
    const file = fileOf(...providers.map((name) => rawProvider(name)));
    expect(refusalOf(() => selectProvider(profileOf(status), file))).toMatchObject({
      reason: "MulticlusterDisabled",
      code: "NoMatchingProvider",
    });
  });

  test("and the message names the profile, what it offers and what the file has", () => {
    const profile = profileOf({ accessProviders: [entryOf("other")] });
    const { message } = refusalOf(() => selectProvider(profile, fileOf(rawProvider("sr"))));
    expect(message).toContain("fleet/spoke-1");
    expect(message).toContain('"other"');
    expect(message).toContain('"sr"');
  });
});

function refusalOf(work: () => unknown): FleetError {
  try {
    work();
  } catch (error) {
    if (error instanceof FleetError) return error;
    throw error;
  }
  throw new Error("Nothing was refused");
}
