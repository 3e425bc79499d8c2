import { runCli } from "../../cmd/kubectl/cli.ts";
import type { DiagnosisReport, RootCause } from "../../cmd/kubectl/findings/diagnosis.ts";
import type { KnativeWorld } from "./knative-world.ts";

/** The root cause that `kubectl knfleet diagnose` finds for an installation; null when there is none. */
export async function diagnosed(
  { hub, fleet, providerFile, releaseDir }: KnativeWorld,
  target: string,
  namespace: string,
): Promise<RootCause | null | undefined> {
  const kubeconfig = await hub.writeKubeconfig("person.kubeconfig", {
    identity: hub.adminIdentity,
    namespace: "fleet-credentials",
  });
  let stdout = "";
  const args = ["diagnose", target, "-n", namespace, "-o", "json", "--spoke-timeout", "20s"];
  await runCli(
    {
      args: [...args, "--clusterprofile-provider-file", providerFile, "--release-dir", releaseDir],
      env: { PATH: process.env["PATH"] ?? "", HOME: fleet.folder, KUBECONFIG: kubeconfig },
      stdout: { write: (text) => (stdout += text) },
      stderr: { write: () => true },
      now: () => new Date(),
    },
    AbortSignal.timeout(120_000),
  );
  const report: DiagnosisReport = JSON.parse(stdout);
  return report.items[0]?.rootCause;
}
