import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { isBuiltIn } from "../../../../../access/plugins/built-in-plugins.ts";
import type { ExecPlan } from "../../../../../access/plugins/exec-plan.ts";
import { resolveCommand } from "../../../../../access/plugins/exec-plugin.ts";
import { scrubbed } from "../../../../../access/scrubbed.ts";
import type { ResolvedAccess } from "../../../../../access/spokes/resolved-access.ts";
import { itemsAt, stringAt } from "../../../selection/fields.ts";
import type { WalkContext } from "../walk-context.ts";
import { finding, type Finding } from "./hop.ts";
import type { FoundFile } from "./provider-hops.ts";

/** What kubectl's own preferences say of exec plugins (kuberc, Kubernetes 1.35). */
interface PluginPolicy {
  readonly policy: string;
  readonly allowed: readonly string[];
}

/**
 * Why a plugin is not run here; undefined when it may be. The policy of kuberc holds for every command; one that came from the cluster
 * needs `--exec` and a list of this machine that holds it, too. Readers inside of this program are no commands. Security: T-85.
 */
export async function refusalOf(
  { command, args }: ExecPlan,
  from: FoundFile["from"],
  context: Permitting,
): Promise<Finding | undefined> {
  if (isBuiltIn(command)) return undefined;
  const { policy, allowed } = await kubercPolicy(context.environment);
  const path = await resolveCommand(command, context.environment["PATH"] ?? "");
  const isListed = allowed.includes(command) || (path !== undefined && allowed.includes(path));
  if (policy === "DenyAll" || (policy === "Allowlist" && !isListed)) {
    const message = `plugin ${JSON.stringify(command)} not allowed: policy set to ${JSON.stringify(policy)}`;
    const next = ["Change credentialPluginPolicy or credentialPluginAllowlist in kuberc."];
    return finding("error", "KNF3008", { message, next });
  }
  const isOnList = policy === "Allowlist" || context.pluginRoots.length > 0;
  if (from === "machine" || (context.exec && isOnList)) return undefined;
  return finding("warning", "KNF3013", {
    message: `The command came from the cluster and was not run: ${[command, ...args.map(scrubbed)].join(" ")}`,
    next: [
      "Walk again with --exec and --plugin-root FOLDER, where FOLDER holds the plugin on this machine.",
      "Or name a provider file of this machine with --clusterprofile-provider-file.",
    ],
  });
}

/**
 * Why a reader inside of this program is not used by a file of the hub: nobody vouches for the file, or the ClusterProfile leads it to a Secret that the
 * controller does not read. It reads with this person's rights, and the server of the ClusterProfile gets what it reads. Security: T-16.
 */
export function readerRefusal(
  access: ResolvedAccess,
  { from, readers }: Pick<FoundFile, "from" | "readers">,
): Finding | undefined {
  const { command } = access.plan;
  if (from === "machine" || !isBuiltIn(command)) return undefined;
  const message =
    readers === undefined
      ? `The reader ${command} came from a file of the hub that no ClusterRoleBinding of the chart vouches for, and was not used`
      : readers.refusal(access);
  if (message === undefined) return undefined;
  const next = ["Name a provider file of this machine with --clusterprofile-provider-file."];
  return finding("warning", "KNF3013", { message, next });
}

type Permitting = Pick<WalkContext, "environment" | "exec" | "pluginRoots">;

async function kubercPolicy(environment: WalkContext["environment"]): Promise<PluginPolicy> {
  const named = environment["KUBERC"] ?? "";
  const home = environment["HOME"] ?? "";
  const path = named === "" ? join(home, ".kube", "kuberc") : named;
  if (named === "off" || (named === "" && home === "")) return { policy: "", allowed: [] };
  const text = await readFile(path, "utf8").catch(() => undefined);
  if (text === undefined) return { policy: "", allowed: [] };
  const { parseAllDocuments } = await import("yaml");
  const documents = parseAllDocuments(text, { logLevel: "silent" });
  const preferences: unknown[] = "empty" in documents ? [] : documents.map((one) => one.toJS());
  const stated = preferences.find((one) => stringAt(one, "credentialPluginPolicy") !== null);
  return {
    policy: stringAt(stated, "credentialPluginPolicy") ?? "",
    allowed: itemsAt(stated, "credentialPluginAllowlist").flatMap(
      (entry) => stringAt(entry, "command") ?? stringAt(entry, "name") ?? [],
    ),
  };
}
