import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { portOf } from "../../../fleet/ports.ts";
import { runText } from "../run-text.ts";

// Takes every connection and says nothing.
const server = createServer();
let folder: string;
let KUBECONFIG: string;
beforeAll(async () => {
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  folder = await mkdtemp(join(tmpdir(), "knfleet-silent-hub-"));
  KUBECONFIG = join(folder, "kubeconfig");
  const address = `http://127.0.0.1:${portOf(server.address())}`;
  const document = {
    "current-context": "hub",
    contexts: [{ name: "hub", context: { cluster: "hub", user: "me", namespace: "team-a" } }],
    clusters: [{ name: "hub", cluster: { server: address } }],
    users: [{ name: "me", user: { token: "none" } }],
  };
  await writeFile(KUBECONFIG, JSON.stringify(document));
});
afterAll(async () => {
  server.close();
  await rm(folder, { recursive: true, force: true });
});

test.each([
  { line: "status" },
  { line: "check" },
  { line: "check -o json" },
  { line: "diagnose ks/a" },
  { line: "diagnose cp/eu-1 -n fleet" },
  { line: "wait ks" },
  { line: "orphans" },
  { line: "version" },
  { line: "events -A" },
])("$line: no answer of the hub until the time is over is no good news", async ({ line }) => {
  const args = [...line.split(" "), "--timeout", "1s"];
  const { exitCode, stderr } = await runText(args, { env: { KUBECONFIG } });
  expect(stderr).toContain("The hub did not answer in time");
  expect(exitCode).toBe(2);
});
