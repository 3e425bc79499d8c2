import { runMeasured } from "../measured-program.ts";
import type { Experiment } from "./measured.ts";
import type { ScaleFleet } from "./scale-fleet.ts";

/** h: `kubectl knfleet status -A`, which asks every spoke. Throws when it does not tell the answer of each. */
export async function askForStatus(scale: ScaleFleet): Promise<Experiment> {
  const { dist, fleet, spokes, providerFile } = scale;
  const args = ["status", "-A", "-o", "json", "--clusterprofile-provider-file", providerFile];
  const { output, peakResidentBytes, ...figures } = await runMeasured(
    process.execPath,
    [dist.path("kubectl-knfleet.js"), ...args],
    { HOME: dist.path(".."), KUBECONFIG: fleet.hub.adminKubeconfigPath },
  );
  const { items } = JSON.parse(output);
  const answered = items.filter((item: { live: { state: string } }) => item.live.state === "Ready");
  if (answered.length !== spokes.length * 2) {
    throw new Error(`${answered.length} of ${spokes.length * 2} rows tell that all is ready`);
  }
  return {
    id: "h",
    title: "kubectl knfleet status -A",
    spokes: spokes.length,
    ...figures,
    residentBytes: peakResidentBytes,
  };
}
