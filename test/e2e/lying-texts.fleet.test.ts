import { once } from "node:events";
import { chmod, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";

import { beforeAll, expect, onTestFinished, test } from "vitest";

import { operatorApiVersion } from "../../api/component.ts";
import { isRecord, listAt, recordAt } from "../../api/fields.ts";
import { startApiStub, type StubAnswer, type StubRequest } from "../access/api-stub.ts";
import { createAuthority } from "../fleet/certificates.ts";
import { portOf } from "../fleet/ports.ts";
import { applyProfile, applyProfileStatus } from "../fleet/profiles.ts";
import { useFleet } from "../fleet/use-fleet.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { startControllerProcess } from "../support/controller-process.ts";
import { lieIn, lyingText } from "../support/lying-text.ts";
import { replicaKubeconfig } from "./built-in-access.ts";
import { writeThinRelease } from "./thin-release.ts";

const fleet = useFleet({ spokes: 0, hub: { kwok: false } });
const shortLie = lyingText.slice(0, 2_000);
// An API server takes no others in an object that is applied.
const storedLie = shortLie.replaceAll(/[\u007f-\u009f]/g, "");
const type = { apiVersion: operatorApiVersion, kind: "KnativeEventing" } as const;

/** Something that lies on the way to a cluster: the entry of its ClusterProfile. */
type Way = () => Promise<{
  readonly name: string;
  readonly cluster: Readonly<Record<string, unknown>>;
}>;

const refusal = refusalOf(lyingText);
const shortRefusal = refusalOf(shortLie);
const version = JSON.stringify({ gitVersion: `v1.36.3${shortLie}`, major: shortLie });

function refusalOf(lie: string): string {
  const causes = [{ reason: lie, field: lie, message: lie }];
  const status = { kind: "Status", apiVersion: "v1", status: "Failure", code: 403 };
  return JSON.stringify({ ...status, reason: lie, message: lie, details: { causes } });
}

const isVersion = ({ path }: StubRequest): boolean => path.startsWith("/version");
const usual: StubAnswer = { body: '{"gitVersion":"v1.36.3"}' };

const ways: Readonly<Record<string, Way>> = {
  refusal: () => spokeThat((one) => (isVersion(one) ? usual : { status: 403, body: refusal })),
  version: () =>
    spokeThat((one) => (isVersion(one) ? { body: version } : { status: 403, body: refusal })),
  "first-refusal": () => spokeThat(() => ({ status: 403, body: shortRefusal })),
  "no-json": () => spokeThat((one) => (isVersion(one) ? usual : { status: 403, body: lyingText })),
  "first-no-json": () => spokeThat(() => ({ status: 500, body: shortLie })),
  large: () => spokeThat(() => ({ body: `{"${lyingText}` })),
  objects: () => spokeThat((one) => (isVersion(one) ? usual : { body: objects })),
  certificate: () => spokeThat(() => ({}), [shortLie]),
  stderr: async () => ({ ...(await spokeThat(() => usual)), name: "stderr" }),
  stdout: async () => ({ ...(await spokeThat(() => usual)), name: "stdout" }),
  proxy: async () => {
    const { name, cluster } = await spokeThat(() => usual);
    return { name, cluster: { ...cluster, "proxy-url": await startLyingProxy() } };
  },
  provider: async () => ({ name: storedLie, cluster: { server: "https://127.0.0.1:9" } }),
  server: async () => ({ name: "good", cluster: { server: `https://${storedLie}` } }),
};
const objects = JSON.stringify({
  kind: lyingText,
  apiVersion: lyingText,
  metadata: { name: lyingText, uid: lyingText, resourceVersion: "1" },
  items: [],
});

async function spokeThat(answer: (request: StubRequest) => StubAnswer, hosts = ["127.0.0.1"]) {
  const authority = createAuthority("liar");
  const identity = authority.issue({ commonName: shortLie, usage: "server", hosts });
  const stub = await startApiStub({ identity, answer });
  onTestFinished(() => stub[Symbol.asyncDispose]());
  const caData = Buffer.from(authority.certificatePem).toString("base64");
  const cluster = { server: stub.server, "certificate-authority-data": caData };
  return { name: "good", cluster };
}

async function startLyingProxy(): Promise<string> {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () =>
      socket.end(`HTTP/1.1 502 \u009b2J\u0085${"x".repeat(4_000)}\r\n\r\n${lyingText}`),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${portOf(server.address())}`;
}

let controllerOptions: Parameters<typeof startControllerProcess>[0];

beforeAll(async () => {
  await fleet().controllerKubeconfig();
  controllerOptions = {
    kubeconfig: await replicaKubeconfig(fleet().hub, { name: "lied-to" }),
    providerFile: await writeProviders(),
    releaseDir: await writeThinRelease(fleet().folder, 1),
    flags: ["--log-level=debug"],
  };
}, 600_000);

/** Three plugins: a good one, and two that lie. */
async function writeProviders(): Promise<string> {
  const { folder } = fleet();
  const [token, lie] = [join(folder, "token.json"), join(folder, "lie.txt")];
  const apiVersion = "client.authentication.k8s.io/v1";
  await writeFile(
    token,
    JSON.stringify({ kind: "ExecCredential", apiVersion, status: { token: "T" } }),
  );
  await writeFile(lie, shortLie);
  const scripts = {
    good: `cat ${token}`,
    stderr: `cat ${lie} >&2; exit 1`,
    stdout: `cat ${lie}`,
  };
  const providers = await Promise.all(
    Object.entries(scripts).map(async ([name, script]) => {
      const command = join(folder, `${name}-plugin`);
      await writeFile(command, `#!/bin/sh\n${script}\n`);
      await chmod(command, 0o755);
      return { name, execConfig: { apiVersion, command, interactiveMode: "Never" } };
    }),
  );
  const file = join(folder, "lying-providers.json");
  await writeFile(file, JSON.stringify({ providers }));
  return file;
}

async function publish(name: string, way: Way): Promise<void> {
  const { admin } = fleet().hub;
  const access = await way();
  await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  await applyProfile(admin, { namespace: name, name, manager: "liars", displayName: name });
  await applyProfileStatus(admin, { namespace: name, name }, { access });
  const spec = { clusterProfileRef: { namespace: name, name } };
  await admin.create({ ...type, metadata: { namespace: name, name }, spec });
}

async function conditionsOf(name: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const component = await fleet().hub.admin.get({ ...type, namespace: name, name });
  return listAt(recordAt(component, "status"), "conditions").filter(isRecord);
}

/** All texts in a value, each with what is false in it. */
function liesIn(value: unknown, longest: number): readonly string[] {
  if (typeof value === "string") {
    return [...lieIn(value), ...(value.length > longest ? [`${value.length} characters`] : [])];
  }
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap((each) => liesIn(each, longest));
}

// More than 15 s on a busy machine: a plugin runs for each of thirteen clusters.
test("what lies on the way to a cluster gets into no condition, Event, line of the log or label", async () => {
  await using controller = await startControllerProcess(controllerOptions);
  const names = Object.keys(ways);
  await Promise.all(Object.entries(ways).map(([name, way]) => publish(name, way)));
  // At first the controller has not read the ClusterProfiles.
  const early = ["Installing", "Connecting", "ClusterProfileUnavailable", "ClusterProfileNotFound"];
  const isTold = async (name: string): Promise<boolean> =>
    (await conditionsOf(name)).some(
      ({ message = "", reason = "" }) => message !== "" && !early.includes(String(reason)),
    );
  const untold = async (): Promise<readonly string[]> => {
    const told = await Promise.all(names.map(isTold));
    return names.filter((_, index) => told[index] !== true);
  };
  await expect.poll(untold, { timeout: 90_000, interval: 500 }).toEqual([]);
  const conditions = Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await conditionsOf(name)] as const)),
  );
  expect(liesIn(conditions, 4_096)).toEqual([]);
  // Most errors do not repeat what was said. This one does, so the lie came that far.
  expect(JSON.stringify(conditions["provider"])).toContain("gnp.exe");
  // An Event follows the status that it tells of.
  const events = await waitFor("an Event of each", async () => {
    const told = await fleet().hub.admin.list({ apiVersion: "v1", kind: "Event" });
    return told.length >= names.length && told;
  });
  expect(liesIn(events, 1_024)).toEqual([]);
  const lines = controller.stdout.split("\n");
  expect(lines.flatMap(lieIn)).toEqual([]);
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(70_000);
  const metrics = (await controller.metrics()).split("\n");
  expect(metrics.flatMap(lieIn)).toEqual([]);
  expect(Math.max(...metrics.map(({ length }) => length))).toBeLessThan(1_500);
}, 600_000);
