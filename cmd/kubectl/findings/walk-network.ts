import type { ResolvedAccess } from "../../../access/spokes/resolved-access.ts";
import { addressGuardOf } from "../../../access/spokes/spoke-deps.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { checkName, checkProxy, checkTcp, checkTls } from "./hops/network-hops.ts";
import type { StepValue, Walk, WalkContext } from "./walk.ts";

/** Walks from the name of a server to its certificate. Tells whether the server is reached. */
export async function walkNetwork(
  resolved: StepValue<ResolvedAccess>,
  { walk, context }: { readonly walk: Walk; readonly context: WalkContext },
): Promise<StepValue<true>> {
  const { environment, hopTimeoutMs: timeoutMs } = context;
  const limitsOf = (access: ResolvedAccess, signal: AbortSignal) => ({
    clock: systemClock,
    guard: addressGuardOf(access, { environment }),
    timeoutMs,
    signal,
  });
  const dns = await walk.take("dns", [resolved], ([access], late) =>
    checkName(access.endpoint, limitsOf(access, late)),
  );
  const tcp = await walk.take("tcp", [resolved, dns], ([access], late) =>
    checkTcp(access.endpoint, limitsOf(access, late)),
  );
  const hasProxy = resolved.ok && resolved.value.endpoint.proxy !== undefined;
  const open = hasProxy
    ? await walk.take("proxy", [resolved, tcp], ([access], late) =>
        checkProxy(access.endpoint, limitsOf(access, late)),
      )
    : tcp;
  if (resolved.ok && resolved.value.endpoint.server.startsWith("http:")) {
    walk.skip("tls", "the server is plain http");
  } else {
    await walk.take("tls", [resolved, open], ([access], late) =>
      checkTls(access.endpoint, limitsOf(access, late), context.now().getTime()),
    );
  }
  const tls = walk.hops.find(({ id }) => id === "tls");
  return tls?.state === "OK" || tls?.state === "WARN"
    ? { ok: true, value: true }
    : { ok: false, because: tls?.because ?? "tls" };
}
