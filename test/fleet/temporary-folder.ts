import { tmpdir } from "node:os";

/** Where folders of clusters are made. macOS has temporary folders so deep that a Unix socket in them has no valid path. */
export function temporaryFolder(): string {
  return tmpdir().length > 50 ? "/tmp" : tmpdir();
}
