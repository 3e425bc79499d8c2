import type { Component } from "../api/component.ts";
import { managedClusterOf } from "../api/delivery.ts";
import { areRecords, type Fields, isRecord, jsonOf, listAt, textAt } from "../api/fields.ts";
import { fleetSetKinds, setAnnotations, type VerifySpec } from "../api/fleet-set.ts";
import { foreignText } from "../api/foreign-text.ts";
import { hashOf } from "../render/fields.ts";
import type { CheckAnswer, CheckSubject, Reply, Verification } from "./check-answer.ts";
import type { Check } from "./verify.ts";

/** What the set of a pulled component asks the controller on its cluster. */
export interface PulledQuestion extends CheckSubject {
  /** Names the question: an answer to another one does not count. */
  readonly id: string;
  readonly spec: VerifySpec;
}

// The agent of Open Cluster Management carries an answer as one value.
const longestAnswer = 4_096;
const longestMessages = 800;
const kinds = ["good", "bad", "unasked"] as const;
/** As many as a set may have. */
const mostChecks = 8;

/** Whether the hub asks a check without a connection to the cluster: those of a URL, and Jobs, which works bring. */
export function isOfHub({ ask }: Pick<Check, "ask">): boolean {
  return "name" in ask && (ask.webhook ?? ask.prometheus?.url ?? ask.job) !== undefined;
}

/** The question about a pulled cluster, for the annotation of its component; undefined: there is none, because the hub asks everything itself. */
export function questionText({ component, ...verification }: Verification): string | undefined {
  if (managedClusterOf(component) === undefined) return undefined;
  const { set, revision, stage, cluster, since, stamp, spec } = verification;
  const { workloads, checks = [] } = spec;
  const local = checks.filter(({ prometheus }) => prometheus?.service !== undefined);
  if (workloads === undefined && local.length === 0) return undefined;
  return JSON.stringify({
    set,
    revision,
    stage,
    cluster,
    stamp,
    since,
    spec: { ...(workloads !== undefined && { workloads }), checks: local },
  });
}

/** What a set asks about the cluster of a component; undefined: nothing, or nothing that `questionText` writes. Whoever may write the component may have written it. */
export function questionOf({ metadata }: Pick<Component, "metadata">): PulledQuestion | undefined {
  const text = metadata.annotations?.[setAnnotations.question];
  const value = text === undefined ? undefined : jsonOf(text);
  return isQuestion(value) ? { ...value, id: idOf(text ?? "") } : undefined;
}

/** The answers to a question, for `status.annotations` of the component: at most 4,096 characters. */
export function answerText(
  { id }: Pick<PulledQuestion, "id">,
  answers: ReadonlyMap<string, Pick<CheckAnswer, "kind" | "message">>,
): string {
  const entries = [...answers];
  const told = entries.filter(([, { message }]) => message !== "").length;
  const most = Math.floor(longestMessages / Math.max(1, told));
  const checks = entries.map(([name, { kind, message }]) => ({
    name,
    kind,
    ...(message === "" ? {} : { message: foreignText(message, most) }),
  }));
  return JSON.stringify({ id, checks });
}

/** What a cluster answers, as it may be kept on the hub: of the shape and length of `answerText`; undefined for anything else. */
export function shapedAnswer(text: string | undefined): string | undefined {
  const parsed = parsedAnswer(text);
  return parsed && answerText(parsed, parsed.checks);
}

/** What a pulled cluster answers to a check, by the status of its component. An answer to an earlier question does not count. */
export function pulledReply(
  component: Component,
  verification: Verification,
  check: string,
): Reply {
  const question = questionText(verification);
  const answer = parsedAnswer(component.status?.annotations?.[setAnnotations.answer]);
  const isCurrent = question !== undefined && answer?.id === idOf(question);
  const reply = isCurrent ? answer.checks.get(check) : undefined;
  const message = "the controller on the cluster has not answered yet";
  return reply ?? { kind: "unasked", message };
}

interface ParsedAnswer {
  readonly id: string;
  /** By the name of the check. */
  readonly checks: ReadonlyMap<string, Reply>;
}

function parsedAnswer(text: string | undefined): ParsedAnswer | undefined {
  if (text === undefined || text.length > longestAnswer) return undefined;
  const value = jsonOf(text);
  if (!isRecord(value)) return undefined;
  const id = textAt(value, "id") ?? "";
  if (!/^[0-9a-f]{16}$/.test(id)) return undefined;
  const checks = listAt(value, "checks").flatMap((one) => {
    if (!isRecord(one)) return [];
    const name = textAt(one, "name") ?? "";
    const kind = kinds.find((known) => known === one["kind"]);
    if (kind === undefined || !/^[a-z0-9-]{1,40}$/.test(name)) return [];
    return [[name, { kind, message: foreignText(textAt(one, "message") ?? "") }] as const];
  });
  return { id, checks: new Map(checks) };
}

function isQuestion(value: unknown): value is Omit<PulledQuestion, "id"> {
  if (!isRecord(value) || !isRecord(value["set"]) || !isLocalSpec(value["spec"])) return false;
  const { set, since } = value;
  const texts = [
    value["revision"],
    value["stage"],
    value["cluster"],
    set["namespace"],
    set["name"],
  ];
  const isNamed = texts.every((text) => typeof text === "string");
  return isNamed && typeof since === "number" && Object.hasOwn(fleetSetKinds, String(set["kind"]));
}

/** Whether a spec asks for workloads and Services of Prometheus, and for nothing else. */
function isLocalSpec(spec: unknown): boolean {
  if (!isRecord(spec)) return false;
  const { workloads, checks = [] } = spec;
  if (workloads !== undefined && !(isRecord(workloads) && hasTimes(workloads))) return false;
  return areRecords(checks) && checks.length <= mostChecks && checks.every(isLocalCheck);
}

function isLocalCheck(check: Fields): boolean {
  const { name, prometheus, webhook, job } = check;
  if (typeof name !== "string" || webhook !== undefined || job !== undefined) return false;
  if (!isRecord(prometheus) || prometheus["url"] !== undefined || !hasTimes(check)) return false;
  return isRecord(prometheus["service"]) && typeof prometheus["query"] === "string";
}

function hasTimes(fields: Fields): boolean {
  const times = [fields["within"], fields["for"], fields["interval"]];
  return times.every((time) => time === undefined || typeof time === "string");
}

function idOf(text: string): string {
  return hashOf(text).slice(0, 16);
}
