import type { Condition } from "../../api/kubernetes.ts";
import { protectedCondition, type ProtectionReason, protectionReasons } from "../../api/reasons.ts";

/** How anchors are protected: by policies and else by a second owner, by one of the two only, or not at all. */
export const anchorProtections = ["Auto", "Policy", "TwinOwner", "None"] as const;
export type AnchorProtection = (typeof anchorProtections)[number];

/** What is known of the protection of the anchors on one cluster. */
export interface Protection {
  readonly reason: ProtectionReason;
  readonly message: string;
}

/** Nothing is known yet: what was known before, also to another process, may still be so. */
export const beginning: Protection = {
  reason: "Probing",
  message: "The guard is being installed and proven",
};

/** The policies were seen to refuse. `sharing`: what speaks against the controller's user being its alone. */
export function enforcedFor(sharing: string | undefined): Protection {
  if (sharing === undefined) {
    return { reason: "Enforced", message: "The API server refuses to delete the anchor" };
  }
  const message = `The guard lets everybody pass who has the controller's user, and that ${sharing}`;
  return { reason: "SharedIdentity", message };
}

/** The condition `AnchorProtected` that says so. */
export function protectionCondition({
  reason,
  message,
}: Protection): Omit<Condition, "lastTransitionTime"> {
  return { type: protectedCondition, status: protectionReasons[reason], reason, message };
}

const people = ["admin", "kubernetes-admin", "kubernetes-super-admin", "minikube-user", "root"];

/**
 * Why a user of a cluster is not the controller's alone, so that the guard would let others pass, too; undefined when nothing speaks
 * for that. Spec: anchor-guard.md 2.
 */
export function sharingOf({ username, groups }: ClusterUser): string | undefined {
  if (groups.includes("system:masters")) return "is in the group system:masters";
  if (username.includes("@") || people.includes(username)) return "is a person's";
  return undefined;
}

/** Who the controller is on a cluster. */
export interface ClusterUser {
  readonly username: string;
  readonly groups: readonly string[];
}
