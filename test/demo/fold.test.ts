import { describe, expect, test } from "vitest";

import { folded } from "./fold.ts";

describe("the output of a command", () => {
  test("that fits stays untouched", () => {
    expect(folded("NAME   AGE\na      5s\n\n", 20)).toEqual(["NAME   AGE", "a      5s"]);
  });

  test("as a table goes without what says least, and says without what", () => {
    const table = [
      "NAMESPACE          NAME               KIND              CLUSTER   VERSION   HUB     LIVE    REASON   SINCE",
      "knative-eventing   knative-eventing   KnativeEventing   spoke-2   1.23.0    Ready   Ready   <none>   2s",
      "knative-serving    knative-serving    KnativeServing    spoke-1   1.23.0    Ready   Ready   <none>   4s",
      "2 installations: 2 healthy.",
    ].join("\n");
    expect(folded(table, 78)).toEqual([
      "NAME               KIND              CLUSTER   VERSION   HUB     LIVE",
      "knative-eventing   KnativeEventing   spoke-2   1.23.0    Ready   Ready",
      "knative-serving    KnativeServing    spoke-1   1.23.0    Ready   Ready",
      "(a wider terminal also shows NAMESPACE, REASON, SINCE)",
      "2 installations: 2 healthy.",
    ]);
    expect(folded(table, 120)).toEqual(table.split("\n"));
  });

  test("as a table keeps a reason, and goes without more of the rest", () => {
    const table = [
      "NAMESPACE         NAME              KIND             CLUSTER   VERSION   HUB        LIVE     REASON                 SINCE",
      "knative-serving   knative-serving   KnativeServing   spoke-1   1.23.0    NotReady   Denied   AccessProviderFailed   2s",
    ].join("\n");
    expect(folded(table, 78)).toEqual([
      "NAME              CLUSTER   HUB        LIVE     REASON",
      "knative-serving   spoke-1   NotReady   Denied   AccessProviderFailed",
      "(a wider terminal also shows NAMESPACE, KIND, VERSION, SINCE)",
    ]);
  });

  test("as a table with empty cells keeps each cell below its title", () => {
    const table = [
      "NAMESPACE          NAME               VERSION   READY   REASON     TARGET CLUSTER   AGE",
      "knative-eventing   eventing-spoke-1   1.22.2    False   NotReady   spoke-1          22s",
      "knative-eventing   eventing-spoke-2   1.22.2    True               spoke-2          17s",
    ].join("\n");
    expect(folded(table, 78)).toEqual([
      "NAME               VERSION   READY   REASON     TARGET CLUSTER",
      "eventing-spoke-1   1.22.2    False   NotReady   spoke-1",
      "eventing-spoke-2   1.22.2    True               spoke-2",
      "(a wider terminal also shows NAMESPACE, AGE)",
    ]);
  });

  test("as a table with a long last column has that below its row", () => {
    const table = [
      "LAST SEEN   TYPE      REASON   OBJECT   MESSAGE",
      "0s          Warning   Failed   ks/one   does not accept the credential, also not a fresh one",
    ].join("\n");
    expect(folded(table, 44)).toEqual([
      "LAST SEEN   TYPE      REASON   OBJECT",
      "    MESSAGE",
      "0s          Warning   Failed   ks/one",
      "    does not accept the credential, also not",
      "    a fresh one",
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
      `a      ${"x".repeat(24)}`,
      "(a wider terminal also shows SINCE)",
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
