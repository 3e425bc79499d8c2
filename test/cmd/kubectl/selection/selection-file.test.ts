import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { runCli } from "../../../../cmd/kubectl/cli.ts";
import { component, now } from "../fleet-facts.ts";
import { runText } from "../run-text.ts";
import { startStubHub, type StubHub } from "../stub-hub.ts";

const objects = [
  component({ namespace: "team-a" }),
  component({ namespace: "team-b" }),
  component({ namespace: "team-b", kind: "KnativeEventing" }),
  component({ namespace: "team-c" }),
];

let hub: StubHub;
let folder: string;
beforeAll(async () => {
  hub = await startStubHub(objects);
  folder = await mkdtemp(join(tmpdir(), "knfleet-selection-"));
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

function manifest(kind: string, namespace: string | undefined): string {
  const place = namespace === undefined ? "" : `, namespace: ${namespace}`;
  const name = kind === "KnativeServing" ? "knative-serving" : "knative-eventing";
  return `apiVersion: operator.knative.dev/v1beta1\nkind: ${kind}\nmetadata: { name: ${name}${place} }\n`;
}

async function fileOf(...documents: readonly string[]): Promise<string> {
  const path = join(folder, "file.yaml");
  await writeFile(path, documents.join("---\n"));
  return path;
}

async function selected(...args: readonly string[]): Promise<readonly string[]> {
  const template = 'jsonpath={range .items[*]}{.kind " " .namespace "\\n"}{end}';
  const line = ["status", "--no-live", ...args, "-o", template];
  const { stdout } = await runText(line, { env: hub.env });
  return stdout.split("\n").filter((one) => one !== "");
}

const other = "apiVersion: v1\nkind: Secret\nmetadata: { name: a }\n";

describe("the installations of a file", () => {
  test.each([
    { of: ["KnativeServing team-b"], found: ["KnativeServing team-b"] },
    {
      of: ["KnativeServing team-a", "KnativeEventing team-b"],
      found: ["KnativeEventing team-b", "KnativeServing team-a"],
    },
    // The namespace of the context.
    { of: ["KnativeServing"], found: ["KnativeServing team-a"] },
  ])("$of are those and no others of their names", async ({ of, found }) => {
    const documents = of.map((one) => {
      const [kind = "", namespace] = one.split(" ");
      return manifest(kind, namespace);
    });
    const file = await fileOf(...documents, other);
    expect((await selected("-f", file)).toSorted()).toEqual(found);
  });

  test("come from standard input, too", async () => {
    const written = { stdout: "" };
    const terminal = {
      args: ["status", "--no-live", "-o", "name", "-f", "-"],
      env: hub.env,
      stdin: Readable.from([Buffer.from(manifest("KnativeEventing", "team-b"))]),
      stdout: { write: (text: string) => (written.stdout += text) },
      stderr: { write: () => true },
      now: () => now,
    };
    expect(await runCli(terminal, AbortSignal.timeout(60_000))).toBe(0);
    expect(written.stdout).toBe("knativeeventing.operator.knative.dev/knative-eventing\n");
  });

  test.each(["status --no-live", "deployments", "events --no-live", "logs --no-live"])(
    "that do not exist make %s exit with 1",
    async (line) => {
      const file = await fileOf(
        manifest("KnativeServing", "team-x"),
        manifest("KnativeServing", "team-a"),
      );
      const args = [...line.split(" "), "--filename", file];
      const { exitCode, stderr } = await runText(args, { env: hub.env });
      expect(stderr).toContain('"knative-serving" not found');
      expect(exitCode).toBe(1);
    },
  );

  test("are waited for where they are", async () => {
    const file = await fileOf(
      manifest("KnativeServing", "team-x"),
      manifest("KnativeServing", "team-a"),
    );
    const args = ["wait", "-f", file, "--min", "1", "-o", "json"];
    const { exitCode, stdout } = await runText(args, { env: hub.env });
    expect(JSON.parse(stdout)).toMatchObject({
      items: [
        { namespace: "team-x", state: "waiting", reason: "NotFound" },
        { namespace: "team-a", state: "met" },
      ],
    });
    expect(exitCode).toBe(0);
  });

  test("are what diagnose walks to and what tree shows, in their namespaces (issue 8)", async () => {
    const file = await fileOf(
      manifest("KnativeServing", "team-a"),
      manifest("KnativeEventing", "team-b"),
    );
    const walked = await runText(["diagnose", "-f", file, "-o", "json"], { env: hub.env });
    const { items } = JSON.parse(walked.stdout);
    const targets = items.map(({ target }: { readonly target: object }) => target);
    expect(targets).toEqual(
      expect.arrayContaining([
        { kind: "KnativeServing", namespace: "team-a", name: "knative-serving" },
        { kind: "KnativeEventing", namespace: "team-b", name: "knative-eventing" },
      ]),
    );
    const shown = await runText(["tree", "-f", file, "-o", "json"], { env: hub.env });
    expect(JSON.parse(shown.stdout)).toMatchObject({
      items: [{ namespace: "team-a" }, { namespace: "team-b", kind: "KnativeEventing" }],
    });
  });

  test("are not missing for diagnose when --failed leaves them out", async () => {
    const file = await fileOf(manifest("KnativeServing", "team-a"));
    const ran = await runText(["diagnose", "-f", file, "--failed"], { env: hub.env });
    expect(ran.stderr).not.toContain("not found");
    expect(ran.exitCode).toBe(0);
  });

  test.each([
    { documents: [other], args: [], says: "no KnativeServing and no KnativeEventing" },
    { documents: ["a: ["], args: [], says: "error: " },
    { documents: [manifest("KnativeServing", "team-a")], args: ["ks"], says: "not both" },
    { documents: [manifest("KnativeServing", "team-a")], args: ["-n", "x"], says: "of -n is not" },
  ])("$documents with $args is a mistake that is explained", async ({ documents, args, says }) => {
    const file = await fileOf(...documents);
    const ran = await runText(["status", "-f", file, ...args], { env: hub.env });
    expect(ran).toMatchObject({ exitCode: 2, stdout: "" });
    expect(ran.stderr).toContain(says);
  });
});
