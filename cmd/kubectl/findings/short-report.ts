import { writeFile } from "node:fs/promises";

import { isRecord, jsonOf, listAt, recordAt } from "../../../api/fields.ts";
import { knfCodes, type KnfCode } from "../../../api/knf/knf-codes.ts";
import type { DiagnosisReport, Target } from "./diagnosis.ts";
import { finding, hopTitles, type Hop, type HopId, type HopState } from "./hops/hop.ts";

/** Size limit of a termination message in Kubernetes. */
const maxBytes = 4_096;

/** Writes the walks of a report, shortened until they fit into the termination message of a container. */
export async function writeShortReport(path: string, report: DiagnosisReport): Promise<void> {
  for (const length of [200, 80, 0]) {
    const walks = report.items.map(({ target, hops }) => ({
      target,
      hops: hops.map((hop) => shortHop(hop, length)),
    }));
    const text = JSON.stringify({ knfleet: "diagnosis/v1", walks });
    if (Buffer.byteLength(text) <= maxBytes || length === 0) return writeFile(path, text);
  }
}

function shortHop(
  { id, state, code, message, because, durationMs }: Hop,
  length: number,
): readonly unknown[] {
  const isFine = state === "OK" || state === "SKIPPED";
  return [id, state, durationMs, code ?? because ?? "", isFine ? "" : message.slice(0, length)];
}

/** A walk as a short report has it. */
interface ShortWalk {
  readonly target: Target;
  readonly hops: readonly Hop[];
}

/** Reads a short report; undefined for any other text. */
export function readShortReport(
  text: string,
  targets: readonly Target[],
): readonly ShortWalk[] | undefined {
  const document = jsonOf(text);
  if (!isRecord(document) || document["knfleet"] !== "diagnosis/v1") return undefined;
  return listAt(document, "walks").flatMap((walk) => {
    const { kind, namespace, name } = recordAt(walk, "target");
    const target = targets.find(
      (one) => one.kind === kind && one.namespace === namespace && one.name === name,
    );
    if (target === undefined) return [];
    return [{ target, hops: listAt(recordAt(walk), "hops").flatMap((hop) => hopOf(hop) ?? []) }];
  });
}

const states: readonly HopState[] = ["OK", "WARN", "FAIL", "SKIPPED"];

function hopOf(row: unknown): Hop | undefined {
  const [id, stateText, durationMs, detail, text]: readonly unknown[] = Array.isArray(row)
    ? row
    : [];
  const state = states.find((one) => one === stateText);
  if (!isHopId(id) || state === undefined) return undefined;
  const message = typeof text === "string" ? text : "";
  const code = isKnfCode(detail) ? detail : null;
  const severity = state === "FAIL" ? "error" : "warning";
  return {
    id,
    title: hopTitles[id],
    state,
    code,
    message,
    evidence: [],
    findings: code === null ? [] : [finding(severity, code, { message })],
    because: isHopId(detail) ? detail : null,
    durationMs: typeof durationMs === "number" ? durationMs : null,
  };
}

function isHopId(text: unknown): text is HopId {
  return typeof text === "string" && Object.hasOwn(hopTitles, text);
}

function isKnfCode(text: unknown): text is KnfCode {
  return typeof text === "string" && Object.hasOwn(knfCodes, text);
}
