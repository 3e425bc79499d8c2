import { isJson } from "../json.ts";

/** An answer 401. */
export interface Refusal {
  readonly contentType: string;
  readonly text?: string;
}

/**
 * Who refused a credential with a 401, as far as the answer tells: the API server, which knows it; something in front of it, which may have reasons of its
 * own; or a proxy that could not ask the API server, so that the credential was not even checked.
 */
export type Refuser = "server" | "proxy" | "unreached";

// cluster-proxy of Open Cluster Management asks the spoke about each token, and then the hub. Both sentences are its own, and so is the last one.
const askedNobody =
  /^(?:managed cluster authentication failed|authentication failed: managed cluster auth: not authenticated, hub cluster auth error): /;
const knowsNobody = /^authentication failed: token is neither valid for managed cluster nor hub/;

/** Finds out who answered 401. An API server answers with a Status, which is JSON. */
export function refuserOf({ contentType, text = "" }: Refusal): Refuser {
  if (isJson(contentType) || knowsNobody.test(text)) return "server";
  return askedNobody.test(text) ? "unreached" : "proxy";
}
