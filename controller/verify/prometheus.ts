import { ApiError, ConnectionError } from "../../access/kube/api-error.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import { listAt, recordAt, textAt } from "../../api/fields.ts";
import type { CheckSpec } from "../../api/fleet-set.ts";
import { foreignText, redactSecrets } from "../../api/foreign-text.ts";
import { namespacedName } from "../../api/keys.ts";
import type { Reply } from "../../sets/check-answer.ts";
import { refusalText, Unasked } from "./unasked.ts";

type Service = NonNullable<NonNullable<CheckSpec["prometheus"]>["service"]>;

const longestError = 200;

/** The path of an instant query about a cluster. The names of a ClusterProfile have no character that PromQL quotes. */
export function queryPath(text: string, cluster: string): string {
  const { namespace, name } = namespacedName(cluster);
  const query = text
    .replaceAll("$(CLUSTER_NAME)", name)
    .replaceAll("$(CLUSTER_NAMESPACE)", namespace);
  return `/api/v1/query?${new URLSearchParams({ query }).toString()}`;
}

/** Asks a Service of a cluster through its API server. Rejects with `Unasked`, and as the client does when the cluster does not answer. */
export async function askService(
  { namespace, name, port, scheme }: Service,
  path: string,
  client: Pick<KubeClient, "request">,
  signal: AbortSignal,
): Promise<unknown> {
  const service = encodeURIComponent(`${scheme}:${name}:${port}`);
  const proxy = `/api/v1/namespaces/${encodeURIComponent(namespace)}/services/${service}/proxy`;
  try {
    return await client.request("GET", `${proxy}${path}`, undefined, signal);
  } catch (error) {
    const answer = errorAnswerOf(error);
    if (answer !== undefined) return answer;
    throw new Unasked(
      refusalText(error, ({ status, reason }) => `Prometheus was not reached: ${status} ${reason}`),
    );
  }
}

/** The answer of a Prometheus that says what is wrong with a query; undefined: the error is another one. */
function errorAnswerOf(error: unknown): unknown {
  // The client takes a 400 that is no Status for that of a proxy on its way.
  const isStandIn = error instanceof ConnectionError && error.failure === "standIn";
  const answer = isStandIn ? error.cause : error;
  if (!(answer instanceof ApiError) || answer.isStatus) return undefined;
  if (![400, 422].includes(answer.status)) return undefined;
  try {
    return JSON.parse(answer.message);
  } catch {
    return undefined;
  }
}

/** Judges what a Prometheus answered: good when its one number is within `min` and `max`. Throws `Unasked` when the answer has no number, but for `noData: Pass`. */
export function prometheusReply({ prometheus, noData }: CheckSpec, answer: unknown): Reply {
  const { min = -Infinity, max = Infinity } = prometheus ?? {};
  const value = numberIn(dataIn(answer));
  if (value === undefined || Number.isNaN(value)) {
    if (noData === "Pass") return { kind: "good", message: "" };
    throw new Unasked("the query gives no number");
  }
  if (value >= min && value <= max) return { kind: "good", message: "" };
  const limit = value > max ? `more than ${max}` : `less than ${min}`;
  return { kind: "bad", message: `the query gives ${shortNumber(value)}, ${limit}` };
}

function dataIn(answer: unknown): unknown {
  if (recordAt(answer)["status"] === "success") return recordAt(answer)["data"];
  const error = textAt(recordAt(answer), "error") ?? "its answer is none of Prometheus";
  throw new Unasked(redactSecrets(foreignText(error, longestError)));
}

/** The one number of an answer; undefined: there is none. */
function numberIn(data: unknown): number | undefined {
  const { resultType, result } = recordAt(data);
  if (resultType === "scalar" && Array.isArray(result)) return sampleOf(result);
  if (resultType !== "vector") {
    throw new Unasked("the query has to give one number, and not a range or a text");
  }
  const series = listAt(recordAt(data), "result");
  if (series.length > 1) {
    throw new Unasked(`the query gives ${series.length} numbers, and has to give one`);
  }
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
