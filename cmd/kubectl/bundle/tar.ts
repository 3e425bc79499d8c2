import { buffer, text } from "node:stream/consumers";

import { extract, pack } from "tar-stream";

/** A file of an archive. Its path is relative, with `/` between the parts. */
export interface ArchiveFile {
  readonly path: string;
  readonly text: string;
}

/** Returns a tar archive of text files that only the owner may read. Equal files and times give an equal archive. */
export async function packTar(files: readonly ArchiveFile[], modified: Date): Promise<Buffer> {
  const archive = pack();
  for (const file of files) {
    archive.entry({ name: file.path, mode: 0o600, mtime: modified }, file.text);
  }
  archive.finalize();
  return await buffer(archive);
}

/** Returns the regular files of a tar archive. Rejects for a damaged archive. */
export async function unpackTar(archive: Buffer): Promise<readonly ArchiveFile[]> {
  const entries = extract();
  entries.end(archive);
  const files: ArchiveFile[] = [];
  for await (const entry of entries) {
    const content = await text(entry);
    if (entry.header.type === "file") files.push({ path: entry.header.name, text: content });
  }
  return files;
}
