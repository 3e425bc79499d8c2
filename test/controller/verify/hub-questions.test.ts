import { expect, onTestFinished, test } from "vitest";

import { CheckSource } from "../../../access/urls/check-source.ts";
import type { Component } from "../../../api/component.ts";
import { managedClusterAnnotation, pulledAnnotations } from "../../../api/delivery.ts";
import { setAnnotations } from "../../../api/fleet-set.ts";
import { componentId } from "../../../api/keys.ts";
import { asComponent } from "../../../controller/component-identity.ts";
import { HubQuestions } from "../../../controller/verify/hub-questions.ts";
import type { Verification } from "../../../sets/check-answer.ts";
import { pulledReply, questionText } from "../../../sets/pulled-checks.ts";
import { bareClient } from "../../support/bare-client.ts";
import { serving } from "../../support/component.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { keptLines } from "../../support/kept-lines.ts";
import { MemoryHub } from "../../support/memory-hub.ts";
import { about } from "./about.ts";

const service = {
  namespace: "monitoring",
  name: "prometheus",
  port: 9_090,
  scheme: "http",
} as const;
const check = {
  name: "rate",
  noData: "Fail",
  prometheus: { service, query: "x", max: 1 },
} as const;
const verification: Verification = {
  ...about("fleet/spoke-1", { checks: [check] }),
  component: serving({ metadata: { annotations: { [managedClusterAnnotation]: "spoke-1" } } }),
};
const question = questionText(verification) ?? "";
const ofHub = { [pulledAnnotations.hubComponentUid]: "uid-on-the-hub" };

/** A pulled cluster whose Prometheus says this, with its component. */
function cluster(annotations: Readonly<Record<string, string>>) {
  const clock = new FakeClock();
  const api = new MemoryHub();
  const { log, lines } = keptLines();
  let value = "0";
  let asked = 0;
  const request = async (): Promise<unknown> => {
    asked += 1;
    return { status: "success", data: { resultType: "scalar", result: [0, value] } };
  };
  const component = serving({ metadata: { annotations } });
  api.edit(component.kind, component.metadata.name, component);
  const stored = (): Component => {
    const found = asComponent(api.find(component.kind, component.metadata.name));
    if (found === undefined) throw new Error("There is no component");
    return found;
  };
  const key = componentId(component);
  const byKey = new Map([[key, stored()]]);
  const { get, replace } = api;
  const questions = new HubQuestions({
    hub: bareClient({ request, get, replace }),
    components: { byKey },
    checkSource: new CheckSource({ sources: [], userAgent: "knfleet-test" }),
    clock,
    random: () => 0.5,
    log,
  });
  onTestFinished(() => questions[Symbol.dispose]());
  return {
    clock,
    api,
    lines,
    stored,
    questions,
    asked: () => asked,
    says: (text: string) => void (value = text),
    /** Writes annotations of the component, which the watch shows. */
    annotate: (next: Readonly<Record<string, string>>) => {
      const { metadata, ...rest } = stored();
      const changed = { ...rest, metadata: { ...metadata, annotations: next } };
      api.edit(component.kind, metadata.name, changed);
      byKey.set(key, stored());
      questions.componentChanged(stored());
    },
    reply: () => pulledReply(stored(), verification, "rate"),
  };
}

test("the cluster is asked what its component says, and the status has the answer", async () => {
  const { clock, says, reply, api } = cluster({ ...ofHub, [setAnnotations.question]: question });
  await clock.advance(1_000);
  expect(reply()).toEqual({ kind: "good", message: "" });
  const { requests } = api;
  await clock.advance(120_000);
  expect(api.requests).toBe(requests);
  says("2");
  await clock.advance(40_000);
  expect(reply()).toEqual({ kind: "bad", message: "the query gives 2, more than 1" });
});

test("what else is in the status stays, also after a write of another in the meantime", async () => {
  const { clock, api, stored, reply } = cluster({ ...ofHub, [setAnnotations.question]: question });
  api.edit("KnativeServing", stored().metadata.name, {
    ...stored(),
    status: { version: "1.23.0", annotations: { "knfleet.dev/set-content": "edited" } },
  });
  await clock.advance(1_000);
  expect(stored().status).toMatchObject({
    version: "1.23.0",
    annotations: { "knfleet.dev/set-content": "edited" },
  });
  expect(reply().kind).toBe("good");
});

test("an API server that does not take the answer gets it again", async () => {
  const { clock, api, lines, reply } = cluster({ ...ofHub, [setAnnotations.question]: question });
  api.fail();
  await clock.advance(4_000);
  expect([reply().kind, lines]).toEqual(["unasked", ["warn: Could not answer the hub"]]);
  api.work();
  await clock.advance(5_000);
  expect(reply().kind).toBe("good");
});

test("nothing is asked any more when the question is taken away, and nothing when the component goes", async () => {
  const whole = { ...ofHub, [setAnnotations.question]: question };
  const { clock, stored, annotate, asked, questions } = cluster(whole);
  await clock.advance(1_000);
  annotate(ofHub);
  await clock.advance(300_000);
  expect(asked()).toBe(1);
  annotate(whole);
  await clock.advance(1_000);
  expect(asked()).toBe(2);
  questions.componentDeleted(stored());
  await clock.advance(300_000);
  expect(asked()).toBe(2);
});

test.each([
  ["that no work brought", { [setAnnotations.question]: question }],
  ["without a question", ofHub],
  ["with a question of another form", { ...ofHub, [setAnnotations.question]: "{}" }],
])("a component %s is not asked about", async (_, annotations) => {
  const { clock, asked, api } = cluster(annotations);
  await clock.advance(60_000);
  expect([asked(), api.requests]).toEqual([0, 0]);
});

test.each([
  { checks: "x" },
  { checks: [7] },
  { checks: [{ name: "a", webhook: null }] },
  { checks: [{ name: "a", webhook: { url: "https://gate.example/" } }] },
  { checks: [{ name: "a", prometheus: null }] },
  { checks: [{ name: "a", prometheus: { service: 7, query: "x", max: 1 } }] },
  { checks: [{ name: "a", prometheus: { service, query: 7, max: 1 } }] },
  { checks: [{ ...check, prometheus: { ...check.prometheus, url: "https://a.example" } }] },
  { checks: [{ name: 7, prometheus: { service, query: "x", max: 1 } }] },
  { checks: [{ name: "a", interval: {}, prometheus: { service, query: "x", max: 1 } }] },
  { checks: Array.from({ length: 9 }, () => check) },
  { workloads: "all" },
  { workloads: { within: 7 } },
])("a question that no hub of ours asks is none, and ends nothing: %j", async (spec) => {
  const odd = JSON.stringify({ ...JSON.parse(question), spec });
  const { clock, lines, annotate, asked, reply } = cluster({
    ...ofHub,
    [setAnnotations.question]: odd,
  });
  await clock.advance(1_000);
  expect([asked(), lines]).toEqual([0, []]);
  annotate({ ...ofHub, [setAnnotations.question]: question });
  await clock.advance(1_000);
  expect(reply().kind).toBe("good");
});
