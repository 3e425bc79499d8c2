import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";

import { FleetError } from "../../api/errors.ts";
import { canonicalJson } from "../../api/fields.ts";
import { pluginLacksHome } from "../../api/sentences.ts";
import { codeOf } from "../kube/api-error.ts";
import type { ExecPlan } from "./exec-plan.ts";

type Environment = Readonly<Record<string, string>>;

/**
 * Gives the plugins of a service a `HOME` for each identity: a plugin that keeps tokens there by the name of its program alone would hand one identity's
 * token to another. An identity is all that a plugin is told: command, arguments, variables and cluster. A folder lasts as long as a connection holds it.
 * Not for the command line, where a person's logins are in `HOME`. Spec: cluster-inventory.md 3.3.
 */
export class PluginHomes implements AsyncDisposable {
  readonly #place: string | undefined;
  readonly #holders = new Map<string, number>();
  readonly #removals = new Map<string, Promise<void>>();
  #root: Promise<string> | undefined;

  /** `place`: the folder for all of them; absent: the temporary folder. */
  constructor(place?: string) {
    this.#place = place;
  }

  /** Keeps the folder of a plan until the result is disposed. */
  hold(plan: ExecPlan): Disposable {
    const id = identityOf(plan);
    this.#holders.set(id, (this.#holders.get(id) ?? 0) + 1);
    const released = new DisposableStack();
    released.defer(() => this.#release(id));
    return released;
  }

  /**
   * The environment of a run: with a `HOME` of its own and without the `XDG_` folders of this process, unless the provider file sets `HOME`. The caller holds the
   * plan until the run has ended, so that no folder is left of a run that ends after its connection. Throws `FleetError` `AccessProviderFailed` with code `PluginFailed` when there is no room for a folder.
   */
  async environmentOf(plan: ExecPlan, environment: Environment): Promise<Environment> {
    if (plan.env.some(({ name }) => name === "HOME")) return environment;
    const kept = Object.entries(environment).filter(([name]) => !name.startsWith("XDG_"));
    const hub = await kubeconfigIn(environment);
    return { ...Object.fromEntries(kept), ...hub, HOME: await this.#folderOf(plan) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const root = await this.#root?.catch(() => undefined);
    if (root !== undefined) await remove(root);
  }

  async #folderOf(plan: ExecPlan): Promise<string> {
    const id = identityOf(plan);
    try {
      await this.#removals.get(id);
      this.#root ??= newRoot(this.#place ?? tmpdir()).catch((error: unknown) => {
        this.#root = undefined;
        throw error;
      });
      const folder = join(await this.#root, id);
      await mkdir(folder, { recursive: true, mode: 0o700 });
      return folder;
    } catch (cause) {
      const message = `Exec plugin ${plan.command} of provider ${plan.provider}: ${pluginLacksHome.of()}`;
      throw new FleetError("AccessProviderFailed", message, { code: "PluginFailed", cause });
    }
  }

  #release(id: string): void {
    const left = (this.#holders.get(id) ?? 1) - 1;
    if (left > 0) {
      this.#holders.set(id, left);
      return;
    }
    this.#holders.delete(id);
    const removal = this.#remove(id).finally(() => {
      if (this.#removals.get(id) === removal) this.#removals.delete(id);
    });
    this.#removals.set(id, removal);
  }

  async #remove(id: string): Promise<void> {
    const root = await this.#root?.catch(() => undefined);
    if (root !== undefined && !this.#holders.has(id)) await remove(join(root, id));
  }
}

const prefix = "knfleet-homes-";

/** A new folder for this process. Those of processes that ended without removing theirs go: a volume outlives a container, and tokens are in them. */
async function newRoot(place: string): Promise<string> {
  const root = await mkdtemp(join(place, `${prefix}${process.pid}-`));
  const { birthtimeMs } = await stat(root);
  const begunMs = birthtimeMs - process.uptime() * 1_000;
  const names = await readdir(place).catch(() => []);
  const folders = names.filter((name) => name.startsWith(prefix));
  await Promise.all(folders.map((name) => removeLeft(join(place, name), begunMs)));
  return root;
}

/** Removes the folder of a process that has ended. In a container the process before this one, which began at `begunMs`, had the same number. */
async function removeLeft(folder: string, begunMs: number): Promise<void> {
  const pid = Number(/^\d+(?=-)/.exec(basename(folder).slice(prefix.length))?.[0]);
  const { birthtimeMs } = await stat(folder).catch(() => ({ birthtimeMs: Infinity }));
  const isLeft = pid === process.pid ? birthtimeMs < begunMs : !isRunning(pid);
  if (isLeft) await remove(folder);
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) !== "ESRCH";
  }
}

function identityOf({ provider, apiVersion, command, args, env, cluster }: ExecPlan): string {
  const text = canonicalJson({ provider, apiVersion, command, args, env, cluster });
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

/** The kubeconfig that plugins find in `HOME` when they are not told another one: that of the hub, which no identity owns. */
async function kubeconfigIn({ HOME = "", KUBECONFIG = "" }: Environment): Promise<Environment> {
  if (HOME === "" || KUBECONFIG !== "") return {};
  const file = join(HOME, ".kube", "config");
  const isThere = await stat(file).then(
    (found) => found.isFile(),
    () => false,
  );
  return isThere ? { KUBECONFIG: file } : {};
}

// A process that the plugin left may still write there.
async function remove(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true }).catch(() => undefined);
}
