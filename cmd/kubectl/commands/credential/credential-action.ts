import type { ActionInput } from "../../action.ts";
import { words } from "../../commands.ts";
import { exitCodes, type ExitCode } from "../../exit-codes.ts";
import { profileId, profileNamed } from "../../hub/profiles.ts";
import { openClusterAccess } from "../../spokes/open-cluster-access.ts";
import { waysOf } from "../../spokes/spoke-ways.ts";
import { UsageError } from "../../usage-error.ts";
import { execCredentialText } from "./exec-credential-text.ts";
import { checkServer, execRequestOf } from "./exec-request.ts";

/** `kubectl knfleet credential`: what a kubeconfig's `exec` runs. Prints an ExecCredential, or nothing. */
export async function runCredential(
  { args, flags, terminal }: ActionInput<object>,
  signal: AbortSignal,
): Promise<ExitCode> {
  const [name, ...more] = args;
  if (name === undefined || more.length > 0) {
    throw new UsageError("Name one ClusterProfile", [
      "Write NAMESPACE/NAME of a ClusterProfile. This lists them:",
      "kubectl get clusterprofiles.multicluster.x-k8s.io -A",
    ]);
  }
  const { env, stdout } = terminal;
  if (stdout.isTTY === true) {
    throw new UsageError("A credential is not printed on a terminal: programs read it", [
      words("kubectl", "knfleet", "connect", name),
      words("kubectl", "knfleet", "kubeconfig", name),
    ]);
  }
  const request = execRequestOf(env["KUBERNETES_EXEC_INFO"]);
  await using access = await openClusterAccess(flags, { env, spokes: true }, signal);
  const ways = await waysOf(access);
  const profile = await profileNamed(name, { access, flags }, signal);
  const way = ways.resolve(profile);
  if (request.cluster !== undefined) {
    checkServer(request.cluster, way.endpoint, profileId(profile));
  }
  const credential = await ways.credential(way, signal);
  signal.throwIfAborted();
  stdout.write(execCredentialText(credential, request));
  return exitCodes.fine;
}
