import { describe, expect, test } from "vitest";
import { stringify } from "yaml";

import { parseProviderFile } from "../../../access/providers/provider-config.ts";
import { FleetError } from "../../../api/errors.ts";
import { rawProvider } from "../builders.ts";

const json = { path: "providers.json", format: "json" } as const;
const yaml = { path: "providers.yaml", format: "yaml" } as const;

describe("a provider file", () => {
  test.each(["{}", '{"providers": []}', '{"providers": null}', "null"])(
    "that says %s has no providers",
    (content) => {
      expect(parseProviderFile(content, json).providers).toEqual([]);
    },
  );

  test.each([" ", "\t", "\r", "\r\n", "\n\t"])("of JSON may have %j between its parts", (blank) => {
    const parts = JSON.stringify({ providers: [rawProvider("sr"), rawProvider("other")] });
    const content = parts.replaceAll(/[{}[\],]|(?<="):/g, (part) => `${blank}${part}${blank}`);
    expect(parseProviderFile(content, json)).toEqual(parseProviderFile(parts, json));
  });

  test("is read from YAML too", () => {
    const content = `
providers:
- name: sr
  execConfig:
    apiVersion: client.authentication.k8s.io/v1beta1
    command: /p/plugin
`;
    expect(parseProviderFile(content, yaml).providers[0]?.exec).toMatchObject({
      apiVersion: "client.authentication.k8s.io/v1beta1",
      command: "/p/plugin",
      args: [],
      provideClusterInfo: false,
    });
  });

  test("may begin with a byte order mark in YAML; in JSON it is said, since nobody sees it", () => {
    const content = `\ufeff${JSON.stringify({ providers: [rawProvider("sr")] })}`;
    expect(parseProviderFile(content, yaml).providers[0]?.exec).toBeDefined();
    expect(() => parseProviderFile(content, json)).toThrow("begins with a byte order mark");
  });

  test.each(["", "\n", "# nothing\n", "---\n", "--- # nothing\n...\n", "\ufeff"])(
    "that is empty is refused as YAML: it may be one that is being written (%j)",
    (content) => {
      expect(() => parseProviderFile(content, yaml)).toThrow("it is empty");
    },
  );

  test.each(["null", "{}", "providers: []", "providers:", "~"])(
    "in YAML that says %s has no providers",
    (content) => {
      expect(parseProviderFile(content, yaml).providers).toEqual([]);
    },
  );

  test("of several documents is refused, since the others would be lost", () => {
    const content = "providers: []\n---\nproviders: [{name: secret}]\n";
    expect(() => parseProviderFile(content, yaml)).toThrow(/line 2, column 1/);
    expect(() => parseProviderFile(content, yaml)).not.toThrow(/secret/);
  });

  test("may merge maps as YAML does: what stands there wins, then the first of several", () => {
    const content = `
plugin: &plugin { apiVersion: client.authentication.k8s.io/v1, command: /p/first, args: [a, b] }
more: &more { <<: *plugin, command: /p/more, installHint: hint, env: [{ name: A, value: "1" }] }
providers:
- name: one
  execConfig: { <<: *plugin, args: [c] }
- name: two
  execConfig: { <<: [*plugin, *more], Env: [] }
- name: three
  execConfig: { <<: *more }
`;
    const execs = parseProviderFile(content, yaml).providers.map(({ exec }) => exec);
    expect(execs).toMatchObject([
      { command: "/p/first", args: ["c"], installHint: "" },
      { command: "/p/first", args: ["a", "b"], installHint: "hint", env: [] },
      { command: "/p/more", args: ["a", "b"], env: [{ name: "A", value: "1" }] },
    ]);
  });

  test.each([
    "providers: &a\n- execConfig: &b\n    <<: *b\n",
    "x: &x { <<: *x }\nproviders: [*x]\n",
    "x: &x { <<: [*x, *x, *x, *x] }\nproviders: [*x]\n",
  ])("that holds itself ends in an error or in nothing usable, and soon", (content) => {
    const read = (): readonly unknown[] => {
      try {
        const { providers } = parseProviderFile(content, yaml);
        return providers.filter(({ exec }) => exec !== undefined);
      } catch (error) {
        return error instanceof FleetError ? [] : [error];
      }
    };
    expect(read()).toEqual([]);
  });

  test("whose merges multiply is refused", () => {
    const merges = Array.from({ length: 30 }, (_, level) => {
      const below =
        level === 0 ? "{ a: b }" : `{ <<: [*l${level - 1}, *l${level - 1}, *l${level - 1}] }`;
      return `l${level}: &l${level} ${below}\n`;
    });
    const content = `${merges.join("")}providers: [*l29]\n`;
    expect(() => parseProviderFile(content, yaml)).toThrow("merges too much");
  });

  test.each([
    [
      "a wide map merged often",
      `a: &a {${Array.from({ length: 1_500 }, (_, at) => `k${at}: 1`).join(",")}}\nproviders:\n${"- <<: *a\n".repeat(1_500)}`,
      "20000 parts (line 1, column 7)",
    ],
    [
      "20,001 parts",
      `providers: [\n${"1,".repeat(20_000)}1]`,
      "20000 parts (line 2, column 39996)",
    ],
    [
      "parts of JSON",
      `{"providers": [${"1,".repeat(20_000)}1]}`,
      "20000 parts (line 1, column 40011)",
    ],
  ])("that holds too many %s is refused with a position (T-25)", (_what, content, problem) => {
    const source = content.startsWith("{") ? json : yaml;
    expect(() => parseProviderFile(content, source)).toThrow(`more than ${problem}`);
  });

  test.each(["json", "yaml"] as const)(
    "with 300 providers and all their rules is read as %s",
    (format) => {
      const providers = Array.from({ length: 300 }, (_, at) =>
        rawProvider(
          `provider-${at}`,
          {
            allowedNamespaces: ["fleet-credentials"],
            allowedServers: ["*.example-clusters.com:6443"],
            requiredConfig: { clusterName: "name" },
            timeout: "30s",
          },
          {
            args: ["--login", "cloud", "--server-id", "6dae42f8-4368-4678-94ff-3960e28e3630"],
            env: [{ name: "POD_NAMESPACE", value: "fleet-credentials" }],
          },
        ),
      );
      const content =
        format === "json" ? JSON.stringify({ providers }, null, 2) : stringify({ providers });
      const file = parseProviderFile(content, format === "json" ? json : yaml);
      expect(file.providers.filter(({ exec }) => exec !== undefined)).toHaveLength(300);
    },
  );

  test("with a string that never ends is read in one go (T-25)", () => {
    const before = process.threadCpuUsage();
    expect(() => parseProviderFile(`"${'\\"'.repeat(39_000)}`, yaml)).toThrow("not usable");
    // It takes a few hundredths of a second; seconds where the end of the string is looked for from each quote.
    expect(process.threadCpuUsage(before).user).toBeLessThan(1_000_000);
  });

  test("that uses an anchor 5,000 times is read in one go, as the last one of its name before it", () => {
    const before = process.threadCpuUsage();
    const content = `a: &a {name: x}\nproviders:\n- *a\n- &a {name: y}\n${"- *a\n".repeat(5_000)}`;
    const { providers } = parseProviderFile(content, yaml);
    expect(providers.map(({ name }) => name).slice(0, 3)).toEqual(["x", "y", "y"]);
    expect(providers).toHaveLength(5_002);
    // It takes a tenth of a second; seconds where each alias is looked for in all of the document.
    expect(process.threadCpuUsage(before).user).toBeLessThan(1_500_000);
  });

  test("matches keys in any case and says so", () => {
    const content = JSON.stringify({
      PROVIDERS: [rawProvider("sr", { profileSourcedCliArgsPolicy: "Append" })],
    });
    const file = parseProviderFile(content, json);
    expect(file.providers[0]?.argsPolicy).toBe("Append");
    expect(file.warnings).toHaveLength(2);
  });

  test("may have unknown keys", () => {
    const content = JSON.stringify({ providers: [rawProvider("sr", { extra: { deep: [1] } })] });
    const file = parseProviderFile(content, json);
    expect(file.providers[0]?.exec).toBeDefined();
    expect(file.warnings[0]).toContain("providers[0].extra");
  });

  test("is frozen in depth", () => {
    const { providers } = parseProviderFile(
      JSON.stringify({ providers: [rawProvider("sr")] }),
      json,
    );
    const parts = [providers, providers[0], providers[0]?.exec, providers[0]?.exec?.args];
    expect(parts).not.toContain(undefined);
    expect(parts.filter((part) => !Object.isFrozen(part))).toEqual([]);
  });
});

test.each([
  { name: "an array that is cut off", content: "[", place: "line 1, column 2" },
  { name: "YAML text", content: "providers: []", place: "line 1, column 1" },
  { name: "text after the end", content: "{} x", place: "line 1, column 4" },
  { name: "a missing comma", content: '{\n "a": 1\n "b": 2}', place: "line 3, column 2" },
  { name: "a comment", content: "{\n// no\n}", place: "line 2, column 1" },
  { name: "a trailing comma", content: '{"a": [1,]}', place: "line 1, column 10" },
  { name: "a control character", content: '{"a": "\t"}', place: "line 1, column 7" },
  { name: "nothing", content: "", place: "line 1, column 1" },
])("$name is refused at $place, without the text", ({ content, place }) => {
  const error = refusalOf(content);
  expect(error.code).toBe("ProviderFileInvalid");
  expect(error.message).toContain(place);
  expect(error.message).toContain("providers.json");
});

test.each([
  { name: "a list at the top", content: "[]" },
  { name: "providers as an object", content: '{"providers": {}}' },
  { name: "a text at the top", content: '"providers"' },
])("$name is refused", ({ content }) => {
  expect(refusalOf(content).code).toBe("ProviderFileInvalid");
});

test("a secret in a broken file is not in the error (F8)", () => {
  const error = refusalOf('{"providers": [{"token": canary-secret}]}');
  expect(`${error.message} ${String(error.cause)} ${error.stack}`).not.toContain("canary");
});

test.each([
  { name: "no execConfig", raw: rawProvider("sr", { execConfig: null }) },
  {
    name: "an apiVersion that is not supported",
    raw: rawProvider("sr", {}, { apiVersion: "client.authentication.k8s.io/v1alpha1" }),
  },
  { name: "no command", raw: rawProvider("sr", {}, { command: "" }) },
  { name: "args as a string", raw: rawProvider("sr", {}, { args: "a" }) },
  { name: "a name that is a number", raw: rawProvider("sr", { name: 1 }) },
  { name: "a timeout that is no duration", raw: rawProvider("sr", { timeout: "soon" }) },
  { name: "a timeout of an hour", raw: rawProvider("sr", { timeout: "1h" }) },
  { name: "no room for a plugin", raw: rawProvider("sr", { maxConcurrency: 0 }) },
  {
    name: "a server rule that is a URL",
    raw: rawProvider("sr", { allowedServers: ["https://a"] }),
  },
  {
    name: "a server rule for names that anybody can register",
    raw: rawProvider("sr", { allowedServers: ["*-example.com"] }),
  },
  {
    name: "a server rule for names that anybody can register in a country",
    raw: rawProvider("sr", { allowedServers: ["*-example.co.uk"] }),
  },
  {
    name: "a field of the profile that nobody knows",
    raw: rawProvider("sr", { requiredConfig: { clusterName: "spec.displayName" } }),
  },
  { name: "an unknown policy", raw: rawProvider("sr", { profileSourcedCLIArgsPolicy: "Merge" }) },
  {
    name: "a policy in another case",
    raw: rawProvider("sr", { profileSourcedEnvVarsPolicy: "replace" }),
  },
])("a provider with $name is unusable, the others are not", ({ raw }) => {
  const { providers } = parseProviderFile(
    JSON.stringify({ providers: [raw, rawProvider("x")] }),
    json,
  );
  expect(providers[0]?.exec).toBeUndefined();
  expect(providers[0]?.problem).toMatch(/^providers\[0\][\w.]* \(line 1, column \d+\): /);
  expect(providers[1]?.exec).toBeDefined();
});

test.each([
  { name: "a repeated name", providers: [rawProvider("sr"), rawProvider("sr")] },
  { name: "a relative command", providers: [rawProvider("sr", {}, { command: "plugin" })] },
  {
    name: "an interactive mode",
    providers: [rawProvider("sr", {}, { interactiveMode: "Always" })],
  },
  {
    name: "a repeated variable",
    providers: [
      rawProvider(
        "sr",
        {},
        {
          env: [
            { name: "A", value: "1" },
            { name: "A", value: "2" },
          ],
        },
      ),
    ],
  },
])("$name is a warning", ({ providers }) => {
  const file = parseProviderFile(JSON.stringify({ providers }), json);
  expect(file.warnings).toHaveLength(1);
  expect(file.providers[0]?.exec).toBeDefined();
});

function refusalOf(content: string): FleetError {
  try {
    parseProviderFile(content, json);
  } catch (error) {
    if (error instanceof FleetError) return error;
    throw error;
  }
  throw new Error("Nothing was refused");
}
