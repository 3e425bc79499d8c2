import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { KubeObject } from "../../../../../api/kubernetes.ts";
import { packTar } from "../../../../../cmd/kubectl/bundle/tar.ts";
import { recordedFolder } from "../../golden/record-scene.ts";
import { runText } from "../../run-text.ts";

const broken = join(recordedFolder, "broken");
const whole = join(recordedFolder, "whole");
const selected = ["-A", "-l", "run!=upstream,run!=fine"];

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-bundle-test-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function written(name: string, content: string | Uint8Array): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
}

async function tgz(files: Readonly<Record<string, string>>): Promise<Buffer> {
  const own = Object.entries(files).map(([path, text]) => ({ path, text }));
  return gzipSync(await packTar(own, new Date(0)));
}

function get(...args: readonly string[]) {
  return runText(["get", ...args, ...selected, "--bundle", broken]);
}

function logs(...args: readonly string[]) {
  return runText(["logs", "ks", "-n", "team-a", "--bundle", whole, "-q", ...args]);
}

function managed(manager: string, operation: string, field: string) {
  return { manager, operation, fieldsV1: { "f:spec": { [field]: {} } } };
}

describe("a bundle", () => {
  test("is the same as a file and as the folder that it was unpacked into, and can be gathered again", async () => {
    const path = join(folder, "again.tgz");
    const gathered = await runText(["gather", ...selected, "--bundle", broken, "-o", path]);
    expect(gathered.exitCode).toBe(3);
    const bundles = [broken, path];
    const documents = await Promise.all(
      ["status", "deployments", "events", "diagnose", "tree"].flatMap((command) =>
        bundles.map((bundle) => runText([command, ...selected, "-o", "json", "--bundle", bundle])),
      ),
    );
    for (let at = 0; at < documents.length; at += 2) {
      expect(documents[at + 1]).toEqual(documents[at]);
      expect(documents[at]?.stdout).toContain("knfleet.dev/v1");
    }
  });

  test("keeps who scaled a Deployment to zero", async () => {
    const from = join(folder, "scaled");
    await cp(whole, from, { recursive: true });
    const path = join(from, "spokes/3-fleet-spoke-1/deployments.apps.json");
    const table = JSON.parse(await readFile(path, "utf8"));
    const at = table.rows.findIndex(
      ({ object: { metadata } }: { object: KubeObject }) =>
        metadata.name === "activator" && metadata.namespace === "team-fine",
    );
    const { object } = table.rows[at];
    object.spec.replicas = 0;
    object.status = { observedGeneration: object.metadata.generation };
    object.metadata.managedFields = [
      managed("knfleet-controller", "Apply", "f:selector"),
      managed("kube-downscaler", "Update", "f:replicas"),
    ];
    await writeFile(path, JSON.stringify(table));
    const again = join(folder, "scaled.tgz");
    await runText(["gather", "-A", "--bundle", from, "-o", again]);
    const { stdout } = await runText(["status", "ks", "-n", "team-fine", "--bundle", again]);
    await writeFile("/tmp/diag.json", stdout);
    await cp(again, "/tmp/scaled.tgz");
    expect(stdout).toContain("1/3 scaled to zero");
  });

  test("of a whole fleet stays whole when it is gathered again, and not a part of it", async () => {
    const path = join(folder, "whole-again.tgz");
    await runText(["gather", "-A", "--bundle", whole, "-o", path]);
    for (const args of [["orphans"], ["check", "--cluster", "spoke-1"], ["logs", "-A"]]) {
      // oxlint-disable-next-line no-await-in-loop -- one line after another
      const [one, other] = await Promise.all(
        [whole, path].map((bundle) => runText([...args, "-o", "json", "--bundle", bundle])),
      );
      expect(other?.stdout).toBe(one?.stdout);
      expect(other?.exitCode).toBe(one?.exitCode);
    }
    const part = join(folder, "part.tgz");
    await runText(["gather", "-n", "team-a", "--bundle", whole, "-o", part]);
    expect(await runText(["orphans", "--bundle", part])).toMatchObject({ stdout: "", exitCode: 2 });
  });

  test("is read without the provider file of this machine", async () => {
    const tree = ["tree", ...selected, "--bundle", broken];
    const KNFLEET_PROVIDER_FILE = await written(
      "providers.json",
      JSON.stringify({
        providers: [
          {
            name: "secretreader",
            execConfig: { apiVersion: "client.authentication.k8s.io/v1", command: "x" },
          },
        ],
      }),
    );
    expect(await runText(tree, { env: { KNFLEET_PROVIDER_FILE } })).toEqual(await runText(tree));
  });

  test("is written of nothing that was named wrongly without a word about it", async () => {
    const line = ["gather", "ks/nothing", "--bundle", broken, "-o", join(folder, "nothing.tgz")];
    const { exitCode, stderr } = await runText(line);
    expect(stderr).toContain('error: knativeservings.operator.knative.dev "nothing" not found');
    expect(exitCode).toBe(1);
  });

  test("serves logs by container, age and number of lines", async () => {
    const all = await logs();
    expect(all.stdout.trimEnd().split("\n")).toHaveLength(3);
    expect((await logs("--tail", "1")).stdout).toBe(all.stdout.split("\n").slice(2).join("\n"));
    expect((await logs("--container", "other")).stdout).toBe("");
    expect((await logs("--since", "1ms")).stdout).toBe("");
    expect((await logs("--since", "1h")).stdout).toBe(all.stdout);
  });

  test("is refused in words when it is none, is damaged, or would not fit into memory", async () => {
    const index = await readFile(join(broken, "bundle.json"), "utf8");
    const paths = [
      join(folder, "nowhere.tgz"),
      await written("text.tgz", "hello"),
      await written("cut.tgz", gzipSync(Buffer.from("x".repeat(700)))),
      await written("empty.tgz", await tgz({})),
      await written("foreign.tgz", await tgz({ "x/bundle.json": '{"kind":"List"}' })),
      await written(
        "bad-table.tgz",
        await tgz({ "x/bundle.json": index, "x/hub/pods.json": "{}" }),
      ),
      await written(
        "bad-items.tgz",
        await tgz({ "bundle.json": index.replace('"folder": "hub"', '"folder": 1') }),
      ),
    ];
    for (const path of paths) {
      // oxlint-disable-next-line no-await-in-loop -- one line after another
      const { exitCode, stdout, stderr } = await runText(["status", "--bundle", path]);
      expect({ path, exitCode, stdout }).toEqual({ path, exitCode: 2, stdout: "" });
      expect(stderr).toMatch(
        /^error: (?:The bundle .* cannot be read|.* is no bundle|(?:hub\/pods|bundle)\.json of the bundle .* is not)/,
      );
      expect(stderr).not.toContain("Internal error");
    }
  });

  test.each([
    [["wait", "--for", "ready"], "wait does not work on a bundle: a bundle does not change"],
    [["explain"], "explain does not work on a bundle: it asks no cluster"],
    [["plan", "-f", "x.yaml"], "plan does not work on a bundle: API servers tell by dry runs"],
    [["can-i"], "can-i does not work on a bundle: it asks API servers"],
    [["connect", "fleet/spoke-1"], "connect does not work on a bundle"],
    [["status", "-w"], "A bundle does not change"],
    [["logs", "-f"], "A bundle does not change"],
    [["logs", "-A"], "The bundle .* holds no logs"],
    [["orphans"], "The bundle is of a part of the fleet"],
    [["check"], "The bundle has no checks"],
    [["check", "-f", "x.yaml"], "-f asks the hub whether it takes the file"],
    [["check", "--warn-within", "14d"], "--warn-within is not for bundles"],
    [["diff", "-A"], "The bundle holds no diff"],
  ])("does not serve %j, which says so", async (args, says) => {
    const { exitCode, stderr } = await runText([...args, "--bundle", broken]);
    expect(stderr).toMatch(new RegExp(`^error: ${says}`, "m"));
    expect(stderr).toMatch(/^(?:next|hint): /m);
    expect(exitCode).toBe(2);
  });

  test("serves get with selectors and names, and says what it has not", async () => {
    expect((await get("deploy", "imc-dispatcher", "-o", "name")).stdout).toBe(
      "fleet/spoke-2/team-a/deployment.apps/imc-dispatcher\n",
    );
    const pending = await get("po", "--field-selector", "status.phase=Pending", "-o", "name");
    expect(pending.stdout).toMatch(/imc-dispatcher-[^\n]*\n$/);
    expect(pending.stdout).not.toContain("eventing-controller");
    const labelled = await get(
      "pods",
      "--spoke-selector",
      "knfleet.dev/test in (activator)",
      "-o",
      "name",
    );
    expect(labelled.stdout).toContain("/pod/activator-");
    expect(labelled.stdout).not.toContain("/pod/controller-");
    const nothing = await get("nodes");
    expect(nothing.stderr).toContain('doesn\'t have a resource type "nodes"');
    expect(nothing.exitCode).toBe(1);
  });

  test("shows walks only to what was walked to", async () => {
    const { stdout, exitCode } = await runText([
      "diagnose",
      "ks/knative-serving",
      "-n",
      "nowhere",
      "--bundle",
      broken,
    ]);
    expect(exitCode).toBe(1);
    expect(stdout).toBe("");
  });
});

describe("status -o html", () => {
  test("is one page that fetches nothing", async () => {
    const { stdout, stderr, exitCode } = await runText([
      "status",
      ...selected,
      "--bundle",
      broken,
      "-o",
      "html",
    ]);
    expect(stdout).toMatch(/^<!doctype html>\n/);
    expect(stdout).toContain('"name":"spoke-denied"');
    const markup = stdout.replaceAll(/<script>[\s\S]*?<\/script>/g, "");
    expect(markup).not.toMatch(/<link|<img|<iframe|url\(|@import|\ssrc=|\shref=|\son\w+=/i);
    expect(stderr).toContain("Not live");
    expect(exitCode).toBe(1);
  });
});
