import { basename } from "node:path";

import { ApiError } from "../../../../access/kube/api-error.ts";
import { secretNamespace } from "../../../../access/plugins/built-in-plugins.ts";
import type { ExecPlan } from "../../../../access/plugins/exec-plan.ts";
import { pluginEnvironment } from "../../../../access/plugins/plugin-policy.ts";
import { keyNames } from "../../../../access/profiles/key-names.ts";
import { isRecord } from "../../../../api/fields.ts";
import { knownResource } from "../../../../api/resources.ts";
import { words } from "../../output/steps.ts";
import { stringAt } from "../../selection/fields.ts";
import type { WalkContext } from "../walk.ts";
import { finding, type Finding } from "./hop.ts";

interface WantedSecret {
  readonly namespace: string;
  readonly name: string;
  readonly key: string;
}

const secrets = knownResource("v1", "Secret");

/**
 * Reads the Secret that one of the two official readers needs, with our own rights on the hub, and says what is wrong with it. Undefined for a usable
 * Secret, for another plugin, and without the right to read the Secret.
 */
export async function checkSecret(
  plan: ExecPlan,
  { hub, environment }: Pick<WalkContext, "hub" | "environment">,
  signal: AbortSignal,
): Promise<Finding | undefined> {
  const wanted = await findWantedSecret(plan, environment);
  if (wanted === undefined) return undefined;
  const { namespace, name, key } = wanted;
  const title = `Secret ${namespace}/${name}`;
  try {
    const secret = await hub.get({ resource: secrets, namespace, name }, {}, signal);
    if (secret === undefined) return await explainMissing(wanted, hub, signal);
    const data = secret["data"];
    if (isRecord(data) && typeof data[key] === "string" && data[key] !== "") return undefined;
    return finding("error", "KNF3016", {
      message: `${title} does not have the key ${key}`,
      evidence: [`it has ${keyNames(isRecord(data) ? data : {})}`],
    });
  } catch (error) {
    if (error instanceof ApiError) return undefined;
    throw error;
  }
}

async function explainMissing(
  { namespace, name, key }: WantedSecret,
  hub: WalkContext["hub"],
  signal: AbortSignal,
): Promise<Finding> {
  const message = `Secret ${namespace}/${name} does not exist`;
  const others = await findNamesakes(name, hub, signal);
  if (others.length === 0) {
    return finding("error", "KNF3015", {
      message,
      next: [
        `With the credential in a file named ${key}, as docs/access.md says:`,
        words(
          "kubectl",
          "create",
          "secret",
          "generic",
          name,
          "-n",
          namespace,
          `--from-file=${key}`,
        ),
      ],
    });
  }
  const places = others.map((other) => `${other}/${name}`).join(", ");
  return finding("error", "KNF3018", {
    message: `${message}, but there is ${places}`,
    next: [
      `Give --plugin-namespace ${others[0] ?? ""} here, and the same namespace to the controller.`,
    ],
  });
}

async function findNamesakes(
  name: string,
  hub: WalkContext["hub"],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const ref = { resource: secrets, fieldSelector: `metadata.name=${name}` };
  try {
    const { items } = await hub.list(ref, { metadataOnly: true }, signal);
    return items.flatMap(({ metadata }) => metadata.namespace ?? []).slice(0, 5);
  } catch (error) {
    if (error instanceof ApiError) return [];
    throw error;
  }
}

/** The Secret that one of the two official readers needs; undefined for another plugin. */
export async function findWantedSecret(
  plan: ExecPlan,
  environment: WalkContext["environment"],
): Promise<WantedSecret | undefined> {
  const reader = basename(plan.command).replace(/^builtin:/, "");
  const config = plan.cluster?.["config"];
  const pluginEnv = {
    ...pluginEnvironment(environment),
    ...Object.fromEntries(plan.env.map(({ name, value }) => [name, value])),
  };
  if (reader === "secretreader") {
    const name = stringAt(config, "clusterName");
    if (name === null) return undefined;
    return { namespace: await secretNamespace(pluginEnv), name, key: "token" };
  }
  if (reader !== "kubeconfig-secretreader") return undefined;
  const name = stringAt(config, "name");
  const key = stringAt(config, "key");
  if (name === null || key === null) return undefined;
  const namespace = stringAt(config, "namespace") ?? (await secretNamespace(pluginEnv));
  return { namespace, name, key };
}
