import { randomUUID } from "node:crypto";

import { systemClock } from "../../access/time/system-clock.ts";
import type { Anchor } from "../../controller/apply/anchor/anchor.ts";
import type { ChangeSet } from "../../controller/apply/change-set.ts";
import { Neighbours } from "../../controller/reconcile/neighbours.ts";
import type { Rendered } from "../../render/release/releases.ts";
import { eventing, type Installer, openInstaller } from "../controller/apply/installer.ts";
import type { Cluster } from "../fleet/fleet.ts";
import { connectionTo } from "../support/connection-to.ts";

/** One of several hubs that install the same objects on one cluster, without a word of each other. */
export class LoneHub implements AsyncDisposable {
  readonly installer: Installer;
  readonly #rendered: Rendered;
  readonly #neighbours = new Neighbours(systemClock);
  readonly #opened: AsyncDisposable;

  private constructor(installer: Installer, rendered: Rendered, opened: AsyncDisposable) {
    this.installer = installer;
    this.#rendered = rendered;
    this.#opened = opened;
  }

  static async open(spoke: Cluster, hubId: string, rendered: Rendered): Promise<LoneHub> {
    const component = eventing({}, { namespace: hubId, uid: randomUUID() });
    const opened = await openInstaller(spoke, { component, hubId });
    return new LoneHub(opened.installer, rendered, opened);
  }

  /** One attempt; `meanwhile` is waited for after the anchor was made and before it is asked who else has one. */
  async install(meanwhile: () => Promise<unknown> = async () => undefined): Promise<ChangeSet> {
    const { component, target } = this.installer;
    const { manifests } = this.#rendered;
    const assertFirst = async (making: Promise<Anchor>, signal: AbortSignal): Promise<void> => {
      await making;
      await meanwhile();
      const newcomer = { component, target, connection: connectionTo(target), manifests };
      return this.#neighbours.assertFirst(newcomer, { making, all: () => [] }, signal);
    };
    return this.installer.install({ rendered: this.#rendered, assertFirst });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opened[Symbol.asyncDispose]();
  }
}
