import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { KubeObject } from "../../../../../api/kubernetes.ts";
import { runText } from "../../run-text.ts";
import { type Answer, startStubHub } from "../../stub-hub.ts";
import { sampleSet } from "./sample-set.ts";

const set = sampleSet();

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-rollout-dry-run-"));
});
afterAll(() => rm(folder, { recursive: true }));

/** Plans the set of a file with these annotations. */
async function planned(
  { annotations, spec = {} }: { readonly annotations?: object; readonly spec?: object },
  { on, answer }: { readonly on: readonly KubeObject[]; readonly answer: Answer },
) {
  const { apiVersion, kind, metadata } = set;
  const { name, namespace } = metadata;
  const file = {
    apiVersion,
    kind,
    metadata: { name, namespace, annotations },
    spec: { ...set.spec, ...spec },
  };
  const path = join(folder, "set.json");
  await writeFile(path, JSON.stringify(file));
  await using hub = await startStubHub(on, answer);
  const env = { LANG: "C.UTF-8", ...hub.env };
  const said = await runText(["rollout", "plan", "-f", path], { env });
  return { ...said, writes: hub.requests.filter((one) => !one.startsWith("GET ")) };
}

describe("rollout plan -f", () => {
  test.each([418, 500])("says what a webhook refuses with status %s", async (code) => {
    const message = 'admission webhook "sets.example.com" denied the request: no';
    const { stderr } = await planned(
      {},
      {
        on: [set],
        answer: ({ method }) =>
          method === "GET"
            ? undefined
            : { status: code, body: { kind: "Status", apiVersion: "v1", code, message } },
      },
    );
    expect(stderr).toContain(`warning: the hub refuses the set: ${message}`);
  });

  test.each([
    { name: "a new set", on: [], method: "POST" },
    { name: "a set that it has", on: [set], method: "PATCH" },
  ])("lets the hub check $name, and says what it refuses", async ({ on, method }) => {
    const asked: unknown[] = [];
    const message = 'admission webhook "sets.knfleet.dev" denied the request: spec.rollout: no';
    const refusing: Answer = (request) => {
      if (request.method === "GET") return undefined;
      asked.push({ method: request.method, dryRun: request.query?.get("dryRun") });
      expect(JSON.stringify(request.body)).toContain('"note":"from Git"');
      expect(JSON.stringify(request.body)).toContain('"deletionPolicy":"Delete"');
      return { status: 422, body: { kind: "Status", apiVersion: "v1", code: 422, message } };
    };
    const file = { annotations: { note: "from Git" }, spec: { deletionPolicy: "Delete" } };
    const { stdout, stderr, exitCode, writes } = await planned(file, { on, answer: refusing });
    expect(asked).toEqual([{ method, dryRun: "All" }]);
    expect(writes).toHaveLength(1);
    expect(stderr).toContain(`warning: the hub refuses the set: ${message}`);
    expect(stdout).toContain("components would be written");
    expect(exitCode).toBe(1);
  });

  test.each([
    {
      name: "without the right",
      status: 403,
      message:
        'knativeservingsets.knfleet.dev "prod" is forbidden: User "jane" cannot patch resource "knativeservingsets" in API group "knfleet.dev" in the namespace "platform"',
    },
    {
      name: "while a webhook does not answer",
      status: 500,
      message: 'failed calling webhook "sets.knfleet.dev"',
    },
  ])("says that the hub did not check the set $name, and exits with 3", async (row) => {
    const { status, message } = row;
    const answer: Answer = ({ method }) =>
      method === "PATCH"
        ? { status, body: { kind: "Status", apiVersion: "v1", code: status, message } }
        : undefined;
    const { stderr, exitCode } = await planned({}, { on: [set], answer });
    expect(stderr).toContain(
      `warning: could not be read: whether the hub takes the set: ${message}`,
    );
    expect(exitCode).toBe(3);
  });
});
