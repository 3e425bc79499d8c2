import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { ensureBinaries } from "./binaries.ts";
import type { KeyPair } from "./certificates.ts";
import { freePort } from "./ports.ts";
import { startServer } from "./server-process.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { waitFor } from "./wait-for.ts";
import { startWatchdog } from "./watchdog.ts";

/** A Prometheus on loopback that watches itself; disposal ends it and removes what it stored. */
export interface Prometheus extends AsyncDisposable {
  readonly port: number;
}

/** Starts a Prometheus, with TLS when it gets an identity, and waits until it can be asked. Builds the program when it is missing. */
export async function startPrometheus(identity?: KeyPair): Promise<Prometheus> {
  const binary = await ensureBinaries(["prometheus"], { log: (line) => console.error(line) });
  await using undo = new AsyncDisposableStack();
  const folder = await mkdtemp(join(temporaryFolder(), "knfleet-prometheus-"));
  undo.defer(() => rm(folder, { recursive: true, force: true }));
  const watchdog = undo.use(startWatchdog(folder));
  const port = await freePort();
  await writeFiles({ folder, port }, identity);
  const options = {
    "config.file": "prometheus.yml",
    "web.config.file": "web.yml",
    "web.listen-address": `127.0.0.1:${port}`,
    "storage.tsdb.path": "data",
  };
  const command = {
    title: "prometheus",
    binary: binary("prometheus"),
    args: Object.entries(options).map(([name, value]) => `--${name}=${value}`),
    cwd: folder,
    logFile: join(folder, "prometheus.log"),
  };
  const server = await startServer(command, watchdog);
  undo.defer(() => server.stop());
  // Its storage is ready a moment later than its port.
  const isReady = async (): Promise<boolean> =>
    (await readFile(command.logFile, "utf8")).includes("Server is ready to receive web requests");
  await Promise.race([waitFor("Prometheus to be ready", isReady), server.died]);
  const running = undo.move();
  return { port, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

interface Place {
  readonly folder: string;
  readonly port: number;
}

/** JSON is YAML, too. */
async function writeFiles({ folder, port }: Place, identity: KeyPair | undefined): Promise<void> {
  const scheme = identity === undefined ? "http" : "https";
  const itself = {
    job_name: "itself",
    scheme,
    tls_config: { insecure_skip_verify: true },
    static_configs: [{ targets: [`127.0.0.1:${port}`] }],
  };
  const config = { global: { scrape_interval: "1s" }, scrape_configs: [itself] };
  const tls = { tls_server_config: { cert_file: "tls.pem", key_file: "tls-key.pem" } };
  const files = {
    "prometheus.yml": JSON.stringify(config),
    "web.yml": JSON.stringify(identity === undefined ? {} : tls),
    "tls.pem": identity?.certificatePem ?? "",
    "tls-key.pem": identity?.keyPem ?? "",
  };
  for (const [file, text] of Object.entries(files)) {
    await writeFile(join(folder, file), text, { mode: 0o600 });
  }
}
