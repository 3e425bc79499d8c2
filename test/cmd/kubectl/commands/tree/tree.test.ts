import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import {
  dotOf,
  mermaidOf,
  collapsed,
  type TreeNode,
  treeText,
} from "../../../../../cmd/kubectl/fleet/tree/tree-node.ts";
import { recordedObjects } from "../../recorded-hub.ts";
import { runText } from "../../run-text.ts";
import { startStubHub, type StubHub } from "../../stub-hub.ts";

let hub: StubHub;
beforeAll(async () => {
  hub = await startStubHub(recordedObjects);
});
afterAll(() => hub[Symbol.asyncDispose]());

function golden(name: string): string {
  return join(import.meta.dirname, "../../../../golden/kubectl", `tree.${name}.txt`);
}

function node(kind: string, name: string, more: Partial<TreeNode> = {}): TreeNode {
  const cluster = ["Deployment", "Pod"].includes(kind) ? "fleet/eu-1" : null;
  return {
    kind,
    namespace: "team-a",
    name,
    cluster,
    state: "OK",
    message: null,
    children: [],
    ...more,
  };
}

const pods = [node("Pod", "a-1"), node("Pod", "a-2")];
const broken = node("Deployment", "webhook", {
  state: "FAIL",
  message: "0/1 available",
  children: [...pods, node("Pod", "w-1", { state: "FAIL", message: 'says "no"\u001b[2J\nat all' })],
});
const installation = node("KnativeServing", "knative-serving", {
  children: [
    node("Deployment", "activator", { children: pods }),
    node("Deployment", "controller", { children: pods }),
    broken,
  ],
});
const plain = (text: string): string => text;

describe("tree on a recorded hub", () => {
  test.each([
    ["table", ["-A"]],
    ["json", ["-A", "-o", "json"]],
    ["dot", ["-A", "-o", "dot"]],
    ["mermaid", ["-A", "-o", "mermaid"]],
  ])("is printed as agreed as %s", async (name, args) => {
    const env = { ...hub.env, LANG: "C.UTF-8" };
    const { stdout, stderr, exitCode } = await runText(["tree", ...args], { env });
    const text = `${stdout}--- stderr\n${stderr}--- exit code ${exitCode}\n`;
    const known = text.replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, "http://hub");
    await expect(known).toMatchFileSnapshot(golden(name));
  });

  test("has no lines but ASCII where the locale says no more, and is cut on a narrow terminal", async () => {
    const env = { ...hub.env, LANG: "C", TERM: "dumb" };
    const { stdout } = await runText(["tree", "ks"], { env, columns: 60 });
    expect(stdout).toMatch(/^`- ClusterProfile fleet\/eu-1/m);
    expect(stdout).toMatch(/^[\n -~]+$/);
    const wide = await runText(["tree", "ks", "-o", "wide"], { env, columns: 60 });
    expect(wide.stdout.length).toBeGreaterThan(stdout.length);
  });

  test.each([
    { args: ["ks/nothing"], exitCode: 1 },
    { args: ["ke"], exitCode: 0 },
    { args: ["ks"], exitCode: 3 },
    { args: ["-o", "clusterrole"], exitCode: 2 },
  ])("$args ends with $exitCode", async ({ args, exitCode }) => {
    expect(await runText(["tree", ...args], { env: hub.env })).toMatchObject({ exitCode });
  });
});

describe("what is healthy side by side", () => {
  test("is one line, and what is broken stays", () => {
    expect(treeText([collapsed(installation)], { paint: plain, width: undefined })).toBe(
      [
        "KnativeServing team-a/knative-serving   OK",
        "├─ Deployment webhook                   FAIL   0/1 available",
        '│  ├─ Pod w-1                           FAIL   says "no" [2J at all',
        "│  └─ 2 Pods                            OK     all running",
        "└─ 2 Deployments                        OK     all available",
        "",
      ].join("\n"),
    );
  });

  test("of one kind alone is not hidden behind a number", () => {
    const one = node("KnativeServing", "x", { children: [node("Deployment", "activator")] });
    expect(collapsed(one)).toEqual(one);
  });
});

describe("a graph", () => {
  const hostile = node("ClusterProfile", 'a"]; evil -> b [x="\\', {});

  test("in the language of Graphviz holds names as texts only", () => {
    const text = dotOf([hostile]);
    expect(text).toContain('label="ClusterProfile team-a/a\\"]; evil -> b [x=\\"\\\\\\nOK"');
  });

  test("in the language of Mermaid holds names as texts only", () => {
    const text = mermaidOf([hostile]);
    expect(text).toContain('["ClusterProfile team-a/a#34;]#59; evil -#62; b [x=#34;\\<br/>OK"]');
  });

  test("has what two trees have in common once, and crowds for each", () => {
    const shared = node("ClusterProfile", "eu-1");
    const trees = ["one", "two"].map((name) =>
      node("KnativeServing", name, { children: [shared] }),
    );
    expect(dotOf(trees).match(/ClusterProfile/g)).toHaveLength(1);
    expect(dotOf(trees).match(/->/g)).toHaveLength(2);
    const crowds = ["one", "two"].map((name) =>
      collapsed(node("KnativeServing", name, { children: pods })),
    );
    expect(dotOf(crowds).match(/2 Pods/g)).toHaveLength(2);
  });
});
