import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";

import { sampleDirOf } from "../../../../../cmd/release-files.ts";
import { knfleetFile, runKnfleet } from "../../run-knfleet.ts";
import { runText } from "../../run-text.ts";

const serving = `apiVersion: operator.knative.dev/v1beta1
kind: KnativeServing
metadata: {name: knative-serving, namespace: knative-serving, uid: u-1}
spec:
  version: "1.23"
  ingress: {kourier: {enabled: on}}
`;
const remote = `apiVersion: operator.knative.dev/v1beta1
kind: KnativeEventing
metadata: {name: ke, namespace: knative-eventing, uid: u-2}
spec:
  clusterProfileRef: {name: spoke-1, namespace: fleet}
`;

const ownership = { controller: true, blockOwnerDeletion: true } as const;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-render-test-"));
  await file("serving.yaml", serving);
  await file("remote.yaml", remote);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function file(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

function render(...args: readonly string[]) {
  return runText(["render", "--release-dir", sampleDirOf(), ...args]);
}

interface Shown {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly ownerReferences?: readonly object[];
  };
}

function isShown(value: unknown): value is readonly Shown[] {
  return Array.isArray(value) && value.every((one) => typeof one === "object");
}

async function objects(...args: readonly string[]): Promise<readonly Shown[]> {
  const { exitCode, stdout, stderr } = await render(...args, "-o", "json");
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  const value: unknown = JSON.parse(stdout);
  if (!isShown(value)) throw new Error("No list of objects");
  return value;
}

test("says of spec.config what the release has no ConfigMap for, and prints the rest", async () => {
  const text = `${serving}  config: {nobody: {a: b}, network: {autoTLS: d}}\n`;
  const unused = await file("unused.yaml", text);
  const found = await render("-f", unused);
  expect(found).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("autoTLS: d\n") });
  expect(found.stderr).toBe(
    `${unused}, version 1.23.1: spec.config.nobody: changes nothing: nothing that is installed has such a ConfigMap
${unused}, version 1.23.1: spec.config.network.autoTLS: config-network of the release documents no such key, so that Knative most likely ignores it
`,
  );
  expect(await render("-f", unused, "--quiet")).toMatchObject({ exitCode: 0, stderr: "" });
  const { stderr } = await render("-f", unused, "--diff-with", "1.22");
  expect(stderr.split("\n")).toEqual([
    expect.stringContaining("version 1.23.1: spec.config.nobody"),
    expect.stringContaining("version 1.23.1: spec.config.network.autoTLS"),
    expect.stringContaining("version 1.22.1: spec.config.nobody"),
    expect.stringContaining("version 1.22.1: spec.config.network.autoTLS"),
    "",
  ]);
});

describe("kubectl knfleet render", () => {
  test("prints one object as it would be applied", async () => {
    const path = join(folder, "serving.yaml");
    const { exitCode, stdout } = await render("-f", path, "--only", "deployment/controller");
    expect(exitCode).toBe(0);
    await expect(stdout).toMatchFileSnapshot(
      "../../../../golden/kubectl/render.deployment.yaml.txt",
    );
  });

  test("prints namespaces first, then CRDs, workloads late, webhooks last", async () => {
    const kinds = (await objects("-f", join(folder, "serving.yaml"))).map(({ kind }) => kind);
    const first = (kind: string): number => kinds.indexOf(kind);
    expect(kinds[0]).toBe("Namespace");
    expect(first("CustomResourceDefinition")).toBe(1);
    expect(first("Deployment")).toBeGreaterThan(kinds.lastIndexOf("ConfigMap"));
    expect(kinds.at(-1)).toBe("ValidatingWebhookConfiguration");
  });

  test("prints the same objects as YAML and as JSON", async () => {
    const path = join(folder, "serving.yaml");
    const documents = parseAllDocuments((await render("-f", path)).stdout, { version: "1.1" });
    const read: readonly unknown[] = Array.isArray(documents)
      ? documents.map((document): unknown => document.toJS())
      : [];
    expect(read).toEqual(await objects("-f", path));
  });

  test("reads several files and standard input", async () => {
    const all = await objects(
      "-f",
      join(folder, "serving.yaml"),
      "-f",
      join(folder, "remote.yaml"),
    );
    const namespaces = all.filter(({ kind }) => kind === "Namespace");
    expect(namespaces.map(({ metadata }) => metadata.name)).toEqual([
      "knative-serving",
      "knative-eventing",
    ]);
    const args = `"$0" "$1" render --release-dir "$2" -f - --only Service/webhook < "$3"`;
    const piped = await runKnfleet(
      ["-c", args, process.execPath, knfleetFile, sampleDirOf(), join(folder, "serving.yaml")],
      { command: "sh" },
    );
    expect(piped).toMatchObject({ exitCode: 0, stderr: "" });
    expect(piped.stdout).toContain("kind: Service\n");
  });

  test.each([
    {
      name: "the component, by its uid",
      args: ["serving.yaml"],
      owner: {
        apiVersion: "operator.knative.dev/v1beta1",
        kind: "KnativeServing",
        name: "knative-serving",
        uid: "u-1",
        ...ownership,
      },
    },
    {
      name: "on a spoke the anchor, by the uid that is named",
      args: ["remote.yaml", "--anchor-uid", "u-3"],
      owner: {
        apiVersion: "v1",
        kind: "ConfigMap",
        name: "knativeeventing-ke-root-owner",
        uid: "u-3",
        ...ownership,
      },
    },
    { name: "nothing while its uid is not known", args: ["remote.yaml"], owner: undefined },
  ])("names as the owner $name", async ({ args: [name = "", ...rest], owner }) => {
    const all = await objects("-f", join(folder, name), ...rest);
    const owners = all
      .filter(({ kind, metadata }) => kind === "Deployment" && metadata.namespace !== undefined)
      .flatMap(({ metadata }) => metadata.ownerReferences ?? [undefined]);
    expect(owners.length).toBeGreaterThan(0);
    expect(new Set(owners.map((found) => JSON.stringify(found))).size).toBe(1);
    expect(owners[0]).toEqual(owner);
    expect(
      all.filter(({ kind, metadata }) => kind === "ClusterRole" && metadata.ownerReferences),
    ).toEqual([]);
  });

  test("shows what an upgrade alters, the newer version on the right, with code 1", async () => {
    const path = join(folder, "serving.yaml");
    const only = ["--only", "ServiceAccount/controller"];
    const ran = await render("-f", path, "--diff-with", "1.22", ...only);
    expect(ran).toMatchObject({ exitCode: 1, stderr: "" });
    await expect(ran.stdout).toMatchFileSnapshot(
      "../../../../golden/kubectl/render.upgrade.diff.txt",
    );
    const old = await file("old.yaml", serving.replace("1.23", "1.22"));
    const other = await render("-f", old, "--diff-with", "1.23", ...only);
    expect(other.stdout).toBe(ran.stdout);
  });

  test("shows what a change of the file alters, and nothing with code 0 when there is none", async () => {
    const path = join(folder, "serving.yaml");
    const changed = await file("changed.yaml", `${serving}  config: {network: {a: b}}\n`);
    const ran = await render("-f", changed, "--diff-with", path);
    expect(ran.exitCode).toBe(1);
    const marks = ran.stdout.split("\n").filter((line) => /^[-+][^-+]/.test(line));
    expect(marks).toEqual(["+  a: b"]);
    expect(await render("-f", path, "--diff-with", path)).toMatchObject({
      exitCode: 0,
      stdout: "",
    });
  });

  test.each([
    {
      name: "a wrong field",
      text: serving.replace("on}", "1}"),
      says: "spec.ingress.kourier.enabled: must be boolean",
      code: 2,
    },
    {
      name: "an unknown field",
      text: `${serving}  foo: 1\n`,
      says: "spec.foo: unknown field",
      code: 2,
    },
    { name: "no YAML", text: "a: {", says: "wrong.yaml: ", code: 2 },
    {
      name: "no component",
      text: "apiVersion: v1\nkind: Pod\n",
      says: "holds no KnativeServing",
      code: 2,
    },
    {
      name: "a version that is not there",
      text: serving.replace("1.23", "1.20.9"),
      says: "1.20.9 are not available",
      code: 1,
    },
    {
      name: "an option that is refused",
      text: serving.replace("on}", 'on, service-type: "x"}'),
      says: 'unknown service type "x"',
      code: 1,
    },
  ])("refuses $name with code $code", async ({ text, says, code }) => {
    const ran = await render("-f", await file("wrong.yaml", text));
    expect(ran).toMatchObject({ exitCode: code, stdout: "" });
    expect(ran.stderr).toMatch(/^error: /);
    expect(ran.stderr).toContain(says);
  });

  test("has a line for each problem", async () => {
    const path = await file(
      "wrong.yaml",
      serving.replace("on}", "1, a: 1}").replace('"1.23"', "1.2"),
    );
    const { stderr } = await render("-f", path);
    expect(stderr.trimEnd().split("\n").toSorted()).toEqual([
      `error: ${path}: spec.ingress.kourier.a: unknown field`,
      `error: ${path}: spec.ingress.kourier.enabled: must be boolean`,
      `error: ${path}: spec.version: must be string`,
    ]);
  });

  test.each([
    { args: [], says: /-f/, code: 2 },
    { args: ["-f", "/nowhere"], says: /ENOENT/, code: 2 },
    { args: ["-f", "S", "-o", "table"], says: /want yaml, json/, code: 2 },
    { args: ["-f", "S", "--only", "x"], says: /want KIND\/NAME/, code: 2 },
    { args: ["-f", "S", "--only", "Pod/x"], says: /No object is named Pod\/x/, code: 1 },
    { args: ["-f", "S", "--kubernetes-version", "new"], says: /--kubernetes-version/, code: 2 },
    { args: ["-f", "S", "--kubernetes-version", "v1.20.0"], says: /at least v1/, code: 1 },
    { args: ["-f", "S", "--manifests-from", "/nowhere"], says: /is not a folder/, code: 2 },
    { args: ["-f", "S", "--diff-with", "/nowhere"], says: /neither a file nor a version/, code: 2 },
    {
      args: ["-f", "S", "--release-dir", "/nowhere"],
      says: /\/nowhere, which --release-dir names, does not exist/,
      code: 2,
    },
    { args: ["-f", "-", "-f", "-"], says: /once only/, code: 2 },
  ])("$args ends with code $code", async ({ args, says, code }) => {
    const path = join(folder, "serving.yaml");
    const ran = await render(...args.map((arg) => (arg === "S" ? path : arg)));
    expect(ran).toMatchObject({ exitCode: code, stdout: "" });
    expect(ran.stderr).toMatch(says);
  });

  test("puts the controller's environment and own manifests into the objects", async () => {
    await file("env.json", '{"KUBERNETES_MIN_VERSION": "v1.20.0"}');
    await file(
      "config-extra-1.23.1.yaml",
      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config-extra, namespace: knative-serving}\n",
    );
    const path = await file(
      "own.yaml",
      `${serving}  additionalManifests: [{URL: "file:config-extra-\${VERSION}.yaml"}]\n`,
    );
    const flags = ["--manifests-from", folder, "--env-file", join(folder, "env.json")];
    const all = await objects("-f", path, ...flags);
    expect(all.filter(({ metadata }) => metadata.name === "config-extra")).toHaveLength(1);
    const webhook = all.find(
      ({ kind, metadata }) => kind === "Deployment" && metadata.name === "webhook",
    );
    expect(JSON.stringify(webhook)).toContain(
      '{"name":"KUBERNETES_MIN_VERSION","value":"v1.20.0"}',
    );
  });
});
