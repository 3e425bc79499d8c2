import type { KubeClient } from "../../access/kube/kube-client.ts";
import type { ClusterProfileRef, Component } from "../../api/component.ts";
import { describe } from "../../api/kubernetes.ts";
import { protectedCondition } from "../../api/reasons.ts";
import { anchorKey } from "../../installation/anchor-object.ts";
import type { AnchorGate } from "../apply/attempt.ts";
import type { Target } from "../apply/target.ts";
import { targetIdOf } from "../component-identity.ts";
import type { Happening } from "../events.ts";
import { lastingLogFieldsOf, type Log } from "../log.ts";
import type { Clock } from "../queue/clock.ts";
import { ClusterGuard } from "./cluster-guard.ts";
import { isGuardInstalled } from "./policy-objects.ts";
import { HubUsers } from "./policy.ts";
import { type AnchorProtection, beginning, type Protection } from "./protection.ts";

export interface GuardsOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly hubId: string;
  readonly protection: AnchorProtection;
  readonly crds: boolean;
  /** What is known of the protection on a spoke has changed. */
  readonly onChange: (ref: ClusterProfileRef) => void;
  /** Something worth an Event happened to the anchor of a component. */
  readonly onHappening: (component: Component, happening: Happening) => void;
  /** For tests; see cluster-guard.ts. */
  readonly recheckMs?: number;
}

/** A target with the connection behind it. */
export interface GuardedTarget {
  readonly target: Target;
  /** Aborted when the connection must not be used any more. */
  readonly signal: AbortSignal;
  /** Nothing was ever installed for the component. Default false. */
  readonly isNew?: boolean;
}

/**
 * The guards of all spokes, one a connection. An installation on the hub itself has none: the component owns its objects.
 */
export class Guards {
  readonly #options: GuardsOptions;
  readonly #users = new HubUsers();
  readonly #byClient = new WeakMap<KubeClient, ClusterGuard>();
  /** The newest one of each spoke, by `targetIdOf`. */
  readonly #byTarget = new Map<string, ClusterGuard>();

  constructor(options: GuardsOptions) {
    this.#options = options;
  }

  /** Asks the target of a component what its guard has to know before it can begin. Writes nothing. */
  prepare(component: Component, where: GuardedTarget): void {
    this.#guardOf(component, where)?.prepare();
  }

  /** The guard for the target of a component, at work; undefined when anchors are not protected. */
  enrol(component: Component, where: GuardedTarget): ClusterGuard | undefined {
    const guard = this.#guardOf(component, where);
    const { namespace, name } = anchorKey({ component, target: where.target });
    guard?.enrol({ component, anchor: { namespace, name }, isNew: where.isNew === true });
    return guard;
  }

  /**
   * The guard for the target of a component that is to be removed: at work when the cluster has our policies, so that they know who the
   * controller is now. Waits for that, but not for long, and never rejects but with the reason of the signal.
   */
  async forRemoval(
    component: Component,
    where: GuardedTarget,
    signal: AbortSignal,
  ): Promise<ClusterGuard | undefined> {
    const guard = this.#guardOf(component, where);
    if (guard === undefined || guard.isAtWork || this.#options.protection === "TwinOwner") {
      return guard;
    }
    try {
      if (await isGuardInstalled(where.target.client, this.#options.hubId, signal)) {
        this.enrol(component, where);
        await guard.needsSecondOwner(signal);
      }
    } catch (err) {
      signal.throwIfAborted();
      const fields = { ...lastingLogFieldsOf(component), err };
      this.#options.log.debug(fields, "Removing without knowing what the guard does");
    }
    return guard;
  }

  /** Leaves the anchor of a component alone, with the policies that guard it. */
  withdraw(component: Component): void {
    this.#byTarget.get(targetIdOf(component))?.withdraw(component);
  }

  /** What the condition of a component says; `off`: it has none. Undefined while its spoke is not known. */
  protectionOf(component: Component): Protection | "off" | undefined {
    if (this.#options.protection === "None") return "off";
    if (component.spec?.clusterProfileRef === undefined) return "off";
    const known = this.#byTarget.get(targetIdOf(component))?.protection;
    const hasBeenSaid = component.status?.conditions?.some(
      ({ type }) => type === protectedCondition,
    );
    return known === beginning && hasBeenSaid === true ? undefined : known;
  }

  #guardOf(component: Component, { target, signal }: GuardedTarget): ClusterGuard | undefined {
    const { protection, log, ...options } = this.#options;
    const { profile, client, fieldManager } = target;
    if (profile === undefined || protection === "None") return undefined;
    const id = targetIdOf(component);
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
        onWithdrawn: (key, of) => {
          const message = `Withdrew the confirmation to delete ${describe(key)}, which nobody used within 15 minutes`;
          for (const one of of) {
            options.onHappening(one, { type: "Normal", reason: "ConfirmationWithdrawn", message });
          }
        },
      },
    );
    this.#byClient.set(client, guard);
    this.#byTarget.set(id, guard);
    signal.addEventListener("abort", () => {
      if (this.#byTarget.get(id) === guard) this.#byTarget.delete(id);
    });
    return guard;
  }
}

/**
 * The protection of anchors as an install sees it. The guard is at work as soon as it is known that the target suits; nothing waits for it but
 * who asks.
 */
export function gateOf(
  component: Component,
  where: GuardedTarget & { readonly suited: Promise<unknown>; readonly guards: Guards },
): AnchorGate {
  const { suited, guards } = where;
  guards.prepare(component, where);
  const enrolled = suited.then(() => guards.enrol(component, where));
  // Who waits for it is told; that the target does not suit is told elsewhere, too.
  enrolled.catch(() => undefined);
  return {
    underWay: async (signal) => (await enrolled)?.underWay(signal),
    ready: async (signal) => (await enrolled)?.ready(signal),
    needsSecondOwner: async (signal) => (await (await enrolled)?.needsSecondOwner(signal)) ?? false,
    saw: (anchor) => void enrolled.then((guard) => guard?.saw(anchor)).catch(() => undefined),
  };
}
