import { expect, test } from "vitest";

import { ApiError, standInError } from "../../../access/kube/api-error.ts";
import { ask } from "../../../controller/verify/ask.ts";
import { checksOf } from "../../../sets/verify.ts";
import { bareClient } from "../../support/bare-client.ts";
import { about } from "./about.ts";

const { signal } = new AbortController();
const service = {
  namespace: "monitoring",
  name: "prometheus",
  port: 9090,
  scheme: "http",
} as const;
const prometheus = { service, query: "sum(rate(x[5m])) > 0", max: 0.01 };

/** Asks a Prometheus that answers this, and returns what was asked, too. */
async function asked(answer: unknown, more: object = {}) {
  const paths: string[] = [];
  const request = async (_method: string, path: string): Promise<unknown> => {
    paths.push(path);
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const spec = { checks: [{ name: "error-rate", noData: "Fail", prometheus, ...more } as const] };
  const [check] = checksOf(spec);
  if (check === undefined) throw new Error("There is one check");
  const clientOf = async () => bareClient({ request });
  return { reply: await ask(check, about("fleet/eu-1", spec), { clientOf }, signal), paths };
}

const vector = (...values: readonly string[]): unknown => ({
  status: "success",
  data: {
    resultType: "vector",
    result: values.map((value) => ({ value: [1_764_000_000, value] })),
  },
});

test("the query goes through the proxy of the API server to the Service, and to nothing else", async () => {
  const { paths } = await asked(vector("0"));
  expect(paths).toEqual([
    "/api/v1/namespaces/monitoring/services/http%3Aprometheus%3A9090/proxy/api/v1/query?query=sum%28rate%28x%5B5m%5D%29%29+%3E+0",
  ]);
});

test.each([
  { answer: vector("0.004"), is: { kind: "good", message: "" } },
  { answer: vector("0.01"), is: { kind: "good", message: "" } },
  {
    answer: vector("0.0312345"),
    is: { kind: "bad", message: "the query gives 0.03123, more than 0.01" },
  },
  {
    answer: vector("+Inf"),
    is: { kind: "bad", message: "the query gives Infinity, more than 0.01" },
  },
  {
    answer: { status: "success", data: { resultType: "scalar", result: [1, "0"] } },
    is: { kind: "good", message: "" },
  },
  { answer: vector(), is: { kind: "unasked", message: "the query gives no number" } },
  { answer: vector("NaN"), is: { kind: "unasked", message: "the query gives no number" } },
  {
    answer: vector("1", "2"),
    is: { kind: "unasked", message: "the query gives 2 numbers, and has to give one" },
  },
  {
    answer: { status: "success", data: { resultType: "matrix", result: [] } },
    is: { kind: "unasked", message: "the query has to give one number, and not a range or a text" },
  },
  {
    answer: { status: "error", error: "parse error \u001b[31m" },
    is: { kind: "unasked", message: "parse error" },
  },
  { answer: "<html>", is: { kind: "unasked", message: "its answer is none of Prometheus" } },
  { answer: null, is: { kind: "unasked", message: "its answer is none of Prometheus" } },
])("$answer counts as $is.kind", async ({ answer, is }) => {
  expect((await asked(answer)).reply).toEqual(is);
});

test("a number below min is bad", async () => {
  const { reply } = await asked(vector("0.2"), { prometheus: { service, query: "up", min: 1 } });
  expect(reply).toEqual({ kind: "bad", message: "the query gives 0.2, less than 1" });
});

test("noData Pass takes an answer without a number for a good one", async () => {
  expect((await asked(vector(), { noData: "Pass" })).reply).toEqual({ kind: "good", message: "" });
});

function refusal(status: number, message: string, isStatus = true): ApiError {
  return new ApiError({
    status,
    message,
    reason: isStatus ? "Reason" : "",
    causes: [],
    isStatus,
    request: "GET /",
  });
}

test.each([
  {
    error: refusal(
      403,
      'services "prometheus" is forbidden: User "hub" cannot get resource "services/proxy" in API group "" in the namespace "monitoring"',
    ),
    message: /^The right to get services\/proxy.* is missing$/,
  },
  {
    error: refusal(503, "no endpoints available"),
    message: /^Prometheus was not reached: 503 Reason$/,
  },
  { error: refusal(404, "not found"), message: /^Prometheus was not reached: 404 Reason$/ },
  {
    error: refusal(422, '{"status":"error","error":"parse error: unclosed"}', false),
    message: /^parse error: unclosed$/,
  },
  { error: refusal(422, "<html>", false), message: /^Prometheus was not reached: 422 $/ },
  {
    error: standInError(refusal(400, '{"status":"error","error":"unclosed"}', false), "spoke"),
    message: /^unclosed$/,
  },
  { error: standInError(refusal(400, "", false), "spoke"), message: /no API server does/ },
])("$error.message is no good answer", async ({ error, message }) => {
  const { reply } = await asked(error);
  expect(reply).toEqual({ kind: "unasked", message: expect.stringMatching(message) });
});
