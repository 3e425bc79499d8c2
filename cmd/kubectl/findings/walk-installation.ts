import type { Component } from "../../../api/component.ts";
import { soleController, variableOf } from "../hub/find-controller.ts";
import { kubectlOn, words } from "../output/steps.ts";
import { type AskRefusal, checkConditions, checkRival } from "./hops/component-hops.ts";
import {
  checkDeployments,
  checkObjects,
  checkVersion,
  findAnchor,
} from "./hops/installation-hops.ts";
import { checkPods } from "./hops/pod-hop.ts";
import { findNoWebhook, webhookFinder } from "./hops/silent-webhook.ts";
import { checkGuard, checkRights } from "./hops/spoke-hops.ts";
import { changedLately, checkWorkloads } from "./hops/workload-hop.ts";
import type { SpokeSession } from "./spoke-session.ts";
import type { HubWalk } from "./walk-hub.ts";
import type { StepValue, Walk, WalkContext } from "./walk.ts";

interface WalkDeps {
  readonly walk: Walk;
  readonly hub: HubWalk;
  readonly context: WalkContext;
}

/** Looks at an installation on its cluster: from the rights of the hub to the workloads of its users. */
export async function walkInstallation(
  component: StepValue<Component>,
  session: StepValue<SpokeSession>,
  { walk, hub, context }: WalkDeps,
): Promise<void> {
  const controllers = hub.controllers.ok ? hub.controllers.value : undefined;
  await walk.take("authorization", [session], ([one], late) => checkRights(one, late));
  const ours = soleController(controllers?.deployments ?? [], "knfleet");
  const name = "KUBERNETES_MIN_VERSION";
  const least = (ours && variableOf(ours, name)) ?? context.environment[name];
  await walk.take("version", [session], ([one]) => checkVersion(one, least));
  await walk.take("rival", [component, session], ([one, { client }], late) =>
    checkRival(one, { hub: context.hub, client }, late),
  );
  const installed = await walk.take("anchor", [component, session], ([one, at], signal) =>
    findAnchor(one, at, signal),
  );
  const anchor = installed.ok ? installed.value.anchor : undefined;
  if (anchor !== undefined) {
    await walk.take("guard", [component, session], ([one, { client }], signal) =>
      checkGuard(one, anchor, { client, signal, now: context.now() }),
    );
  }
  await walk.take("objects", [component, installed, session], ([one, found, at], signal) =>
    checkObjects(one, found, { client: at.client, signal }),
  );
  const waiting = await walk.take("deployments", [component, installed], ([one, found]) =>
    checkDeployments(one, found),
  );
  await walk.take("pods", [waiting, session, component], ([some, { client }, one], late) =>
    checkPods(
      some,
      {
        client,
        kubectl: kubectlOn(one.spec?.clusterProfileRef),
        findWebhook: webhookFinder(one, { client }, late),
      },
      late,
    ),
  );
  await walk.take("conditions", [component], ([one], signal) => {
    const { kind, metadata } = one;
    const target = `${kind.toLowerCase()}/${metadata.name}`;
    const compare = words("kubectl", "knfleet", "diff", target, "-n", metadata.namespace);
    return checkConditions(one, {
      compare,
      askRefusal: refusalAsker(one, session, { ...context, signal }),
      findWebhook: session.ok ? webhookFinder(one, session.value, signal) : findNoWebhook,
    });
  });
  await walkWorkloads(component, session, { walk, context });
}

/** After a change, looks whether the users of the cluster have noticed it. */
async function walkWorkloads(
  component: StepValue<Component>,
  session: StepValue<SpokeSession>,
  { walk, context }: Pick<WalkDeps, "walk" | "context">,
): Promise<void> {
  const since = component.ok ? changedLately(component.value, context.now()) : undefined;
  if (since === undefined) return;
  const timeoutMs = context.hopTimeoutMs;
  await walk.take("workloads", [component, session], ([one, { client }], late) =>
    checkWorkloads(one, since, { client, timeoutMs }, late),
  );
}

/** Asks the spoke why it refuses an object; undefined without a session or without release files. */
function refusalAsker(
  component: Component,
  session: StepValue<SpokeSession>,
  { rendering: open, signal }: Pick<WalkContext, "rendering"> & { readonly signal: AbortSignal },
): AskRefusal {
  return async (message) => {
    const rendering = session.ok ? await open?.(signal) : undefined;
    if (!session.ok || rendering === undefined) return undefined;
    const { readRefusal } = await import("./hops/refused-object.ts");
    return readRefusal({ component, message, rendering, client: session.value.client }, signal);
  };
}
