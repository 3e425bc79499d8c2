import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";

/** How a review ended. `unanswered`: the request was no review, too large, or too late. */
export type ReviewResult = "allowed" | "denied" | "error" | "unanswered";

/** What is counted about admission reviews. */
export interface Metrics {
  /** Counts the begin of a request; call the result when it is answered. `webhook` is the path of the rules. */
  began(webhook: string): (result: ReviewResult, seconds: number) => void;
  /** Counts a violation of a rule. */
  refused(rule: string, code: number): void;
  /** Seconds since 1970 at which the serving certificate ends. */
  certificateEnds(seconds: number): void;
  /** Everything as Prometheus text; `contentType` is its media type. */
  render(): Promise<string>;
  readonly contentType: string;
}

const durations = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Metrics of one webhook, in a registry of its own. Names are controller-runtime's where it has one. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const requests = new Counter({
    name: "controller_runtime_webhook_requests_total",
    help: "Admission requests, by the path of the rules and result",
    labelNames: ["webhook", "result"],
    registers,
  });
  const latency = new Histogram({
    name: "controller_runtime_webhook_latency_seconds",
    help: "Seconds that an admission request took",
    labelNames: ["webhook"],
    buckets: durations,
    registers,
  });
  const inFlight = new Gauge({
    name: "controller_runtime_webhook_requests_in_flight",
    help: "Admission requests that are being answered",
    labelNames: ["webhook"],
    registers,
  });
  const refusals = new Counter({
    name: "knfleet_webhook_refused_total",
    help: "Violations found, by rule and status code",
    labelNames: ["rule", "code"],
    registers,
  });
  const certificate = new Gauge({
    name: "knfleet_webhook_certificate_expiry_seconds",
    help: "Unix time at which the serving certificate ends",
    registers,
  });
  return {
    began(webhook) {
      inFlight.inc({ webhook });
      return (result, seconds) => {
        inFlight.dec({ webhook });
        requests.inc({ webhook, result });
        latency.observe({ webhook }, seconds);
      };
    },
    refused: (rule, code) => refusals.inc({ rule, code: String(code) }),
    certificateEnds: (seconds) => certificate.set(seconds),
    contentType: registry.contentType,
    render: () => registry.metrics(),
  };
}
