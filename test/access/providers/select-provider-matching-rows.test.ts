import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { describe, expect, onTestFinished, test } from "vitest";

import { parseProviderFile, type ProviderFile } from "../../../access/providers/provider-config.ts";
import { loadProviderFile } from "../../../access/providers/provider-file.ts";
import type { ClusterProfile } from "../../../api/cluster-profile.ts";
import { fileOf, healthy, profileOf, rawProvider } from "../builders.ts";
import { argsName, execName, f0, type Fields, offer, offering, outcomeOf, p0 } from "../rows.ts";

// Section 8.1 of cluster-inventory.md: which provider a profile is reached with.

const signal = AbortSignal.timeout(600_000);

function failing(code: string): Fields {
  return { code };
}

function fileWith(text: string): ProviderFile {
  return parseProviderFile(text, { path: "test", format: "json" });
}

const two = fileOf(rawProvider("sr", {}, { command: "/p/one" }), rawProvider("x"));
const { execConfig: _, ...withoutExec } = rawProvider("sr");

test.each<{ row: string; what: string; profile: ClusterProfile; with?: ProviderFile; is: Fields }>([
  {
    row: "R01",
    what: "a profile and a file that fit",
    profile: p0,
    is: { provider: "sr", args: ["a"], env: ["A=1"] },
  },
  {
    row: "R02",
    what: "the order of the file, not of the profile",
    profile: offering(offer("x"), offer("sr")),
    with: two,
    is: { provider: "sr" },
  },
  {
    row: "R03",
    what: "the other order of the file",
    profile: offering(offer("x"), offer("sr")),
    with: fileOf(rawProvider("x"), rawProvider("sr")),
    is: { provider: "x" },
  },
  {
    row: "R04",
    what: "no common name, and the message has both lists",
    profile: offering(offer("other")),
    is: {
      code: "NoMatchingProvider",
      message: expect.stringMatching(/fleet\/spoke-1.*"other".*"sr"/),
    },
  },
  {
    row: "R05",
    what: "no access entries at all",
    profile: profileOf(),
    is: failing("NoMatchingProvider"),
  },
  {
    row: "R06",
    what: "lists that are null",
    profile: profileOf({ properties: null, accessProviders: null, credentialProviders: null }),
    is: failing("NoMatchingProvider"),
  },
  {
    row: "R08",
    what: "one name in both lists: the new one",
    profile: profileOf({
      credentialProviders: [offer("sr", {}, { server: "https://s1.test" })],
      accessProviders: [offer("sr", {}, { server: "https://s2.test" })],
    }),
    is: { server: "https://s2.test", source: "accessProviders" },
  },
  {
    row: "R09",
    what: "both lists are candidates",
    profile: profileOf({ credentialProviders: [offer("y")], accessProviders: [offer("sr")] }),
    with: fileOf(rawProvider("y"), rawProvider("sr")),
    is: { provider: "y", source: "credentialProviders" },
  },
  {
    row: "R10",
    what: "a provider with execConfig null",
    profile: p0,
    with: fileWith('{"providers": [{"name": "sr", "execConfig": null}]}'),
    is: failing("ProviderInvalid"),
  },
  {
    row: "R11",
    what: "an unusable provider before a usable one",
    profile: offering(offer("sr"), offer("x")),
    with: fileOf({ ...withoutExec, execConfig: null }, rawProvider("x")),
    is: { provider: "x", skipped: [expect.stringContaining("sr")] },
  },
  {
    row: "R13",
    what: "another case",
    profile: offering(offer("SR")),
    is: failing("NoMatchingProvider"),
  },
  {
    row: "R18",
    what: "a file without providers",
    profile: p0,
    with: fileWith('{"providers": []}'),
    is: failing("NoMatchingProvider"),
  },
  {
    row: "R18",
    what: "an empty object",
    profile: p0,
    with: fileWith("{}"),
    is: failing("NoMatchingProvider"),
  },
  {
    row: "R52",
    what: "an entry without cluster",
    profile: offering({ name: "sr" }),
    is: failing("EndpointInvalid"),
  },
  {
    row: "R53",
    what: "a profile that is not healthy, before anything else",
    profile: profileOf({ conditions: [{ ...healthy, status: "False" }] }),
    is: failing("ClusterProfileNotReady"),
  },
  {
    row: "R54",
    what: "a profile of whose health nothing is known",
    profile: profileOf({ conditions: [], accessProviders: [offer("sr")] }),
    is: failing("ClusterProfileNotReady"),
  },
  {
    row: "R55",
    what: "the configuration of another cluster, with a rule",
    profile: offering(offer("sr", { [execName]: { clusterName: "spoke-2" } })),
    with: fileOf(rawProvider("sr", { requiredConfig: { clusterName: "name" } })),
    is: failing("ExtensionInvalid"),
  },
  {
    row: "R56",
    what: "a namespace that the rule does not name",
    profile: { ...p0, metadata: { ...p0.metadata, namespace: "evil" } },
    with: fileOf(rawProvider("sr", { allowedNamespaces: ["fleet"] })),
    is: { code: "ProviderInvalid", message: expect.stringContaining("allowedNamespaces") },
  },
])("$row: $what", ({ profile, with: providers = f0, is }) => {
  expect(outcomeOf(profile, providers)).toMatchObject(is);
});

describe("a provider file", () => {
  test("R12: of two providers with one name the first counts, with a warning", () => {
    const [c1, c2] = ["/p/c1", "/p/c2"].map((command) => rawProvider("sr", {}, { command }));
    const repeated = fileOf(c1 ?? {}, c2 ?? {});
    expect(outcomeOf(p0, repeated)).toMatchObject({ command: "/p/c1" });
    expect(repeated.warnings.join()).toContain("declared before");
  });

  test("R14: keys in another case count, with a warning", () => {
    const odd = fileOf(rawProvider("sr", { profileSourcedCliArgsPolicy: "Append" }));
    const profile = offering(offer("sr", { [argsName]: { args: ["b"] } }));
    expect(outcomeOf(profile, odd)).toMatchObject({ args: ["a", "b"] });
    expect(odd.warnings.join()).toContain("profileSourcedCLIArgsPolicy");
  });

  test("R15: unknown keys are ignored, with a warning each", () => {
    const odd = fileOf(rawProvider("sr", { foo: 1 }, { bar: {} }));
    expect(outcomeOf(p0, odd)).toMatchObject({ provider: "sr" });
    expect(odd.warnings).toHaveLength(2);
  });

  test("R16, R17: that is not there, or no JSON, is told apart, with the position of the mistake", async () => {
    const folder = await mkdtemp(join(tmpdir(), "knfleet-rows-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const path = join(folder, "providers.json");
    await expect(loadProviderFile({ path }, signal)).rejects.toMatchObject({
      code: "ProviderFileUnreadable",
    });
    await writeFile(path, "[");
    await expect(loadProviderFile({ path }, signal)).rejects.toMatchObject({
      code: "ProviderFileInvalid",
      message: expect.stringMatching(/line 1|column|:1:/),
    });
  });

  test.each([
    {
      row: "R19",
      what: "an old version",
      exec: { apiVersion: "client.authentication.k8s.io/v1alpha1" },
    },
    { row: "R19", what: "no version", exec: { apiVersion: undefined } },
    { row: "R20", what: "an unknown policy", more: { profileSourcedCLIArgsPolicy: "Merge" } },
  ])(
    "$row: $what makes one provider unusable at load, and no other",
    ({ more = {}, exec = {} }) => {
      const odd = fileOf(rawProvider("sr", more, exec), rawProvider("x"));
      expect(odd.providers.map(({ problem }) => problem !== undefined)).toEqual([true, false]);
      expect(outcomeOf(p0, odd)).toMatchObject({ code: "ProviderInvalid" });
      expect(outcomeOf(offering(offer("x")), odd)).toMatchObject({ provider: "x" });
    },
  );
});
