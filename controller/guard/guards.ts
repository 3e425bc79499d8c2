import type { KubeClient } from "../../access/kube/kube-client.ts";
import { logFailure } from "../../access/log.ts";
import type { Clock } from "../../access/time/clock.ts";
import { begun } from "../../access/time/deadline.ts";
import type { ClusterProfileRef, Component } from "../../api/component.ts";
import { targetId } from "../../api/keys.ts";
import { describe } from "../../api/kubernetes.ts";
import { protectedCondition } from "../../api/reasons.ts";
import { anchorKey } from "../../installation/anchor-object.ts";
import type { AnchorGate } from "../apply/install-attempt.ts";
import type { NewEvent } from "../events.ts";
import { lastingLogFieldsOf, type Log } from "../log.ts";
import type { Target } from "../target/target.ts";
import { ClusterGuard } from "./cluster-guard.ts";
import { isGuardInstalled } from "./policy-objects.ts";
import { HubUsers } from "./policy.ts";
import { type AnchorProtection, initialProtection, type Protection } from "./protection.ts";

export interface GuardsOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly hubId: string;
  readonly protection: AnchorProtection;
  readonly crds: boolean;
  /** The protection on a spoke has changed. */
  readonly onChange: (ref: ClusterProfileRef) => void;
  /** Something worth an Event happened to the anchor of a component. */
  readonly onEvent: (component: Component, event: NewEvent) => void;
  /** For tests; see cluster-guard.ts. */
  readonly recheckMs?: number;
}

/** A target with the connection behind it. */
export interface GuardedTarget {
  readonly target: Target;
  /** Aborted when the connection ends. */
  readonly signal: AbortSignal;
  /** Nothing was ever installed for the component. Default false. */
  readonly isNew?: boolean;
}

/** The guards of all spokes, one a connection. An installation on the hub itself needs none: the component owns its objects. */
export class Guards {
  readonly #options: GuardsOptions;
  readonly #users = new HubUsers();
  readonly #byClient = new WeakMap<KubeClient, ClusterGuard>();
  /** The newest guard of each spoke, by `targetId`. */
  readonly #byTarget = new Map<string, ClusterGuard>();

  constructor(options: GuardsOptions) {
    this.#options = options;
  }

  /** Asks the target of a component what its guard needs before it can start. Writes nothing. */
  prepare(component: Component, guarded: GuardedTarget): void {
    this.#guardOf(component, guarded)?.prepare();
  }

  /** Starts the guard of a component's target, and lets it protect the component. Returns undefined when anchors are not protected. */
  protect(component: Component, guarded: GuardedTarget): ClusterGuard | undefined {
    const guard = this.#guardOf(component, guarded);
    const { namespace, name } = anchorKey({ component, target: guarded.target });
    guard?.protect({ component, anchor: { namespace, name }, isNew: guarded.isNew === true });
    return guard;
  }

  /**
   * The guard of a target from which a component is to be removed. Starts it when the cluster has our policies, so that they let in the current user of
   * the controller, and waits until they do. Rejects only with the reason of the signal.
   */
  async prepareRemoval(
    component: Component,
    guarded: GuardedTarget,
    signal: AbortSignal,
  ): Promise<ClusterGuard | undefined> {
    const guard = this.#guardOf(component, guarded);
    if (guard === undefined || guard.isAtWork || this.#options.protection === "TwinOwner") {
      return guard;
    }
    try {
      if (await isGuardInstalled(guarded.target.client, this.#options.hubId, signal)) {
        this.protect(component, guarded);
        await guard.needsSecondOwner(signal);
      }
    } catch (err) {
      signal.throwIfAborted();
      const fields = { ...lastingLogFieldsOf(component), err };
      logFailure(
        this.#options.log,
        "debug",
        fields,
        "Removing without knowing what the guard does",
      );
    }
    return guard;
  }

  /** Stops protecting a component, and leaves the policies as they are. */
  stopProtecting(component: Component): void {
    this.#byTarget.get(targetId(component))?.stopProtecting(component);
  }

  /** The protection that the condition of a component tells. `off`: it has no such condition. Undefined: keep the condition as it is. */
  protectionOf(component: Component): Protection | "off" | undefined {
    if (this.#options.protection === "None") return "off";
    if (component.spec?.clusterProfileRef === undefined) return "off";
    const known = this.#byTarget.get(targetId(component))?.protection;
    const hasCondition = component.status?.conditions?.some(
      ({ type }) => type === protectedCondition,
    );
    return known === initialProtection && hasCondition === true ? undefined : known;
  }

  #guardOf(component: Component, { target, signal }: GuardedTarget): ClusterGuard | undefined {
    const { protection, log, ...options } = this.#options;
    const { profile, client, fieldManager } = target;
    if (profile === undefined || protection === "None") return undefined;
    const id = targetId(component);
    const known = this.#byClient.get(client);
    if (known !== undefined) return known;
    const guard = new ClusterGuard(
      { client, fieldManager, signal },
      {
        ...options,
        users: this.#users,
        protection,
        log: log.child({ spoke: id }),
        onChange: () => options.onChange(profile),
        onWithdrawn: (key, components) => {
          const message = `Withdrew the confirmation to delete ${describe(key)}, which nobody used within 15 minutes`;
          for (const one of components) {
            options.onEvent(one, { type: "Normal", reason: "ConfirmationWithdrawn", message });
          }
        },
      },
    );
    this.#byClient.set(client, guard);
    // An attempt may come here when its connection has ended, after another one over the next connection.
    if (signal.aborted) return guard;
    this.#byTarget.set(id, guard);
    signal.addEventListener("abort", () => {
      if (this.#byTarget.get(id) === guard) this.#byTarget.delete(id);
    });
    return guard;
  }
}

/** The protection of anchors as an install uses it. The guard starts as soon as it is known that the target suits. */
export function gateOf(
  component: Component,
  guarded: GuardedTarget & {
    readonly beforeFirstWrite: () => Promise<unknown>;
    readonly guards: Guards;
  },
): AnchorGate {
  const { beforeFirstWrite, guards } = guarded;
  guards.prepare(component, guarded);
  // Each method below passes the rejection on. An install that calls none of them gets it from `beforeFirstWrite`.
  const started = begun(beforeFirstWrite().then(() => guards.protect(component, guarded)));
  return {
    waitUntilSent: async (signal) => (await started())?.waitUntilSent(signal),
    waitUntilOpen: async (signal) => (await started())?.waitUntilOpen(signal),
    needsSecondOwner: async (signal) =>
      (await (await started())?.needsSecondOwner(signal)) ?? false,
    noteAnchor: (anchor) =>
      void started()
        .then((guard) => guard?.noteAnchor(anchor))
        .catch(() => undefined),
  };
}
