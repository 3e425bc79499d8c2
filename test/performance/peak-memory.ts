import { readFile } from "node:fs/promises";

/** The most memory that this process ever had resident, in bytes. Linux only. */
export async function peakResidentBytes(): Promise<number> {
  const status = await readFile("/proc/self/status", "utf8");
  const [, kilobytes = ""] = /^VmHWM:\s+(\d+) kB/m.exec(status) ?? [];
  return Number(kilobytes) * 1024;
}
