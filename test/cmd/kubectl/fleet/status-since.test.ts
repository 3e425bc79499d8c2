import { cp, mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { statusItemOf } from "../../../../cmd/kubectl/fleet/status-item.ts";
import { changedSince, sinceOf } from "../../../../cmd/kubectl/fleet/status-since.ts";
import { anchorOf, component, deployment, now, reading } from "../fleet-facts.ts";
import { runText } from "../run-text.ts";

const fine = join(import.meta.dirname, "../../../fixtures/recorded-fleets/fine");
const servings = "hub/knativeservings.operator.knative.dev.json";

describe("--since", () => {
  test.each([
    ["2h", "2026-11-21T10:00:00Z"],
    ["90m", "2026-11-21T10:30:00Z"],
    ["3d", "2026-11-18T12:00:00Z"],
    ["2026-11-20", "2026-11-20T00:00:00Z"],
    ["2026-11-20T08:00:00Z", "2026-11-20T08:00:00Z"],
    ["2026-11-20T08:00:00+02:00", "2026-11-20T06:00:00Z"],
  ])("%s at noon of 2026-11-21 is %s", async (text, at) => {
    expect(await sinceOf(text, now, new AbortController().signal)).toEqual({
      kind: "time",
      atMs: Date.parse(at),
    });
  });

  test.each(["2x", "-1h", "2026-13-45", "0.5y", `${"9".repeat(400)}h`, "nothing.tgz"])(
    "%s is a mistake that is explained",
    async (text) => {
      const ran = await runText(["status", "-A", "--bundle", fine, "--since", text]);
      expect(ran).toMatchObject({ exitCode: 2, stdout: "" });
      expect(ran.stderr).toMatch(
        /Invalid value ".*" for --since|bundle nothing.tgz cannot be read/,
      );
    },
  );

  // Ready since 11:00, made three days ago; the Deployment is as it is since 11:56:30.
  const old = component();
  const well = reading([anchorOf(old)], [deployment()]);
  const lost = { kind: "unread", state: "Unreachable", reason: "Timeout", message: "" } as const;
  const none = undefined;
  test.each([
    { name: "whose condition changed later", at: "10:59", seen: none, kept: true },
    { name: "whose conditions are older", at: "11:01", seen: none, kept: false },
    { name: "whose Deployment changed later", at: "11:56", seen: well, kept: true },
    { name: "whose Deployments are older, too", at: "11:57", seen: well, kept: false },
    { name: "whose cluster is gone since nobody knows when", at: "11:57", seen: lost, kept: true },
  ])("keeps an installation $name than $at: $kept", ({ at, seen, kept }) => {
    const item = statusItemOf(old, seen);
    const atMs = Date.parse(`2026-11-21T${at}:00Z`);
    expect(changedSince(atMs, old, { item, reading: seen })).toBe(kept);
  });

  test("a bundle shows what is other than in it, how it was, and what is gone", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "knfleet-since-"));
    const path = join(folder.path, "later");
    await cp(fine, path, { recursive: true });
    const text = await readFile(join(path, servings), "utf8");
    await writeFile(join(path, servings), text.replaceAll('"1.23.0"', '"1.24.0"'));
    const compared = ["status", "-A", "-o", "json", "--bundle", path, "--since", fine];
    const { items } = JSON.parse((await runText(compared)).stdout);
    expect(items).toMatchObject([{ kind: "KnativeServing", version: "1.24.0" }]);
    const table = await runText(["status", "-A", "--bundle", path, "--since", fine]);
    expect(table.stdout).toMatch(/SINCE +WAS\n.*1\.24\.0 .* 1\.23\.0, Ready, Ready\n$/);
    const document = JSON.parse(text);
    await writeFile(join(path, servings), JSON.stringify({ ...document, rows: [] }));
    const gone = await runText(["status", "-A", "--bundle", path, "--since", fine]);
    expect(gone).toMatchObject({ exitCode: 0, stdout: "" });
    expect(gone.stderr).toMatch(
      /^gone: KnativeServing team-fine\/knative-serving\nNothing changed/m,
    );
  });
});
