import { isDeepStrictEqual } from "node:util";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { connectHub, type HubConnection } from "../../../access/hub/hub.ts";
import { parseExactJson } from "../../../access/json.ts";
import { getProfile } from "../../../access/kube/profile-versions.ts";
import { openSpokes } from "../../../access/spokes/open-spokes.ts";
import type { Spokes } from "../../../access/spokes/spokes.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { FleetError } from "../../../api/errors.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import { mapLimited } from "../../../cmd/kubectl/spokes/read-clusters.ts";
import { AdminError } from "../../fleet/admin-client.ts";
import { useFleet } from "../../fleet/use-fleet.ts";
import {
  type AccessCase,
  accessCases,
  fieldsOf,
  listOf,
  textOf,
} from "../../vectors/access-cases.ts";
import {
  isProfile,
  loadedFile,
  resolveCase,
  shownAccess,
  sortedKeys,
} from "../../vectors/access-resolution.ts";
import { startProxyStub } from "../proxy-stub.ts";

type Fields = Readonly<Record<string, unknown>>;

const fleet = useFleet({ spokes: [{ name: "spoke-1", kwok: false }] });
const userAgent = "knfleet-access-test/0";
const patience = { timeout: 60_000, interval: 100 };
const collection = "/apis/multicluster.x-k8s.io/v1alpha1/namespaces/fleet/clusterprofiles";
const argsName = "clusterprofiles.multicluster.x-k8s.io/exec/additional-args";

let hub: HubConnection;

beforeAll(async () => {
  const kubeconfig = fleet().hub.adminKubeconfigPath;
  hub = await connectHub({ clock: systemClock, kubeconfig, environment: process.env, userAgent });
  await fleet().hub.admin.apply({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "fleet" },
  });
}, 600_000);

afterAll(async () => hub[Symbol.asyncDispose]());

function soon(): AbortSignal {
  return AbortSignal.timeout(30_000);
}

/** What the API server made of a profile, under a name of its own: as it is read back, or the code of the refusal. */
async function stored(
  profile: Fields,
  name: string,
): Promise<{ readonly code: number } | { readonly object: KubeObject | undefined }> {
  const { admin } = fleet().hub;
  const metadata = { ...fieldsOf(profile["metadata"]), namespace: "fleet", name };
  try {
    const draft = { ...profile, metadata, status: undefined };
    const made = fieldsOf(await admin.request("POST", collection, draft));
    const body = { ...made, status: profile["status"] };
    await admin.request("PUT", `${collection}/${name}/status`, body);
    const object = await getProfile(hub.client, { namespace: "fleet", name }, soon());
    return { object };
  } catch (error) {
    if (error instanceof AdminError) return { code: error.status };
    throw error;
  }
}

/** What becomes of a profile with the provider file of a case, for comparison. */
async function outcomeOf(one: AccessCase, profile: unknown): Promise<unknown> {
  const file = await loadedFile(one, soon());
  if (file instanceof FleetError) return file.code;
  if (!isProfile(profile)) return "no profile";
  const { access, error } = resolveCase(profile, file);
  return access === undefined ? error?.code : shownAccess(access);
}

interface Round {
  readonly name: string;
  readonly one: AccessCase;
  readonly profile: Fields;
  readonly recorded: Fields;
}

function roundsOf(one: AccessCase): readonly Round[] {
  const texts = listOf(one.input["profileTexts"]).map((text) => parseExactJson(textOf(text)));
  const profiles = texts.length > 0 ? texts : listOf(one.input["profiles"]);
  return listOf(one.recorded["apiServer"])
    .map(fieldsOf)
    .flatMap((recorded, at) => {
      // Two keys of one name do not survive a parser; what the server makes of them cannot be asked for here.
      if (/duplicate/.test(JSON.stringify(recorded["warnings"] ?? ""))) return [];
      const profile = fieldsOf(profiles[at]);
      return [{ name: `${one.name} ${at}`, one, profile, recorded }];
    });
}

async function differenceOf({ name, one, profile, recorded }: Round): Promise<string> {
  const result = await stored(profile, `v-${rounds.findIndex((round) => round.name === name)}`);
  const isAccepted = "object" in result;
  if (isAccepted !== recorded["accepted"]) return `${name}: accepted ${isAccepted}`;
  if (!isAccepted) return "";
  const expected =
    recorded["storedEqualsSent"] === true || recorded["storedStatusText"] === undefined
      ? (profile["status"] ?? null)
      : parseExactJson(textOf(recorded["storedStatusText"]));
  const status = fieldsOf(result.object)["status"] ?? null;
  const [is, should] = [status, expected].map((value) => JSON.stringify(sortedKeys(value)));
  if (is !== should) return `${name}: stored ${is}, not ${should}`;
  const sent = await outcomeOf(one, { ...profile, status: expected });
  const read = await outcomeOf(one, { ...result.object, metadata: profile["metadata"] });
  return isDeepStrictEqual(sent, read) ? "" : `${name}: resolved otherwise`;
}

const cases = await accessCases();
const rounds = cases.flatMap(roundsOf);

describe("a profile that went through an API server", () => {
  test("is accepted, changed and resolved as it was recorded", async () => {
    const differences = await mapLimited(rounds, 8, differenceOf);
    expect(differences.filter((text) => text !== "")).toEqual([]);
    expect(rounds.length).toBeGreaterThan(150);
  });
});

function withArgs(extension: unknown): Fields {
  const cluster = { server: "https://a.test", extensions: [{ name: argsName, extension }] };
  return {
    apiVersion: "multicluster.x-k8s.io/v1alpha1",
    kind: "ClusterProfile",
    metadata: { name: "args" },
    spec: { clusterManager: { name: "m" } },
    status: { accessProviders: [{ name: "sr", cluster }] },
  };
}

describe("additional arguments of the CRD of v0.1.3 (R22, R25)", () => {
  test("cannot be a list", async () => {
    expect(await stored(withArgs(["b"]), "list")).toEqual({ code: 422 });
  });

  test("are kept to the letter as an object with the list", async () => {
    const extension = { args: ["b", "--c=d e", "1"] };
    const { status } = withArgs(extension);
    expect(await stored(withArgs(extension), "object")).toMatchObject({ object: { status } });
  });
});

const lines: string[] = [];

function keep(facts: object, message: string): void {
  lines.push(`${message} ${JSON.stringify(facts)}`);
}

async function opened(): Promise<Spokes> {
  const log = { info: keep, warn: keep, error: keep };
  const providerFile = await fleet().providerFile();
  const options = {
    clock: systemClock,
    hub: hub.client,
    environment: process.env,
    userAgent,
    providerFile,
    log,
  };
  return openSpokes(options, soon());
}

describe("a profile with a proxy", () => {
  test("is reached through it alone, with its login, which nothing repeats (T-15)", async () => {
    await using proxy = await startProxyStub();
    await using spokes = await opened();
    const spoke = fleet().spoke(0);
    const ref = await fleet().addProfile(spoke, {
      plugin: "secretreader",
      name: "proxied",
      via: "direct",
      cluster: { "proxy-url": `http://canary-user:canary%3Aword@127.0.0.1:${proxy.port}` },
    });
    const connection = await expect
      .poll(() => spokes.acquire(ref, soon()).catch(() => undefined), patience)
      .toBeDefined()
      .then(() => spokes.acquire(ref, soon()));
    await connection.client.request("GET", "/api", undefined, soon());
    expect(proxy.asked).toEqual([
      {
        target: new URL(connection.client.server).host,
        authorization: `Basic ${Buffer.from("canary-user:canary:word").toString("base64")}`,
      },
    ]);
    expect(lines.join("\n")).not.toMatch(/canary-user|canary:word|canary%3Aword/);
    await ref.remove();
  });

  test("that refuses it says so, without the login", async () => {
    await using proxy = await startProxyStub(407);
    await using spokes = await opened();
    const ref = await fleet().addProfile(fleet().spoke(0), {
      plugin: "secretreader",
      name: "refused",
      via: "direct",
      cluster: { "proxy-url": `http://canary-user:canary-word@127.0.0.1:${proxy.port}` },
    });
    const message = async (): Promise<string> =>
      spokes.acquire(ref, soon()).then(String, (error: unknown) => String(error));
    await expect
      .poll(message, patience)
      .toMatch(/The proxy 127\.0\.0\.1:\d+ of .* answered 407 to CONNECT/);
    expect(`${await message()}${lines.join("\n")}`).not.toMatch(/canary-user|canary-word/);
    await ref.remove();
  });
});
