import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";

import { waitFor } from "../fleet/wait-for.ts";
import { clockArguments, clockEnvironment } from "./clock-factor.ts";
import { imageArguments, programEnvironment } from "./image-environment.ts";

/** How a webhook is started. */
export interface WebhookProcessOptions {
  /** File of the program; absent: that of the sources. */
  readonly program?: string;
  readonly kubeconfig: string;
  readonly flags?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** How many times as fast its clocks and timers run; default 1. */
  readonly clockFactor?: number;
}

export interface WebhookExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

type Line = Readonly<Record<string, unknown>>;

const binary = resolve(import.meta.dirname, "../../cmd/knfleet-webhook.ts");
const stopLimitMs = 25_000;

/** A running `knfleet-webhook` on loopback ports of its own; disposing it stops it. */
export class WebhookProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly exited: Promise<WebhookExit>;
  stdout = "";
  stderr = "";

  constructor({
    program,
    kubeconfig,
    flags = [],
    environment = {},
    clockFactor = 1,
  }: WebhookProcessOptions) {
    const usual = ["--address=127.0.0.1:0", "--health-address=127.0.0.1:0", "--drain-period=0s"];
    const args = [
      ...imageArguments(),
      ...clockArguments(clockFactor),
      program ?? binary,
      `--kubeconfig=${kubeconfig}`,
      "--release-dir=",
      ...usual,
      ...flags,
    ];
    this.#child = spawn(process.execPath, args, {
      env: { ...programEnvironment(), ...clockEnvironment(clockFactor), ...environment },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.exited = exitOf(this.#child);
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => (this.stdout += text));
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => (this.stderr += text));
  }

  get pid(): number {
    if (this.#child.pid === undefined) throw new Error("The webhook did not start");
    return this.#child.pid;
  }

  /** The lines of the log that have the given sentence. */
  lines(msg: string): readonly Line[] {
    const parsed = this.stdout.split("\n").flatMap((line): readonly Line[] => {
      try {
        const value: unknown = JSON.parse(line);
        return typeof value === "object" && value !== null ? [{ ...value }] : [];
      } catch {
        // The last line may be cut.
        return [];
      }
    });
    return parsed.filter((line) => line["msg"] === msg);
  }

  /** Waits for a line with the given sentence, and fails when the process ends before. */
  logged(msg: string): Promise<Line> {
    return waitFor(`${msg} in\n${this.stdout}${this.stderr}`, () => {
      const [line] = this.lines(msg);
      if (line !== undefined || this.#child.exitCode === null) return line;
      throw new Error(`The webhook ended:\n${this.stdout}\n${this.stderr}`);
    });
  }

  /** Port at which reviews are answered. */
  async port(): Promise<number> {
    return portIn(await this.logged("Answering admission reviews"));
  }

  /** Base URL of `/healthz`, `/readyz` and `/metrics`. */
  async healthUrl(): Promise<string> {
    return `http://127.0.0.1:${portIn(await this.logged("Serving health and metrics"))}`;
  }

  /** Resolves when `/readyz` answers 200. */
  async ready(): Promise<void> {
    const url = `${await this.healthUrl()}/readyz`;
    await waitFor(`readiness of\n${this.stdout}`, async () => (await fetch(url)).ok);
  }

  signal(name: NodeJS.Signals): void {
    process.kill(this.pid, name);
  }

  async stop(): Promise<WebhookExit> {
    this.#child.kill("SIGTERM");
    const killer = setTimeout(() => this.#child.kill("SIGKILL"), stopLimitMs);
    return this.exited.finally(() => clearTimeout(killer));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGCONT");
    await this.stop();
  }
}

function portIn({ address }: Line): number {
  return Number(String(address).split(":").at(-1));
}

async function exitOf(child: ChildProcess): Promise<WebhookExit> {
  await Promise.race([once(child, "close"), once(child, "error")]);
  return { code: child.exitCode, signal: child.signalCode };
}
