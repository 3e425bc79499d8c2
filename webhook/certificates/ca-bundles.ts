import { isRecord } from "../../api/fields.ts";
import type { KubeObject } from "../../api/kubernetes.ts";

/** The Service through which API servers reach the webhook. */
export interface ServiceRef {
  readonly namespace: string;
  readonly name: string;
}

// Spec: the annotations of cert-manager's CA injector.
const injectorAnnotations = [
  "cert-manager.io/inject-ca-from",
  "cert-manager.io/inject-ca-from-secret",
  "cert-manager.io/inject-apiserver-ca",
] as const;

/** Whether another program fills in the `caBundle` of a webhook configuration. */
export function isInjected({ metadata }: KubeObject): boolean {
  return injectorAnnotations.some((name) => Object.hasOwn(metadata.annotations ?? {}, name));
}

interface Entry {
  readonly at: number;
  readonly name: unknown;
  readonly caBundle: string;
}

/** Whether all webhooks of a configuration that use this Service trust an authority. */
export function trusts(
  configuration: KubeObject,
  service: ServiceRef,
  authorityPem: string,
): boolean {
  return entriesOf(configuration, service).every(({ caBundle }) =>
    Buffer.from(caBundle, "base64").toString("utf8").includes(authorityPem),
  );
}

/**
 * JSON Patch that writes the bundle into each webhook that uses this Service. It applies to this version of the configuration only. Empty when there
 * is nothing to change.
 */
export function bundlePatch(
  configuration: KubeObject,
  service: ServiceRef,
  bundle: string,
): readonly object[] {
  const value = Buffer.from(bundle).toString("base64");
  const wrong = entriesOf(configuration, service).filter(({ caBundle }) => caBundle !== value);
  if (wrong.length === 0) return [];
  const version = configuration.metadata.resourceVersion;
  return [
    { op: "test", path: "/metadata/resourceVersion", value: version },
    ...wrong.flatMap(({ at, name }) => [
      { op: "test", path: `/webhooks/${at}/name`, value: name },
      { op: "add", path: `/webhooks/${at}/clientConfig/caBundle`, value },
    ]),
  ];
}

function entriesOf(configuration: KubeObject, { namespace, name }: ServiceRef): readonly Entry[] {
  const { webhooks } = configuration;
  if (!Array.isArray(webhooks)) return [];
  return webhooks.flatMap((webhook: unknown, at): readonly Entry[] => {
    if (!isRecord(webhook) || !isRecord(webhook["clientConfig"])) return [];
    const { service, caBundle } = webhook["clientConfig"];
    if (!isRecord(service) || service["namespace"] !== namespace || service["name"] !== name) {
      return [];
    }
    return [{ at, name: webhook["name"], caBundle: typeof caBundle === "string" ? caBundle : "" }];
  });
}
