import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { renderJsonPath } from "../../../../../cmd/kubectl/output/jsonpath-template.ts";
import { type Kubectl, kubectlWith } from "../../plugin-folder.ts";

const document = {
  apiVersion: "example.com/v1",
  kind: "Any",
  metadata: { name: "n", labels: { "kubernetes.io/hostname": "h" } },
  data: {
    "a.b": "dotted",
    a: { b: "nested", "c d": "spaced" },
    n: 1.5,
    t: true,
    list: [1, 2, 3, 4],
  },
  rows: [
    { kind: "x", meta: { name: "one" }, n: 10, note: null },
    { kind: "y", meta: { name: "two" }, n: 9 },
  ],
};

let folder: string;
let kubectl: Kubectl;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-jsonpath-"));
  await writeFile(join(folder, "any.json"), JSON.stringify(document));
  kubectl = await kubectlWith(process.env["PATH"] ?? "");
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** What kubectl prints of the document; it writes nothing and asks no server. */
function printed(format: string) {
  const file = join(folder, "any.json");
  const local = ["label", "--local", "-f", file, "kubernetes.io/hostname=h", "--overwrite"];
  return kubectl([...local, "-o", format], { env: { KUBECONFIG: join(folder, "none") } });
}

test.each([
  "{['kind']}",
  "{.data['a.b']}",
  String.raw`{.data['a\.b']}`,
  String.raw`{.data.a\.b}`,
  String.raw`{.data['a\\.b']}`,
  "{.metadata.labels['kubernetes.io/hostname']}",
  String.raw`{.metadata.labels['kubernetes\.io/hostname']}`,
  "{.data['a']['b']}",
  "{.data['a'].b}",
  "{.rows['*'].n}",
  "{.data['']}",
  "{.rows[*]['meta.name','kind']}",
  "{.rows[*]['meta.name', 'nothing']}",
  "{.rows[0, 1].n}",
  "{.rows[0:1,1].n}",
  `{.rows[?(@['meta.name']=="one")].n}`,
  "{range .rows[*]}{.kind}={['meta.name']} {end}",
  "{.rows..['name']}",
])("%s prints what kubectl prints", async (template) => {
  const { stdout, exitCode } = await printed(`jsonpath=${template}`);
  expect(exitCode).toBe(0);
  expect(renderJsonPath(document, template, "jsonpath")).toBe(stdout);
});

test.each(['{["kind"]}', "{.data['a,b']}", "{.data.a['c d']}", "{.data[a]}", "{.data['a.b}"])(
  "%s is refused, as kubectl refuses it",
  async (template) => {
    expect((await printed(`jsonpath=${template}`)).exitCode).toBe(1);
    expect(() => renderJsonPath(document, template, "jsonpath")).toThrow(/Invalid JSONPath/);
  },
);
