import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

import { expect, onTestFinished, test } from "vitest";

import { unpackTar } from "../../../../../cmd/kubectl/bundle/tar.ts";
import { recordedBinding } from "../../controller-binding.ts";
import { component, deployment } from "../../fleet-facts.ts";
import { lease } from "../../hub/lease-facts.ts";
import { runText } from "../../run-text.ts";
import { startStubHub } from "../../stub-hub.ts";
import { answersTables } from "../../stub-tables.ts";

test.each(["deployments", "clusterrolebindings"])(
  "a bundle that was gathered without the right to list %s says that the controllers are not in it",
  async (plural) => {
    const folder = await mkdtemp(join(tmpdir(), "knfleet-gathered-controllers-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const objects = [component({ cluster: null })];
    const tables = answersTables(objects);
    await using hub = await startStubHub(objects, (request) =>
      new RegExp(`^/apis/[^/]+/v1/${plural}$`).test(request.path)
        ? {
            status: 403,
            body: { kind: "Status", status: "Failure", reason: "Forbidden", code: 403 },
          }
        : tables(request),
    );
    const path = join(folder, "fleet.tgz");
    const args = ["gather", "--no-live", "--tail", "0", "-A", "-o", path];
    const { stderr, exitCode } = await runText(args, { env: hub.env });
    const message = "The namespaces of the controllers are not in the bundle: you lack the right";
    expect(stderr).toContain(message);
    expect(exitCode).toBe(3);
    const files = await unpackTar(gunzipSync(await readFile(path)));
    const index = files.find((file) => file.path.endsWith("/bundle.json"));
    expect(JSON.parse(index?.text ?? "")).toMatchObject({
      complete: false,
      errors: [{ reason: "Forbidden", message: expect.stringContaining(message) }],
    });
  },
);

test.each([[["-A"]], [["-n", "team-a"]]])(
  "a bundle of %s tells a controller from a Deployment of its name",
  async (selection) => {
    const folder = await mkdtemp(join(tmpdir(), "knfleet-gathered-controllers-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const objects = [
      component({ kind: "KnativeEventing", cluster: null }),
      component({ cluster: null }),
      lease("knfleet-controller", { holder: "pod-a" }),
      recordedBinding("knfleet", "knfleet-system"),
      deployment({ name: "own", namespace: "knfleet-system", owner: null }),
      deployment({ name: "knfleet-controller", owner: null }),
    ];
    await using hub = await startStubHub(objects, answersTables(objects));
    const path = join(folder, "fleet.tgz");
    const args = ["--no-live", "--tail", "0", "-o", path, ...selection];
    expect(await runText(["gather", ...args], { env: hub.env })).toMatchObject({ exitCode: 0 });
    const { stdout } = await runText(["version", "--bundle", path, "-o", "json"]);
    expect(JSON.parse(stdout)).toMatchObject({
      summary: { controllers: [{ flavour: "knfleet", namespace: "knfleet-system", name: "own" }] },
    });
  },
);

test("a bundle without Leases and Deployments is read, and gathered again", async () => {
  const folder = await mkdtemp(join(tmpdir(), "knfleet-gathered-controllers-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const objects = [component({ cluster: null })];
  const tables = answersTables(objects);
  await using hub = await startStubHub(objects, (request) =>
    request.path.includes("/leases")
      ? { status: 404, body: { kind: "Status", code: 404 } }
      : tables(request),
  );
  const [path, again] = ["fleet.tgz", "again.tgz"].map((name) => join(folder, name));
  const all = ["gather", "-A", "--tail", "0", "-o"];
  expect(await runText([...all, path ?? "", "--no-live"], { env: hub.env })).toMatchObject({
    exitCode: 0,
  });
  const { stderr, exitCode } = await runText([...all, again ?? "", "--bundle", path ?? ""]);
  expect(stderr).not.toContain("error:");
  // The walks of --no-live were not made.
  expect(exitCode).toBe(3);
  const { stderr: said } = await runText(["version", "--bundle", path ?? ""]);
  expect(said).not.toContain("error:");
});

test("a bundle without -o goes to the folder for temporary files, and its place is told", async () => {
  const TMPDIR = await mkdtemp(join(tmpdir(), "knfleet-gather-"));
  onTestFinished(() => rm(TMPDIR, { recursive: true, force: true }));
  const objects = [component({ cluster: null })];
  await using hub = await startStubHub(objects, answersTables(objects));
  const args = ["gather", "--no-live", "--tail", "0", "-A", "-o", "name"];
  const { stdout } = await runText(args, { env: { ...hub.env, TMPDIR } });
  const [file = ""] = await readdir(TMPDIR);
  expect(file).toMatch(/^knfleet-\d{8}T\d{6}Z\.tgz$/);
  expect(stdout).toBe(`${join(TMPDIR, file)}\n`);
});
