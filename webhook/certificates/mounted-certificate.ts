import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { pause } from "../../access/time/clock.ts";
import { Follower } from "../../access/time/deadline.ts";
import { timestampOf } from "../../api/conditions.ts";
import { pairOf } from "./certificate-secret.ts";
import type { Certificates, CertificatesDeps } from "./certificates.ts";

const lookMs = 1_000;

/**
 * Serves the certificate that another program keeps in `tls.crt` and `tls.key` of a folder, such as a mounted Secret, and takes a new one
 * within seconds. Files that cannot be read or do not fit together change nothing.
 */
export function startMountedCertificate(
  { clock, log, use }: Pick<CertificatesDeps, "clock" | "log" | "use">,
  folder: string,
  signal: AbortSignal,
): Certificates {
  const stop = new Follower(signal);
  const end = stop.signal;
  let served = "";
  let isTold = false;
  const look = async () => {
    const found = await pairIn(folder);
    if (found === undefined) {
      if (!isTold) log.warn({ folder }, "The folder holds no usable certificate");
      isTold = true;
      return;
    }
    isTold = false;
    const { cert, key, notAfterMs } = found;
    if (cert + key === served) return;
    served = cert + key;
    use({ cert, key }, notAfterMs);
    log.info({ ends: timestampOf(new Date(notAfterMs)) }, "Serving a new certificate");
  };
  const run = async () => {
    while (!end.aborted) {
      await look();
      await pause(clock, lookMs, end);
    }
  };
  const done = run();
  return {
    waitingFor: () => (served === "" ? ["the serving certificate"] : []),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await done;
    },
  };
}

/** Tries twice, because a mounted Secret may be exchanged between the reads of its two files. */
async function pairIn(folder: string) {
  const read = async () => {
    const texts = ["tls.crt", "tls.key"].map((name) => readFile(join(folder, name), "utf8"));
    const [cert = "", key = ""] = await Promise.all(texts).catch(() => []);
    const pair = pairOf(cert, key);
    return pair === undefined ? undefined : { cert, key, notAfterMs: pair.notAfterMs };
  };
  return (await read()) ?? read();
}
