import type { KubeClient, ObjectRef } from "../../../../access/kube/kube-client.ts";
import { pause } from "../../../../access/time/clock.ts";
import { withTimeout } from "../../../../access/time/deadline.ts";
import { systemClock } from "../../../../access/time/system-clock.ts";
import { recordAt, textAt } from "../../../../api/fields.ts";
import type { Manifest } from "../../../../api/kubernetes.ts";
import { knownResource } from "../../../../api/resources.ts";
import { UsageError } from "../../errors.ts";
import { onSpoke, type OpenSpoke } from "./open-spoke.ts";
import type { RegisterRequest } from "./register-request.ts";
import { credentialData, type Registration } from "./registration.ts";
import { isTokenSecretOf, registrar, registrarSelector, spokeNamespace } from "./spoke-objects.ts";

interface Written {
  /** When the token ends, RFC 3339. Undefined: it stays. */
  readonly endsAt: string | undefined;
}

interface Clusters {
  readonly hub: KubeClient;
  readonly hubTimeoutMs: number;
  readonly spoke: OpenSpoke;
}

/**
 * Writes a registration: identity and token on the spoke, Secret and ClusterProfile on the hub. Then deletes the older tokens that stay. When it fails
 * halfway, another run takes it up.
 */
export async function writeRegistration(
  registration: Registration,
  request: RegisterRequest,
  { hub, hubTimeoutMs, spoke, signal }: Clusters & { readonly signal: AbortSignal },
): Promise<Written> {
  const { client } = spoke.connection;
  const atSpoke = withTimeout(systemClock, spoke.timeoutMs, signal);
  const minted = await onSpoke(
    spoke,
    applyAll(registration.spoke, client, atSpoke).then(() =>
      mintToken(registration, request, { client, signal: atSpoke }),
    ),
  );
  const { namespaces, profile, profileStatus, server } = registration;
  const atHub = withTimeout(systemClock, hubTimeoutMs, signal);
  const secret = credentialData(registration, server, minted.token);
  // The Secret comes first: the controller may see the profile at once.
  await applyAll([...namespaces, secret, profile], hub, atHub);
  const options = { fieldManager: registrar, force: true, subresource: "status" } as const;
  await hub.apply(refOf(profileStatus), profileStatus, options, atHub);
  const isOld = (name: string): boolean => name !== registration.token?.metadata.name;
  await onSpoke(spoke, deleteTokens(request.account, isOld, { client, signal }));
  return { endsAt: minted.endsAt };
}

async function applyAll(
  manifests: readonly Manifest[],
  client: KubeClient,
  signal: AbortSignal,
): Promise<void> {
  for (const manifest of manifests) {
    const options = { fieldManager: registrar, force: true, metadataOnly: true };
    // oxlint-disable-next-line no-await-in-loop -- a namespace has to be there before what is in it
    await client.apply(refOf(manifest), manifest, options, signal);
  }
}

/** Names an object for a request. */
export function refOf({ apiVersion, kind, metadata }: Manifest): ObjectRef {
  const { namespace, name = "" } = metadata;
  const resource = knownResource(apiVersion, kind);
  return namespace === undefined ? { resource, name } : { resource, namespace, name };
}

interface Caller {
  readonly client: KubeClient;
  readonly signal: AbortSignal;
}

async function mintToken(
  { token: secret }: Registration,
  { account, ttlSeconds }: RegisterRequest,
  { client, signal }: Caller,
): Promise<{ readonly token: string; readonly endsAt: string | undefined }> {
  if (secret !== undefined)
    return { token: await lastingToken(secret, { client, signal }), endsAt: undefined };
  const path = `/api/v1/namespaces/${spokeNamespace}/serviceaccounts/${account}/token`;
  const body = {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: { expirationSeconds: ttlSeconds },
  };
  const status = recordAt(await client.request("POST", path, body, signal), "status");
  const token = textAt(status, "token");
  if (token === undefined) throw new UsageError("The cluster minted no token");
  return { token, endsAt: textAt(status, "expirationTimestamp") };
}

const pollMs = 100;

/** Makes the Secret and waits until the cluster has filled it. */
async function lastingToken(secret: Manifest, { client, signal }: Caller): Promise<string> {
  const ref = refOf(secret);
  const { namespace, name } = ref;
  await client.create(
    { resource: ref.resource, ...(namespace === undefined ? {} : { namespace }) },
    secret,
    { fieldManager: registrar },
    signal,
  );
  for (;;) {
    // oxlint-disable no-await-in-loop -- a poll
    const found = await client.get(ref, {}, signal).catch((error: unknown) => {
      if (signal.aborted) return undefined;
      throw error;
    });
    const token = textAt(recordAt(found, "data"), "token") ?? "";
    if (token !== "") return Buffer.from(token, "base64").toString("utf8");
    if (signal.aborted) {
      throw new UsageError(
        `The cluster put no token into Secret ${spokeNamespace}/${name} in time`,
        ["A cluster whose controller manager makes no such tokens needs --ttl."],
      );
    }
    await pause(systemClock, pollMs, signal);
    // oxlint-enable no-await-in-loop
  }
}

/** Deletes the chosen Secrets with tokens of a ServiceAccount that `register` made. */
async function deleteTokens(
  account: string,
  isChosen: (name: string) => boolean,
  { client, signal }: Caller,
): Promise<void> {
  const resource = knownResource("v1", "Secret");
  const scope = { resource, namespace: spokeNamespace, labelSelector: registrarSelector };
  const { items } = await client.list(scope, { metadataOnly: true }, signal);
  const names = items
    .filter((secret) => isTokenSecretOf(secret, account) && isChosen(secret.metadata.name))
    .map(({ metadata }) => metadata.name);
  await Promise.all(
    names.map((name) => client.remove({ resource, namespace: spokeNamespace, name }, {}, signal)),
  );
}
