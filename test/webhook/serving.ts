import { Agent } from "node:https";

import { systemClock } from "../../access/time/system-clock.ts";
import { createApp, type AppDeps } from "../../webhook/app.ts";
import { ByteBudget } from "../../webhook/byte-budget.ts";
import { createMetrics } from "../../webhook/metrics.ts";
import type { Review } from "../../webhook/reply.ts";
import {
  startWebhookServer,
  type WebhookServer,
  type WebhookServerOptions,
} from "../../webhook/server.ts";
import { createAuthority } from "../fleet/certificates.ts";
import { exchange, type Answer } from "../fleet/https-exchange.ts";

/** A line of a log: its fields and its sentence. */
export interface Line {
  readonly fields: object;
  readonly message: string;
}

export interface Serving extends AsyncDisposable {
  readonly server: WebhookServer;
  readonly lines: readonly Line[];
  readonly metrics: AppDeps["metrics"];
  readonly authority: ReturnType<typeof createAuthority>;
  post(path: string, body: string, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  send(method: string, path: string): Promise<Answer>;
}

/** The real app behind a real HTTPS server on loopback, with one review at `/validate`. */
export async function serve(
  review: Review,
  {
    draining = () => false,
    waitingFor = () => [],
    clients,
    limits,
    budget = new ByteBudget(systemClock, 48 * 1024 * 1024),
  }: Partial<AppDeps> & Pick<WebhookServerOptions, "clients" | "limits"> = {},
): Promise<Serving> {
  const lines: Line[] = [];
  const write = (fields: object, message: string) => void lines.push({ fields, message });
  const metrics = createMetrics();
  const authority = createAuthority("test");
  const pair = authority.issue({ commonName: "webhook", usage: "server", hosts: ["127.0.0.1"] });
  const app = createApp({
    clock: systemClock,
    reviews: { "/validate": review },
    metrics,
    budget,
    log: { debug: write, info: write, warn: write, error: write },
    waitingFor,
    draining,
  });
  const server = await startWebhookServer(app, {
    clock: systemClock,
    address: { host: "127.0.0.1", port: 0 },
    certificate: { cert: pair.certificatePem, key: pair.keyPem },
    minTlsVersion: "TLSv1.3",
    ...(clients === undefined ? {} : { clients }),
    ...(limits === undefined ? {} : { limits }),
  });
  const agent = new Agent({ ca: authority.certificatePem, keepAlive: true });
  const url = (path: string) => `https://127.0.0.1:${server.port}${path}`;
  return {
    server,
    lines,
    metrics,
    authority,
    post: (path, body, headers = { "content-type": "application/json" }) =>
      exchange({ url: url(path), method: "POST", agent, headers, body }),
    send: (method, path) => exchange({ url: url(path), method, agent, headers: {} }),
    async [Symbol.asyncDispose]() {
      agent.destroy();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** A review of a create, as an API server sends it. */
export function reviewOf(changes: Readonly<Record<string, unknown>> = {}): {
  readonly apiVersion: string;
  readonly kind: string;
  readonly request: Readonly<Record<string, unknown>>;
} {
  return {
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: {
      uid: "4f3c",
      kind: { group: "operator.knative.dev", version: "v1beta1", kind: "KnativeServing" },
      resource: { group: "operator.knative.dev", version: "v1beta1", resource: "knativeservings" },
      name: "knative-serving",
      namespace: "knative-serving",
      operation: "CREATE",
      userInfo: { username: "alice", groups: ["system:authenticated"] },
      object: { apiVersion: "operator.knative.dev/v1beta1", kind: "KnativeServing" },
      oldObject: null,
      dryRun: false,
      ...changes,
    },
  };
}
