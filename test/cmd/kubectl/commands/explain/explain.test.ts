import { globSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { knfCodes } from "../../../../../api/knf/knf-codes.ts";
import { codes, processReasons, protectionReasons, reasons } from "../../../../../api/reasons.ts";
import { nearest } from "../../../../../cmd/kubectl/commands/explain/explain-report.ts";
import { causesOf, upstreamNotes } from "../../../../../cmd/kubectl/findings/words/causes.ts";
import { explain, explainable } from "../../../../../cmd/kubectl/findings/words/explain.ts";
import {
  availabilityMeanings,
  codeMeanings,
  protectionMeanings,
  reasonMeanings,
} from "../../../../../cmd/kubectl/findings/words/meanings.ts";
import {
  setClusterStates,
  setConditions,
  setPhases,
  setReasons,
  type SetWords,
} from "../../../../../cmd/kubectl/findings/words/set-words.ts";
import { ownReasons } from "../../../../../cmd/kubectl/output/own-reasons.ts";
import { runText } from "../../run-text.ts";

const page = await readFile(join(import.meta.dirname, "../../../../../docs/reasons.md"), "utf8");

/** Cells of the rows below a heading of docs/reasons.md, the first without its quotes. */
function rowsBelow(heading: string): readonly (readonly string[])[] {
  const [, section = ""] = page.split(`\n## ${heading}\n`);
  return (section.split("\n## ")[0] ?? "")
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((line) => line.split("|").slice(1, -1))
    .map(([name = "", ...cells]) => [
      name.trim().slice(1, -1),
      ...cells.map((cell) => cell.trim()),
    ]);
}

function rowsOf(what: string, words: SetWords): readonly (readonly string[])[] {
  return Object.entries(words).map(([name, texts]) => [name, what, ...texts]);
}

describe("the meanings", () => {
  test("are those of docs/reasons.md, word for word", () => {
    const from = (heading: string, column: number) =>
      Object.fromEntries(rowsBelow(heading).map((row) => [row[0], row[column]]));
    expect(reasonMeanings).toEqual(from("Reasons", 3));
    expect(codeMeanings).toEqual(from("Codes", 1));
    const protection = rowsBelow("Protection of the anchor").map((row) => [row[0], row.slice(2)]);
    expect(protectionMeanings).toEqual(Object.fromEntries(protection));
    const deployments = rowsBelow("Deployments").map(([name, ...row]) => [name, row]);
    expect(availabilityMeanings).toEqual(Object.fromEntries(deployments));
  });

  test("of fleet sets are those of docs/reasons.md, word for word", () => {
    expect(rowsBelow("Fleet sets")).toEqual([
      ...rowsOf("condition", setConditions),
      ...rowsOf("phase", setPhases),
      ...rowsOf("state of a cluster", setClusterStates),
      ...rowsOf("reason", setReasons),
    ]);
  });

  test("and causes are of words that exist", () => {
    const unknown = [...Object.keys(causesOf), ...Object.keys(upstreamNotes)].filter(
      (word) => explain(word).length === 0,
    );
    expect(unknown).toEqual([]);
  });
});

describe("explain", () => {
  test("knows every reason, code, finding and word of the command line", () => {
    const words = [reasons, protectionReasons, knfCodes, ownReasons].flatMap((list) =>
      Object.keys(list),
    );
    expect(explainable()).toEqual(expect.arrayContaining([...words, ...codes]));
  });

  test("says of every word what to do", () => {
    const silent = explainable().filter((word) => explain(word).some(({ next }) => next === null));
    expect(silent).toEqual([]);
  });

  test.each(processReasons)(
    "says of %s that a program ends with it, and names no condition",
    async (word) => {
      const { stdout } = await runText(["explain", word]);
      expect(stdout).toContain(`${word} (Reason)\n`);
      expect(stdout).toContain("  Set by: a program that ends with it, on standard error.\n");
      expect(stdout).not.toMatch(/Retry|condition of/);
    },
  );

  test.each([
    ["VersionNotEligible", 2],
    ["ReleaseNotFound", 1],
    ["ReleasesUnavailable", 1],
  ])("of %s tells each step once", async (word, count) => {
    const { stdout } = await runText(["explain", word]);
    const steps = stdout.split("\n").filter((line) => line.startsWith("  What to do: "));
    expect(steps).toHaveLength(count);
    expect(new Set(steps).size).toBe(count);
  });

  test("reads a word in any letter case, and a finding by its name, too", () => {
    expect(explain("applyfailed")).toMatchObject([{ name: "ApplyFailed", retry: "backoff" }]);
    const named = explain(knfCodes.KNF1005.name);
    expect(named).toMatchObject([{ name: "KNF1005", type: "Finding" }]);
  });

  test.each([
    ["MulticlusterDisabled", /does not mean that no provider matches/],
    ["AccessProviderFailed", /does not run the plugin/],
    ["AccessProviderNotConfigured", /never writes it/],
    ["InternalError", /No condition says so/],
    ["ClusterProfileUnavailable", /lets the deletion go on/],
    ["ClusterProfileNotReady", /a missing condition counts, too/],
  ])("of %s says what the upstream operator does with it (D1, D2, D5, D13)", async (word, says) => {
    expect((await runText(["explain", word])).stdout).toMatch(says);
  });

  test("tells a word of fleet sets apart from the same word of components", async () => {
    expect(explain("SuspiciousShrink")).toMatchObject([{ type: "Reason", condition: null }]);
    expect(explain("complete")).toMatchObject([
      { type: "Condition", condition: null },
      { type: "Reason", condition: "Progressing, Complete and Ready" },
    ]);
    expect(explain("VersionNotEligible")).toMatchObject([
      { code: "KNF1015", condition: "VersionMigrationEligible" },
      { type: "Finding", title: "VersionNotEligible" },
      { code: null, condition: null, causes: [], upstream: null },
    ]);
    expect((await runText(["explain", "ValueMissing"])).stdout).toBe(
      [
        "ValueMissing (Reason)",
        "  The template uses a label or property that the ClusterProfile does not have, and gives no default.",
        "  Set by: the controller, in the status or the Events of a fleet set.",
        "  What to do: Give the ClusterProfile the label or property, or write `$(cluster.labels[K]:-default)`.",
        "",
      ].join("\n"),
    );
  });

  test("knows every reason that the source of fleet sets writes", () => {
    const root = join(import.meta.dirname, "../../../../..");
    const files = globSync("{sets,controller/sets}/**/*.ts", { cwd: root });
    const texts = files.map((file) => readFileSync(join(root, file), "utf8"));
    const written = /(?:reason: |leave\(|normal\(|warning\()\s*"([A-Z][A-Za-z]+)"/g;
    const words = texts.flatMap((text) => Array.from(text.matchAll(written), ([, word]) => word));
    expect(words).toEqual(expect.arrayContaining(["SuspiciousShrink", "ApprovalIgnored"]));
    const known = explainable();
    expect(words.filter((word) => !known.includes(word ?? ""))).toEqual([]);
  });

  test("of a word that nobody says exits 1 and proposes the nearest", async () => {
    const ran = await runText(["explain", "AplyFailed"]);
    expect(ran).toMatchObject({ exitCode: 1, stdout: "" });
    expect(ran.stderr).toBe('error: Nobody here says "AplyFailed"; did you mean ApplyFailed?\n');
    expect(nearest("zzzzzzzzzz", explainable())).toBeUndefined();
  });

  test("without a word lists all, also by name", async () => {
    const { stdout, exitCode } = await runText(["explain", "-o", "name"]);
    expect(exitCode).toBe(0);
    expect(stdout.trimEnd().split("\n")).toEqual(expect.arrayContaining(["Timeout", "KNF1001"]));
  });

  test("is one document as JSON", async () => {
    const { stdout, stderr } = await runText(["explain", "Forbidden", "nobody", "-o", "json"]);
    expect(JSON.parse(stdout)).toMatchObject({
      kind: "Explanation",
      summary: { total: 1 },
      items: [{ name: "Forbidden", type: "Code" }],
      errors: [{ reason: "NotFound", cluster: null }],
    });
    expect(stderr).toBe("");
  });
});
