import { readFileSync } from "node:fs";
import { join, relative } from "node:path";

import { describe, expect, test } from "vitest";

import { recordedFolder } from "../../golden/record-scene.ts";
import { recordedObjects } from "../../recorded-hub.ts";
import { runText } from "../../run-text.ts";
import { startStubHub } from "../../stub-hub.ts";

const golden = join(import.meta.dirname, "../../../../golden/top");
const utf8 = { LANG: "C.UTF-8" };

function bundleOf(scene: string) {
  // The screen shows it, and cuts it by its length: the same wherever the project lies.
  const folder = relative(process.cwd(), join(recordedFolder, scene));
  const index = JSON.parse(readFileSync(join(folder, "bundle.json"), "utf8"));
  return { folder, at: new Date(Date.parse(index.generatedAt) + 3_600_000) };
}

/** The first screen of a recorded fleet, as it is printed. */
async function screen(
  scene: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
) {
  const { folder, at } = bundleOf(scene);
  const line = ["top", ...args, "--once", "--bundle", folder];
  const { exitCode, stdout, stderr } = await runText(line, { env: { ...utf8, ...env }, at });
  const text = `${stdout}--- stderr\n${stderr}--- exit code ${exitCode}\n`;
  return text.replaceAll(folder, "fleet.tgz");
}

interface Looks {
  readonly name: string;
  readonly scene: string;
  readonly env: Readonly<Record<string, string>>;
}

describe("the first screen of a recorded fleet", () => {
  test.each<Looks>([
    { name: "broken.80x24", scene: "broken", env: {} },
    { name: "broken.140x20", scene: "broken", env: { COLUMNS: "140", LINES: "20" } },
    { name: "broken.40x10", scene: "broken", env: { COLUMNS: "40", LINES: "10" } },
    { name: "broken.20x5", scene: "broken", env: { COLUMNS: "20", LINES: "5" } },
    { name: "broken.ascii", scene: "broken", env: { LANG: "C" } },
    { name: "broken.colour", scene: "broken", env: { FORCE_COLOR: "1" } },
    { name: "upstream.120x24", scene: "upstream", env: { COLUMNS: "120" } },
    { name: "fine.80x24", scene: "fine", env: {} },
  ])("$name looks as agreed", async ({ name, scene, env }) => {
    await expect(await screen(scene, ["-A"], env)).toMatchFileSnapshot(join(golden, `${name}.txt`));
  });

  test("has as many lines as it has rows, and no other characters than a terminal of that locale knows", async () => {
    const [lines = ""] = (await screen("broken", ["-A"], { LANG: "C", LINES: "30" })).split(
      "--- stderr",
    );
    expect(lines.trimEnd().split("\n")).toHaveLength(30);
    expect(lines).toMatch(/^[\n -~]*$/);
  });

  test("has the rows that were asked for, and the exit code of status", async () => {
    expect(await screen("broken", ["-A", "--failed"], {})).toContain("3 installations: 0 healthy");
    expect(await screen("broken", ["ke", "-A"], {})).not.toContain("ks");
    const fine = await screen("fine", ["-A"], {});
    const none = await screen("fine", ["-A", "--failed"], {});
    for (const text of [fine, none]) expect(text).toMatch(/exit code 0\n$/);
    expect(none).toContain("No Knative installations found.");
  });

  test("says how clusters are reached where nothing does", async () => {
    await using hub = await startStubHub(recordedObjects);
    const { exitCode, stdout } = await runText(["top", "-n", "team-b", "--once"], {
      env: { ...hub.env, ...utf8, COLUMNS: "140" },
    });
    expect(stdout).toMatch(/^> .* Ready +<unknown> +NoProviderFile/m);
    expect(stdout).toContain("hint: Name the provider file with --clusterprofile-provider-file");
    expect(exitCode).toBe(3);
  });

  test("without installations in the namespace names the command for all, as status does", async () => {
    await using hub = await startStubHub(recordedObjects);
    const env = { ...hub.env, ...utf8 };
    const { stdout } = await runText(["top", "-n", "nowhere", "--once", "--no-live"], { env });
    expect(stdout).toMatch(/No Knative installations found\.\n +next: kubectl knfleet .*top -A\n/);
    const all = await runText(["top", "-A", "-l", "no=body", "--once", "--no-live"], { env });
    expect(all.stdout).not.toContain("top -A");
  });

  test("has no control characters of others", async () => {
    await using hub = await startStubHub(hostile);
    const { stdout } = await runText(["top", "-A", "--once", "--no-live"], {
      env: { ...hub.env, ...utf8 },
    });
    expect(stdout).toContain("[2J gone");
    // oxlint-disable-next-line no-control-regex -- these must not be there
    expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
  });
});

const hostile = recordedObjects.map((object) =>
  JSON.parse(
    JSON.stringify(object).replace(
      /ClusterProfile fleet\/eu-1 does/,
      "\\u001b[2J gone\\u202e\\u0007",
    ),
  ),
);

describe("top without a screen", () => {
  test.each([
    { args: [], says: /^error: top needs a terminal with a keyboard/ },
    { args: ["-o", "json"], says: /^error: top shows a screen: there is no -o json/ },
    { args: ["--sort-by", ".name"], says: /^error: top has no --sort-by/ },
  ])("with $args is refused with code 2, and status -w is named", async ({ args, says }) => {
    const { exitCode, stdout, stderr } = await runText(["top", ...args]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toMatch(says);
    expect(stderr).toContain("next: kubectl knfleet status -A -w");
  });

  test.each(["dumb", "xterm"])(
    "is refused on a terminal that cannot show it or type: TERM=%s",
    async (TERM) => {
      const { exitCode, stderr } = await runText(["top"], { columns: 80, env: { TERM } });
      expect(exitCode).toBe(2);
      expect(stderr).toMatch(/^error: top needs a terminal/);
    },
  );
});
