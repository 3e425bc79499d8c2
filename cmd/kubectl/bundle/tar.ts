/** A file of an archive. Its path is relative, with `/` between the parts. */
export interface ArchiveFile {
  readonly path: string;
  readonly text: string;
}

const block = 512;

/**
 * Writes a tar archive (POSIX ustar) of text files that only the owner may read. Throws RangeError for a path that ustar cannot hold: more than 255 bytes,
 * or without a `/` where it has to be split.
 */
export function tarOf(files: readonly ArchiveFile[], modified: Date): Buffer {
  const parts = files.flatMap(({ path, text }) => {
    const content = Buffer.from(text, "utf8");
    const rest = (block - (content.length % block)) % block;
    return [headerOf(path, content.length, modified), content, Buffer.alloc(rest)];
  });
  return Buffer.concat([...parts, Buffer.alloc(2 * block)]);
}

function headerOf(path: string, size: number, modified: Date): Buffer {
  const header = Buffer.alloc(block);
  const [prefix, name] = splitPath(path);
  header.write(name, 0);
  header.write(octal(0o600, 8), 100);
  header.write(octal(0, 8), 108);
  header.write(octal(0, 8), 116);
  header.write(octal(size, 12), 124);
  header.write(octal(Math.floor(modified.getTime() / 1_000), 12), 136);
  header.write(" ".repeat(8), 148);
  header.write("0", 156);
  header.write("ustar\u000000", 257);
  header.write(prefix, 345);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return header;
}

function octal(value: number, width: number): string {
  return value.toString(8).padStart(width - 1, "0");
}

const maxName = 100;
const maxPrefix = 155;

/** Splits a path into the two fields of a header. */
function splitPath(path: string): readonly [prefix: string, name: string] {
  if (Buffer.byteLength(path) <= maxName) return ["", path];
  for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1)) {
    const [prefix, name] = [path.slice(0, at), path.slice(at + 1)];
    const fits = Buffer.byteLength(prefix) <= maxPrefix && Buffer.byteLength(name) <= maxName;
    if (fits) return [prefix, name];
  }
  throw new RangeError(`A tar archive cannot hold the path ${path}`);
}

/** Reads the regular files of a tar archive of GNU tar or this program. Throws RangeError for a damaged archive. */
export function filesOfTar(archive: Buffer): readonly ArchiveFile[] {
  const files: ArchiveFile[] = [];
  let at = 0;
  while (at + block <= archive.length && archive[at] !== 0) {
    const header = archive.subarray(at, at + block);
    const size = numberOf(header.subarray(124, 136));
    const [start, end] = [at + block, at + block + size];
    if (!isWhole(header) || end > archive.length) throw new RangeError("The archive is damaged");
    if (["0", "\0"].includes(header.toString("latin1", 156, 157))) {
      files.push({ path: pathOf(header), text: archive.toString("utf8", start, end) });
    }
    at = start + Math.ceil(size / block) * block;
  }
  // An archive ends with empty blocks.
  if (at + block > archive.length) throw new RangeError("The archive is damaged");
  return files;
}

/** Whether the checksum of a header is correct. */
function isWhole(header: Buffer): boolean {
  const own = header.reduce(
    (total, byte, at) => total + (at >= 148 && at < 156 ? " ".charCodeAt(0) : byte),
    0,
  );
  return own === numberOf(header.subarray(148, 156));
}

function pathOf(header: Buffer): string {
  const [name, prefix] = [textOf(header.subarray(0, 100)), textOf(header.subarray(345, 500))];
  return (prefix === "" ? name : `${prefix}/${name}`).replace(/^\.\//, "");
}

function numberOf(field: Buffer): number {
  const text = textOf(field).trim();
  return /^[0-7]+$/.test(text) ? Number.parseInt(text, 8) : Number.NaN;
}

function textOf(field: Buffer): string {
  const end = field.indexOf(0);
  return field.toString("utf8", 0, end < 0 ? field.length : end);
}
