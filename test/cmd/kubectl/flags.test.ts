import { describe, expect, test } from "vitest";

import { readFlags } from "../../../cmd/kubectl/flags.ts";
import { normalizedArgs } from "../../../cmd/kubectl/program.ts";

const switches = ["-A", "--all-namespaces", "-q", "--quiet"];

describe("a command line in kubectl's spellings is brought to one form", () => {
  test.each([
    [
      ["-o=json", "status"],
      ["-o", "json", "status"],
    ],
    [["-n="], ["-n", ""]],
    [["--output=json"], ["--output=json"]],
    [["--quiet=true", "-A=false"], ["--quiet"]],
    [["--all-namespaces=1"], ["--all-namespaces"]],
    [
      ["status", "--", "-o=json"],
      ["status", "--", "-o=json"],
    ],
    [["ks/a=b"], ["ks/a=b"]],
    [
      ["-l", "-o=x"],
      ["-l", "-o", "x"],
    ],
  ])("%j", (args, normal) => expect(normalizedArgs(args, switches)).toEqual(normal));

  test("a switch takes true or false only", () => {
    expect(() => normalizedArgs(["--quiet=maybe"], switches)).toThrow(/--quiet/);
  });
});

describe("flags", () => {
  test("have defaults", () => {
    expect(readFlags({}, {})).toMatchObject({
      namespace: null,
      output: "table",
      headers: true,
      color: "auto",
      concurrency: 16,
      spokeTimeoutMs: 10_000,
      timeoutMs: 60_000,
      providerFile: undefined,
      hub: { requestTimeoutMs: 10_000 },
    });
  });

  test("ignore -n with -A, as kubectl does", () => {
    expect(readFlags({ allNamespaces: true, namespace: "a" }, {}).namespace).toBeUndefined();
    // As for kubectl, no name is the namespace of the context.
    expect(readFlags({ namespace: "" }, {}).namespace).toBeNull();
  });

  test.each([
    ["/flag", "/env", "/flag"],
    [undefined, "/env", "/env"],
    [undefined, "", undefined],
  ])("take the provider file %s before the environment's %s", (flag, env, file) => {
    const flags = readFlags({ clusterprofileProviderFile: flag }, { KNFLEET_PROVIDER_FILE: env });
    expect(flags.providerFile).toBe(file);
  });

  test("name folders that plugins have to be in by absolute paths", () => {
    expect(readFlags({ pluginRoot: ["/a", "/b"] }, {}).pluginRoots).toEqual(["/a", "/b"]);
    expect(readFlags({}, {}).pluginRoots).toEqual([]);
    for (const wrong of ["", "plugins"]) {
      expect(() => readFlags({ pluginRoot: ["/a", wrong] }, {})).toThrow(/--plugin-root/);
    }
  });

  test.each([
    ["0", { timeoutGiven: false, timeoutZero: true }],
    ["-1", { timeoutGiven: true, timeoutMs: 604_800_000 }],
    ["-1h", { timeoutGiven: true, timeoutMs: 604_800_000 }],
    ["5", { timeoutGiven: true, timeoutMs: 5_000 }],
  ])("take --timeout %s as kubectl wait does", (timeout, expected) => {
    expect(readFlags({ timeout }, {})).toMatchObject(expected);
  });

  test("never wait for ever: a time-out of zero is the default", () => {
    expect(readFlags({ spokeTimeout: "0" }, {}).spokeTimeoutMs).toBe(10_000);
  });

  test.each([
    [{ output: "xml" }, /--output/],
    [{ color: "blue" }, /--color/],
    [{ concurrency: "0" }, /--concurrency/],
    [{ concurrency: "many" }, /--concurrency/],
    [{ timeout: "soon" }, /--timeout/],
    [{ spokeTimeout: "x" }, /--spoke-timeout/],
  ])("%j is refused by name", (raw, message) => {
    expect(() => readFlags(raw, {})).toThrow(message);
  });
});
