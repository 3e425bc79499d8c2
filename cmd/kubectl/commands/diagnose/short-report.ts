import { writeFile } from "node:fs/promises";

import { isRecord, listAt, recordAt, textAt } from "../../../../api/fields.ts";
import { knfCodes, type KnfCode } from "../../../../api/knf/knf-codes.ts";
import type { DiagnosisReport, Target } from "./diagnosis.ts";
import { finding, hopTitles, type Hop, type HopId, type HopState } from "./hops/hop.ts";

/** Bytes that a kubelet keeps of a termination message. */
const maxBytes = 4_096;

/** Writes the walks of a report in a form that fits into the termination message of a container. */
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

/** Reads a short report; undefined when the text is none. */
export function readShortReport(
  text: string,
  targets: readonly Target[],
): readonly ShortWalk[] | undefined {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    return undefined;
  }
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
  const [idText, stateText, durationMs, detail, message]: readonly unknown[] = Array.isArray(row)
    ? row
    : [];
  const id = idOf(idText);
  const state = states.find((one) => one === stateText);
  if (id === undefined || state === undefined) return undefined;
  const text = textAt({ message }, "message") ?? "";
  const code = codeOf(detail);
  const found =
    code === undefined
      ? []
      : [finding(state === "FAIL" ? "error" : "warning", code, { message: text })];
  return {
    id,
    title: hopTitles[id],
    state,
    code: code ?? null,
    message: text,
    evidence: [],
    findings: found,
    because: idOf(detail) ?? null,
    durationMs: typeof durationMs === "number" ? durationMs : null,
  };
}

function idOf(text: unknown): HopId | undefined {
  return isHopId(text) ? text : undefined;
}

function isHopId(text: unknown): text is HopId {
  return typeof text === "string" && Object.hasOwn(hopTitles, text);
}

function codeOf(text: unknown): KnfCode | undefined {
  return isKnfCode(text) ? text : undefined;
}

function isKnfCode(text: unknown): text is KnfCode {
  return typeof text === "string" && Object.hasOwn(knfCodes, text);
}
