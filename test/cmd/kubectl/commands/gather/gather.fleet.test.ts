import { existsSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { env } from "node:process";
import { gunzipSync } from "node:zlib";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { formsOf } from "../../../../../cmd/kubectl/bundle/known-secrets.ts";
import { unpackTar } from "../../../../../cmd/kubectl/bundle/tar.ts";
import { useFleet } from "../../../../fleet/use-fleet.ts";
import { setScene, wrongToken, type FleetScene } from "../../fleet-scene.ts";
import { recordScene, scenesToRecord } from "../../golden/record-scene.ts";
import { setFineScene, setLeftovers, setUpstreamScene } from "../../golden/scenes.ts";
import { rowsOf, type Ran } from "../../run-knfleet.ts";
import { startStubKubelet, type StubKubelet } from "../../stub-kubelet.ts";
import { allCanaries, hideCanaries, secretValue } from "./canaries.ts";

const fleet = useFleet({ spokes: 2, hub: { kwok: true } });
let scene: FleetScene;
let kubelet: StubKubelet;
const tokens: string[] = [wrongToken];
const startLines = ["Starting", '{"level":"error","msg":"no leader"}', "\tat main.go:7"];

beforeAll(async () => {
  scene = await setScene(fleet());
  await setFineScene(fleet());
  await setUpstreamScene(fleet());
  // Scenes are recorded as they are, without what other tests hide.
  await setLeftovers(fleet());
  kubelet = await startStubKubelet(fleet().spoke("spoke-1"));
  for (const line of startLines) kubelet.write("controller", line);
  for (const name of scenesToRecord(env["KNFLEET_RECORD"])) {
    // oxlint-disable-next-line no-await-in-loop -- one scene after another
    await recordScene(name, knfleet, fleet().folder);
  }
  await hideCanaries(fleet());
  const profile = await fleet().addProfile(fleet().spoke("spoke-1"), { plugin: "secretreader" });
  tokens.push(profile.token);
  for (const text of allCanaries) kubelet.write("activator", `password: ${text}`);
  for (const text of [...tokens.slice(1), secretValue]) kubelet.write("activator", `it is ${text}`);
});

afterAll(() => kubelet[Symbol.asyncDispose]());

function knfleet(...args: readonly string[]): Promise<Ran> {
  return scene.knfleet(args, {
    env: { KUBECONFIG: scene.kubeconfig, KNFLEET_PROVIDER_FILE: scene.providerFile },
  });
}

/** On a machine that knows no cluster. */
function offline(...args: readonly string[]): Promise<Ran> {
  return scene.knfleet(args, { env: { KUBECONFIG: "/nowhere" } });
}

function pathOf(name: string): string {
  return join(fleet().folder, name);
}

async function filesOf(path: string): Promise<ReadonlyMap<string, string>> {
  const files = await unpackTar(gunzipSync(await readFile(path)));
  return new Map(files.map((file) => [file.path.replace(/^[^/]+\//, ""), file.text]));
}

function folderOf(files: ReadonlyMap<string, string>, cluster: string): string {
  const { items } = JSON.parse(files.get("bundle.json") ?? "");
  return items.find((item: { cluster: string }) => item.cluster === cluster).folder;
}

/** A deletion counts as stuck after a minute, which may have passed between two looks. */
function lasting(items: readonly { readonly finding: string }[]) {
  return items.filter(({ finding }) => finding !== "StuckDeletion");
}

function named(errors: readonly { readonly cluster: string }[]): readonly string[] {
  return errors.map(({ cluster }) => cluster);
}

describe("gather", () => {
  test("writes a bundle that holds no secret in any form, and only its owner can read (T-80)", async () => {
    const path = pathOf("all.tgz");
    const { stdout, stderr, exitCode } = await knfleet("gather", "-A", "-o", path);
    expect(stderr).toContain(`Written: ${path}`);
    expect(stderr).toContain("fleet/spoke-gone: KNF4002 Unreachable");
    expect(exitCode).toBe(3);
    const { mode } = await stat(path);
    expect(mode & 0o777).toBe(0o600);
    const files = await filesOf(path);
    expect(files.get(`${folderOf(files, "fleet/spoke-1")}/configmaps.json`)).toContain("copies");
    expect(JSON.parse(files.get("logs.json") ?? "")).toMatchObject({ kind: "LogList" });
    expect(files.get("logs.json")).toContain("password: [redacted]");
    const secrets = [...tokens, ...allCanaries];
    const forms = secrets.flatMap((text) =>
      formsOf({ text, prefixes: !text.startsWith("canary") }),
    );
    for (const text of [...files.values(), stdout, stderr]) {
      for (const form of [...secrets, ...forms]) expect(text.includes(form) ? form : "").toBe("");
    }
  });

  test("tells of Secrets keys, sizes, and hashes that are equal for equal values", async () => {
    const files = await filesOf(pathOf("all.tgz"));
    const dataOf = (path: string): Record<string, string> => {
      const table = JSON.parse(files.get(path) ?? "");
      const row = table.rows.find(
        ({ object }: { object: { metadata: { name: string } } }) =>
          object.metadata.name === "shared",
      );
      return row.object.data;
    };
    const [hub, spoke] = [
      dataOf("hub/secrets.json"),
      dataOf(`${folderOf(files, "fleet/spoke-1")}/secrets.json`),
    ];
    expect(hub["one"]).toMatch(/^30 bytes, salted hash [0-9a-f]{16}$/);
    expect(spoke["other"]).toBe(hub["one"]);
    expect(spoke["password"]).not.toBe(hub["one"]);
  });

  test("is replayed without any cluster, with what the clusters said and its age", async () => {
    const path = pathOf("all.tgz");
    const live = await knfleet("status", "-A", "-o", "json", "--sort-by", ".namespace");
    const then = await offline(
      "status",
      "-A",
      "-o",
      "json",
      "--sort-by",
      ".namespace",
      "--bundle",
      path,
    );
    expect(then.stderr).toBe("");
    const [one, other] = [JSON.parse(live.stdout), JSON.parse(then.stdout)];
    expect(other.items).toEqual(one.items);
    expect(other.errors).toEqual(one.errors);
    expect(then.exitCode).toBe(live.exitCode);
    const deployments = await offline("deployments", "ke", "--bundle", path);
    expect(rowsOf(deployments.stdout)).toHaveLength(3);
    expect(deployments.stderr).toMatch(/^Not live: .* was gathered \d+s ago, at 20/);
    const walk = await offline("diagnose", "ke/knative-eventing", "--bundle", path);
    expect(walk.stdout).toContain("imc-dispatcher");
    expect(walk.exitCode).toBe(1);
  });

  test("of one installation has the others neither on the hub nor in its walks", async () => {
    const path = pathOf("one.tgz");
    const { exitCode } = await knfleet("gather", "ks/knative-serving", "-o", path);
    expect(exitCode).toBe(0);
    const { stdout } = await offline("status", "-A", "--bundle", path);
    expect(rowsOf(stdout)).toMatchObject([{ NAMESPACE: "team-a", CLUSTER: "spoke-1" }]);
    for (const command of ["orphans", "check"]) {
      // oxlint-disable-next-line no-await-in-loop -- one command after another
      const refused = await offline(command, "--bundle", path);
      expect(refused.stderr).toContain("next: kubectl knfleet gather -A -o fleet.tgz");
      expect(refused.exitCode).toBe(2);
    }
  });

  test("of the whole fleet has what nobody accounts for any more, the checks and the logs for other commands", async () => {
    const path = pathOf("all.tgz");
    const orphans = await offline("orphans", "-o", "json", "--bundle", path);
    const { items, errors } = JSON.parse(orphans.stdout);
    const found = items.map(({ finding, object }: { finding: string; object: { name: string } }) =>
      [finding, object.name].join(" "),
    );
    expect(found).toContain("Orphan knativeserving-gone-root-owner");
    expect(items).toContainEqual(expect.objectContaining({ finding: "Unanchored", objects: 2 }));
    const live = await knfleet("orphans", "-o", "json");
    expect(lasting(items)).toEqual(lasting(JSON.parse(live.stdout).items));
    expect(named(errors)).toEqual(named(JSON.parse(live.stdout).errors));
    expect(orphans.exitCode).toBe(1);
    const check = await offline("check", "--bundle", path, "--cluster", "spoke-gone", "-o", "json");
    const checks = JSON.parse(check.stdout);
    expect(checks).toMatchObject({ kind: "Check", summary: { clusters: 1 } });
    expect(checks.items).toContainEqual(
      expect.objectContaining({ check: "reachable", state: "FAIL", code: "KNF4002" }),
    );
    const logs = await offline("logs", "ks/knative-serving", "-n", "team-a", "--bundle", path);
    expect(logs.stdout).toMatch(/^fleet\/spoke-1 controller-\S+ main +Starting$/m);
    expect(logs.exitCode).toBe(0);
    const version = await offline("version", "-n", "team-a", "--bundle", path);
    expect(version.stdout).toContain("Hub Version: v1.");
    expect(version.exitCode).toBe(0);
  });

  test("lists its files and writes none with --dry-run, and overwrites none", async () => {
    const path = pathOf("dry.tgz");
    const { stdout, exitCode } = await knfleet(
      "gather",
      "-n",
      "team-fine",
      "-o",
      path,
      "--dry-run",
    );
    expect(stdout).toContain("hub/clusterprofiles.multicluster.x-k8s.io.json");
    expect(exitCode).toBe(0);
    expect(existsSync(path)).toBe(false);
    const again = await knfleet("gather", "-n", "team-fine", "-o", pathOf("all.tgz"));
    expect(again.stderr).toContain("cannot be written");
    expect(again.exitCode).toBe(2);
  });
});
