import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { allKinds } from "../../../api/component.ts";
import { managedClusterAnnotation } from "../../../api/delivery.ts";
import { FleetError } from "../../../api/errors.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import { reasons } from "../../../api/reasons.ts";
import { planUpgrade } from "../../../cmd/kubectl/commands/plan/upgrade-plan.ts";
import { readFlags } from "../../../cmd/kubectl/flags.ts";
import { Fleet } from "../../../cmd/kubectl/fleet/fleet.ts";
import { openClusterAccess } from "../../../cmd/kubectl/spokes/open-cluster-access.ts";
import { Preparations } from "../../../installation/desired.ts";
import { BoundedCache } from "../../../render/release/releases.ts";
import { connect } from "./commands/mcp/mcp-session.ts";
import { component, now } from "./fleet-facts.ts";
import { reviews } from "./reviews.ts";
import { runText } from "./run-text.ts";
import { type Answer, forbidden, startStubHub } from "./stub-hub.ts";

// Whoever wants release files fails and names this folder.
const nowhere = "/no-such-folder/of-releases";

const local: KubeObject = component({ kind: "KnativeEventing", cluster: null, wanted: "1.23" });
const far = component({ cluster: "eu-1", wanted: "1.22" });
const pulled: KubeObject = {
  ...far,
  metadata: { ...far.metadata, annotations: { [managedClusterAnnotation]: "eu-1" } },
};
const twin: KubeObject = {
  ...pulled,
  metadata: { ...pulled.metadata, namespace: "team-b", uid: "u-2" },
  spec: { clusterProfileRef: { namespace: "fleet", name: "eu-2" } },
};
const profiles = ["eu-1", "eu-2"].map((name): KubeObject => {
  const metadata = { namespace: "fleet", name, uid: name, resourceVersion: "1" };
  return { apiVersion: "multicluster.x-k8s.io/v1alpha1", kind: "ClusterProfile", metadata };
});

const mayAll = reviews(() => true);
const answer: Answer = (request) =>
  request.method === "PUT" ? { body: request.body } : mayAll(request);

let folder: string;
const files: Record<string, string> = {};
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-cheap-answers-"));
  const { kind, apiVersion, spec } = local;
  const eventing = {
    apiVersion,
    kind,
    metadata: { name: "knative-eventing", namespace: "team-a" },
  };
  const documents = {
    BANANA: { ...eventing, spec: { version: "banana" } },
    FAR: { ...eventing, spec: { version: "1.20" } },
    LOCAL: { ...eventing, spec },
    PULLED: { ...eventing, ...far, metadata: { name: far.metadata.name, namespace: "team-a" } },
  };
  for (const [name, document] of Object.entries(documents)) {
    const { status: _, ...written } = { status: {}, ...document };
    files[name] = join(folder, `${name}.json`);
    // oxlint-disable-next-line no-await-in-loop -- four small files
    await writeFile(files[name], JSON.stringify(written));
  }
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function run(objects: readonly KubeObject[], line: string, said: Answer = answer) {
  await using hub = await startStubHub([...objects, ...profiles], said);
  const args = line.split(" ").map((word) => files[word] ?? word);
  const ran = await runText([...args, "--release-dir", nowhere], { env: hub.env });
  return { ...ran, text: `${ran.stdout}${ran.stderr}`, requests: hub.requests };
}

describe("with something to render, release files are wanted", () => {
  test.each([
    "diff -A",
    "plan --version 1.23 -A",
    "plan -f LOCAL",
    "can-i ke/knative-eventing -n team-a",
    "can-i --role",
    "render -f LOCAL",
  ])("%s", async (line) => {
    const { text, exitCode } = await run([local], line);
    expect(text).toContain(nowhere);
    expect(exitCode).toBe(2);
  });
});

describe("a name that nobody has is told before release files are wanted", () => {
  test.each(["diff", "plan --version 1.23", "can-i"])("%s", async (command) => {
    const { text, exitCode } = await run([local], `${command} ks/nobody -n team-a`);
    expect(text).toContain('"nobody" not found');
    expect(text).not.toContain(nowhere);
    expect(exitCode).toBe(1);
  });
});

test.each([
  ["diff -A", "No Knative installations found"],
  ["plan --version 1.23 -A", "No matching Knative installations found"],
  ["can-i -A", "There is no cluster to ask"],
])("where nothing is, %s says so and wants no release files", async (line, says) => {
  const { text, exitCode } = await run([], line);
  expect(text).toContain(says);
  expect(text).not.toContain(nowhere);
  expect(exitCode).toBe(0);
});

test.each([
  ["there is nothing to upgrade", [], 0],
  ["all clusters pull", [pulled, twin], 0],
  ["a cluster can be read", [pulled, local], 1],
])("plan --version looks for release files where they serve: %s", async (_, objects, times) => {
  await using hub = await startStubHub([...objects, ...profiles], answer);
  const flags = readFlags({ kubeconfig: hub.kubeconfig }, {});
  const { signal } = new AbortController();
  await using access = await openClusterAccess(flags, { env: {}, spokes: true }, signal);
  let looked = 0;
  const releases = () => {
    looked += 1;
    return Promise.reject(new FleetError("ReleasesUnavailable", nowhere));
  };
  const settings = {
    releases,
    preparations: new Preparations(),
    remarks: new BoundedCache<readonly string[]>(1),
    namespaceOf: () => Promise.resolve("team-a"),
    anchorUid: undefined,
    kubernetesVersion: undefined,
    live: [],
    environment: {},
    manifestText: undefined,
  };
  const limits = { concurrency: 4, spokeTimeoutMs: 10_000 };
  const opened = { access, limits, selection: { kinds: allKinds, names: [] } };
  const output = { write: () => undefined };
  const terminal = { args: [], env: {}, stdout: output, stderr: output, now: () => now };
  const line = { args: [], flags, options: {}, terminal };
  await using fleet = new Fleet(line, { reachesSpokes: true, selects: true, opened }, signal);
  await planUpgrade(fleet, "1.23", settings).catch(() => undefined);
  expect(looked).toBe(times);
});

test("plan --version tells which upgrades the version rule refuses, also without release files", async () => {
  const { text, exitCode } = await run([local], "plan --version 1.20 -A");
  expect(text).toContain("not supported to upgrade or downgrade across multiple MINOR versions");
  expect(text).not.toContain(nowhere);
  expect(text).not.toContain("know no way");
  expect(exitCode).toBe(2);
});

describe("a version that no release can be is told before anything is read", () => {
  test.each([
    "plan --version banana -A",
    "plan --version 1 -A",
    "plan --version 1.23.x -A",
    "can-i --version banana",
    "can-i --role --version banana",
  ])("%s", async (line) => {
    const { stderr, exitCode, requests } = await run([local], line);
    expect(stderr).toMatch(/Invalid value "[^"]+" for --version: want a version such as 1\.23\.0/);
    expect(requests).toEqual([]);
    expect(exitCode).toBe(2);
  });

  test.each([
    ["render -f BANANA", 1, "is not in a valid semantic versioning format"],
    ["render -f LOCAL -f BANANA", 1, "is not in a valid semantic versioning format"],
    ["render -f LOCAL --diff-with banana", 2, "is neither a file nor a version"],
    ["plan -f BANANA", 2, "not possible: KNF1015 VersionNotEligible"],
    ["plan -f FAR", 2, "across multiple MINOR versions"],
    ["check -f BANANA -o short", 1, "version: VersionNotEligible"],
  ])("%s", async (line, code, says) => {
    const { text, exitCode } = await run([local], line);
    expect(text).toContain(says);
    expect(text).not.toContain(nowhere);
    expect(exitCode).toBe(code);
  });

  test.each(["latest", "Latest", "1.23", "v1.23.0"])("--version %s is one", async (version) => {
    const { text } = await run([local], `plan --version ${version} -A`);
    expect(text).toContain(nowhere);
  });
});

test("what the hub refuses is told before release files are wanted", async () => {
  const message = 'admission webhook "x" denied the request: no';
  const { text, exitCode } = await run([local], "plan -f LOCAL", (request) =>
    request.method === "PUT" ? forbidden(message) : mayAll(request),
  );
  expect(text).toContain(`hub: refused: ${message}`);
  expect(text).not.toContain(nowhere);
  expect(exitCode).toBe(2);
});

test("check -f tells everything else, and what release files it would need", async () => {
  const { stdout, exitCode } = await run([local], "check -f LOCAL -o json");
  const of = itemsOf(stdout);
  expect(of("hub takes it")).toMatchObject({ state: "OK" });
  expect(of("one per profile")).toMatchObject({ state: "OK" });
  expect(of("version")).toMatchObject({
    state: "FAIL",
    message: expect.stringContaining(nowhere),
    next: [reasons.ConfigInvalid.next],
  });
  expect(exitCode).toBe(1);
});

test("check -f warns where no release files can be had, and says what helps", async () => {
  await using hub = await startStubHub([local, ...profiles], answer);
  const mirror = join(folder, "empty-mirror");
  await mkdir(mirror, { recursive: true });
  const env = { ...hub.env, KNFLEET_RELEASE_MIRROR: mirror, KNFLEET_CACHE_DIR: join(folder, "no") };
  const args = ["check", "-f", files["LOCAL"] ?? "", "--fail-on", "never"];
  const { stdout } = await runText([...args, "-o", "json"], { env });
  expect(itemsOf(stdout)("hub takes it")).toMatchObject({ state: "OK" });
  expect(itemsOf(stdout)("version")).toMatchObject({
    state: "WARN",
    code: "ReleasesUnavailable",
    message: expect.stringContaining("cannot be copied"),
    next: [reasons.ReleasesUnavailable.next],
  });
  expect(JSON.parse(stdout)).toMatchObject({ complete: false });
  const { stderr } = await runText([...args], { env });
  expect(stderr).toContain("KNFLEET_RELEASE_DIR");
});

function itemsOf(document: string) {
  const items: readonly { readonly check: string }[] = JSON.parse(document).items;
  return (check: string) => items.find((item) => item.check === check);
}

describe("a cluster to which the hub has no way is told before release files are wanted", () => {
  test.each([
    ["diff -A", "PullOnly"],
    ["can-i -A", "PullOnly"],
    ["plan --version 1.23 -A", "PullOnly"],
    ["plan -f PULLED", "PullOnly"],
  ])("%s of components that pull", async (line, says) => {
    const { text, exitCode } = await run([pulled, twin], line);
    expect(text).toContain(says);
    expect(text).not.toContain(nowhere);
    expect(exitCode).not.toBe(0);
  });

  test("diff without a provider file", async () => {
    const { text } = await run([far], "diff -A");
    expect(text).toContain("NoProviderFile");
    expect(text).not.toContain(nowhere);
  });

  test("unless another cluster can be compared", async () => {
    const { text } = await run([pulled, local], "diff -A");
    expect(text).toContain(nowhere);
  });
});

test("the tools of mcp answer in the same way", async () => {
  await using hub = await startStubHub([pulled, twin, ...profiles], answer);
  await using session = await connect(["--release-dir", nowhere], hub.env);
  const said = async (name: string, args: Readonly<Record<string, unknown>>): Promise<string> =>
    (await session.call(name, args)).text;
  const wrong = 'Invalid value "banana" for --version';
  expect(await said("plan", { version: "banana" })).toContain(wrong);
  expect(await said("can-i", { version: "banana" })).toContain(wrong);
  expect(await said("plan", { version: "1.23" })).toContain("PullOnly");
  expect(await said("can-i", {})).toContain("PullOnly");
  expect(await said("diff", {})).toContain("PullOnly");
  expect(await said("diff", { names: ["ks/nobody"] })).toContain('\\"nobody\\" not found');
});
