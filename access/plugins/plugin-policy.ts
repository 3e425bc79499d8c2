import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import { dirname, sep } from "node:path";
import { pipeline } from "node:stream/promises";

/** Says which executables may run as exec plugins. */
export interface PluginPolicy {
  /** Folders that may hold plugins, at any depth; empty: any folder. */
  readonly roots: readonly string[];
}

const worldWritable = 0o002;
const sticky = 0o1000;
const setIds = 0o6000;

/**
 * Why an executable may not run, as the end of a sentence; undefined when it may. Symlinks in `file` have to be resolved.
 * Spec: security.md T-40.
 */
export async function refusedPlugin(
  file: string,
  { roots }: PluginPolicy,
  sha256: string | undefined,
): Promise<string | undefined> {
  if (roots.length > 0 && !(await isBelow(file, roots))) return "it is below no plugin root";
  const { mode } = await stat(file);
  if ((mode & worldWritable) !== 0) return "everybody may write to it";
  if ((mode & setIds) !== 0) return "it is setuid or setgid";
  const folder = await stat(dirname(file));
  if ((folder.mode & worldWritable) !== 0 && (folder.mode & sticky) === 0) {
    return "everybody may replace it";
  }
  if (sha256 !== undefined && (await digestOf(file)) !== sha256) {
    return "its SHA-256 differs from the one in the provider file";
  }
  return undefined;
}

async function isBelow(file: string, roots: readonly string[]): Promise<boolean> {
  const real = await Promise.all(roots.map((root) => realpath(root).catch(() => undefined)));
  return real.some((root) => {
    const folder = root?.endsWith(sep) === true ? root : `${root}${sep}`;
    return root !== undefined && file.startsWith(folder);
  });
}

async function digestOf(file: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(file), hash);
  return hash.digest("hex");
}

const names =
  /^(?:PATH|HOME|USER|LOGNAME|LANG|LC_.*|TZ|TMPDIR|XDG_.*|KUBECONFIG|KUBERNETES_SERVICE_.*|NAMESPACE|POD_NAMESPACE|AWS_.*|AZURE_.*|CLOUDSDK_.*|GOOGLE_.*|(?:HTTPS?|NO|ALL)_PROXY|(?:https?|no|all)_proxy|SSL_CERT_(?:FILE|DIR)|SYSTEMROOT)$/;

/**
 * The variables of our environment that exec plugins get: paths, in-cluster configuration, workload identity and proxies. All
 * others stay hidden, because they may hold secrets of our process. Spec: security.md T-41.
 */
export function pluginEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const passed = Object.entries(environment).flatMap(([name, value]) =>
    value !== undefined && names.test(name) ? [[name, value] as const] : [],
  );
  return Object.freeze(Object.fromEntries(passed));
}
