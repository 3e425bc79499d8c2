import { createAuthority } from "../fleet/certificates.ts";
import type { Cluster } from "../fleet/cluster.ts";
import { valueAt } from "../fleet/json-record.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { listAt } from "./rendered.ts";

type Schema = Readonly<Record<string, unknown>>;

const text: Schema = { type: "string" };
const texts: Schema = { type: "array", items: text };
const map: Schema = { type: "object", additionalProperties: text };

function fields(properties: Schema, ...required: readonly string[]): Schema {
  return { type: "object", properties, ...(required.length === 0 ? {} : { required }) };
}

function list(properties: Schema, ...required: readonly string[]): Schema {
  return { type: "array", items: fields(properties, ...required) };
}

/** The fields of other projects' resources that a chart may use: unknown ones are refused by the API server. */
const specs: Readonly<Record<string, Schema>> = {
  "cert-manager.io/v1 Issuer": fields({ selfSigned: fields({}), ca: fields({ secretName: text }) }),
  "cert-manager.io/v1 Certificate": fields(
    {
      secretName: text,
      duration: text,
      renewBefore: text,
      dnsNames: texts,
      privateKey: fields({
        algorithm: { type: "string", enum: ["RSA", "ECDSA", "Ed25519"] },
        rotationPolicy: { type: "string", enum: ["Never", "Always"] },
      }),
      issuerRef: fields({ name: text, kind: text, group: text }, "name"),
    },
    "secretName",
    "issuerRef",
  ),
  "monitoring.coreos.com/v1 ServiceMonitor": fields(
    {
      selector: fields({ matchLabels: map }),
      endpoints: list({
        port: text,
        interval: text,
        path: text,
        scheme: text,
        honorLabels: { type: "boolean" },
      }),
    },
    "selector",
    "endpoints",
  ),
  "monitoring.coreos.com/v1 PrometheusRule": fields({
    groups: list(
      {
        name: text,
        rules: list({ alert: text, expr: text, for: text, labels: map, annotations: map }, "expr"),
      },
      "name",
    ),
  }),
};

/** Makes a cluster serve the resources of cert-manager and of the Prometheus operator. */
export async function serveStandIns({ admin }: Cluster): Promise<void> {
  for (const [type, spec] of Object.entries(specs)) {
    const [group = "", version = "", kind = ""] = type.split(/[/ ]/);
    const plural = `${kind.toLowerCase()}s`;
    await admin.apply({
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: `${plural}.${group}` },
      spec: {
        group,
        scope: "Namespaced",
        names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
        versions: [
          {
            name: version,
            served: true,
            storage: true,
            schema: { openAPIV3Schema: fields({ spec }, "spec") },
          },
        ],
      },
    });
    await waitFor(`${kind} to be served`, async () => {
      await admin.list({ apiVersion: `${group}/${version}`, kind });
      return true;
    });
  }
}

/** Does what cert-manager does for a Certificate and for the webhook configuration that names it. */
export async function playCertManager(
  { admin }: Cluster,
  certificate: { readonly namespace: string; readonly name: string },
): Promise<void> {
  const { namespace, name } = certificate;
  const found = await admin.get({
    apiVersion: "cert-manager.io/v1",
    kind: "Certificate",
    ...certificate,
  });
  const hosts = listAt(found, "spec", "dnsNames").map(String);
  const authority = createAuthority("cert-manager's stand-in");
  const pair = authority.issue({ commonName: hosts[0] ?? "", usage: "server", hosts });
  await admin.apply({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace, name: String(valueAt(found, "spec", "secretName")) },
    type: "kubernetes.io/tls",
    stringData: {
      "tls.crt": pair.certificatePem,
      "tls.key": pair.keyPem,
      "ca.crt": authority.certificatePem,
    },
  });
  const configurations = {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
  };
  const caBundle = Buffer.from(authority.certificatePem).toString("base64");
  for (const configuration of await admin.list(configurations)) {
    const { annotations = {}, name: its } = configuration.metadata;
    if (annotations["cert-manager.io/inject-ca-from"] !== `${namespace}/${name}`) continue;
    const webhooks = listAt(configuration, "webhooks").map((webhook) => ({
      ...Object(webhook),
      clientConfig: { ...Object(valueAt(webhook, "clientConfig")), caBundle },
    }));
    await admin.patch({ ...configurations, name: its }, { webhooks });
  }
}
