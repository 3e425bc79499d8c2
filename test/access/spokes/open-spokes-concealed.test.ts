import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { beforeEach, expect, onTestFinished, test } from "vitest";

import type { WatchEvent } from "../../../access/kube/kube-client.ts";
import { openSpokes, type SpokesOptions } from "../../../access/spokes/open-spokes.ts";
import type { ClusterProfile } from "../../../api/cluster-profile.ts";
import { FleetError } from "../../../api/errors.ts";
import { fleetErrorOf } from "../../../controller/status/outcome.ts";
import { createAuthority } from "../../fleet/certificates.ts";
import { QuickClock } from "../../support/quick-clock.ts";
import { startApiStub, type StubAnswer } from "../api-stub.ts";
import { entryOf, profileOf, rawProvider } from "../builders.ts";
import { authority, serverIdentity, untilTheEnd } from "../loopback.ts";
import { plainServer } from "../plain-server.ts";

const signal = AbortSignal.timeout(120_000);
const ref = { namespace: "fleet", name: "spoke-1" };
const apiVersion = "client.authentication.k8s.io/v1";
const output = `{"kind":"ExecCredential","apiVersion":"${apiVersion}","status":{"token":"T1"}}`;
const ca = Buffer.from(authority.certificatePem).toString("base64");
const otherCa = Buffer.from(createAuthority("other").certificatePem).toString("base64");

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-concealed-"));
  onTestFinished(() => rm(folder, { recursive: true }));
});

async function* profiles(found: ClusterProfile): AsyncGenerator<WatchEvent> {
  yield { type: "ADDED", object: found };
  yield { type: "BOOKMARK", resourceVersion: "9", initialEventsEnd: true };
  await new Promise((resolve) => signal.addEventListener("abort", resolve));
}

interface Behind {
  readonly server: string;
  readonly trust?: string;
}

function notHere(): StubAnswer {
  return { status: 404, body: "Not here" };
}

/** What a tenant may put behind the address of her ClusterProfile. */
const places: Readonly<Record<string, () => Promise<Behind>>> = {
  "nothing listens": async () => ({ server: "https://127.0.0.1:1" }),
  "something listens that is no TLS server": async () => ({
    server: await plainServer((socket) => void socket.end("SSH-2.0-OpenSSH_9.6\r\n")),
  }),
  "something listens and says nothing, as behind a filter": async () => ({
    server: await plainServer(() => undefined),
  }),
  "something closes each connection": async () => ({
    server: await plainServer((socket) => void socket.resetAndDestroy()),
  }),
  "a TLS server has another certificate": async () => {
    const stub = untilTheEnd(await startApiStub({ identity: serverIdentity, answer: () => ({}) }));
    return { server: stub.server, trust: otherCa };
  },
  "a TLS server is trusted and no API server": async () => {
    const stub = untilTheEnd(await startApiStub({ identity: serverIdentity, answer: notHere }));
    return { server: stub.server };
  },
  "a name does not resolve": async () => ({ server: "https://nobody.invalid:6443" }),
};

type Trust = SpokesOptions["trust"];
type Rules = Readonly<Record<string, unknown>>;

interface Told {
  /** The condition of the component, with the address left out. */
  readonly condition: string;
  readonly log: string;
}

/** What a component and the log say of a profile that leads there. */
async function toldOf({ server, trust = ca }: Behind, how: Trust, rules: Rules): Promise<Told> {
  const command = join(folder, "plugin");
  await writeFile(command, `#!/bin/sh\necho '${output}'\n`);
  await chmod(command, 0o755);
  const providerFile = join(folder, "providers.json");
  const providers = [rawProvider("sr", rules, { command })];
  await writeFile(providerFile, JSON.stringify({ providers }));
  const entry = entryOf("sr", { server, "certificate-authority-data": trust });
  const lines: object[] = [];
  const note = (fields: object): void => void lines.push(fields);
  const hub = {
    get: () => Promise.reject(new Error("Unused")),
    watch: () => profiles(profileOf({ accessProviders: [entry] })),
    list: () => Promise.resolve({ items: [], resourceVersion: "1" }),
  };
  const clock = untilTheEnd(new QuickClock(10));
  const environment = { PATH: "/usr/bin:/bin" };
  const log = { info: note, warn: note, error: note };
  const more = how === undefined ? {} : { trust: how };
  const options = { clock, hub, providerFile, environment, userAgent: "test", log, ...more };
  await using spokes = await openSpokes(options, signal);
  const failed = (): Promise<unknown> =>
    spokes.acquire(ref, signal).then(
      () => undefined,
      (reason: unknown) => reason,
    );
  // On a machine with other work the attempt itself may take its time.
  await expect
    .poll(async () => String(await failed()), { timeout: 30_000 })
    .not.toContain("goes on");
  const error = await failed();
  if (!(error instanceof FleetError)) throw new Error("No FleetError", { cause: error });
  const { reason, message } = fleetErrorOf(error, "ClusterProfile fleet/spoke-1");
  const condition = `${reason} | ${message.replaceAll(server, "SERVER")}`;
  return { condition, log: JSON.stringify(lines) };
}

async function conditionsOf(how: Trust, rules: Rules = {}): Promise<readonly string[]> {
  const told = [];
  for (const place of Object.values(places)) {
    // oxlint-disable-next-line no-await-in-loop -- they share a plugin
    told.push((await toldOf(await place(), how, rules)).condition);
  }
  return told;
}

const same =
  "RemoteClientCreationFailed | [Unreachable] ClusterProfile fleet/spoke-1: SERVER does not answer as an API server that is trusted; the log of the controller says why";

test.each(["Same", "Granted"] as const)(
  "in mode %s a tenant is told the same whatever is behind the address of her ClusterProfile",
  async (mode) => {
    expect(await conditionsOf({ mode })).toEqual(Object.keys(places).map(() => same));
  },
  60_000,
);

test.each<readonly [string, Trust, Rules]>([
  ["in a hub of one team", { mode: "Any" }, {}],
  [
    "where an administrator names the namespaces that count",
    { mode: "Same", trustedNamespaces: ["fleet"] },
    {},
  ],
  ["of an address that the provider allows", { mode: "Same" }, { allowedServers: ["127.0.0.0/8"] }],
])(
  "%s the condition says what is wrong",
  async (_, how, rules) => {
    const [place] = [places["a TLS server has another certificate"]];
    if (place === undefined) throw new Error("There is no such place");
    const { condition } = await toldOf(await place(), how, rules);
    expect(condition).toContain("[TLSUntrusted]");
    expect(condition).toContain("shows a certificate that is not trusted");
  },
  60_000,
);

test("the log says what the condition conceals", async () => {
  const logs = [];
  for (const place of Object.values(places)) {
    // oxlint-disable-next-line no-await-in-loop -- they share a plugin
    logs.push((await toldOf(await place(), { mode: "Same" }, {})).log);
  }
  const words = [
    "refused the connection",
    "cannot be reached|broke the connection",
    "did not answer in time",
    "broke the connection",
    "shows a certificate that is not trusted",
    "answered 404 to GET /version",
    "does not resolve",
  ];
  expect(logs).toEqual(words.map((word): unknown => expect.stringMatching(word)));
}, 60_000);
