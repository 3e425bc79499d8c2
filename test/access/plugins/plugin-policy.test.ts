import { createHash } from "node:crypto";
import {
  chmod,
  mkdir,
  mkdtemp,
  readFile,
  realpath,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { runExecPlugin } from "../../../access/plugins/exec-plugin.ts";
import { PluginLimits } from "../../../access/plugins/plugin-limits.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { FleetError } from "../../../api/errors.ts";
import { goodCredential, planOf } from "./plugin-plan.ts";

const script = `#!/bin/sh
touch "$(dirname "$0")/ran"
echo '${goodCredential}'
`;

let folder: string;
let trusted: string;
let elsewhere: string;

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "knfleet-policy-")));
  trusted = await executable("trusted/plugin");
  elsewhere = await executable("elsewhere/plugin");
  await symlink(elsewhere, join(folder, "trusted", "link"));
  await symlink(join(folder, "trusted"), join(folder, "root-link"));
});

afterAll(() => rm(folder, { recursive: true }));

async function executable(name: string, mode = 0o755): Promise<string> {
  const file = join(folder, name);
  await mkdir(join(file, ".."), { recursive: true });
  await writeFile(file, script);
  await chmod(file, mode);
  return file;
}

interface Given {
  readonly roots?: readonly string[];
  readonly sha256?: string;
}

/** `T1`, or the code and the words of the refusal. */
async function outcomeOf(command: string, { roots = [], sha256 }: Given = {}): Promise<string> {
  const plan = planOf(command, sha256 === undefined ? {} : { sha256 });
  const surroundings = {
    clock: systemClock,
    environment: { PATH: "/usr/bin:/bin" },
    policy: { roots },
  };
  try {
    const { authorization } = await runExecPlugin(plan, surroundings, AbortSignal.timeout(20_000));
    return authorization?.reveal().slice("Bearer ".length) ?? "";
  } catch (error) {
    if (error instanceof FleetError) return `${error.code} ${error.message}`;
    throw error;
  }
}

const refused = expect.stringMatching(/^PluginNotAllowed /);

describe("a plugin may be run (T-40)", () => {
  test("anywhere without roots", async () => {
    expect(await outcomeOf(elsewhere)).toBe("T1");
  });

  test("below a root, which may be a link itself (X28, on purpose: T-40)", async () => {
    expect(await outcomeOf(trusted, { roots: ["/nonexistent", join(folder, "trusted")] })).toBe(
      "T1",
    );
    expect(await outcomeOf(trusted, { roots: [join(folder, "root-link")] })).toBe("T1");
  });

  test("when its SHA-256 is the one of the provider file", async () => {
    const sha256 = createHash("sha256")
      .update(await readFile(trusted))
      .digest("hex");
    expect(await outcomeOf(trusted, { sha256 })).toBe("T1");
  });
});

describe("a plugin is refused and not run (T-40)", () => {
  test("outside of the roots, also when a link inside leads to it (X29; X27, on purpose: T-40)", async () => {
    const roots = [join(folder, "trusted")];
    await rm(join(folder, "elsewhere", "ran"), { force: true });
    expect(await outcomeOf(elsewhere, { roots })).toEqual(refused);
    expect(await outcomeOf(join(folder, "trusted", "link"), { roots })).toEqual(refused);
    expect(
      await outcomeOf(join(folder, "trusted", "..", "elsewhere", "plugin"), { roots }),
    ).toEqual(refused);
    await expect(readFile(join(folder, "elsewhere", "ran"))).rejects.toThrow("ENOENT");
  });

  test("next to a root whose name begins the same", async () => {
    const close = await executable("trusted-not/plugin");
    expect(await outcomeOf(close, { roots: [join(folder, "trusted")] })).toEqual(refused);
  });

  test.each([
    { name: "when everybody may write to it", mode: 0o757, says: "everybody may write" },
    { name: "when it is setuid", mode: 0o4755, says: "setuid" },
    { name: "when it is setgid", mode: 0o2755, says: "setgid" },
  ])("$name", async ({ mode, says }) => {
    const file = await executable(`mode-${mode.toString(8)}`, mode);
    expect(await outcomeOf(file)).toContain(says);
  });

  test("when everybody may replace it", async () => {
    const file = await executable("open/plugin");
    await chmod(join(folder, "open"), 0o777);
    expect(await outcomeOf(file)).toContain("everybody may replace it");
  });

  test("when it is not what its SHA-256 says", async () => {
    expect(await outcomeOf(trusted, { sha256: "0".repeat(64) })).toContain("SHA-256");
  });
});

describe("of a provider no more plugins run at the same time", () => {
  test("than it says, or two, and of all no more than eight (X33, T-45)", async () => {
    const limits = new PluginLimits(systemClock);
    const entered = async (provider: string, maxConcurrency?: number): Promise<number> => {
      const late = AbortSignal.timeout(50);
      const places = await Promise.allSettled(
        Array.from({ length: 20 }, () =>
          limits.enter(
            { provider, ...(maxConcurrency === undefined ? {} : { maxConcurrency }) },
            late,
          ),
        ),
      );
      return places.filter(({ status }) => status === "fulfilled").length;
    };
    expect(await entered("three", 3)).toBe(3);
    expect(await entered("says nothing")).toBe(2);
    expect(await entered("many", 20)).toBe(3);
  });
});
