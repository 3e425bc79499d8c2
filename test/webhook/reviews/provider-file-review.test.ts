import { describe, expect, test } from "vitest";

import { linesOf } from "../component-stage.ts";
import { problemsOf, provider, review, text, withoutColumn } from "./provider-stage.ts";

test("a file that the controller can use is allowed without a word", async () => {
  expect(await review({ data: { "providers.json": text(provider()) } })).toEqual({
    violations: [],
    warnings: [],
  });
});

test("a file of 300 providers is read as well", async () => {
  const many = Array.from({ length: 300 }, (_, index) => provider({ name: `provider-${index}` }));
  const ruling = await review({
    data: { "providers.json": text(...many, provider({ name: "provider-7" })) },
  });
  expect(linesOf(ruling)).toEqual([expect.stringContaining("providers[300].name")]);
});

describe("T-25 what cannot be read", () => {
  const canary = "canary-17";
  test.each([
    ["no JSON", "providers.json", `{"providers": ${canary}}`, /it is not JSON at line 1, column/],
    [
      "YAML named JSON",
      "providers.json",
      `providers:\n- name: ${canary}`,
      /it is not JSON at line 1/,
    ],
    ["trailing data", "providers.json", `${text(provider())} ${canary}`, /it is not JSON at line/],
    ["no YAML", "providers.yaml", `providers: [${canary}`, /it is not YAML at line/],
    [
      "duplicate keys",
      "p.json",
      `{"providers":[{"name":"a","name":"${canary}"}]}`,
      /the key name occurs more than once \(line 1, column \d+\)/,
    ],
    [
      "keys that differ in case",
      "p.json",
      '{"providers":[],\n"Providers":[]}',
      /occurs more than once \(line 2, column 1\)/,
    ],
    ["too much", "p.json", `"${"x".repeat(256 * 1024)}"`, /larger than 256 KiB/],
    [
      "33 levels",
      "p.json",
      `{"a":${"[".repeat(33)}${"]".repeat(33)}}`,
      /nested deeper than 32 levels \(line 1/,
    ],
    [
      "20,000 levels",
      "p.json",
      `${"[".repeat(20_000)}${"]".repeat(20_000)}`,
      /more than 20000 parts \(line 1, column 20001\)/,
    ],
    [
      "__proto__",
      "p.json",
      `{"providers":[{"__proto__":{"a":"${canary}"}}]}`,
      /the key __proto__ is not allowed \(line 1, column 16\)/,
    ],
    ["constructor", "p.json", '{"constructor":1}', /the key constructor is not allowed/],
    [
      "a map merged often",
      "p.yaml",
      `a: &a {${Array.from({ length: 500 }, (_, at) => `k${at}: 1`).join(",")}}\nproviders:\n${"- <<: *a\n".repeat(100)}`,
      /stands for more than 20000 parts \(line 1, column 7\)/,
    ],
    ["an alias", "p.yaml", "a: &a [1]\nproviders: *a", /an alias \(line 2, column 12\)/],
    ["a list", "p.json", "[]", /the top level must be object/],
  ])("%s", async (...[_what, key, content, problem]) => {
    const { ruling, lines } = await problemsOf(content, key);
    expect(lines[0]).toMatch(problem);
    expect(lines[0]?.startsWith(`422 data["${key}"]: `)).toBe(true);
    expect(JSON.stringify(ruling)).not.toContain(canary);
  });

  test.each([
    ["what takes a parser half a minute", "! ".repeat(128 * 1024 - 1)],
    ["what is as long as it may be", `{"providers":[${'"a b",'.repeat(19_000)}1]}`],
    ["one long text", `"${"\\n".repeat(100 * 1024)}"`],
  ])("%s holds nobody up", async (_what, content) => {
    const before = process.threadCpuUsage();
    const { lines } = await problemsOf(content, "p.json");
    const { user } = process.threadCpuUsage(before);
    expect(lines.length).toBeGreaterThan(0);
    // Processor time of this thread, because others work on this machine; the parser alone takes seconds.
    expect(user).toBeLessThan(1_000_000);
  });
});

describe("T-25 binary data, which are files of the same folder for the controller", () => {
  const encoded = Buffer.from(text(provider())).toString("base64");
  const data = { "a.json": text(provider()) };

  test.each([["p.json"], ["p.yaml"], ["providers"]])("are refused as %s", async (key) => {
    const lines = linesOf(await review({ data, binaryData: { [key]: encoded } }));
    expect(lines).toEqual([
      `422 binaryData${key === "providers" ? ".providers" : `["${key}"]`}: a provider file must stand in data, as text`,
    ]);
  });

  test("pass where nobody reads them, and where they have not changed", async () => {
    expect(linesOf(await review({ data, binaryData: { "logo.png": encoded } }))).toEqual([]);
    const same = {
      before: data,
      binaryBefore: { "p.json": encoded },
      operation: "UPDATE",
    } as const;
    expect(linesOf(await review({ data, binaryData: { "p.json": encoded }, ...same }))).toEqual([]);
    expect(linesOf(await review({ data, ...same }))).toEqual([]);
    expect(
      linesOf(await review({ data, binaryData: { "p.yaml": encoded }, ...same })),
    ).toHaveLength(1);
  });
});

describe("T-26 what the controller would use otherwise than it is written", () => {
  test.each([
    ["no provider", text(), "providers (line 2): must hold at least one provider"],
    ["an empty object", "{}", "providers (line 1): must hold at least one provider"],
    [
      "two of one name",
      text(provider(), provider()),
      "providers[1].name (line 11): is that of a provider before it",
    ],
    ["no name", text(provider({ name: "" })), "providers[0].name"],
    ["no execConfig", text({ name: "a" }), "providers[0].execConfig (line 3): is missing"],
    [
      "an old apiVersion",
      text(provider({}, { apiVersion: "client.authentication.k8s.io/v1alpha1" })),
      "providers[0].execConfig.apiVersion (line 6): has to be",
    ],
    [
      "interactiveMode Always",
      text(provider({}, { interactiveMode: "Always" })),
      "providers[0].execConfig.interactiveMode (line 8): must be Never or IfAvailable",
    ],
    [
      "an unknown word",
      text(provider({ profileSourcedCLIArgsPolicy: "Everything" })),
      "providers[0].profileSourcedCLIArgsPolicy (line 9): is not a known word",
    ],
    ["args of the wrong type", text(provider({}, { args: "x" })), "providers[0].execConfig.args"],
  ])("%s", async (_what, content, line) => {
    const { lines } = await problemsOf(content);
    expect(lines.map(withoutColumn)).toEqual([
      expect.stringContaining(`422 data["providers.json"]: ${line}`),
    ]);
  });

  test("a variable twice is a warning, because the last value counts", async () => {
    const env = [
      { name: "A", value: "1" },
      { name: "A", value: "2" },
    ];
    const { ruling, lines } = await problemsOf(text(provider({}, { env })));
    expect(lines).toEqual([]);
    expect(ruling.warnings).toEqual([
      expect.stringContaining("a name is declared more than once; the last one is used"),
    ]);
  });

  test("all problems at once", async () => {
    const { lines } = await problemsOf(
      text(provider({ name: "" }, { command: "sh", interactiveMode: "Always" }), { name: "b" }),
    );
    expect(lines).toHaveLength(4);
  });

  test("unknown fields are a warning", async () => {
    const ruling = await review({ data: { "p.json": text(provider({ future: 1 })) } });
    expect(ruling.violations).toEqual([]);
    expect(ruling.warnings).toEqual([
      'data["p.json"]: providers[0].future (line 9, column 7): the key is not known and is ignored',
    ]);
  });
});

describe("T-27 commands", () => {
  const roots = ["/plugins"];
  test.each([
    "secretreader",
    "./secretreader",
    "/plugins/../bin/x",
    "/plugins",
    "/plugins/",
    "/elsewhere/secretreader",
    "/plugins-other/secretreader",
    "/plugins/sh",
    "/plugins/bash",
    "/plugins/python3.12",
    "/plugins/node",
    "/bin/busybox",
    "builtin:other",
  ])("%s is refused", async (command) => {
    const { lines } = await problemsOf(text(provider({}, { command })), "p.json", roots);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(
      /^422 data\["p\.json"\]: providers\[0\]\.execConfig\.command \(line 7, column 20\): must/,
    );
  });

  test.each(["/plugins/secretreader", "/plugins/deep/aws-iam", "builtin:secretreader"])(
    "%s is allowed",
    async (command) => {
      expect((await problemsOf(text(provider({}, { command })), "p.json", roots)).lines).toEqual(
        [],
      );
    },
  );
});
