/** A time as `2026-11-21 10:15:00`, UTC. */
export function isoTime(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 19).replace('T', ' ');
}
