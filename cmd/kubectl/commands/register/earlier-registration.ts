import type { ClusterProfile } from "../../../../api/cluster-profile.ts";
import { goDurationMs } from "../../../../api/go-duration.ts";
import { isLabelName } from "../../../../webhook/rules/names.ts";
import { registeredAnnotations, registrar, spokeNamespace } from "../../rights/spoke-objects.ts";
import { serversOf } from "./known-cluster.ts";
import {
  type AskedRequest,
  isTokenLifetime,
  type RegisterRequest,
  usualAccount,
} from "./register-request.ts";
import type { HubFacts, SpokeFacts } from "./registration-facts.ts";

/** Fills in what an earlier registration of the cluster was told and the command line does not name: account, life of the token and display name. */
export function withEarlier(
  asked: AskedRequest,
  profile: ClusterProfile | undefined,
): RegisterRequest {
  const { ttlSeconds, ...rest } = asked;
  const earlier = registeredProfile(profile);
  const noted = earlier?.metadata.annotations ?? {};
  const seconds = ttlSeconds ?? notedSeconds(noted[registeredAnnotations.tokenLifetime]);
  return {
    ...rest,
    displayName: earlier?.spec?.displayName ?? asked.displayName,
    account: asked.account ?? notedAccount(noted[registeredAnnotations.account]) ?? usualAccount,
    ...(seconds === 0 ? {} : { ttlSeconds: seconds }),
    changesLabelsAlone: earlier !== undefined && namesLabelsAlone(asked),
  };
}

function namesLabelsAlone(asked: AskedRequest): boolean {
  const { labels, removedLabels, ttlSeconds, server, account } = asked;
  const hasLabels = Object.keys(labels).length + removedLabels.length > 0;
  return hasLabels && [ttlSeconds, server, account].every((value) => value === undefined);
}

function notedAccount(text = ""): string | undefined {
  const [namespace, name = ""] = text.split("/");
  return namespace === spokeNamespace && isLabelName(name) ? name : undefined;
}

/** 0: the token stays. */
function notedSeconds(text: string | undefined): number {
  const seconds = Math.trunc((goDurationMs(text ?? "") ?? 0) / 1_000);
  return isTokenLifetime(seconds) ? seconds : 0;
}

function registeredProfile(profile: ClusterProfile | undefined): ClusterProfile | undefined {
  return profile?.spec?.clusterManager?.name === registrar ? profile : undefined;
}

interface Facts {
  readonly hub: Pick<HubFacts, "profile" | "secrets">;
  readonly spoke: Pick<SpokeFacts, "uid">;
}

/**
 * The address for the controller: the named one, else the one that an earlier registration of the same cluster was told, where the ClusterProfile still has it. Undefined: that of
 * the kubeconfig. Who may write the annotation alone, and not the status, does not choose where a token is sent.
 */
export function statedServer(
  { server, changesLabelsAlone }: RegisterRequest,
  facts: Facts,
): string | undefined {
  const profile = ofSameCluster(facts);
  if (server !== undefined || profile === undefined) return server;
  const servers = serversOf(profile);
  if (changesLabelsAlone === true) return servers[0];
  const noted = profile.metadata.annotations?.[registeredAnnotations.spokeServer];
  return servers.find((one) => one === noted);
}

/** Whether only the labels of the ClusterProfile change. Without the Secret of the hub the cluster is registered anew. */
export function keepsToken({ changesLabelsAlone }: RegisterRequest, facts: Facts): boolean {
  const id = ofSameCluster(facts)?.metadata.annotations?.[registeredAnnotations.secret];
  return changesLabelsAlone === true && id !== undefined && facts.hub.secrets.has(id);
}

/** The ClusterProfile that an earlier registration wrote, unless it was for another cluster. */
function ofSameCluster({ hub, spoke }: Facts): ClusterProfile | undefined {
  const profile = registeredProfile(hub.profile);
  const uid = profile?.metadata.annotations?.[registeredAnnotations.cluster] ?? "";
  return uid !== "" && uid === spoke.uid ? profile : undefined;
}

/** The annotations by which a later registration knows what this one was told. */
export function toldAnnotations({
  ttlSeconds,
  server,
}: Pick<RegisterRequest, "ttlSeconds" | "server">): Readonly<Record<string, string>> {
  return {
    ...(ttlSeconds === undefined
      ? {}
      : { [registeredAnnotations.tokenLifetime]: `${ttlSeconds}s` }),
    ...(server === undefined ? {} : { [registeredAnnotations.spokeServer]: server }),
  };
}
