import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import type { Manifest } from "../../api/kubernetes.ts";
import { ensureBinaries } from "../fleet/binaries.ts";
import { manifestsIn } from "../fleet/manifest-files.ts";

/** Folder of the chart. */
export const chartFolder = resolve(import.meta.dirname, "../../charts/knfleet");

/** Values as one would write them into a file. */
export type Values = Readonly<Record<string, unknown>>;

interface HelmAnswer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Values for a chart: a file of the chart's folder `ci`, or values themselves. */
export interface ChartValues {
  readonly file?: string;
  readonly values?: Values;
}

/** The real Helm, with folders of its own, and on the cluster of a kubeconfig if there is one. */
export class Helm implements AsyncDisposable {
  readonly #program: string;
  readonly #home: string;
  readonly #environment: NodeJS.ProcessEnv;
  #files = 0;

  private constructor(program: string, home: string, kubeconfig: string) {
    this.#program = program;
    this.#home = home;
    this.#environment = {
      PATH: process.env["PATH"] ?? "",
      HOME: home,
      HELM_CACHE_HOME: home,
      HELM_CONFIG_HOME: home,
      HELM_DATA_HOME: home,
      // Never somebody's real cluster.
      KUBECONFIG: kubeconfig,
    };
  }

  static async open(kubeconfig?: string): Promise<Helm> {
    const binary = await ensureBinaries(["helm"]);
    const home = await mkdtemp(join(tmpdir(), "knfleet-helm-"));
    return new Helm(binary("helm"), home, kubeconfig ?? join(home, "no-kubeconfig"));
  }

  /** Runs `helm` with arguments; a failure is an answer, too. */
  run(...args: readonly string[]): Promise<HelmAnswer> {
    const { promise, resolve: answer } = Promise.withResolvers<HelmAnswer>();
    const options = { env: this.#environment, cwd: this.#home, maxBuffer: 64 * 1024 * 1024 };
    execFile(this.#program, [...args], options, (error, stdout, stderr) => {
      const code = typeof error?.code === "number" ? error.code : 1;
      answer({ code: error === null ? 0 : code, stdout, stderr });
    });
    return promise;
  }

  /** The same, throwing what Helm said when it fails. */
  async must(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.run(...args);
    if (code !== 0) throw new Error(`helm ${args.slice(0, 2).join(" ")}: ${stderr}${stdout}`);
    return stdout;
  }

  /** Arguments that give the chart these values. */
  async flagsOf({ file, values }: ChartValues): Promise<readonly string[]> {
    const files = file === undefined ? [] : [join(chartFolder, "ci", file)];
    if (values !== undefined) {
      this.#files += 1;
      const path = join(this.#home, `values-${this.#files}.json`);
      await writeFile(path, JSON.stringify(values));
      files.push(path);
    }
    return files.flatMap((path) => ["--values", path]);
  }

  /** What `helm template` prints for the chart; a failure is an answer, too. */
  async template(given: ChartValues, ...flags: readonly string[]): Promise<HelmAnswer> {
    const place = ["template", "knfleet", chartFolder, "--namespace", "knfleet-system"];
    return this.run(...place, ...(await this.flagsOf(given)), ...flags);
  }

  /** The objects of the chart, hooks included. */
  async objects(given: ChartValues, ...flags: readonly string[]): Promise<readonly Manifest[]> {
    const { code, stdout, stderr } = await this.template(given, ...flags);
    if (code !== 0) throw new Error(stderr);
    return manifestsIn(stdout, "The chart");
  }

  /** What Helm tells whoever installed the chart with these values. */
  async notes(values: Values): Promise<string> {
    const place = ["install", "knfleet", chartFolder, "--namespace", "knfleet-system"];
    const told = await this.must(...place, "--dry-run=client", ...(await this.flagsOf({ values })));
    return told.split("\nNOTES:\n")[1] ?? "";
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#home, { recursive: true, force: true });
  }
}
