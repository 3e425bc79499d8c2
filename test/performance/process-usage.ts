import { readFile } from "node:fs/promises";

/** What a process has used so far. */
export interface Usage {
  /** User and system time, in ms, with the kernel's resolution of 10 ms. */
  readonly cpuMs: number;
  /** Resident memory now, in bytes. */
  readonly residentBytes: number;
  /** The most it ever was. */
  readonly peakResidentBytes: number;
}

/** Reads the kernel's accounting of a process; Linux only. */
export async function usageOf(pid: number): Promise<Usage> {
  const [stat, status] = await Promise.all([
    readFile(`/proc/${pid}/stat`, "utf8"),
    readFile(`/proc/${pid}/status`, "utf8"),
  ]);
  // Fields are counted after the name, which may hold spaces: user and system time are the 12th and 13th of the rest.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const ticks = Number(fields[11]) + Number(fields[12]);
  return {
    cpuMs: ticks * 10,
    residentBytes: kilobytesOf(status, "VmRSS") * 1024,
    peakResidentBytes: kilobytesOf(status, "VmHWM") * 1024,
  };
}

function kilobytesOf(status: string, field: string): number {
  const match = new RegExp(String.raw`^${field}:\s+(\d+) kB`, "m").exec(status);
  if (match === null) throw new Error(`/proc says nothing of ${field}`);
  return Number(match[1]);
}
