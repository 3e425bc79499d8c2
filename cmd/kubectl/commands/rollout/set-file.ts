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
import { readInputText, withUsageErrors } from "../../selection/input-files.ts";
import { allSetKinds, type FleetSetRef } from "../../selection/set-ref.ts";
import { InputError, type InputDocument, yamlDocuments } from "../../selection/yaml-documents.ts";

/** A set as a file has it; the hub need not have it. */
export type FileSet = Pick<FleetSet, "kind" | "spec"> & {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
};

interface Place {
  readonly flags: Pick<Flags, "namespace">;
  /** Namespace of the kubeconfig context. */
  readonly usual: string;
  readonly stdin: Readable | undefined;
}

/** The set of a file, with the defaults of the schema; `wanted` is the one among several. Throws UsageError with every problem. */
export async function setOfFile(
  file: { readonly path: string; readonly wanted: FleetSetRef | undefined },
  place: Place,
  signal: AbortSignal,
): Promise<FileSet> {
  return await withUsageErrors(read(file, place, signal));
}

async function read(
  { path, wanted }: { readonly path: string; readonly wanted: FleetSetRef | undefined },
  { flags, usual, stdin }: Place,
  signal: AbortSignal,
): Promise<FileSet> {
  const stream = path === "-" && stdin !== undefined ? { stream: stdin } : {};
  const text = await readInputText({ path, flag: "-f", ...stream }, signal);
  const source = path === "-" ? "standard input" : path;
  const sets = yamlDocuments(text, source).filter(({ value }) => isWanted(value, wanted));
  const [document, ...more] = sets;
  if (document === undefined) throw new InputError([`${source}: holds no such fleet set`]);
  if (more.length > 0) {
    throw new UsageError(`${source} holds several fleet sets`, ["Name one, such as kss/prod."]);
  }
  return checked(document, flags.namespace ?? undefined, usual);
}

function setKindIn(value: unknown): FleetSetKind | undefined {
  if (!isRecord(value) || value["apiVersion"] !== fleetSetApiVersion) return undefined;
  return allSetKinds.find((kind) => kind === value["kind"]);
}

function isWanted(value: unknown, wanted: FleetSetRef | undefined): boolean {
  const kind = setKindIn(value);
  if (kind === undefined || wanted === undefined) return kind !== undefined;
  return kind === wanted.kind && textAt(recordAt(value, "metadata"), "name") === wanted.name;
}

function checked(
  { where, value }: InputDocument,
  typed: string | undefined,
  usual: string,
): FileSet {
  const kind = setKindIn(value);
  const metadata = recordAt(value, "metadata");
  const [name, written] = [textAt(metadata, "name"), textAt(metadata, "namespace")];
  if (kind === undefined || name === undefined || name === "" || name.length > longestSetName) {
    throw new InputError([`${where}: metadata.name: must have 1 to ${longestSetName} characters`]);
  }
  if (written !== undefined && typed !== undefined && written !== typed) {
    const problem = `is ${written}, but the command line says ${typed}`;
    throw new InputError([`${where}: metadata.namespace: ${problem}`]);
  }
  const { spec, problems } = setShaper()(recordAt(value, "spec"));
  if (spec === undefined) {
    throw new InputError(problems.map(({ path, message }) => `${where}: ${path}: ${message}`));
  }
  return { kind, metadata: { name, namespace: written ?? typed ?? usual }, spec };
}
