import { createHash } from "node:crypto";
import { open, rm } from "node:fs/promises";
import { posix } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";

import { isRecord } from "../../../api/fields.ts";
import { redactSecrets } from "../../../api/foreign-text.ts";
import { messageOf, UsageError } from "../errors.ts";
import { reportOf, stampAt } from "../output/report.ts";
import { stringAt } from "../selection/fields.ts";
import { type Bundle, indexFile, type RecordedCluster, type RecordedTable } from "./bundle.ts";
import type { SecretFinder } from "./known-secrets.ts";
import { type ArchiveFile, packTar } from "./tar.ts";

/** Searches files for every secret of the run before they are written. Throws UsageError that names the files, and no secret. */
export function checkFiles(files: readonly ArchiveFile[], secrets: SecretFinder): void {
  const leaking = files.filter(({ path, text }) => secrets.isIn(path) || secrets.isIn(text));
  if (leaking.length === 0) return;
  const names = leaking.map(({ path }) => (secrets.isIn(path) ? "[redacted]" : path)).join(", ");
  throw new UsageError(`Nothing was written: a credential of this run is in ${names}`, [
    "Report it as a fault of this program; the bundle is of no use to anybody.",
  ]);
}

/** Writes an archive that only its owner may read, and returns its size. Throws UsageError when the file exists or cannot be written. */
export async function writeBundle(
  path: string,
  files: readonly ArchiveFile[],
  modified: Date,
): Promise<number> {
  const root = posix.basename(path.replaceAll("\\", "/")).replace(/\.(?:tgz|tar\.gz)$/, "");
  const inside = files.map(({ path: name, text }) => ({ path: `${root}/${name}`, text }));
  const archive = await promisify(gzip)(await packTar(inside, modified));
  const file = await open(path, "wx", 0o600).catch((error: unknown) => {
    throw new UsageError(`The file ${path} cannot be written: ${messageOf(error)}`, [
      "Name another one with -o.",
    ]);
  });
  try {
    await file.writeFile(archive);
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await file.close();
  }
  return archive.length;
}

interface BundleContent {
  readonly clusters: readonly RecordedCluster[];
  readonly namespace: string;
  readonly isWhole: boolean;
  /** Documents of other commands, by file name. */
  readonly documents: Readonly<Record<string, unknown>>;
  /** Why some of these documents are missing. */
  readonly errors: Bundle["errors"];
  readonly now: Date;
}

/** The redacted files of a bundle, and its index, which is one of the files. */
export function bundleOf(
  content: BundleContent,
  redactor: Redactor,
): { readonly files: readonly ArchiveFile[]; readonly bundle: Bundle } {
  const { clusters, documents, now } = content;
  const write = (path: string, value: unknown): ArchiveFile => ({
    path,
    text: `${JSON.stringify(redactor.value(value), null, 1)}\n`,
  });
  const files = [
    ...Object.entries(documents).map(([path, document]) => write(path, document)),
    ...clusters.flatMap(({ folder, tables }) =>
      tables.map((table) => write(`${folder}/${fileOf(table)}.json`, table)),
    ),
  ];
  const sizes = files.map(({ path, text }) => ({ path, bytes: Buffer.byteLength(text) }));
  const unread = clusters.filter((cluster) => cluster.unread !== null);
  const bundle: Bundle = reportOf("Bundle", stampAt(now), {
    complete: unread.length + content.errors.length === 0,
    summary: {
      file: null,
      bytes: sizes.reduce((sum, { bytes }) => sum + bytes, 0),
      namespace: content.namespace,
      whole: content.isWhole,
      clusters: clusters.length,
      unread: unread.length,
      objects: clusters.reduce((sum, { objects }) => sum + objects, 0),
      files: sizes,
    },
    items: clusters.map(({ tables: _tables, ...item }) => item),
    errors: [
      ...unread.flatMap(({ cluster, unread: why }) =>
        why === null ? [] : [{ reason: why.reason, message: why.message, cluster }],
      ),
      ...content.errors,
    ].map((error) => ({ ...error, message: redactor.text(error.message) })),
  });
  return { files: [write(indexFile, bundle), ...files], bundle };
}

function fileOf({ kind: { plural, group } }: RecordedTable): string {
  return group === "" ? plural : `${plural}.${group}`;
}

const secretName =
  /^(?:.*[-_.])?(?:token|password|passwd|secret|api[-_]?key|key-data|private[-_]?key|authorization|bearer|credentials?)$/i;
const secretCamelName = /[a-z](?:Token|Password|Secret|ApiKey|PrivateKey|Credentials?)$/;

const certificate = /-----BEGIN CERTIFICATE-----[\s\S]*?(?:-----END CERTIFICATE-----|$)/g;
// base64 of "-----BEGIN" and the text behind it.
const encodedPem = /LS0tLS1CRUdJTi[\w+/=]*/g;
const login = /(:\/\/)[^/@\s"']+@/g;
// `name: TOKEN` and below it `value: …`, as YAML has variables.
const yamlPair = /(name:[ \t]*["']?([\w.-]+)["']?[ \t]*\n[ \t]*value:[ \t]*)[^\n]+/g;

/** Removes secrets from documents: those that the run knows, and texts that look like secrets. */
export class Redactor {
  readonly #secrets: SecretFinder;

  constructor(secrets: SecretFinder) {
    this.#secrets = secrets;
  }

  /** A text without secrets; a certificate becomes its fingerprint. */
  text(text: string): string {
    const known = this.#secrets.redacted(text);
    const marked = known
      .replaceAll(certificate, (found) => fingerprint(found))
      .replaceAll(encodedPem, (found) => encodedFingerprint(found))
      .replaceAll(login, "$1[redacted]@")
      .replaceAll(yamlPair, (whole, before: string, name: string) =>
        isSecretName(name) ? `${before}[redacted]` : whole,
      );
    return redactSecrets(marked);
  }

  /** A JSON value without secrets, also in texts that are JSON themselves and in pairs `{ name, value }`. */
  value(value: unknown): unknown {
    if (typeof value === "string") return this.#document(value);
    if (Array.isArray(value)) return value.map((item: unknown) => this.value(item));
    if (!isRecord(value)) return value;
    const name = stringAt(value, "name") ?? "";
    const entries = Object.entries(value).map(([key, field]) => {
      const isSecret =
        typeof field === "string" && (isSecretName(key) || (key === "value" && isSecretName(name)));
      return [this.text(key), isSecret && field !== "" ? "[redacted]" : this.value(field)];
    });
    return Object.fromEntries(entries);
  }

  #document(text: string): string {
    if (!/^\s*[{[]/.test(text)) return this.text(text);
    try {
      const before: unknown = JSON.parse(text);
      const [was, is] = [before, this.value(before)].map((one) => JSON.stringify(one));
      return was === is ? this.text(text) : this.text(is ?? "");
    } catch {
      return this.text(text);
    }
  }
}

function isSecretName(name: string): boolean {
  return secretName.test(name) || secretCamelName.test(name);
}

function fingerprint(pem: string): string {
  return `[certificate sha256:${createHash("sha256").update(pem.replaceAll(/\s/g, "")).digest("hex").slice(0, 8)}]`;
}

function encodedFingerprint(text: string): string {
  const pem = Buffer.from(text, "base64").toString("utf8");
  return pem.startsWith("-----BEGIN CERTIFICATE-----") ? fingerprint(pem) : "[redacted]";
}
