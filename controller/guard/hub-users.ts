import type { KubeObject } from "../../api/kubernetes.ts";
import { usersLetInBy } from "./policy.ts";
import type { ClusterUser } from "./protection.ts";

/**
 * Who this process is on clusters. ClusterProfiles of one cluster may lead there with identities of their own, and the policies there have
 * to know them all. That guards look after the same cluster shows in the uids of the policies, which no other honest cluster has; nobody is asked for that. As a cluster
 * says itself what these uids are and who we are there, no guard lets another's user in: it leaves those in whose own guards wrote them into the policy.
 */
export class HubUsers {
  /** By the uid of a policy, then by the guard that looks after it. */
  readonly #byPolicy = new Map<string, Map<object, ClusterUser>>();

  /** The users that a live policy has to know, by their names, now that a guard looks after it as one of them. */
  join(policy: KubeObject, guard: object, user: ClusterUser): readonly ClusterUser[] {
    const { uid } = policy.metadata;
    const users = this.#byPolicy.get(uid) ?? new Map<object, ClusterUser>();
    this.#byPolicy.set(uid, users.set(guard, user));
    const letIn = new Set([...usersLetInBy(policy), user.username]);
    const known = [...users.values()].filter(({ username }) => letIn.has(username));
    const byName = new Map(known.map((one) => [one.username, one]));
    return [...byName.keys()].toSorted().flatMap((name) => byName.get(name) ?? []);
  }

  /** A guard looks after nothing any more. Its user stays in the policies until one of them has to be written. */
  leave(guard: object): void {
    for (const [uid, users] of this.#byPolicy) {
      users.delete(guard);
      if (users.size === 0) this.#byPolicy.delete(uid);
    }
  }
}
