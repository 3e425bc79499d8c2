import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { KubeObject } from "../../../api/kubernetes.ts";
import { fileOf } from "./hub-file.ts";
import { runText } from "./run-text.ts";
import { startStubHub, type Answer } from "./stub-hub.ts";
import { fleetOf, startSpoke } from "./stub-spoke.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-plugin-limits-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const spokes = 6;

/** As many installations, each on a ClusterProfile of its own of one server. */
function fleetOn(server: string): readonly KubeObject[] {
  return Array.from({ length: spokes }, (_, at) => {
    const place = { namespace: `team-${at}`, uid: `uid-${at}` };
    const [profile, serving] = fleetOf(server, "slow", { clusterName: `eu-${at}` });
    if (profile === undefined || serving === undefined) throw new Error("Unreachable");
    const name = `eu-${at}`;
    return [
      { ...profile, metadata: { ...profile.metadata, name, uid: name } },
      {
        ...serving,
        metadata: { ...serving.metadata, ...place },
        spec: { clusterProfileRef: { namespace: "fleet", name } },
      },
    ];
  }).flat();
}

const saysWho: Answer = ({ path }) => {
  if (path === "/apis/operator.knative.dev/v1beta1") return { body: {} };
  if (!path.endsWith("/selfsubjectreviews")) return undefined;
  return { body: { status: { userInfo: { username: "me", groups: [] } } } };
};

/** A provider file with a limit of two, which counts long runs, too: a busy machine makes some long. Its plugin notes its begin, and its end a moment later. */
async function slowPlugin(name: string): Promise<string> {
  const credential = {
    apiVersion: "client.authentication.k8s.io/v1",
    kind: "ExecCredential",
    status: { token: "t" },
  };
  const command = join(folder, name);
  const runs = `${command}.runs`;
  const lines = [
    "#!/bin/sh",
    `echo begin >> ${runs}`,
    "sleep 0.2",
    `echo end >> ${runs}`,
    `echo '${JSON.stringify(credential)}'`,
  ];
  await writeFile(command, lines.join("\n"), { mode: 0o755 });
  await writeFile(`${command}.json`, fileOf({ name: "slow", command, maxConcurrency: 2 }));
  return `${command}.json`;
}

/** How many ran at the same time at most, and how many in all. */
async function runsOf(name: string) {
  const lines = (await readFile(join(folder, `${name}.runs`), "utf8")).trim().split("\n");
  let running = 0;
  const counts = lines.map((line) => (running += line === "begin" ? 1 : -1));
  return { most: Math.max(...counts), all: lines.length / 2 };
}

describe("of one provider no more plugins run at the same time than its limit, which is two,", () => {
  test("and the time that a plugin waits for its place is none of its spoke's", async () => {
    await using spoke = await startSpoke();
    await using hub = await startStubHub(fleetOn(spoke.url));
    const file = await slowPlugin("status");
    const args = ["status", "-A", "-o", "json", "--clusterprofile-provider-file", file];
    const { stdout } = await runText(args, { env: hub.env });
    expect(await runsOf("status")).toEqual({ most: 2, all: spokes });
    expect(stdout).not.toContain('"Timeout"');
    expect(new Set(spoke.tokens)).toEqual(new Set(["Bearer t"]));
  });

  test("also in the walks of diagnose", async () => {
    await using spoke = await startSpoke();
    await using hub = await startStubHub(fleetOn(spoke.url), saysWho);
    const file = await slowPlugin("diagnose");
    const args = ["diagnose", "-A", "-o", "json", "--clusterprofile-provider-file", file];
    await runText(args, { env: hub.env });
    expect(await runsOf("diagnose")).toEqual({ most: 2, all: spokes });
  });
});
