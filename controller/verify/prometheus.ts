import { ApiError } from "../../access/kube/api-error.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import { missingRightOf } from "../../access/kube/missing-right.ts";
import { listAt, recordAt, textAt } from "../../api/fields.ts";
import type { VerifySpec } from "../../api/fleet-set.ts";
import { foreignText } from "../../api/foreign-text.ts";
import type { Reply } from "../../sets/check-answer.ts";

type PrometheusCheck = NonNullable<VerifySpec["checks"]>[number];

const longestError = 200;

/**
 * Asks a Prometheus behind a Service of the cluster for one number, through the API server. Good when the number is within `min` and `max`. Rejects as the client does, but for answers
 * of the API server and of Prometheus that say why there is no number.
 */
export async function askPrometheus(
  { prometheus, noData }: PrometheusCheck,
  client: Pick<KubeClient, "request">,
  signal: AbortSignal,
): Promise<Reply> {
  const { service, query, min = -Infinity, max = Infinity } = prometheus;
  const answer = await queried(pathOf(service, query), client, signal);
  if ("kind" in answer) return answer;
  const value = numberIn(answer.data);
  if (typeof value === "string") return { kind: "unasked", message: value };
  if (value === undefined || Number.isNaN(value)) {
    if (noData === "Pass") return { kind: "good", message: "" };
    return { kind: "unasked", message: "the query gives no number" };
  }
  if (value >= min && value <= max) return { kind: "good", message: "" };
  const limit = value > max ? `more than ${max}` : `less than ${min}`;
  return { kind: "bad", message: `the query gives ${shortNumber(value)}, ${limit}` };
}

/** The path of an instant query, as the proxy of the API server forwards it. */
function pathOf(
  { namespace, name, port, scheme }: PrometheusCheck["prometheus"]["service"],
  query: string,
): string {
  const service = encodeURIComponent(`${scheme}:${name}:${port}`);
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/services/${service}/proxy/api/v1/query`;
  return `${path}?${new URLSearchParams({ query }).toString()}`;
}

async function queried(
  path: string,
  client: Pick<KubeClient, "request">,
  signal: AbortSignal,
): Promise<Reply | { readonly data: unknown }> {
  try {
    const answer = await client.request("GET", path, undefined, signal);
    if (recordAt(answer)["status"] === "success") return { data: recordAt(answer)["data"] };
    const error = textAt(recordAt(answer), "error") ?? "its answer is none of Prometheus";
    return { kind: "unasked", message: foreignText(error, longestError) };
  } catch (error) {
    if (!(error instanceof ApiError) || error.status === 401) throw error;
    const right = missingRightOf(error);
    if (right !== undefined) return { kind: "unasked", message: `The controller lacks ${right}` };
    return {
      kind: "unasked",
      message: `Prometheus was not reached: ${error.status} ${error.reason}`,
    };
  }
}

/** The one number of an answer; undefined without any, and a sentence for several. */
function numberIn(data: unknown): number | undefined | string {
  const { resultType, result } = recordAt(data);
  if (resultType === "scalar" && Array.isArray(result)) return sampleOf(result);
  if (resultType !== "vector") return "the query has to give one number, and not a range or a text";
  const series = listAt(recordAt(data), "result");
  if (series.length > 1) return `the query gives ${series.length} numbers, and has to give one`;
  const value = recordAt(series[0])["value"];
  return Array.isArray(value) ? sampleOf(value) : undefined;
}

/** The number of a sample, which is a time and a text such as `0.5`, `+Inf` or `NaN`. */
function sampleOf([, text]: readonly unknown[]): number {
  return Number(String(text).replace(/Inf$/u, "Infinity"));
}

function shortNumber(value: number): string {
  return String(Number(value.toPrecision(4)));
}
