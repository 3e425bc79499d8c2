import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { stringify } from "yaml";

import {
  loadKubeconfig,
  type HubConfig,
  type KubeconfigSource,
} from "../../../access/hub/kubeconfig.ts";
import { FleetError } from "../../../api/errors.ts";

/** Each line is ten times the line before. */
const laughs = `a0: &a0 [${"x,".repeat(9)}x]
${Array.from({ length: 8 }, (_, at) => `a${at + 1}: &a${at + 1} [${`*a${at},`.repeat(9)}*a${at}]\n`).join("")}`;

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-kubeconfig-"));
});

afterEach(() => rm(folder, { recursive: true }));

/** Writes a kubeconfig with one cluster, user and context of a name, and returns its path. */
async function file(
  name: string,
  more: object = {},
  user: object = { token: name },
): Promise<string> {
  const path = join(folder, `${name}.yaml`);
  const content = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": name,
    clusters: [
      { name, cluster: { server: `https://${name}.test`, "certificate-authority": "ca.pem" } },
    ],
    users: [{ name, user }],
    contexts: [{ name, context: { cluster: name, user: name, namespace: `ns-${name}` } }],
    ...more,
  };
  await writeFile(path, stringify(content));
  return path;
}

function load(source: Partial<KubeconfigSource>): HubConfig {
  return loadKubeconfig({ environment: {}, ...source });
}

function refusalOf(source: Partial<KubeconfigSource>): FleetError {
  try {
    load(source);
  } catch (error) {
    if (error instanceof FleetError) return error;
    throw error;
  }
  throw new Error("Nothing was refused");
}

describe("the hub", () => {
  test("is that of the flag, whatever the environment says", async () => {
    const kubeconfig = await file("flag");
    const environment = { KUBECONFIG: await file("environment") };
    expect(load({ kubeconfig, environment })).toMatchObject({
      context: "flag",
      namespace: "ns-flag",
      cluster: { server: "https://flag.test" },
      user: { token: "flag" },
    });
  });

  test("is that of the first file of KUBECONFIG; files that are not there do not matter", async () => {
    const KUBECONFIG = [join(folder, "none"), await file("a"), await file("b")].join(":");
    expect(load({ environment: { KUBECONFIG } }).context).toBe("a");
    expect(load({ environment: { KUBECONFIG }, context: "b" }).cluster).toMatchObject({
      server: "https://b.test",
    });
  });

  test("is that of another file or of flags beside an empty one", async () => {
    const empty = join(folder, "empty.yaml");
    await writeFile(empty, "");
    const KUBECONFIG = [empty, await file("a")].join(":");
    expect(load({ environment: { KUBECONFIG } }).context).toBe("a");
    const overrides = { clusterFields: { server: "https://flag.test" } };
    expect(load({ kubeconfig: empty, overrides }).cluster).toEqual(overrides.clusterFields);
    expect(refusalOf({ kubeconfig: empty }).message).toContain("has no current-context");
  });

  test("may be a context of the flag", async () => {
    const more = {
      contexts: [{ name: "other", context: { cluster: "a", user: "a" } }],
    };
    const kubeconfig = await file("a", more);
    expect(load({ kubeconfig, context: "other" })).toMatchObject({
      context: "other",
      namespace: "default",
    });
  });

  test("is the cluster around us when there is no kubeconfig", () => {
    const environment = { KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "443" };
    expect(load({ environment })).toMatchObject({
      context: "in-cluster",
      cluster: { server: "https://[fd00::1]:443" },
    });
  });

  test("has files relative to its kubeconfig, but bare commands are left alone", async () => {
    const user = { "client-key": "keys/me.pem", exec: { command: "./bin/login" } };
    const config = load({ kubeconfig: await file("a", {}, user) });
    expect(config.cluster["certificate-authority"]).toBe(join(folder, "ca.pem"));
    expect(config.user).toMatchObject({
      "client-key": join(folder, "keys/me.pem"),
      exec: { command: join(folder, "bin/login") },
    });
    const bare = load({ kubeconfig: await file("b", {}, { exec: { command: "aws" } }) });
    expect(bare.user).toMatchObject({ exec: { command: "aws" } });
  });
});

describe("flags beside a kubeconfig", () => {
  test("replace the cluster and the user of the context", async () => {
    const KUBECONFIG = [await file("a"), await file("b")].join(":");
    const overrides = { cluster: "b", user: "b" };
    expect(load({ environment: { KUBECONFIG }, overrides })).toMatchObject({
      context: "a",
      cluster: { server: "https://b.test" },
      user: { token: "b" },
    });
    const unknown = (names: object) => refusalOf({ environment: { KUBECONFIG }, overrides: names });
    expect(unknown({ cluster: "x" }).message).toContain('no cluster "x"');
    expect(unknown({ user: "x" }).message).toContain('no user "x"');
  });

  test("set fields, and take those away that would mean something else", async () => {
    const cluster = {
      server: "https://a.test",
      "certificate-authority-data": "YQ==",
      "tls-server-name": "a",
    };
    const user = { exec: { command: "login" }, tokenFile: "t", as: "before", "as-groups": ["g"] };
    const kubeconfig = await file("a", { clusters: [{ name: "a", cluster }] }, user);
    const config = load({
      kubeconfig,
      overrides: {
        clusterFields: { server: "https://other.test", "certificate-authority": "/ca.pem" },
        userFields: { token: "flag", as: "now" },
      },
    });
    expect(config.cluster).toEqual({
      server: "https://other.test",
      "certificate-authority": "/ca.pem",
    });
    expect(config.user).toEqual({ token: "flag", as: "now" });
  });

  test("are enough without any kubeconfig when they name a server", () => {
    const overrides = {
      clusterFields: { server: "https://only.test" },
      userFields: { token: "t" },
    };
    expect(load({ environment: { HOME: folder }, overrides })).toMatchObject({
      cluster: { server: "https://only.test" },
      user: { token: "t" },
      namespace: "default",
    });
  });
});

describe("a kubeconfig is refused", () => {
  test("when the flag names none", () => {
    expect(refusalOf({ kubeconfig: join(folder, "none") })).toMatchObject({
      reason: "ConfigInvalid",
    });
  });

  test("when it is no YAML, without its text", async () => {
    const path = join(folder, "broken");
    await writeFile(path, "users: [{token: canary");
    const { message } = refusalOf({ kubeconfig: path });
    expect(message).toContain(path);
    expect(message).not.toContain("canary");
  });

  test.each([
    ["aliases that multiply", `${laughs}clusters: *a8\n`],
    ["an alias that leads nowhere", "apiVersion: v1\nclusters: *nobody\n"],
    ["lists in lists without end", "[".repeat(30_000)],
  ])("when it has %s", async (_, text) => {
    const path = join(folder, "odd.yaml");
    await writeFile(path, text);
    expect(() => loadKubeconfig({ kubeconfig: path, environment: {} })).toThrow(
      new FleetError("ConfigInvalid", `The kubeconfig ${path} is not valid YAML`),
    );
  });

  test("when it is larger than any fleet needs, before it is parsed", async () => {
    const path = join(folder, "large.yaml");
    await writeFile(path, `# ${"x".repeat(10_000_000)}\n`);
    expect(() => loadKubeconfig({ kubeconfig: path, environment: {} })).toThrow(
      new FleetError("ConfigInvalid", `The kubeconfig ${path} has more than 10 MB`),
    );
  });

  test("when its context is missing, or names a cluster that is missing", async () => {
    const kubeconfig = await file("a", { clusters: [] });
    expect(refusalOf({ kubeconfig, context: "x" }).message).toContain('"x"');
    expect(refusalOf({ kubeconfig }).reason).toBe("ConfigInvalid");
  });

  test("when there is none at all", () => {
    expect(refusalOf({ environment: { HOME: folder } }).message).toContain("--kubeconfig");
  });
});
