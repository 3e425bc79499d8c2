import { reasons } from "../../../api/reasons.ts";
import { words } from "../commands.ts";
import type { StatusItem } from "../commands/status/status-item.ts";

const shortNames = { KnativeServing: "ks", KnativeEventing: "ke" } as const;

/** One sentence or command that helps most with an unhealthy installation; a command is without the flags that name the hub. */
export function nextStep(item: StatusItem): string {
  return (item.hub.state === "Ready" ? liveStep(item) : undefined) ?? hubStep(item);
}

function liveStep(item: StatusItem): string | undefined {
  const { reason, state } = item.live;
  if (state === "Unreachable") return reasons.RemoteClientCreationFailed.next;
  if (state === "Denied" && reason === "Forbidden") {
    return "Bind the ClusterRole of docs/spoke-role.yaml on the spoke to the identity that the provider gives.";
  }
  if (state === "Denied") return "Renew the credential that the profile's provider hands out.";
  if (state === "NoAccess") return nextOfReason(reason) ?? reasons.AccessProviderFailed.next;
  if (state === "NotAvailable") return deploymentsOf(item);
  return nextOfReason(reason);
}

function hubStep(item: StatusItem): string {
  const { kind, namespace, name, hub, live } = item;
  const known = nextOfReason(hub.reason);
  if (known !== undefined) return known;
  // `NotReady` is what upstream calls the reason of DeploymentsAvailable.
  if (hub.reason === "NotReady" || live.state === "NotAvailable") return deploymentsOf(item);
  const type = `${kind.toLowerCase()}.operator.knative.dev`;
  return words("kubectl", "describe", type, name, "-n", namespace);
}

function deploymentsOf({ kind, namespace, name }: StatusItem): string {
  const target = `${shortNames[kind]}/${name}`;
  return words("kubectl", "knfleet", "deployments", target, "-n", namespace);
}

const reasonOfCode: Readonly<Record<string, keyof typeof reasons>> = {
  NoMatchingProvider: "MulticlusterDisabled",
  EndpointInvalid: "RemoteClientCreationFailed",
};

function nextOfReason(reason: string | null): string | undefined {
  const wanted = reasonOfCode[reason ?? ""] ?? reason;
  return Object.entries(reasons).find(([name]) => name === wanted)?.[1].next;
}
