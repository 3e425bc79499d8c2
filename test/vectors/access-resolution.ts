import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { parseExactJson } from "../../access/json.ts";
import type { ProviderFile } from "../../access/providers/provider-config.ts";
import { loadProviderFile } from "../../access/providers/provider-file.ts";
import { resolveAccess, type ResolvedAccess } from "../../access/spokes/resolved-access.ts";
import type { ClusterProfile } from "../../api/cluster-profile.ts";
import { FleetError } from "../../api/errors.ts";
import { type AccessCase, fieldsOf, listOf, textOf } from "./access-cases.ts";

/** What came of one profile: the way in or why there is none, and by which rules of ours the reference was let on. */
export interface ResolveOutcome {
  readonly access?: ResolvedAccess;
  readonly error?: FleetError;
  readonly relaxed: readonly string[];
}

/** The provider file of a case as it is loaded from disk, or why it cannot be. */
export async function loadedFile(
  { input, wanted }: AccessCase,
  signal: AbortSignal,
): Promise<ProviderFile | FleetError> {
  const folder = await mkdtemp(join(tmpdir(), "knfleet-vectors-"));
  try {
    const yaml = wanted?.text.startsWith("YAML accepted") === true;
    const path = join(folder, yaml ? "providers.yaml" : "providers.json");
    const base64 = input["providerFileBase64"];
    const text = input["providerFile"];
    if (typeof base64 === "string") await writeFile(path, Buffer.from(base64, "base64"));
    else if (typeof text === "string") await writeFile(path, text);
    return await loadProviderFile({ path }, signal);
  } catch (error) {
    if (error instanceof FleetError) return error;
    throw error;
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** The profiles of a case in the order in which they are resolved, with what is put into their extensions in memory. */
export function profileSequence({ input }: AccessCase): readonly unknown[] {
  const raw = Object.entries(fieldsOf(input["rawExtensions"]));
  const profiles = listOf(input["profiles"]).map((profile) =>
    raw.reduce((changed, [name, text]) => withExtension(changed, name, textOf(text)), profile),
  );
  if (!Array.isArray(input["sequence"])) return profiles;
  return input["sequence"].map((index: unknown) => profiles[Number(index)]);
}

function withExtension(profile: unknown, name: string, text: string): unknown {
  return JSON.parse(JSON.stringify(profile), (_key, value: unknown) => {
    const entry = fieldsOf(value);
    return entry["name"] === name && "extension" in entry
      ? { ...entry, extension: valueOf(text) }
      : value;
  });
}

// A text that is not JSON stands for itself: no API server could have sent it.
function valueOf(text: string): unknown {
  try {
    return parseExactJson(text);
  } catch {
    return text;
  }
}

/** True for what has the outline of a profile. Types inside are what the cases are about: as wrong as the case wants them. */
export function isProfile(profile: unknown): profile is ClusterProfile {
  return "metadata" in fieldsOf(profile);
}

interface Subject {
  readonly profile: ClusterProfile;
  readonly file: ProviderFile;
}

/** A rule of ours that the reference has not; without it the rest can be compared. */
interface Relaxation {
  readonly defect: string;
  readonly applies: (error: FleetError) => boolean;
  readonly relax: (subject: Subject) => Subject;
}

const healthy = { type: "ControlPlaneHealthy", status: "True" } as const;

const relaxations: readonly Relaxation[] = [
  {
    // Readiness is not pkg/access's job (R53, R54).
    defect: "R54",
    applies: ({ reason }) => reason === "ClusterProfileNotReady",
    relax: ({ profile, file }) => ({
      profile: { ...profile, status: { ...profile.status, conditions: [healthy] } },
      file,
    }),
  },
  {
    // No certificate authority: refused unless the provider trusts the system's.
    defect: "T-13",
    applies: ({ code, message }) =>
      code === "EndpointInvalid" && message.includes("certificate-authority-data is missing"),
    relax: ({ profile, file }) => ({
      profile,
      file: {
        ...file,
        providers: file.providers.map((provider) => ({ ...provider, systemRoots: true })),
      },
    }),
  },
  {
    // Keys that Go ignores are rules here.
    defect: "R56",
    applies: ({ message }) => /\b(?:allowed[A-Z]|requiredConfig)/.test(message),
    relax: ({ profile, file }) => ({
      profile,
      file: {
        ...file,
        providers: file.providers.map((provider) => ({ ...provider, rules: {} })),
      },
    }),
  },
];

/** Resolves one profile, once more without each rule that the reference does not have. */
export function resolveCase(profile: ClusterProfile, file: ProviderFile): ResolveOutcome {
  let subject: Subject = { profile, file };
  const relaxed: string[] = [];
  for (;;) {
    try {
      return { access: resolveAccess(subject.profile, subject.file, Date.now()), relaxed };
    } catch (error) {
      if (!(error instanceof FleetError)) throw error;
      const rule = relaxations.find(
        ({ defect, applies }) => applies(error) && !relaxed.includes(defect),
      );
      if (rule === undefined) return { error, relaxed };
      relaxed.push(rule.defect);
      subject = rule.relax(subject);
    }
  }
}

/** A resolved access as the recordings show it. */
export function shownAccess({ endpoint, plan }: ResolvedAccess): Readonly<Record<string, unknown>> {
  const { caPem = "", proxy } = endpoint;
  const caSha256 = caPem === "" ? "" : createHash("sha256").update(caPem).digest("hex");
  return {
    podsURL: new URL(`${endpoint.server}/api/v1/namespaces/ns/pods`).href,
    caSha256,
    proxy: proxy === undefined ? null : `${proxy.protocol}//${proxy.host}:${proxy.port}`,
    apiVersion: plan.apiVersion,
    command: plan.command,
    args: plan.args,
    env: plan.env.map(({ name, value }) => `${name}=${value}`).toSorted(),
    provideClusterInfo: plan.cluster !== undefined,
    config: JSON.stringify(sortedKeys(plan.cluster?.["config"] ?? null)),
  };
}

/** A value with the keys of all objects sorted; numbers that keep their text still do. */
export function sortedKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortedKeys);
  if (JSON.isRawJSON(value) || typeof value !== "object" || value === null) return value;
  const sorted = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(sorted.map(([key, field]) => [key, sortedKeys(field)]));
}
