import { isSameJson } from "../../../api/fields.ts";
import { differencesOf } from "../../support/spoke-dump.ts";
import { rightOf } from "./asked-right.ts";
import { type Attack, isChange } from "./attack.ts";
import type { Outcome } from "./carry-out.ts";
import type { CommandCase } from "./command-case.ts";
import type { Shape } from "./shape.ts";

/** What the clusters held at some moments. */
export interface Shapes {
  readonly before: Shape;
  /** After an undisturbed run. */
  readonly after: Shape;
  /** After the attack. */
  readonly now: Shape;
}

/** What is wrong with a run that was attacked. None: it is as the laws of issue 53 say. */
export function brokenLaws(
  one: Pick<CommandCase, "says" | "warns" | "exitCode" | "isRefused">,
  attack: Attack,
  { outcome, shapes }: Ended,
): readonly string[] {
  return [
    ...outcome.runs.flatMap(({ stdout, stderr }) => badWords(`${stdout}${stderr}`)),
    ...changedOfOthers(shapes),
    ...wrongEnd(one, attack, { outcome, shapes }),
    ...(one.isRefused === true || attack.kind === "dry run" ? writesOf(outcome) : []),
  ];
}

interface Ended {
  readonly outcome: Outcome;
  readonly shapes: Shapes;
}

/** The laws for what a run says and leaves. */
function wrongEnd(
  one: Parameters<typeof brokenLaws>[0],
  attack: Attack,
  ended: Ended,
): readonly string[] {
  // A process that is killed says nothing more.
  if (attack.kind === "kill" || attack.kind === "dry run") return [];
  const { runs } = ended.outcome;
  const text = runs.map(({ stdout, stderr }) => `${stdout}\n${stderr}`).join("\n");
  const isWell = runs.some(({ exitCode }) => exitCode === (one.exitCode ?? 0));
  if (one.isRefused === true) return wrongFailure(ended);
  if (isWell) return one.warns?.test(text) === true ? [] : undone(ended.shapes);
  const { now, after } = ended.shapes;
  const isNamed = isSame(now, after) || one.says?.test(text) === true;
  return [
    ...wrongFailure(ended),
    ...unnamedRight(attack, { outcome: ended.outcome, text }),
    // What is shown before anybody agrees stands on standard output.
    ...(isNamed ? [] : unnamedLeftovers(ended.shapes, runs.map(({ stderr }) => stderr).join("\n"))),
  ];
}

function undone({ now, after }: Shapes): readonly string[] {
  const differences = differencesOf(now, after).join("; ");
  return differences === "" ? [] : [`It said that all is well, and: ${differences}`];
}

function wrongFailure({ outcome: { runs } }: Ended): readonly string[] {
  return runs.flatMap(({ exitCode, stderr }) => [
    ...(exitCode === 0 ? ["It ended with exit code 0"] : []),
    ...(exitCode !== 0 && stderr.trim() === "" ? ["It failed and said nothing"] : []),
  ]);
}

function badWords(text: string): readonly string[] {
  return [/Internal error/i, /\n\s+at .*\.ts:\d+/, /TypeError|undefined/].flatMap((word) => {
    const found = word.exec(text)?.[0];
    return found === undefined ? [] : [`It said "${found.trim()}": ${text.trim().slice(0, 400)}`];
  });
}

/** Without the writes that were denied: they changed nothing. */
function taken({ writes, ...outcome }: Outcome): Outcome {
  return { ...outcome, writes: writes.filter(({ status }) => status !== 403) };
}

function writesOf({ writes }: Outcome): readonly string[] {
  return writes.map(({ method, path, cluster }) => `It wrote: ${method} ${path} of ${cluster}`);
}

/** What an undisturbed run leaves as it was stays as it was. */
function changedOfOthers({ before, after, now }: Shapes): readonly string[] {
  const others = Object.keys(before).filter((id) => isSameJson(before[id], after[id]));
  return others
    .filter((id) => !isSameJson(before[id], now[id]))
    .map((id) => `It changed what is not its own: ${id}`);
}

/** A missing right is named with verb and resource, before anything is written. A denied write comes when others are written, unless the right was asked for. */
function unnamedRight(
  attack: Attack,
  { outcome, text }: { readonly outcome: Outcome; readonly text: string },
): readonly string[] {
  const right = deniedRight(attack);
  if (right === undefined) return [];
  const { verb, resource } = right;
  const isNamed = text.includes(verb) && text.includes(resource);
  const isRead = ["get", "list", "watch"].includes(verb) && !isAfterWrite(attack);
  return [
    ...(isNamed ? [] : [`It does not name the right to ${verb} ${resource}: ${text.trim()}`]),
    ...(isRead || attack.kind === "right" ? writesOf(taken(outcome)) : []),
  ];
}

function isAfterWrite(attack: Attack): boolean {
  return attack.kind === "answer" && "path" in attack.at && attack.at.isAfterWrite;
}

function deniedRight(attack: Attack) {
  if (attack.kind === "right") return attack.right;
  if (attack.kind !== "answer" || attack.status !== 403 || "write" in attack.at) return undefined;
  return rightOf({ ...attack.at, isWatch: false });
}

/** What a run that ended in the middle has left is named, so that one can take it away. */
function unnamedLeftovers({ before, after, now }: Shapes, text: string): readonly string[] {
  const made = Object.keys(now).filter((id) => !(id in before));
  const isBegun = Object.keys(before).some((id) => !(id in now));
  const kept = Object.keys(now).filter((id) => id in before && !(id in after));
  return [...made, ...(isBegun ? kept : [])]
    .filter((id) => !text.includes(nameOf(id)))
    .map((id) => `It left ${id} and does not say so: ${text.trim().slice(-300)}`);
}

/** The name of an identity; the part that is drawn does not count. */
function nameOf(id: string): string {
  return (id.split("|").at(-1) ?? id).replace(/\*$/, "");
}

export function isSame(one: Shape, other: Shape): boolean {
  return differencesOf(one, other).length === 0;
}

/** What an undisturbed run asked is what the attacks are about. */
export function askedWrites({ writes }: Outcome): Outcome["writes"] {
  return writes.filter(isChange).map((write, at) => ({ ...write, number: at + 1 }));
}
