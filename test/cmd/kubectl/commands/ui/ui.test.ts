import {
  chmodSync,
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { get, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Ajv } from "ajv";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { isRecord } from "../../../../../api/fields.ts";
import type { KubeObject } from "../../../../../api/kubernetes.ts";
import { openerOf } from "../../../../../cmd/kubectl/commands/ui/open-browser.ts";
import { component } from "../../fleet-facts.ts";
import { recordedFolder } from "../../golden/record-scene.ts";
import { recordedObjects } from "../../recorded-hub.ts";
import { runText } from "../../run-text.ts";
import { fleetSet, phased } from "../../set-facts.ts";
import { startStubHub } from "../../stub-hub.ts";
import { secretOf, startUi, type UiSession } from "./ui-session.ts";

const schemaFolder = join(import.meta.dirname, "../../../../../docs/schemas/v1");
const ajv = new Ajv({ allErrors: true, allowUnionTypes: true });
const bundle = ["--bundle", join(recordedFolder, "whole")];

describe("of a bundle", () => {
  let ui: UiSession;
  beforeAll(async () => {
    ui = await startUi(bundle);
  });
  afterAll(() => ui[Symbol.asyncDispose]());

  test("is served on loopback, and says how it ends", async () => {
    expect(ui.url).toMatchObject({ protocol: "http:", hostname: "127.0.0.1", pathname: "/" });
    await expect.poll(ui.said).toContain("Ctrl-C ends it");
    expect(ui.url.hash).toMatch(/^#token=[\w-]{43}$/);
    expect(ui.said()).not.toContain(ui.url.hash.slice("#token=".length));
  });

  test.each([
    ["/", "text/html; charset=utf-8"],
    ["/page.js", "text/javascript; charset=utf-8"],
    ["/page.css", "text/css; charset=utf-8"],
    ["/icon.svg", "image/svg+xml"],
    ["/favicon.ico", "image/svg+xml"],
  ])("%s allows nothing that is not its own", async (path, type) => {
    const { status, headers } = await ui.read(path);
    expect({ status, type: headers["content-type"] }).toEqual({ status: 200, type });
    expect(headers["content-security-policy"]).toMatch(/^default-src 'self'; /);
    expect(headers).toMatchObject({
      "cache-control": "no-store",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
      "x-frame-options": "DENY",
    });
    expect(headers["access-control-allow-origin"] ?? headers["set-cookie"]).toBeUndefined();
  });

  test.each([
    ["status", "FleetStatus"],
    ["status?live=false&namespace=team-fine", "FleetStatus"],
    ["status?names=ks/knative-serving&namespace=team-fine", "FleetStatus"],
    ["diagnosis?targets=ks/knative-serving&namespace=team-fine", "Diagnosis"],
    ["deployments", "DeploymentList"],
    ["tree?all=true", "Tree"],
    ["events?types=Warning", "EventList"],
    ["explanation?words=KNF1005", "Explanation"],
    ["sets", "RolloutStatus"],
    ["clusters", "ClusterList"],
    ["check", "Check"],
  ])("/api/v1/%s is a document by its schema", async (path, kind) => {
    const { status, headers, text } = await ui.read(`/api/v1/${path}`);
    expect({ status, type: headers["content-type"] }).toEqual({
      status: 200,
      type: "application/json; charset=utf-8",
    });
    const document: unknown = JSON.parse(text);
    expect(document).toMatchObject({ apiVersion: "knfleet.dev/v1", kind });
    expectSchema(kind, document);
  });

  test("status is what the command prints", async () => {
    const { text } = await ui.read("/api/v1/status");
    const { stdout } = await runText(["status", "-A", "-o", "json", ...bundle]);
    const { items, summary } = JSON.parse(stdout);
    const served = JSON.parse(text);
    expect(served.summary).toEqual(summary);
    expect(served.items.map(nameOf)).toEqual(items.map(nameOf));
  });

  test.each([
    ["/api/v1/connect", 404],
    ["/api/v1/credential?words=a", 404],
    ["/api/v1/get?kinds=secrets", 404],
    ["/api/v1/__proto__", 404],
    ["/api/v1/constructor", 404],
    ["/api/v1/", 404],
    ["/api/v1/status/", 404],
    ["/api/v1/sets?namespace=team-a", 404],
    ["/api/v2/status", 404],
    ["/../../../../etc/passwd", 404],
    ["/%2e%2e/%2e%2e/etc/passwd", 404],
    ["/..%5c..%5cetc%5cpasswd", 404],
    ["//evil.example/", 404],
    ["http://evil.example/", 404],
    ["/index.html%00", 404],
    [`/${"a".repeat(500)}`, 404],
    ["/api/v1/status?bundle=/etc/passwd", 400],
    ["/api/v1/status?output=html", 400],
    ["/api/v1/status?kubeconfig=/etc/passwd", 400],
    ["/api/v1/status?__proto__=1", 400],
    ["/api/v1/status?live=maybe", 400],
    ["/api/v1/status?namespace=a&namespace=b", 400],
    [`/api/v1/status?names=${"a".repeat(500)}`, 400],
    ["/api/v1/explanation", 400],
    ["/api/v1/clusters?namespace=fleet", 400],
    ["/api/v1/events?since=yesterday", 502],
  ])("%s is answered with %i", async (path, status) => {
    const answer = await ui.read(path);
    expect(answer.status).toBe(status);
    expect(answer.text).not.toContain("root:");
    expect(answer.text.length).toBeLessThan(1_000);
    expect(answer.headers).toMatchObject({ "x-content-type-options": "nosniff" });
  });

  const cookies = (): string => {
    const token = ui.url.hash.slice("#token=".length);
    return `knfleet-ui-${ui.url.port}=${token}; token=${token}; authorization=${token}`;
  };

  test.each<[what: string, asking: () => Parameters<UiSession["ask"]>[1], statuses: number[]]>([
    ["no secret", () => ({}), [200, 401, 401]],
    ["the secret in a cookie", () => ({ headers: { cookie: cookies() } }), [200, 401, 401]],
    ["another Host", () => ({ headers: { host: "evil.example" } }), [403, 403, 403]],
    ["another Origin", () => ({ headers: { origin: "https://evil.example" } }), [403, 403, 403]],
    ["POST", () => ({ method: "POST" }), [405, 405, 405]],
    ["PUT", () => ({ method: "PUT" }), [405, 405, 405]],
  ])("a request with %s gets no document", async (_, asking, statuses) => {
    const paths = ["/", "/api/v1/status", "/api/v1/stream"];
    const answers = await Promise.all(paths.map((path) => ui.ask(path, asking())));
    expect(answers.map(({ status }) => status)).toEqual(statuses);
    for (const { text, headers } of answers) {
      expect(text).not.toMatch(/knative|KnativeServing/);
      expect(headers["access-control-allow-origin"] ?? headers["set-cookie"]).toBeUndefined();
    }
  });

  test.each([
    ["another Host", { host: "evil.example" }],
    ["the Origin of another port", { origin: "http://127.0.0.1:1" }],
  ])("a request with the secret and %s gets no document", async (_, more) => {
    const answer = await ui.ask("/api/v1/status", { headers: { ...secretOf(ui.url), ...more } });
    expect(answer).toMatchObject({ status: 403 });
  });
});

function expectSchema(kind: string, document: unknown): void {
  const schema: unknown = JSON.parse(readFileSync(join(schemaFolder, `${kind}.json`), "utf8"));
  if (!isRecord(schema)) throw new Error("A schema is an object");
  const isValid = ajv.compile({ ...schema, $id: undefined });
  isValid(document);
  expect(isValid.errors ?? []).toEqual([]);
}

function nameOf(item: unknown): unknown {
  return isRecord(item) ? [item["kind"], item["namespace"], item["name"]] : item;
}

describe("of a hub", () => {
  const message = "The plugin said token=hunter2 and https://eve:hunter3@example.com/x";
  const ready = { status: "False", reason: "ApplyFailed", message } as const;
  const leaky = component({ namespace: "team-z", name: "leaky", cluster: null, ready });

  const told: KubeObject = {
    apiVersion: "multicluster.x-k8s.io/v1alpha1",
    kind: "ClusterProfile",
    metadata: { namespace: "fleet", name: "leaky", uid: "leaky", resourceVersion: "1" },
    status: { properties: [{ name: "console", value: "https://eve:hunter4@example.com" }] },
  };
  const set = fleetSet({ status: phased("Halted", { waitingFor: "token=hunter5 was refused" }) });

  test("documents hold nothing that looks like a secret", async () => {
    await using hub = await startStubHub([...recordedObjects, leaky, told, set]);
    await using ui = await startUi(["--no-live"], hub.env);
    const all = await ui.read("/api/v1/status");
    const one = await ui.read("/api/v1/status?names=ks/leaky&namespace=team-z&live=false");
    const others = await Promise.all(
      ["clusters", "sets"].map((name) => ui.read(`/api/v1/${name}`)),
    );
    for (const { status, text } of [all, one, ...others]) {
      expect(status).toBe(200);
      expect(text).toContain("[redacted]");
      expect(text).not.toMatch(/hunter\d/);
    }
  });

  test("the stream tells how fresh the fleet is", async () => {
    await using hub = await startStubHub(recordedObjects);
    await using ui = await startUi(["--no-live"], hub.env);
    const first = await firstMessage(ui.url);
    expect(first).toMatchObject({ revision: expect.any(Number), trouble: null, round: null });
    expectSchema("PageState", first);
  });

  test("Ctrl-C ends it, also while a browser is connected", async () => {
    await using hub = await startStubHub(recordedObjects);
    const ui = await startUi(["--no-live"], hub.env);
    const response = await openStream(ui.url);
    response.on("error", () => undefined);
    expect(await ui.interrupt()).toBe(130);
    await expect(ui.ask("/")).rejects.toThrow("ECONNREFUSED");
  });
});

function openStream(url: URL): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const options = { headers: secretOf(url), agent: false };
  get(new URL("/api/v1/stream", url), options, resolve).on("error", reject);
  return promise;
}

async function firstMessage(url: URL): Promise<unknown> {
  const response = await openStream(url);
  expect(response.headers["content-type"]).toBe("text/event-stream");
  for await (const part of response) {
    const [, text = ""] = /^data: (.*)\n\n$/.exec(String(part)) ?? [];
    response.destroy();
    return JSON.parse(text);
  }
  return undefined;
}

describe("the command line", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "knfleet-ui-"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test("--once writes one file, and serves nothing", async () => {
    const file = join(folder, "fleet.html");
    const { stdout, stderr } = await runText(["ui", "--once", file, ...bundle]);
    expect(stdout).toBe("");
    expect(stderr).toContain(`Wrote ${file}\n`);
    expect(readFileSync(file, "utf8")).toContain("team-fine");
    // Nobody else on the machine may read it.
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test("--once lets nobody else read a file that is there already", async () => {
    const file = join(folder, "again.html");
    writeFileSync(file, "old", { mode: 0o666 });
    chmodSync(file, 0o666);
    const before = openSync(file, "r");
    await runText(["ui", "--once", file, ...bundle]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, "utf8")).toContain("team-fine");
    // Who opened the file before does not see the page.
    expect(readFileSync(before, "utf8")).toBe("old");
    closeSync(before);
    expect(readdirSync(folder).filter((name) => name.startsWith(".knfleet"))).toEqual([]);
  });

  test("--once does not follow a link into another file", async () => {
    const theirs = join(folder, "theirs.html");
    writeFileSync(theirs, "theirs");
    const link = join(folder, "link.html");
    symlinkSync(theirs, link);
    const { exitCode, stderr } = await runText(["ui", "--once", link, ...bundle]);
    expect(stderr).toContain(`The file ${link} cannot be written: it is no plain file`);
    expect(exitCode).toBe(2);
    expect(readFileSync(theirs, "utf8")).toBe("theirs");
  });

  test("--once for a file that cannot be written fails before anything is read", async () => {
    const file = join(folder, "no/such");
    const { exitCode, stderr } = await runText(["ui", "--once", file]);
    expect(stderr).toContain(`The file ${file} cannot be written: ENOENT`);
    expect(exitCode).toBe(2);
    const { stderr: ofFolder } = await runText(["ui", "--once", folder, ...bundle]);
    expect(ofFolder).toContain(`The file ${folder} cannot be written: EISDIR`);
  });

  test("--timeout ends it", async () => {
    const { exitCode, stdout } = await runText(["ui", "--no-open", "--timeout", "1s", ...bundle]);
    expect(stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#token=[\w-]{43}\n$/);
    expect(exitCode).toBe(0);
  });

  test("a port that is taken is told", async () => {
    await using first = await startUi(bundle);
    const { exitCode, stderr } = await runText(["ui", "--port", first.url.port, ...bundle]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(`Port ${first.url.port} cannot be used`);
  });

  test.each([
    [["--once", ""], "Name a file with --once"],
    [["--port", "x"], 'Invalid value "x" for --port'],
    [["--port", "65536"], 'Invalid value "65536" for --port'],
    [["--port", "-1"], 'Invalid value "-1" for --port'],
    [["-o", "json"], "ui shows a page: there is no -o json"],
    [["--sort-by", ".items[*].name"], "ui has no --sort-by"],
  ])("%j is refused", async (args, said) => {
    const { exitCode, stderr } = await runText(["ui", ...args, ...bundle]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(said);
  });

  test.each<[NodeJS.Platform, Readonly<Record<string, string>>, readonly string[] | undefined]>([
    ["darwin", {}, ["open"]],
    ["win32", {}, ["rundll32", "url.dll,FileProtocolHandler"]],
    ["linux", { DISPLAY: ":0" }, ["xdg-open"]],
    ["linux", { WAYLAND_DISPLAY: "wayland-0" }, ["xdg-open"]],
    ["linux", { DISPLAY: ":0", SSH_CONNECTION: "a b" }, undefined],
    ["linux", {}, undefined],
  ])("a browser on %s with %j is opened with %j", (platform, env, opener) => {
    expect(openerOf(platform, env)).toEqual(opener);
  });
});
