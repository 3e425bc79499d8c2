import { describe, expect, test } from "vitest";

import { parseExactJson } from "../../../access/json.ts";
import { execInfo } from "../../../access/plugins/exec-plugin.ts";
import type { ProviderFile } from "../../../access/providers/provider-config.ts";
import type { ClusterProfile } from "../../../api/cluster-profile.ts";
import { entryOf, fileOf, rawProvider } from "../builders.ts";
import {
  accessOf,
  argsName,
  config,
  envName,
  execName,
  offer,
  offering,
  outcomeOf,
  p0,
} from "../rows.ts";

// Section 8.1 of cluster-inventory.md: what a profile may add to a plugin.

function withArgs(extension: unknown, name = "spoke-1"): ClusterProfile {
  const profile = offering(offer("sr", { [argsName]: extension }));
  return { ...profile, metadata: { ...profile.metadata, name } };
}

function withEnv(extension: unknown, name = "spoke-1"): ClusterProfile {
  const profile = offering(offer("sr", { [envName]: extension }));
  return { ...profile, metadata: { ...profile.metadata, name } };
}

function by(profileSourcedEnvVarsPolicy: string): ProviderFile {
  return fileOf(rawProvider("sr", { profileSourcedEnvVarsPolicy }));
}

describe("additional arguments (T-17)", () => {
  const append = fileOf(rawProvider("sr", { profileSourcedCLIArgsPolicy: "Append" }));

  test.each([
    { row: "R21", policy: undefined },
    { row: "R21", policy: "" },
    { row: "R21", policy: "Ignore" },
  ])("$row: are ignored with the policy $policy", ({ policy }) => {
    const ignoring = fileOf(rawProvider("sr", { profileSourcedCLIArgsPolicy: policy }));
    expect(outcomeOf(withArgs(["b", "c"]), ignoring)).toMatchObject({ args: ["a"] });
  });

  test.each([
    { row: "R22", what: "a list", extension: ["b", "c"], args: ["a", "b", "c"] },
    { row: "R25", what: "an object with the list", extension: { args: ["b"] }, args: ["a", "b"] },
    { row: "R26", what: "numbers and booleans", extension: [1, true], args: ["a", "1", "true"] },
  ])("$row: may be $what", ({ extension, args }) => {
    expect(outcomeOf(withArgs(extension), append)).toMatchObject({ args });
  });

  test.each([
    { row: "R25", extension: { args: ["b"], more: 1 } },
    { row: "R25", extension: { other: ["b"] } },
    { row: "R27", extension: [null] },
    { row: "R27", extension: [["b"]] },
    { row: "R27", extension: { args: [{}] } },
  ])("$row: may not be $extension", ({ extension }) => {
    expect(outcomeOf(withArgs(extension), append)).toMatchObject({ code: "ExtensionInvalid" });
  });

  test("R23: are the same however often a profile is resolved", () => {
    for (let times = 0; times < 3; times += 1) {
      expect(outcomeOf(withArgs(["b", "c"]), append)).toMatchObject({ args: ["a", "b", "c"] });
    }
  });

  test("R24: of one profile never reach another", async () => {
    const [one, other] = [withArgs(["b"]), withArgs(["c"], "spoke-2")];
    for (const profiles of [
      [one, other],
      [other, one],
    ]) {
      const all = await Promise.all(profiles.map(async (profile) => outcomeOf(profile, append)));
      expect(new Set(all.map(({ args }) => String(args)))).toEqual(new Set(["a,b", "a,c"]));
    }
  });

  test("R28: are not even read when they are ignored", () => {
    expect(outcomeOf(withArgs({ [String(1)]: [[{}]] }))).toMatchObject({ args: ["a"] });
  });
});

describe("additional variables (T-17)", () => {
  test.each([
    { row: "R29", policy: "AppendIfNotExists", extension: { A: "2", B: "3" }, env: ["A=1", "B=3"] },
    { row: "R30", policy: "Replace", extension: { A: "2", B: "3" }, env: ["A=2", "B=3"] },
    { row: "R31", policy: "Ignore", extension: { A: "2", B: "3" }, env: ["A=1"] },
    { row: "R37", policy: "Replace", extension: { B: 3 }, env: ["A=1", "B=3"] },
  ])("$row: with $policy are $env", ({ policy, extension, env }) => {
    expect(outcomeOf(withEnv(extension), by(policy))).toMatchObject({ env });
  });

  test.each([
    { row: "R34", what: "null", extension: null },
    { row: "R35", what: "PATH", extension: { PATH: "/evil" } },
    { row: "R36", what: "the plugin's input", extension: { KUBERNETES_EXEC_INFO: "x" } },
  ])("$row: may not be $what", ({ extension }) => {
    for (const policy of ["Replace", "AppendIfNotExists"]) {
      expect(outcomeOf(withEnv(extension), by(policy))).toMatchObject({ code: "ExtensionInvalid" });
    }
  });

  test("R32: of one profile never reach another", () => {
    const shared = by("AppendIfNotExists");
    const first = outcomeOf(withEnv({ B: "p1" }), shared);
    const second = outcomeOf(withEnv({ B: "p2" }, "spoke-2"), shared);
    const third = outcomeOf(p0, shared);
    expect([first, second, third].map(({ env }) => String(env))).toEqual([
      "A=1,B=p1",
      "A=1,B=p2",
      "A=1",
    ]);
  });

  test("R33: new ones are sorted behind the configured ones, a hundred times the same", () => {
    const orders = Array.from({ length: 100 }, (_none, at) => {
      const names = at % 2 === 0 ? ["Z", "Y", "X"] : ["Y", "X", "Z"];
      const extension = Object.fromEntries(names.map((name) => [name, "1"]));
      return String(outcomeOf(withEnv(extension), by("Replace"))["env"]);
    });
    expect(new Set(orders)).toEqual(new Set(["A=1,X=1,Y=1,Z=1"]));
  });
});

describe("the configuration of the plugin", () => {
  test("R38: may not be there twice, and the message has none of it", () => {
    const twice = [config, { clusterName: "canary" }].map((extension) => ({
      name: execName,
      extension,
    }));
    const { code, message } = outcomeOf(offering(entryOf("sr", { extensions: twice })));
    expect(code).toBe("ExtensionInvalid");
    expect(message).not.toMatch(/canary|spoke-1"/);
  });

  test("R39: is null for the plugin when it is not there", () => {
    const { plan } = accessOf(offering(entryOf("sr")));
    expect(JSON.parse(execInfo(plan))).toMatchObject({ spec: { cluster: { config: null } } });
  });

  test("R40: reaches the plugin as it is, numbers to the last digit", () => {
    const text = '{"a":{"b":[1,null,"x"]},"c":9007199254740993,"d":-9223372036854775808}';
    const { plan } = accessOf(offering(offer("sr", { [execName]: parseExactJson(text) })));
    expect(execInfo(plan)).toContain(`"config":${text}`);
  });

  test("R41: is found beside extensions that nobody knows", () => {
    const { plan } = accessOf(offering(offer("sr", { foo: { b: 1 } })));
    expect(plan.cluster?.["config"]).toEqual(config);
  });
});
