import type { Condition } from "../../api/kubernetes.ts";
import { protectedCondition, type ProtectionReason, protectionReasons } from "../../api/reasons.ts";

/** The choices of `--anchor-protection`. `Auto`: by policies, and by a second owner where policies are not possible. */
export const anchorProtections = ["Auto", "Policy", "TwinOwner", "None"] as const;
export type AnchorProtection = (typeof anchorProtections)[number];

/** The protection of the anchors on one cluster, as far as it is known. */
export interface Protection {
  readonly reason: ProtectionReason;
  readonly message: string;
}

/** Nothing is known yet: the protection that this or another process told before may still hold. */
export const initialProtection: Protection = {
  reason: "Probing",
  message: "The guard is being installed and proven",
};

/** The policies are proven. `sharing`: why other people may have the controller's user; see `sharingOf`. */
export function enforcedProtection(sharing: string | undefined): Protection {
  if (sharing === undefined) {
    return { reason: "Enforced", message: "The API server refuses to delete the anchor" };
  }
  const message = `The guard lets everybody pass who has the controller's user, and that ${sharing}`;
  return { reason: "SharedIdentity", message };
}

/** The policies were proven once, and cannot be proven again. */
export const unproven: Protection = {
  reason: "Probing",
  message:
    "The API server refuses the probes of the guard, but not by its policies: it is not known whether the anchor is protected still",
};

/** The condition `AnchorProtected` of a protection. */
export function protectionCondition({
  reason,
  message,
}: Protection): Omit<Condition, "lastTransitionTime"> {
  return { type: protectedCondition, status: protectionReasons[reason], reason, message };
}

const userNamesOfPeople = [
  "admin",
  "kubernetes-admin",
  "kubernetes-super-admin",
  "minikube-user",
  "root",
];

/**
 * Why other people may have the controller's user of a cluster, so that the guard lets them pass. Undefined when nothing indicates that.
 * Spec: anchor-guard.md 2.
 */
export function sharingOf({ username, groups }: ClusterUser): string | undefined {
  if (groups.includes("system:masters")) return "is in the group system:masters";
  if (username.includes("@") || userNamesOfPeople.includes(username)) return "is a person's";
  return undefined;
}

/** The user of the controller on a cluster. */
export interface ClusterUser {
  readonly username: string;
  readonly groups: readonly string[];
}
