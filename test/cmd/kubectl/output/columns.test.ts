import { describe, expect, test } from "vitest";

import {
  age,
  onCluster,
  shortened,
  tableOf,
  toned,
  wide,
} from "../../../../cmd/kubectl/output/columns.ts";

const looks = { isWide: false, times: (time: string | null | undefined) => `at ${time}` };

describe("a table of columns", () => {
  test("shows numbers, ages, tones, and <none> for what is not there", () => {
    const columns = {
      COUNT: () => 0,
      AGE: () => age("noon"),
      STATE: () => toned("bad", "missing"),
      EMPTY: () => "",
      NULL: () => null,
    };
    expect(tableOf([{}], columns, looks)).toEqual({
      headers: ["COUNT", "AGE", "STATE", "EMPTY", "NULL"],
      rows: [["0", "at noon", { text: "missing", tone: "bad" }, "<none>", "<none>"]],
    });
  });

  test("has wide columns in wide output alone, and names those that may be cut", () => {
    const columns = { NAME: () => "a", UID: wide(() => "u"), MESSAGE: shortened(() => "m") };
    expect(tableOf([{}], columns, looks)).toEqual({
      headers: ["NAME", "MESSAGE"],
      mayShorten: ["MESSAGE"],
      rows: [["a", "m"]],
    });
    expect(tableOf([{}], columns, { ...looks, isWide: true }).rows).toEqual([["a", "u", "m"]]);
  });

  test("names clusters with their namespace only where two have the same name", () => {
    const clusters = [
      { namespace: "fleet", name: "eu" },
      { namespace: "other", name: "eu" },
      { namespace: "fleet", name: "us" },
      null,
      "<unknown>",
    ];
    const columns = { CLUSTER: onCluster((one: (typeof clusters)[number]) => one) };
    expect(tableOf(clusters, columns, looks).rows.flat()).toEqual([
      "fleet/eu",
      "other/eu",
      "us",
      "<hub>",
      "<unknown>",
    ]);
  });
});
