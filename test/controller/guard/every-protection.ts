import type { ProtectionReason } from "../../../api/reasons.ts";

/** All that may be said of the protection of an anchor. */
export const everyProtection: readonly ProtectionReason[] = [
  "Enforced",
  "Probing",
  "NotEnforced",
  "BindingMissing",
  "SharedIdentity",
  "PolicyForbidden",
  "NotSupported",
  "TwinOwner",
];
