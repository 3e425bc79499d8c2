import type { Readable } from "node:stream";

import { isRecord, recordAt, textAt } from "../../../../api/fields.ts";
import {
  type FleetSet,
  fleetSetApiVersion,
  type FleetSetKind,
  longestSetName,
} from "../../../../api/fleet-set.ts";
import { setShaper } from "../../../../webhook/rules/sets/set-shape.ts";
import { UsageError } from "../../errors.ts";
import type { Flags } from "../../flags.ts";
import { misfitOfSet } from "../../hub/set-form.ts";
import { namedNamespace } from "../../selection/hub-namespace.ts";
import { readInputText, withUsageErrors } from "../../selection/input-files.ts";
import { allSetKinds, type FleetSetRef } from "../../selection/set-ref.ts";
import { InputError, type InputDocument, yamlDocuments } from "../../selection/yaml-documents.ts";

/** A set of a file. It may not exist on the hub. */
export type FileSet = Pick<FleetSet, "kind" | "spec"> & {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
};

interface FileContext {
  readonly flags: Pick<Flags, "namespace">;
  /** Namespace of the kubeconfig context. */
  readonly defaultNamespace: string;
  readonly stdin: Readable | undefined;
}

/** A file, and the set to read from it; without `ref` the file has to hold exactly one set. */
interface SetInFile {
  readonly path: string;
  readonly ref: FleetSetRef | undefined;
}

/** Reads a set from a file, with the defaults of the schema. Throws UsageError with every problem. */
export async function setOfFile(
  file: SetInFile,
  context: FileContext,
  signal: AbortSignal,
): Promise<FileSet> {
  return await withUsageErrors(read(file, context, signal));
}

async function read(
  { path, ref }: SetInFile,
  { flags, defaultNamespace, stdin }: FileContext,
  signal: AbortSignal,
): Promise<FileSet> {
  const stream = path === "-" && stdin !== undefined ? { stream: stdin } : {};
  const text = await readInputText({ path, flag: "-f", ...stream }, signal);
  const source = path === "-" ? "standard input" : path;
  const sets = yamlDocuments(text, source).filter(({ value }) => isReferenced(value, ref));
  const [document, ...more] = sets;
  if (document === undefined) throw new InputError([`${source}: holds no such fleet set`]);
  if (more.length > 0) {
    throw new UsageError(`${source} holds several fleet sets`, ["Name one, such as kss/prod."]);
  }
  return checked(document, namedNamespace(flags), defaultNamespace);
}

function setKindIn(value: unknown): FleetSetKind | undefined {
  if (!isRecord(value) || value["apiVersion"] !== fleetSetApiVersion) return undefined;
  return allSetKinds.find((kind) => kind === value["kind"]);
}

function isReferenced(value: unknown, ref: FleetSetRef | undefined): boolean {
  const kind = setKindIn(value);
  if (kind === undefined || ref === undefined) return kind !== undefined;
  return kind === ref.kind && textAt(recordAt(value, "metadata"), "name") === ref.name;
}

function checked(
  { where, value }: InputDocument,
  namespaceFlag: string | undefined,
  defaultNamespace: string,
): FileSet {
  const kind = setKindIn(value);
  const metadata = recordAt(value, "metadata");
  const [name, written] = [textAt(metadata, "name"), textAt(metadata, "namespace")];
  if (kind === undefined || name === undefined || name === "" || name.length > longestSetName) {
    throw new InputError([`${where}: metadata.name: must have 1 to ${longestSetName} characters`]);
  }
  if (written !== undefined && namespaceFlag !== undefined && written !== namespaceFlag) {
    const problem = `is ${written}, but the command line says ${namespaceFlag}`;
    throw new InputError([`${where}: metadata.namespace: ${problem}`]);
  }
  const { spec, problems } = setShaper()(recordAt(value, "spec"));
  if (spec === undefined) {
    throw new InputError(problems.map(({ path, message }) => `${where}: ${path}: ${message}`));
  }
  const namespace = written ?? namespaceFlag ?? defaultNamespace;
  const wrong = misfitOfSet({ kind, spec });
  if (wrong !== undefined) throw new InputError([`${where}: ${wrong}`]);
  return { kind, metadata: { name, namespace, ...marksIn(metadata) }, spec };
}

/** Labels and annotations, as far as their values are texts; the hub refuses the others when the set is applied. */
function marksIn(
  metadata: Readonly<Record<string, unknown>>,
): Pick<FileSet["metadata"], "labels" | "annotations"> {
  const [labels, annotations] = ["labels", "annotations"].map((field) => {
    const entries = Object.entries(recordAt(metadata, field)).flatMap(([name, value]) =>
      typeof value === "string" ? [[name, value] as const] : [],
    );
    return entries.length === 0 ? undefined : Object.fromEntries(entries);
  });
  return {
    ...(labels === undefined ? {} : { labels }),
    ...(annotations === undefined ? {} : { annotations }),
  };
}
