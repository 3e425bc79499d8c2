import {
  array,
  assert,
  constantFrom,
  json,
  oneof,
  property,
  record,
  string,
  stringMatching,
  tuple,
} from "fast-check";
import { describe, expect, test } from "vitest";

import type { Component } from "../../api/component.ts";
import { managedClusterAnnotation } from "../../api/delivery.ts";
import { setAnnotations, type VerifySpec } from "../../api/fleet-set.ts";
import type { Verification } from "../../sets/check-answer.ts";
import {
  answerText,
  isOfHub,
  pulledReply,
  questionOf,
  questionText,
  shapedAnswer,
} from "../../sets/pulled-checks.ts";
import { about } from "../controller/verify/about.ts";
import { serving } from "../support/component.ts";
import { runsOf } from "../support/fuzz.ts";

const service = {
  namespace: "monitoring",
  name: "prometheus",
  port: 9_090,
  scheme: "http",
} as const;
const times = { noData: "Fail" } as const;
const local = { name: "rate", ...times, prometheus: { service, query: "x", max: 1 } } as const;
const byHub = { name: "gate", ...times, webhook: { url: "https://gate.example/" } } as const;
const job = {
  activeDeadlineSeconds: 60,
  backoffLimit: 0,
  template: {
    spec: {
      restartPolicy: "Never",
      containers: [{ name: "smoke", image: "registry.example/smoke" }],
    },
  },
} as const;
const everything = { workloads: { maxNewlyBroken: 0 }, checks: [local, byHub] } as const;

const pulled = serving({ metadata: { annotations: { [managedClusterAnnotation]: "spoke-1" } } });

function asking(spec: VerifySpec, component: Component = pulled): Verification {
  return { ...about("fleet/spoke-1", spec), component };
}

/** The component as the hub has it after an answer. */
function answered(answer: string): Component {
  return serving({ ...pulled, status: { annotations: { [setAnnotations.answer]: answer } } });
}

/** The component as its cluster has it. */
function copyWith(question: string): Component {
  return serving({ metadata: { annotations: { [setAnnotations.question]: question } } });
}

function idOf(verification: Verification): { readonly id: string } {
  const question = questionOf(copyWith(questionText(verification) ?? ""));
  if (question === undefined) throw new Error("The question cannot be read");
  return question;
}

describe("the question", () => {
  test("is about what only the cluster can answer, and comes back as it was asked", () => {
    const text = questionText(asking(everything)) ?? "";
    const { set, revision, stage, cluster, since } = about("fleet/spoke-1", everything);
    expect(questionOf(copyWith(text))).toMatchObject({
      set,
      revision,
      stage,
      cluster,
      since,
      spec: { workloads: { maxNewlyBroken: 0 }, checks: [local] },
    });
  });

  test.each<[string, Verification]>([
    ["a cluster that is dialled", asking(everything, serving())],
    ["checks that the hub asks itself", asking({ checks: [byHub] })],
  ])("is none for %s", (_, verification) => {
    expect(questionText(verification)).toBeUndefined();
  });

  test("is another one after another stamp", () => {
    const later = { ...asking(everything), stamp: "13:00:00" };
    expect(idOf(later).id).not.toBe(idOf(asking(everything)).id);
  });

  test.each(["", "{", "[]", "null", '{"set":{},"spec":{}}', '{"set":{"kind":"Pod"},"spec":{}}'])(
    "that nobody of us wrote is none: %s",
    (text) => {
      expect(questionOf(copyWith(text))).toBeUndefined();
    },
  );
});

describe("the answer", () => {
  const verification = asking(everything);
  const good = { kind: "good", message: "" } as const;

  test("is what the hub takes for the reply of the cluster", () => {
    const bad = { kind: "bad", message: "1 of 1 broke" } as const;
    const text = answerText(
      idOf(verification),
      new Map<string, typeof bad | typeof good>([
        ["rate", good],
        ["workloads", bad],
      ]),
    );
    const component = answered(shapedAnswer(text) ?? "");
    expect(pulledReply(component, verification, "workloads")).toEqual(bad);
    expect(pulledReply(component, verification, "rate")).toEqual(good);
  });

  test("to an earlier question, and none, are not good", () => {
    const text = answerText(idOf(verification), new Map([["rate", good]]));
    const unasked = {
      kind: "unasked",
      message: "the controller on the cluster has not answered yet",
    };
    const later = { ...verification, stamp: "13:00:00" };
    expect(pulledReply(answered(text), later, "rate")).toEqual(unasked);
    expect(pulledReply(answered(text), verification, "workloads")).toEqual(unasked);
    expect(pulledReply(pulled, verification, "rate")).toEqual(unasked);
  });

  test("is not asked for of a Job, which a work brings", () => {
    const smoke = { name: "smoke", noData: "Fail", job } as const;
    expect(questionText(asking({ checks: [smoke, local] }))).not.toContain("smoke");
    const ask = { patienceMs: 0, ask: smoke };
    expect([isOfHub(ask), isOfHub({ ask: local })]).toEqual([true, false]);
  });

  test("is short and of one line, whatever a cluster says", () => {
    const kinds = constantFrom("good", "bad", "unasked");
    const name = stringMatching(/^[a-z0-9-]{1,40}$/);
    const reply = record({
      kind: kinds,
      message: string({ maxLength: 3_000, unit: "binary" }),
    });
    const answers = array(tuple(name, reply), { maxLength: 9 });
    assert(
      property(answers, (list) => {
        const text = answerText(idOf(verification), new Map(list));
        const shaped = shapedAnswer(text) ?? "";
        expect(shaped.length).toBeGreaterThan(0);
        expect(shaped.length).toBeLessThan(4_096);
        expect(shaped).not.toMatch(/[\p{Cc}\u202e]/u);
        expect(shapedAnswer(shaped)).toBe(shaped);
      }),
      { numRuns: runsOf(400) },
    );
  });

  test("of another shape is none", () => {
    assert(
      property(oneof(string(), json()), (text) => {
        expect(shapedAnswer(text)).toBeUndefined();
      }),
      { numRuns: runsOf(400) },
    );
    expect(
      shapedAnswer(`{"id":"0123456789abcdef","checks":[]}${" ".repeat(5_000)}`),
    ).toBeUndefined();
  });
});
