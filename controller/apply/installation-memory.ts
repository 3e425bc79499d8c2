import { type Accepted, initialState, type InstallState, withAccepted } from "./install-state.ts";
import { InventoryKinds } from "./inventory-kinds.ts";
import { WebhookNames } from "./webhook-names.ts";

/**
 * The place of the state of one installation, from one attempt to the next. It is dropped when the cluster of the component changes.
 *
 * An answer is kept at once, and not at the end of an attempt: an attempt that is cut off loses nothing that it had learnt. The accepted objects go into the state when it is next asked for: one
 * copy of its maps then serves all of them. Up to 64 answers are awaited at a time, so that each next state is made of the newest one.
 */
export class InstallationMemory {
  /** Where the cluster serves its kinds: answers that are kept, no state. */
  readonly kinds = new InventoryKinds();
  /** The configurations of webhooks: answers that are kept, no state. */
  readonly webhooks = new WebhookNames();
  #state = initialState;
  /** What was accepted since the state was asked for. */
  #accepted: Accepted[] = [];

  get state(): InstallState {
    if (this.#accepted.length > 0) {
      this.#state = withAccepted(this.#state, this.#accepted);
      this.#accepted = [];
    }
    return this.#state;
  }

  /** Takes in that an object was accepted. */
  accept(accepted: Accepted): void {
    this.#accepted.push(accepted);
  }

  /** Replaces the state. `next` is pure. */
  become(next: (state: InstallState) => InstallState): void {
    this.#state = next(this.state);
  }
}
