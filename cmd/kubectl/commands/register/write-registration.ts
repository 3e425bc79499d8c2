import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import { credentialKeys } from "../../../../access/profiles/profile-objects.ts";
import { pause } from "../../../../access/time/clock.ts";
import { withTimeout } from "../../../../access/time/deadline.ts";
import { systemClock } from "../../../../access/time/system-clock.ts";
import { renewedAnnotation } from "../../../../api/cluster-profile.ts";
import { timestampOf } from "../../../../api/conditions.ts";
import { recordAt, textAt } from "../../../../api/fields.ts";
import type { Manifest } from "../../../../api/kubernetes.ts";
import { messageOf, UsageError } from "../../errors.ts";
import {
  idOf,
  isTokenSecretOf,
  registeredAnnotations,
  registeredAtAnnotation,
  registrar,
  spokeNamespace,
} from "../../rights/spoke-objects.ts";
import { onSpoke, type OpenSpoke } from "./open-spoke.ts";
import type { RegisterRequest } from "./register-request.ts";
import { labelsManifest } from "./registration-text.ts";
import { credentialData, type Registration } from "./registration.ts";
import { takeBack } from "./take-back.ts";
import { limitOf, refOf, removeRead, type Target, write } from "./write-object.ts";
import { writeProfile } from "./write-profile.ts";

/** For so long a registration that failed is taken back, whatever the time limit of the command. */
const longestUndoMs = 30_000;

interface Written {
  /** When the token ends, RFC 3339. Undefined: it stays. */
  readonly endsAt: string | undefined;
}

interface Clusters {
  readonly hub: KubeClient;
  readonly hubTimeoutMs: number;
  readonly spoke: OpenSpoke;
  /** Called when the registration fails after it has made objects. */
  readonly onLeft: (left: Left) => void;
}

/** The objects that a registration made before it failed, and that are still there. */
export interface Left {
  readonly spoke: readonly Manifest[];
  readonly hub: readonly Manifest[];
}

/**
 * Writes a registration: identity and token on the spoke, Secret and ClusterProfile on the hub. Then deletes the older tokens that stay. When it fails
 * before the hub has the ClusterProfile, it takes back what it has made; otherwise another run takes it up. Throws UsageError when somebody else has changed an object since it was read.
 */
export async function writeRegistration(
  registration: Registration,
  request: RegisterRequest,
  { hub, hubTimeoutMs, spoke, onLeft, signal }: Clusters & { readonly signal: AbortSignal },
): Promise<Written> {
  const atSpoke = { client: spoke.connection.client, timeoutMs: spoke.timeoutMs, signal };
  const atHub = { client: hub, timeoutMs: hubTimeoutMs, signal };
  if (registration.keepsToken) {
    await writeLabels(registration, request, atHub);
    return { endsAt: undefined };
  }
  const left = { spoke: new Array<Manifest>(), hub: new Array<Manifest>() };
  let secret: Manifest | undefined;
  let endsAt: string | undefined;
  try {
    await onSpoke(spoke, writeIdentity(registration, left.spoke, atSpoke));
    const minted = await onSpoke(spoke, mintToken(registration, request, atSpoke));
    ({ endsAt } = minted);
    secret = credentialData(registration, registration.server, minted.token);
    await writeOnHub(registration, { request, secret, made: left.hub }, atHub);
    if (!(await holds(secret, atHub))) {
      throw new UsageError("Another register gave the hub another token meanwhile");
    }
  } catch (error) {
    // What was made must go also when the command was interrupted, or its time is over.
    const late = { signal: withTimeout(systemClock, longestUndoMs, undefined) };
    const ends = { spoke: { ...atSpoke, ...late }, hub: { ...atHub, ...late } };
    onLeft(await undo(left, { registration, request, secret }, ends));
    throw error;
  }
  await removeOlder(registration, spoke, atSpoke);
  return { endsAt };
}

async function writeLabels(
  { profile, present }: Registration,
  { removedLabels }: RegisterRequest,
  target: Target,
): Promise<void> {
  const manifest = labelsManifest(profile);
  const labels = { ...nulls(removedLabels), ...manifest.metadata.labels };
  const patch = { ...manifest, metadata: { ...manifest.metadata, labels } };
  await write(manifest, { present: present.profile, made: [], patch }, target);
}

interface Undone {
  readonly registration: Registration;
  readonly request: RegisterRequest;
  /** The Secret of the hub with the token; undefined: there is no token yet. */
  readonly secret: Manifest | undefined;
}

/** Takes a registration back that failed, and returns what stays: all that the hub needs where it has the ClusterProfile, or held another token of the cluster before. */
async function undo(
  left: Left,
  { registration, request, secret }: Undone,
  { spoke, hub }: Readonly<Record<"spoke" | "hub", Target>>,
): Promise<Left> {
  const { token, present } = registration;
  const all = { ...left, spoke: [...left.spoke, ...(token === undefined ? [] : [token])] };
  const hasProfile = left.hub.some(({ kind }) => kind === "ClusterProfile");
  const isHeld = secret !== undefined && (await holds(secret, hub).catch(() => true));
  if (isHeld && (hasProfile || present.secret !== undefined)) return all;
  // The hub has the token of another register, which uses all else that this one made.
  if (hasProfile) return (await removeToken(registration, request, spoke)) ? left : all;
  const onHub = await takeBack(left.hub, hub);
  // A Secret that could not be deleted may still hold the token.
  if (isHeld && onHub.some(({ kind }) => kind === "Secret")) return { ...all, hub: onHub };
  const isGone = await removeToken(registration, request, spoke);
  if (!isGone) return { ...all, hub: onHub };
  return { spoke: await takeBack(left.spoke, spoke), hub: onHub };
}

async function writeIdentity(
  { spoke, present }: Registration,
  made: Manifest[],
  target: Target,
): Promise<void> {
  const registeredAt = { [registeredAtAnnotation]: systemClock.date().toISOString() };
  for (const manifest of spoke) {
    const { metadata } = manifest;
    // Also what is as it should be gets another resourceVersion: a run beside this one that made it, and fails, does not take it back.
    const annotations = { ...metadata.annotations, ...registeredAt };
    const dated = { ...manifest, metadata: { ...metadata, annotations } };
    // oxlint-disable-next-line no-await-in-loop -- a namespace has to be there before what is in it
    await write(dated, { present: present.spoke[manifest.kind], made }, target);
  }
}

async function writeOnHub(
  { namespaces, present, profile: planned, profileStatus }: Registration,
  {
    request: { removedLabels },
    secret,
    made,
  }: {
    readonly request: RegisterRequest;
    readonly secret: Manifest;
    readonly made: Manifest[];
  },
  target: Target,
): Promise<void> {
  for (const manifest of namespaces) {
    // oxlint-disable-next-line no-await-in-loop -- usually none, rarely more than one
    await write(manifest, { present: undefined, made }, target);
  }
  // The Secret comes first: the controller may see the profile at once.
  const data = { ...nulls(Object.values(credentialKeys)), ...recordAt(secret, "data") };
  await write(secret, { present: present.secret, made, patch: { ...secret, data } }, target);
  // With this the controller uses the new token at once, also after it was refused for long.
  const renewed = { [renewedAnnotation]: timestampOf(systemClock.date()) };
  const annotations = { ...planned.metadata.annotations, ...renewed };
  const profile = { ...planned, metadata: { ...planned.metadata, annotations } };
  const labels = { ...nulls(removedLabels), ...profile.metadata.labels };
  const { tokenLifetime, spokeServer } = registeredAnnotations;
  const told = { ...nulls([tokenLifetime, spokeServer]), ...annotations };
  const patch = { ...profile, metadata: { ...profile.metadata, labels, annotations: told } };
  const { uid } = (await writeProfile(profile, { present: present.profile, made, patch }, target))
    .metadata;
  const status = { ...profileStatus, metadata: { ...profileStatus.metadata, uid } };
  const options = { fieldManager: registrar, force: true, subresource: "status" } as const;
  // Not with the resourceVersion: the controller may note the health of the new profile at once.
  await target.client.apply(refOf(status), status, options, limitOf(target));
}

/** What a merge patch has for fields that it removes. */
function nulls(fields: readonly string[]): Readonly<Record<string, null>> {
  return Object.fromEntries(fields.map((field) => [field, null]));
}

/** Whether the Secret of the hub has these data. */
async function holds(secret: Manifest, target: Target): Promise<boolean> {
  const found = recordAt(await target.client.get(refOf(secret), {}, limitOf(target)), "data");
  const data = recordAt(secret, "data");
  return Object.values(credentialKeys).every((key) => textAt(found, key) === textAt(data, key));
}

async function mintToken(
  { token: secret }: Registration,
  { account, ttlSeconds }: RegisterRequest,
  target: Target,
): Promise<{ readonly token: string; readonly endsAt: string | undefined }> {
  if (secret !== undefined) {
    return { token: await lastingToken(secret, target), endsAt: undefined };
  }
  const path = `/api/v1/namespaces/${spokeNamespace}/serviceaccounts/${account}/token`;
  const body = {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: { expirationSeconds: ttlSeconds },
  };
  const answer = await target.client.request("POST", path, body, limitOf(target));
  const status = recordAt(answer, "status");
  const token = textAt(status, "token");
  if (token === undefined) throw new UsageError("The cluster minted no token");
  return { token, endsAt: textAt(status, "expirationTimestamp") };
}

const pollMs = 100;

/** Makes the Secret and waits until the cluster has filled it. It waits for the time of one request, and reads the Secret at least once. */
async function lastingToken(secret: Manifest, target: Target): Promise<string> {
  // When the registration fails, it deletes this Secret itself: the Secret is not listed as left.
  await write(secret, { present: undefined, made: [] }, target);
  const end = systemClock.now() + target.timeoutMs;
  for (;;) {
    // oxlint-disable no-await-in-loop -- a poll
    const found = await target.client.get(refOf(secret), {}, limitOf(target));
    const token = textAt(recordAt(found, "data"), "token") ?? "";
    if (token !== "") return Buffer.from(token, "base64").toString("utf8");
    if (systemClock.now() >= end) {
      throw new UsageError(
        `The cluster answered, and put no token into Secret ${idOf({ namespace: spokeNamespace, name: secret.metadata.name ?? "" })} in time`,
        ["A cluster whose controller manager makes no such tokens needs --ttl."],
      );
    }
    await pause(systemClock, pollMs, limitOf(target));
    // oxlint-enable no-await-in-loop
  }
}

/** Deletes the Secret with the token of this registration. Returns whether it is gone; it may never have been made. */
async function removeToken(
  { token }: Registration,
  { account }: RegisterRequest,
  target: Target,
): Promise<boolean> {
  if (token === undefined) return true;
  try {
    const found = await target.client.get(refOf(token), { metadataOnly: true }, limitOf(target));
    if (found === undefined || !isTokenSecretOf(found, account)) return true;
    const { uid } = found.metadata;
    await target.client.remove(refOf(token), { uid }, limitOf(target));
    return true;
  } catch {
    // The failure of the registration is what the user is told, and this Secret with it.
    return false;
  }
}

/** Deletes the tokens that were there before, now that the hub has another one. */
async function removeOlder(
  { present, profile }: Registration,
  spoke: OpenSpoke,
  target: Target,
): Promise<void> {
  try {
    await onSpoke(spoke, removeRead(present.tokens, target));
  } catch (error) {
    throw new UsageError(
      `${messageOf(error)}. ClusterProfile ${profile.metadata.namespace}/${profile.metadata.name} is registered, and an older token stays on the cluster`,
      ["Run the command again; it deletes older tokens."],
    );
  }
}
