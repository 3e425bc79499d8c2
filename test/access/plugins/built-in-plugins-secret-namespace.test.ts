import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { secretNamespace } from "../../../access/plugins/built-in-plugins.ts";

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-namespace-"));
  await writeFile(join(folder, "named"), kubeconfig({ namespace: "of-context" }));
  await writeFile(join(folder, "unnamed"), kubeconfig({}));
  await writeFile(join(folder, "broken"), "{{{");
});

afterAll(() => rm(folder, { recursive: true }));

function kubeconfig(context: object): string {
  return JSON.stringify({
    "current-context": "a",
    contexts: [{ name: "a", context: { cluster: "a", user: "a", ...context } }],
    clusters: [{ name: "a", cluster: { server: "https://a.test" } }],
    users: [{ name: "a", user: {} }],
  });
}

test.each([
  { file: "named", pod: "of-pod", gives: "of-context" },
  { file: "unnamed", pod: "of-pod", gives: "of-pod" },
  { file: "absent", pod: "of-pod", gives: "of-pod" },
  { file: "broken", pod: "of-pod", gives: "of-pod" },
  { file: "unnamed", pod: "", gives: "default" },
])("with the kubeconfig $file and POD_NAMESPACE '$pod' it is $gives", async (given) => {
  const KUBECONFIG = join(folder, given.file);
  expect(await secretNamespace({ KUBECONFIG, POD_NAMESPACE: given.pod })).toBe(given.gives);
});
