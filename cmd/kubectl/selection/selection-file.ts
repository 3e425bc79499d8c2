import { allKinds, type ComponentKind, operatorApiVersion } from "../../../api/component.ts";
import { isRecord } from "../../../api/fields.ts";
import { type ActionInput, selectionOf } from "../action.ts";
import type { FilenameFlag } from "../common-options.ts";
import { UsageError } from "../errors.ts";
import type { ClusterAccess } from "../spokes/cluster-access.ts";
import { stringAt } from "./fields.ts";
import { namedNamespace } from "./hub-namespace.ts";
import type { Selection, RequestedName } from "./selection.ts";

/** Reads the selection of arguments and flags, or with `--filename` that of a file. Throws UsageError. */
export async function readSelection(
  { args, flags, options, terminal }: ActionInput<FilenameFlag>,
  access: Pick<ClusterAccess, "namespace">,
  signal: AbortSignal,
): Promise<Selection> {
  const { filename } = options;
  const selection = selectionOf(args, flags, access);
  if (filename === undefined) return selection;
  if (args.length > 0) throw new UsageError("Name installations, or give --filename, not both");
  const names = await readNamesIn(filename, { stdin: terminal.stdin, signal });
  const defaultNamespace = selection.namespace ?? access.namespace;
  const located = names.map((name) => ({
    ...name,
    namespace: name.namespace ?? defaultNamespace,
  }));
  const named = namedNamespace(flags);
  const other = located.find(({ namespace }) => namespace !== named);
  if (named !== undefined && other !== undefined) {
    throw new UsageError(
      `The namespace ${named} of -n is not that of ${other.kind} ${other.namespace}/${other.name}`,
    );
  }
  const [first, ...others] = new Set(located.map(({ namespace }) => namespace));
  const { namespace: _, ...anywhere } = selection;
  return {
    ...anywhere,
    ...(first === undefined || others.length > 0 ? {} : { namespace: first }),
    kinds: allKinds.filter((kind) => located.some((name) => name.kind === kind)),
    names: located,
  };
}

type ComponentName = RequestedName & { readonly kind: ComponentKind };

async function readNamesIn(
  file: string,
  {
    stdin,
    signal,
  }: Pick<ActionInput<object>["terminal"], "stdin"> & { readonly signal: AbortSignal },
): Promise<readonly ComponentName[]> {
  const { readInputText } = await import("./input-files.ts");
  const { InputError, yamlDocuments } = await import("./yaml-documents.ts");
  const source = file === "-" ? "standard input" : file;
  try {
    const stream = file === "-" && stdin !== undefined ? { stream: stdin } : {};
    const text = await readInputText({ path: file, flag: "--filename", ...stream }, signal);
    const names = yamlDocuments(text, source).flatMap(({ value }) => nameIn(value));
    if (names.length > 0) return names;
    throw new UsageError(`There is no KnativeServing and no KnativeEventing in ${source}`);
  } catch (error) {
    if (error instanceof InputError) throw new UsageError(error.problems.join("; "));
    throw error;
  }
}

/** The name of a component. Other objects of the file are ignored. */
function nameIn(value: unknown): readonly ComponentName[] {
  if (!isRecord(value)) return [];
  const [group] = operatorApiVersion.split("/");
  const kind = allKinds.find((each) => each === value["kind"]);
  const name = stringAt(value, "metadata", "name");
  const isOurs = stringAt(value, "apiVersion")?.split("/")[0] === group;
  if (kind === undefined || name === null || !isOurs) return [];
  const namespace = stringAt(value, "metadata", "namespace");
  return [{ kind, name, ...(namespace === null ? {} : { namespace }) }];
}
