import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { createAuthority } from "../../fleet/certificates.ts";

/** An API server that shows webhooks a certificate. */
export interface KnownApiServer {
  /** Flags that it is started with. */
  readonly flags: readonly string[];
  /** Flags of a webhook that answers nobody else. */
  readonly webhookFlags: readonly string[];
  /** With the files that the flags name. */
  readonly folder: string;
}

/** Writes what tells a kube-apiserver to show every webhook a certificate: as docs/webhook.md has it. Spec: WebhookAdmissionConfiguration. */
export function knownApiServer(): KnownApiServer {
  const commonName = "kube-apiserver webhooks";
  const authority = createAuthority("api servers");
  const { certificatePem, keyPem } = authority.issue({ commonName, usage: "client" });
  const folder = mkdtempSync(join(tmpdir(), "knfleet-known-"));
  const written = (name: string, text: string): string => {
    const path = join(folder, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  };
  const authorityFile = written("authority.crt", authority.certificatePem);
  const certificate = written("webhooks.crt", certificatePem);
  const key = written("webhooks.key", keyPem);
  const user = { "client-certificate": certificate, "client-key": key };
  const kubeconfig = { apiVersion: "v1", kind: "Config", users: [{ name: "*", user }] };
  const apiVersion = "apiserver.config.k8s.io/v1";
  const configuration = {
    apiVersion,
    kind: "WebhookAdmissionConfiguration",
    kubeConfigFile: written("webhooks.kubeconfig", JSON.stringify(kubeconfig)),
  };
  const plugins = [{ name: "ValidatingAdmissionWebhook", configuration }];
  const admission = { apiVersion, kind: "AdmissionConfiguration", plugins };
  const file = written("admission.yaml", JSON.stringify(admission));
  return {
    flags: [`--admission-control-config-file=${file}`],
    webhookFlags: [`--client-ca-file=${authorityFile}`, `--client-name=${commonName}`],
    folder,
  };
}
