import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";

import type { Profile } from "../fleet/fleet.ts";

/** Whether a spoke still takes the token that its profile was made with. */
export async function spokeAccepts(
  { spoke, token }: Pick<Profile, "spoke" | "token">,
  signal: AbortSignal,
): Promise<boolean> {
  const outgoing = request(`${spoke.server}/version`, {
    ca: spoke.caPem,
    headers: { authorization: `Bearer ${token}` },
    signal,
  });
  outgoing.end();
  const [answer]: IncomingMessage[] = await once(outgoing, "response");
  answer?.resume();
  return answer?.statusCode !== 401;
}
