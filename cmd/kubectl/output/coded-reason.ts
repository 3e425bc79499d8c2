/** A reason behind its number, as findings of `diagnose` are written: `KNF4009 Timeout`. */
export function codedReason({
  reason,
  code,
}: {
  readonly reason: string | null;
  readonly code: string | null;
}): string {
  return [code, reason].filter((word) => word !== null).join(" ");
}
