import type { NamespacedName } from "../../../../api/kubernetes.ts";
import { isLabelName, keyProblem, valueProblem } from "../../../../webhook/rules/names.ts";
import { UsageError } from "../../errors.ts";
import type { Flags } from "../../flags.ts";
import { spanMsOf } from "../../output/duration.ts";

/** Flags of `register` alone. */
export interface RegisterFlags {
  readonly fromContext?: string;
  readonly fromKubeconfig?: string;
  readonly name?: string;
  readonly labels?: readonly string[];
  readonly ttl?: string;
  readonly spokeServer?: string;
  readonly account?: string;
}

/** What the command line asks to register. */
export interface RegisterRequest {
  readonly profile: NamespacedName;
  readonly displayName: string;
  /** Context of the kubeconfig that names the cluster. */
  readonly context: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Labels of the ClusterProfile to remove. */
  readonly removedLabels: readonly string[];
  /** Undefined: the token stays. */
  readonly ttlSeconds?: number;
  /** Address of the API server for the controller. Undefined: the one of the kubeconfig. */
  readonly server?: string;
  /** ServiceAccount on the spoke. */
  readonly account: string;
  /** The cluster was registered before, and the command line names labels and nothing else that is written. */
  readonly changesLabelsAlone?: boolean;
}

/** What the command line itself says. `ttlSeconds` 0: the token stays. */
export interface AskedRequest extends Omit<RegisterRequest, "account" | "changesLabelsAlone"> {
  readonly account?: string;
}

const usualNamespace = "fleet";
/** Name of the ServiceAccount on the cluster, unless `--account` says otherwise. */
export const usualAccount = "knfleet-hub";

/** Reads the command line. Throws UsageError. */
export function registerRequest(
  args: readonly string[],
  flags: Pick<Flags, "namespace">,
  options: RegisterFlags,
): AskedRequest {
  const [cluster, ...others] = args;
  if (cluster === undefined || others.length > 0) {
    throw new UsageError("Name one cluster", [
      "Write a name for the cluster and give its context with --from-context. This lists the contexts:",
      "kubectl config get-contexts",
    ]);
  }
  const profile = profileOf(cluster, flags, options);
  const { fromContext, spokeServer, account, ttl, labels = [] } = options;
  if (account !== undefined && !isLabelName(account)) {
    throw new UsageError(`Invalid value "${account}" for --account: want a name of Kubernetes`);
  }
  return {
    profile,
    displayName: options.name === undefined ? profile.name : cluster,
    context: fromContext ?? contextOf(cluster, options),
    ...labelsOf(labels),
    ...(ttl === undefined ? {} : { ttlSeconds: ttlSecondsOf(ttl) }),
    ...(spokeServer === undefined ? {} : { server: spokeServer }),
    ...(account === undefined ? {} : { account }),
  };
}

/** `NAMESPACE/NAME` or `NAME`. With `--name` the argument may be any name, such as that of a context. */
function profileOf(
  cluster: string,
  { namespace }: Pick<Flags, "namespace">,
  { name }: RegisterFlags,
): NamespacedName {
  const parts = name === undefined ? cluster.split("/") : [name];
  const [first = "", second, ...more] = parts;
  const profile = second === undefined ? { name: first } : { namespace: first, name: second };
  const whole = { namespace: namespace ?? usualNamespace, ...profile };
  const isValid = more.length === 0 && isLabelName(whole.name) && isLabelName(whole.namespace);
  if (isValid) return whole;
  throw new UsageError(
    `"${name ?? cluster}" cannot be the name of a ClusterProfile: want lower-case letters, digits and -, at most 63`,
    ["Give it another name with --name."],
  );
}

function contextOf(cluster: string, { name }: RegisterFlags): string {
  return name === undefined ? (cluster.split("/")[1] ?? cluster) : cluster;
}

/** Labels as kubectl writes them: `KEY=VALUE` sets one, `KEY-` removes one. */
function labelsOf(texts: readonly string[]): Pick<RegisterRequest, "labels" | "removedLabels"> {
  const given = texts.flatMap((text) => text.split(",")).filter((text) => text !== "");
  const labels: Record<string, string> = {};
  const removedLabels: string[] = [];
  for (const text of given) {
    const [, removed] = /^([^=]+)-$/.exec(text) ?? [];
    const [key = "", value, ...more] = removed === undefined ? text.split("=") : [removed, ""];
    const isWhole = value !== undefined && more.length === 0;
    if (!isWhole || keyProblem(key) !== undefined || valueProblem(value) !== undefined) {
      throw new UsageError(
        `Invalid value "${text}" for --labels: want KEY=VALUE, or KEY- to remove`,
      );
    }
    if (removed === undefined) labels[key] = value;
    else removedLabels.push(key);
  }
  return { labels, removedLabels };
}

// The API server mints no token for a shorter or a longer time.
const shortestSeconds = 600;
const longestSeconds = 2 ** 32;

/** Whether a token can be minted for this time. */
export function isTokenLifetime(seconds: number): boolean {
  return seconds >= shortestSeconds && seconds <= longestSeconds;
}

/** A duration, or days as in `30d`. 0 is no end. */
function ttlSecondsOf(text: string): number {
  if (text === "0") return 0;
  const seconds = Math.trunc((spanMsOf(text) ?? 0) / 1_000);
  if (isTokenLifetime(seconds)) return seconds;
  throw new UsageError(
    `Invalid value "${text}" for --ttl: want a duration from 10m to 49710d, such as 24h or 30d, or 0 for a token that stays`,
  );
}
