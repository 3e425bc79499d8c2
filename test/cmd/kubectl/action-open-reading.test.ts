import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import { openReading } from "../../../cmd/kubectl/action.ts";
import { readFlags } from "../../../cmd/kubectl/flags.ts";
import { countedReading } from "../../../cmd/kubectl/output/progress.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const never = (): Promise<void> => new Promise(() => undefined);

/** What a reading of which one cluster never ends has written after 25 s. */
function written(args: { readonly output?: string; readonly quiet?: boolean }): string {
  let text = "";
  const stderr = { write: (part: string) => (text += part) };
  const { limits, end } = openReading(readFlags(args, {}, []), { stderr });
  const counted = countedReading(2, limits.onProgress);
  void counted("fleet/eu-1", never);
  vi.advanceTimersByTime(25_000);
  end();
  vi.advanceTimersByTime(25_000);
  return text;
}

describe("a command that reads many clusters", () => {
  test("says every ten seconds how far it has come, where there is no terminal, and no more in the end", () => {
    expect(written({})).toMatch(
      /^spokes 0\/2, 1 slow: fleet\/eu-1 \(10s\)\nspokes 0\/2, 1 slow: fleet\/eu-1 \(20s\)\n$/,
    );
  });

  test("says nothing beside a document, and nothing with -q", () => {
    expect(written({ output: "json" })).toBe("");
    expect(written({ quiet: true })).toBe("");
  });

  test("is every one but those that walk, which count walks by themselves", () => {
    const folder = join(import.meta.dirname, "../../../cmd/kubectl");
    const users = readdirSync(folder, { encoding: "utf8", recursive: true })
      .filter((file) => file.endsWith(".ts"))
      .filter((file) =>
        /(?<!function )openProgress\(/.test(readFileSync(join(folder, file), "utf8")),
      );
    expect(users.toSorted()).toEqual(["action.ts", join("findings", "walk-fleet.ts")]);
  });
});
