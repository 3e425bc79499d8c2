import { X509Certificate } from "node:crypto";

import { fileText, followFile } from "../../access/followed-file.ts";
import type { Log } from "../../access/log.ts";
import { FleetError } from "../../api/errors.ts";
import type { WebhookServer } from "../server.ts";

const what = "The file of client authorities";

/** Reads the authorities of API servers' client certificates, PEM. Throws FleetError `ConfigInvalid`; the message names the path. */
export async function loadClientAuthorities(path: string, signal: AbortSignal): Promise<string> {
  const text = await fileText({ what, path }, signal);
  const found = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (found.length > 0 && found.every(isCertificate)) return text;
  throw new FleetError("ConfigInvalid", `${what} ${path} holds no certificates that can be read`);
}

/** Has a server trust what the file says, until the signal aborts; a content that cannot be used leaves the last good one in use. */
export async function followClientAuthorities(
  { path, known, log }: { readonly path: string; readonly known: string; readonly log: Log },
  server: Pick<WebhookServer, "useClientAuthorities">,
  signal: AbortSignal,
): Promise<void> {
  const follower = {
    known,
    load: (either: AbortSignal) => loadClientAuthorities(path, either),
    onChange: (text: string) => {
      server.useClientAuthorities(text);
      log.info({ path }, "Trusting new client authorities");
    },
    onValid: () => undefined,
    onInvalid: () => log.warn({ path }, "Kept the last good client authorities"),
  };
  await followFile(path, follower, signal);
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).ca;
  } catch {
    return false;
  }
}
