import { describe, expect, test } from "vitest";

import { folded } from "./fold.ts";

describe("the output of a command", () => {
  test("that fits stays untouched", () => {
    expect(folded("NAME   AGE\na      5s\n\n", 20)).toEqual(["NAME   AGE", "a      5s"]);
  });

  test("as a table is cut between columns, the same for all rows", () => {
    const table = [
      "NAMESPACE         KIND              HUB     REASON",
      "knative-serving   KnativeServing    Ready   <none>",
      "knative-eventing  KnativeEventing   False   AccessProviderFailed",
      "",
    ].join("\n");
    expect(folded(table, 42)).toEqual([
      "NAMESPACE         KIND              HUB",
      "    REASON",
      "knative-serving   KnativeServing    Ready",
      "    <none>",
      "knative-eventing  KnativeEventing   False",
      "    AccessProviderFailed",
    ]);
  });

  test("with text below a table breaks the text at white space", () => {
    const output = `NAME  STATE\na     ${"x".repeat(12)}\n\nspoke-1 cannot be read: its API server does not accept the credential\n`;
    expect(folded(output, 30)).toEqual([
      "NAME  STATE",
      "a     xxxxxxxxxxxx",
      "",
      "spoke-1 cannot be read: its",
      "    API server does not accept",
      "    the credential",
    ]);
  });

  test("with text right below a table does not take it for a row", () => {
    const output = `NAME   REASON${" ".repeat(20)}SINCE\na      ${"x".repeat(24)}  5s\n1 installation: 0 healthy, 1 not healthy\n`;
    expect(folded(output, 36)).toEqual([
      "NAME   REASON",
      "    SINCE",
      `a      ${"x".repeat(24)}`,
      "    5s",
      "1 installation: 0 healthy, 1 not",
      "    healthy",
    ]);
  });

  test.each([20, 30, 40, 60])("is never wider than %i when its words are short", (width) => {
    const row = "alpha    beta     gamma    delta    epsilon  zeta     eta      theta";
    const output = `${row.toUpperCase()}\n${row}\n\n${row}`;
    expect(folded(output, width).filter((line) => line.length > width)).toEqual([]);
    expect(folded(output, width).join(" ").split(/\s+/)).toEqual(output.split(/\s+/));
  });

  test("keeps a word that is wider than the line", () => {
    expect(folded(`  ${"x".repeat(30)}`, 20)).toEqual([`  ${"x".repeat(30)}`]);
  });
});
