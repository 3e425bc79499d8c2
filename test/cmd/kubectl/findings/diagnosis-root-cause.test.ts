import { expect, test } from "vitest";

import type { KnfCode } from "../../../../api/knf/knf-codes.ts";
import { rootCauseOf } from "../../../../cmd/kubectl/findings/diagnosis.ts";
import {
  finding,
  hopTitles,
  type Hop,
  type HopId,
} from "../../../../cmd/kubectl/findings/hops/hop.ts";

type Row = readonly [id: HopId, code: KnfCode, severity?: "warning"];

function hopOf([id, code, severity = "error" as const]:
  | Row
  | readonly [HopId, KnfCode, "error"]): Hop {
  const state = severity === "error" ? "FAIL" : "WARN";
  const findings = [finding(severity, code)];
  return {
    id,
    title: hopTitles[id],
    state,
    code,
    message: "",
    evidence: [],
    findings,
    because: null,
    durationMs: 1,
  };
}

test.each<{ name: string; hops: readonly Row[]; code: KnfCode; because?: KnfCode; at?: HopId }>([
  {
    name: "a broken path comes before a controller that does not run",
    hops: [
      ["controller", "KNF1005"],
      ["plugin", "KNF3009"],
    ],
    code: "KNF3009",
  },
  {
    name: "a controller that does not run comes before what it would put right",
    hops: [
      ["controller", "KNF1005"],
      ["objects", "KNF6006"],
    ],
    code: "KNF1005",
  },
  {
    name: "the first broken step of the path is it",
    hops: [
      ["plugin", "KNF3010"],
      ["tcp", "KNF4002"],
    ],
    code: "KNF3010",
  },
  {
    name: "what the walk meets on the way comes before what knfleet's own check says of it",
    hops: [
      ["health", "KNF4010"],
      ["tls", "KNF4010"],
    ],
    code: "KNF4010",
    at: "tls",
  },
  {
    name: "what knfleet's own check says is it where the walk from here meets nothing",
    hops: [
      ["health", "KNF4009"],
      ["conditions", "KNF4009"],
    ],
    code: "KNF4009",
    at: "health",
  },
  {
    name: "pods explain their Deployments",
    hops: [
      ["deployments", "KNF6009"],
      ["pods", "KNF6010"],
    ],
    code: "KNF6010",
  },
  {
    name: "an anchor that is gone explains what is missing",
    hops: [
      ["anchor", "KNF6002"],
      ["deployments", "KNF6009"],
    ],
    code: "KNF6002",
  },
  {
    name: "an error comes before any warning",
    hops: [
      ["controller", "KNF1006", "warning"],
      ["guard", "KNF6005"],
    ],
    code: "KNF6005",
  },
  {
    name: "a deletion says what holds it",
    hops: [
      ["deletion", "KNF1012"],
      ["profile", "KNF2002"],
    ],
    code: "KNF1012",
    because: "KNF2002",
  },
  {
    name: "the controller's old word comes after what the walk saw",
    hops: [
      ["authentication", "KNF5004", "warning"],
      ["pods", "KNF6010"],
      ["conditions", "KNF4009"],
    ],
    code: "KNF6010",
  },
  {
    name: "the controller's word counts where the walk did not get",
    hops: [
      ["file", "KNF3001", "warning"],
      ["conditions", "KNF3010"],
    ],
    code: "KNF3010",
  },
  {
    name: "a clock that is wrong explains what has ended by it",
    hops: [
      ["hub", "KNF1021", "warning"],
      ["plugin", "KNF3014"],
    ],
    code: "KNF1021",
  },
  {
    name: "a clock that is wrong explains nothing else",
    hops: [
      ["hub", "KNF1021", "warning"],
      ["tcp", "KNF4002"],
    ],
    code: "KNF4002",
  },
])("$name", ({ hops, code, because = null, at }) => {
  const found = rootCauseOf(hops.map(hopOf));
  expect(found).toMatchObject({ code, because, ...(at === undefined ? {} : { hop: at }) });
});

test("what a wrong clock makes fail is an error, though the clock alone is a warning", () => {
  const clock: Row = ["hub", "KNF1021", "warning"];
  expect(rootCauseOf([clock].map(hopOf))).toMatchObject({ severity: "warning" });
  const both: readonly Row[] = [clock, ["credential", "KNF3014"]];
  expect(rootCauseOf(both.map(hopOf))).toMatchObject({ code: "KNF1021", severity: "error" });
});

test("there is none when all is well", () => {
  expect(rootCauseOf([])).toBeUndefined();
});
