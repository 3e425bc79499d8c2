import type { Component } from "../../../../api/component.ts";
import { agentWorkName, componentWorkName, type ManifestWork } from "../../../../api/delivery.ts";
import { FleetError } from "../../../../api/errors.ts";
import { recordAt } from "../../../../api/fields.ts";
import { foreignText } from "../../../../api/foreign-text.ts";
import { isApplied, judge, type PullFacts, silenceOf } from "../../../../controller/pull/judge.ts";
import { readWorks } from "../../hub/works.ts";
import { knfOf } from "../../output/knf-of.ts";
import { words } from "../../output/steps.ts";
import { toldViewOf } from "../../spokes/feedback.ts";
import type { WalkContext } from "../walk.ts";
import { failed, failedBy, finding, type HopResult, passed, passedWith } from "./hop.ts";

/** What the hub holds of a pulled component, whose works exist. */
export interface Works extends PullFacts {
  readonly agent: ManifestWork;
  readonly work: ManifestWork;
}

/** Finds the works of a component: that which brings the controller, and that which brings the component. */
export async function findWorks(
  component: Component,
  { hub }: Pick<WalkContext, "hub">,
  signal: AbortSignal,
): Promise<HopResult<Works>> {
  const { agent, work, ...others } = await readWorks(component, hub, signal);
  const names = [agentWorkName, componentWorkName(component)];
  const missing = names.filter((_, at) => [agent, work][at] === undefined);
  if (agent === undefined || work === undefined) {
    const message = `Namespace ${others.cluster} has no ManifestWork ${missing.join(", ")}`;
    return failed("KNF2010", message);
  }
  return passed(
    { ...others, agent, work },
    `${names.join(" and ")} in namespace ${others.cluster}`,
  );
}

/** Checks that the hub has accepted the cluster, and that the agent of Open Cluster Management reports. */
export function checkAccepted(works: Works): HopResult<Works> {
  const { cluster, managed } = works;
  const show = words(
    "kubectl",
    "get",
    "managedclusters.cluster.open-cluster-management.io",
    cluster,
  );
  if (managed !== undefined && recordAt(managed, "spec")["hubAcceptsClient"] !== true) {
    const message = `ManagedCluster ${cluster} is not accepted`;
    return failed("KNF2009", message, {
      next: [words("clusteradm", "accept", "--clusters", cluster)],
    });
  }
  const silence = silenceOf(cluster, managed);
  if (silence === undefined) {
    return passed(works, `ManagedCluster ${cluster} is accepted, and its agent reports`);
  }
  const code = knfOf(silence.code ?? silence.reason, { message: silence.sentence }) ?? "KNF4009";
  return failed(code, silence.sentence, { next: [show] });
}

/** Checks that the agent of Open Cluster Management has applied both works as they are now. */
export function checkApplied(works: Works): HopResult<Works> {
  const { cluster, agent, work } = works;
  const answer = judge(works);
  if (answer instanceof FleetError) {
    const show = words("kubectl", "get", "manifestworks", "-n", cluster, "-o", "yaml");
    const code = knfOf(answer.code ?? answer.reason, { message: answer.sentence }) ?? "KNF1018";
    return failedBy(finding("error", code, { message: answer.sentence, next: [show] }));
  }
  const late = [agent, work].filter((one) => !isApplied(one));
  const names = late.map(({ metadata }) => metadata.name).join(", ");
  if (late.length === 0) return passed(works, "Both are applied as they are now");
  const message = `The agent has yet to apply ${names}`;
  return passedWith(works, message, { findings: [finding("warning", "KNF6008", { message })] });
}

/** Tells what the controller on the spoke says of the component. */
export function checkFeedback(works: Works): HopResult<true> {
  const answer = judge(works);
  // The step before tells it.
  if (answer instanceof FleetError) return failed("KNF1018", answer.sentence);
  const { state, reason, message } = toldViewOf(answer);
  const version =
    answer.version === undefined ? "" : `, version ${foreignText(answer.version, 64)}`;
  if (state === "Ready") return passed(true, `The controller on the spoke says Ready${version}`);
  const text = `The controller on the spoke says ${state}: ${message ?? reason ?? ""}`;
  const code = knfOf(reason, { message }) ?? "KNF6008";
  const severity = ["KNF6008", "KNF6014"].includes(code) ? "warning" : "error";
  return passedWith(true, text, { findings: [finding(severity, code, { message: text })] });
}
