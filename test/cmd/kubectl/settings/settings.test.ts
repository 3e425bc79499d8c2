import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { connectionOptions, commonOptions } from "../../../../cmd/kubectl/common-options.ts";
import { settings, variableOf } from "../../../../cmd/kubectl/settings/known-settings.ts";
import { withSettings } from "../../../../cmd/kubectl/settings/settings.ts";
import { recordedObjects } from "../recorded-hub.ts";
import { runText } from "../run-text.ts";
import { startStubHub } from "../stub-hub.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-settings-"));
});
afterAll(() => rm(folder, { recursive: true }));

/** A home with these settings, as the environment says it. */
async function home(name: string, text: string, mode = 0o600): Promise<Record<string, string>> {
  const place = join(folder, name, "knfleet");
  await mkdir(place, { recursive: true });
  const file = join(place, "config.yaml");
  await writeFile(file, text);
  await chmod(file, mode);
  return { XDG_CONFIG_HOME: join(folder, name), HOME: "/home/me" };
}

describe("a flag", () => {
  test("is taken from the command line, else from the environment, else from the file", async () => {
    const env = await home("order", "concurrency: 3\nspoke-timeout: 3s\ncolor: never\n");
    const more = { ...env, KNFLEET_CONCURRENCY: "2", KNFLEET_SPOKE_TIMEOUT: "2s" };
    expect(await withSettings({ concurrency: "1" }, more)).toMatchObject({
      concurrency: "1",
      spokeTimeout: "2s",
      color: "never",
    });
    expect(await withSettings({}, {})).toEqual({});
  });

  test("that is a path is relative to the file, or to the home", async () => {
    const text = "clusterprofile-provider-file: p.json\nkubeconfig: ~/hub\nplugin-root: [/a, b]\n";
    const env = await home("paths", text);
    const place = join(folder, "paths", "knfleet");
    expect(await withSettings({}, env)).toEqual({
      clusterprofileProviderFile: join(place, "p.json"),
      kubeconfig: "/home/me/hub",
      pluginRoot: ["/a", join(place, "b")],
    });
    // Not a file of ours against what the environment says in kubectl's way.
    const { kubeconfig } = await withSettings({}, { ...env, KUBECONFIG: "/mine" });
    expect(kubeconfig).toBeUndefined();
    const asked = await withSettings({ kubeconfig: "/asked" }, { ...env, KUBECONFIG: "/mine" });
    expect(asked.kubeconfig).toBe("/asked");
  });

  test("that is a switch can be turned off again", async () => {
    const env = await home("switch", "absolute-time: true\n");
    expect((await withSettings({}, env)).absoluteTime).toBe(true);
    const off = { ...env, KNFLEET_ABSOLUTE_TIME: "false" };
    expect((await withSettings({}, off)).absoluteTime).toBeUndefined();
    const wrong = { KNFLEET_ABSOLUTE_TIME: "maybe" };
    await expect(withSettings({}, wrong)).rejects.toThrow(/KNFLEET_ABSOLUTE_TIME/);
  });

  test("keeps its older name in the environment", async () => {
    const { clusterprofileProviderFile } = await withSettings({}, { KNFLEET_PROVIDER_FILE: "/p" });
    expect(clusterprofileProviderFile).toBe("/p");
    expect(variableOf("spoke-timeout")).toBe("KNFLEET_SPOKE_TIMEOUT");
  });
});

describe("every setting", () => {
  const flags = [...commonOptions(), ...connectionOptions()];

  test.each(Object.entries(settings))("%s is a flag of that name", (name, { flag }) => {
    const option = flags.find(({ long }) => long === `--${name}`);
    expect(option?.attributeName()).toBe(flag);
  });

  test("is no credential, and names nobody", () => {
    const names = Object.keys(settings).join(" ");
    expect(names).not.toMatch(/token|password|user|\bas\b|client|certificate|server|insecure/);
  });
});

describe("a file", () => {
  test.each([
    ["token", "token: abc\n", /knows no "token"/],
    ["unknown", "nothing: 1\n", /knows no "nothing"/],
    ["inherited", "constructor: 1\n", /knows no "constructor"/],
    ["list", "- a\n", /no map of settings/],
    ["broken", "a: [\n", /is no YAML/],
    ["type", "timeout: {a: 1}\n", /timeout is no text/],
    ["switch-type", "absolute-time: 3\n", /absolute-time is not true or false/],
    ["list-type", "plugin-root: /a\n", /plugin-root is not a list/],
  ])("with a %s is refused", async (name, text, message) => {
    const env = await home(`refused-${name}`, text);
    await expect(withSettings({}, env)).rejects.toThrow(message);
  });

  test("that everybody may write is refused, because it names programs to run", async () => {
    const env = await home("open", "timeout: 1m\n", 0o666);
    await expect(withSettings({}, env)).rejects.toThrow(/can be written by everybody/);
  });

  test("that is empty, or not there, sets nothing", async () => {
    expect(await withSettings({}, await home("empty", "# nothing\n"))).toEqual({});
    expect(await withSettings({}, { XDG_CONFIG_HOME: join(folder, "nowhere") })).toEqual({});
  });
});

test("a command keeps to the settings, and says what is wrong with them", async () => {
  await using hub = await startStubHub(recordedObjects);
  const args = ["status", "--no-live", "-o", "name"];
  const there = { ...hub.env, ...(await home("command", "namespace: team-b\n")) };
  const { stdout } = await runText([...args, "--absolute-time"], { env: there });
  expect(stdout).toBe("knativeserving.operator.knative.dev/knative-serving\n");
  const all = await runText([...args, "-A"], { env: there });
  expect(all.stdout.split("\n")).toHaveLength(4);
  const named = { ...hub.env, KNFLEET_CONFIG: join(folder, "refused-token/knfleet/config.yaml") };
  const refused = await runText(args, { env: named });
  expect(refused).toMatchObject({ exitCode: 2, stdout: "" });
  expect(refused.stderr).toMatch(
    /^error: The settings in .+: knows no "token"\nhint: Settings are/,
  );
  expect(refused.stderr).not.toContain("abc");
});
