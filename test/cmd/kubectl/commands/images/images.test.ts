import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { sampleDirOf } from "../../../../../cmd/release-files.ts";
import { runText } from "../../run-text.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-images-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Lists the images of a KnativeServing with this spec. There is no hub. */
async function images(spec: object, ...args: readonly string[]) {
  const path = join(folder, "serving.json");
  const apiVersion = "operator.knative.dev/v1beta1";
  const metadata = { name: "knative-serving" };
  await writeFile(path, JSON.stringify({ apiVersion, kind: "KnativeServing", metadata, spec }));
  const line = ["images", "-f", path, "--release-dir", sampleDirOf(), ...args];
  return await runText(line, { env: { KUBECONFIG: "/nowhere" } });
}

const lines = (text: string): readonly string[] => text.split("\n").filter((line) => line !== "");

describe("the images of a file", () => {
  test("are listed without a hub, each once and sorted", async () => {
    const { stdout, stderr, exitCode } = await images({ version: "1.23" }, "-o", "name");
    const found = lines(stdout);
    expect(found).toContain("registry.example.com/knative-sample/activator:1.23.1");
    expect(found).toEqual([...new Set(found)].toSorted());
    expect({ stderr, exitCode }).toEqual({ stderr: "", exitCode: 0 });
  });

  test("are also those of which Knative makes pods itself", async () => {
    const { stdout } = await images({ version: "1.23" }, "-o", "name");
    // It stands in a ConfigMap alone, and in a cached Image.
    expect(lines(stdout)).toContain("registry.example.com/knative-sample/queue:1.23.1");
  });

  test("are those of the mirror that the spec names", async () => {
    const registry = { default: "mirror.example.com/knative/${NAME}:v1" };
    const { stdout } = await images({ version: "1.23", registry }, "-o", "name");
    const found = lines(stdout);
    expect(found).toContain("mirror.example.com/knative/activator:v1");
    expect(found.filter((image) => !image.startsWith("mirror.example.com/"))).toEqual([]);
  });

  test("are those of another version with --version, and say who needs them", async () => {
    const { stdout } = await images({ version: "1.23" }, "--version", "1.22", "-o", "json");
    const { items, summary }: { items: { neededBy: object[] }[]; summary: object } =
      JSON.parse(stdout);
    const need = {
      kind: "KnativeServing",
      namespace: "default",
      name: "knative-serving",
      cluster: null,
    };
    expect(items[0]?.neededBy).toEqual([
      { ...need, version: expect.stringMatching(/^1\.22\.\d+$/) },
    ]);
    expect(summary).toEqual({ images: items.length, installations: 1, failed: 0 });
  });

  test("of a version that the folder lacks are missing, which is told with code 3", async () => {
    const { stdout, stderr, exitCode } = await images({ version: "1.2" });
    expect(stdout).toBe("");
    expect(stderr).toMatch(/KnativeServing default\/knative-serving: .*1\.2/);
    expect(exitCode).toBe(3);
  });

  test("are not mixed with those of named installations", async () => {
    const { stderr, exitCode } = await images({}, "ks/other");
    expect(stderr).toContain("error: Name installations, or give -f, not both");
    expect(exitCode).toBe(2);
  });
});
