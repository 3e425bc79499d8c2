import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";

import { imageEnvironment } from "../support/image-environment.ts";
import { systemAuthorities } from "./image-tools.ts";

/** A container of the chart. */
export interface ImageContainer {
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

const user = 65_532;
const systemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const account = "/run/secrets/kubernetes.io/serviceaccount";

// What a kubelet gives a pod whose root is read-only: loopback, /proc, /dev, an emptyDir at /tmp, and a ServiceAccount.
const asPod = `set -e
ip link set lo up
mount --bind "$0" "$0"
mount -t proc proc "$0/proc"
mount --rbind /dev "$0/dev"
mount -t tmpfs -o mode=1777 tmpfs "$0/tmp"
mount -t tmpfs tmpfs "$0/run"
mkdir -p "$0${account}"
printf none > "$0${account}/token"
cp ${systemAuthorities} "$0${account}/ca.crt"
printf knfleet-system > "$0${account}/namespace"
mount -o remount,bind,ro "$0"
exec "$@"`;

/** A program of the image while it runs. */
export class ImagePod implements AsyncDisposable {
  readonly #process: ReturnType<typeof spawn>;
  readonly #exited: Promise<unknown>;
  #said = "";

  /** Starts a container in namespaces of its own, on the files of an image. */
  constructor(root: string, { command, environment }: ImageContainer) {
    const variables = { PATH: systemPath, ...imageEnvironment(), ...environment };
    const pairs = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
    const namespaces = ["--mount", "--net", "--pid", "--fork", "--kill-child=SIGKILL"];
    const asUser = ["setpriv", "--no-new-privs", "chroot", `--userspec=${user}:${user}`, root];
    const inEnvironment = ["env", "--ignore-environment", ...pairs, ...asUser, ...command];
    const words = [...namespaces, "sh", "-c", asPod, root, ...inEnvironment];
    const started = spawn("unshare", words, { stdio: ["ignore", "pipe", "pipe"] });
    for (const stream of [started.stdout, started.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => (this.#said += text));
    this.#process = started;
    this.#exited = once(started, "close").then(([code]) => code);
  }

  /** Whether it ended, by itself or not. */
  get hasEnded(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null;
  }

  /** All that it wrote. */
  get said(): string {
    return this.#said;
  }

  /** Its own process. */
  async pid(): Promise<number> {
    const { pid } = this.#process;
    const [child = ""] = (await readFile(`/proc/${pid}/task/${pid}/children`, "utf8")).split(" ");
    return Number(child);
  }

  /** Status of a request to a port of it. */
  async statusOf(port: number, path: string): Promise<string> {
    const ask = `fetch("http://127.0.0.1:${port}${path}").then(({ status }) => console.log(status))`;
    const words = [`--net=/proc/${this.#process.pid}/ns/net`, process.execPath, "--eval", ask];
    return (await promisify(execFile)("nsenter", words)).stdout.trim();
  }

  /** Asks it to end, as a kubelet does; the answer is its exit code. */
  async end(): Promise<unknown> {
    process.kill(await this.pid(), "SIGTERM");
    return this.#exited;
  }

  /** The exit code of a program that ends by itself. */
  async ended(): Promise<unknown> {
    return this.#exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill("SIGKILL");
    await this.#exited;
  }
}
