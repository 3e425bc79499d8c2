import { join } from "node:path";

import { expect, test } from "vitest";

import type { KnfCode } from "../../../../api/knf/knf-codes.ts";
import { diagnosisOf, diagnosisReport } from "../../../../cmd/kubectl/findings/diagnose.ts";
import { diagnosisView } from "../../../../cmd/kubectl/findings/diagnosis-text.ts";
import {
  finding,
  hopTitles,
  type Hop,
  type HopId,
  type HopState,
} from "../../../../cmd/kubectl/findings/hops/hop.ts";
import { compared } from "../../../../cmd/kubectl/findings/walk-elsewhere.ts";
import { readFlags, type RawFlags } from "../../../../cmd/kubectl/flags.ts";
import { printReport } from "../../../../cmd/kubectl/main/print-report.ts";
import { commandsOf } from "../../../../cmd/kubectl/output/steps.ts";

const now = new Date("2026-11-21T12:00:00Z");
const stamp = { missing: [], now, cliVersion: "1.0.0" };

interface Step {
  readonly id: HopId;
  readonly state?: HopState;
  readonly message: string;
  readonly code?: KnfCode;
  readonly because?: HopId;
}

function hopOf({ id, state = "OK", message, code, because }: Step): Hop {
  const evidence = ["what was seen \u001b[31mhere"];
  const severity = state === "FAIL" ? "error" : "warning";
  return {
    id,
    title: hopTitles[id],
    state,
    code: code ?? null,
    message,
    evidence,
    findings: code === undefined ? [] : [finding(severity, code, { message, evidence })],
    because: because ?? null,
    durationMs: state === "SKIPPED" ? null : 12,
  };
}

const target = { kind: "KnativeServing", namespace: "team-a", name: "knative-serving" } as const;
const fine = [
  hopOf({ id: "hub", message: "https://hub.example.test:6443 as jane" }),
  hopOf({ id: "profile", message: "ClusterProfile fleet/eu-4 offers secretreader" }),
];
const broken = [
  ...fine,
  hopOf({
    id: "endpoint",
    state: "WARN",
    code: "KNF2007",
    message: "certificate-authority is a file path, and is ignored",
  }),
  hopOf({
    id: "plugin",
    state: "FAIL",
    code: "KNF3015",
    message: "Secret default/eu-4 does not exist",
  }),
  hopOf({ id: "credential", state: "SKIPPED", message: "because of plugin", because: "plugin" }),
  hopOf({ id: "dns", message: "10.0.0.4 is an address" }),
];
const local = diagnosisOf(target, "local", broken);
const well = diagnosisOf({ ...target, name: "other" }, "local", fine);
const there = compared(
  diagnosisOf(target, "controller-identity", [
    ...fine,
    hopOf({
      id: "plugin",
      state: "FAIL",
      code: "KNF3017",
      message: "The plugin may not read its Secret",
    }),
  ]),
  diagnosisOf(target, "local", [...fine, hopOf({ id: "plugin", message: "builtin:secretreader" })]),
);

const warned = diagnosisOf({ ...target, name: "third" }, "local", [
  ...fine,
  hopOf({
    id: "authentication",
    state: "WARN",
    code: "KNF5004",
    message: "system:masters is shared with everybody who has it",
  }),
]);

async function printed(
  items: Parameters<typeof diagnosisReport>[0],
  raw: RawFlags,
  columns?: number,
): Promise<string> {
  let stdout = "";
  let stderr = "";
  const terminal = {
    args: [],
    env: { LANG: "en_US.UTF-8" },
    stdout: {
      write: (text: string) => (stdout += text),
      ...(columns === undefined ? {} : { columns, isTTY: true }),
    },
    stderr: { write: (text: string) => (stderr += text) },
    now: () => now,
  };
  const flags = readFlags({ ...raw, context: "hub" }, {});
  const report = diagnosisReport(items, stamp);
  const view = diagnosisView(report, commandsOf(flags));
  await printReport("Diagnosis", view, { flags, terminal });
  return stderr === "" ? stdout : `${stdout}--- stderr\n${stderr}`;
}

const long = diagnosisOf(target, "local", [
  ...broken,
  ...(["authentication", "authorization", "anchor", "deployments", "pods"] as const).map((id) =>
    hopOf({ id, state: "SKIPPED", message: "because of plugin", because: "plugin" }),
  ),
]);

test.each([
  { name: "folded.80.txt", items: [long], raw: { color: "never" } },
  { name: "folded.well.txt", items: [well], raw: { color: "never" } },
  { name: "folded.warned.txt", items: [warned], raw: { color: "never" } },
])(
  "on a terminal the root cause comes first, and steps without news share a line: $name",
  async ({ name, items, raw }) => {
    const path = join(import.meta.dirname, "../../../golden/kubectl", `diagnose.${name}`);
    await expect(await printed(items, raw, 80)).toMatchFileSnapshot(path);
    const wide = await printed(items, { ...raw, output: "wide" }, 80);
    expect(wide).toMatch(/^OK +ClusterProfile +12 ms/m);
  },
);

test.each([
  { name: "one.txt", items: [local], raw: {} },
  { name: "one.wide.txt", items: [local], raw: { output: "wide" } },
  { name: "one.colour.txt", items: [local], raw: { color: "always" } },
  { name: "one.json.txt", items: [local], raw: { output: "json" } },
  { name: "well.txt", items: [well], raw: {} },
  { name: "warned.txt", items: [warned], raw: {} },
  { name: "warned.fleet.txt", items: [well, local, warned], raw: {} },
  { name: "there.txt", items: [there], raw: {} },
  { name: "fleet.txt", items: [well, local], raw: {} },
  { name: "fleet.name.txt", items: [well, local], raw: { output: "name" } },
  { name: "fleet.yaml.txt", items: [well, local], raw: { output: "yaml" } },
])("diagnose is printed as agreed: $name", async ({ name, items, raw }) => {
  const path = join(import.meta.dirname, "../../../golden/kubectl", `diagnose.${name}`);
  const text = await printed(items, raw);
  await expect(text).toMatchFileSnapshot(path);
});
