import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ChainReader, checkChain, cutFault, firstLine, logIdOf } from './mac-chain.ts';
import type { ChainOutcome, ChainState, RecordedEndOf } from './mac-chain.ts';
import type { AuditEntry, SegmentEntry } from './entry.ts';

const newline = 10;

/**
 * The files of a log: `<name>.log`, then `<name>.1.log`, `<name>.2.log` and so on. Only the newest is written. It begins with the sums of
 * the older ones, so that a start reads only the newest.
 */
const fileForm = /^([a-z]+-\d{1,4})(?:\.([1-9]\d{0,8}))?\.log$/;

/** Maximum number of signing processes on one folder. */
export const maxSlots = 64;

export interface LogName {
  readonly folder: string;
  /** `<keystore>-<slot>`. */
  readonly name: string;
}

export type LogFault = Extract<ChainOutcome, { readonly ok: false }> & { readonly file: string };

export function slotName(keystore: string, slot: number): string {
  return `${keystore}-${slot}`;
}

export function segmentFile({ folder, name }: LogName, segment: number): string {
  return join(folder, segment === 0 ? `${name}.log` : `${name}.${segment}.log`);
}

/** The segment numbers of all logs in the folder, in order, by the log's name. */
export function logsIn(folder: string): ReadonlyMap<string, readonly number[]> {
  const logs = new Map<string, number[]>();
  for (const file of existsSync(folder) ? readdirSync(folder) : []) {
    const match = fileForm.exec(file);
    if (match === null) continue;
    const [, name = '', segment = '0'] = match;
    logs.set(name, [...(logs.get(name) ?? []), Number(segment)]);
  }
  for (const segments of logs.values()) segments.sort((a, b) => a - b);
  return new Map([...logs].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** The ids of all logs in the folder, of every keystore, unchecked. */
export function logIdsIn(folder: string): ReadonlySet<string> {
  const ids = [...logsIn(folder)].map(([name, segments]) => logIdOf(segmentFile({ folder, name }, segments[0] ?? 0)));
  return new Set(ids.filter((id) => id !== null));
}

/** The newest complete segment. `unfinished`: the file of a next segment whose creation was interrupted. It contains nothing of value. */
export type Tail = { readonly ok: true; readonly segment: number; readonly file: string; readonly unfinished: string | null } | LogFault;

/** Finds the segment in which a log continues, and checks the lengths of the older ones. Null: no such log. Throws the file system's error. */
export function findTail(log: LogName, key: Uint8Array): Tail | null {
  const segments = logsIn(log.folder).get(log.name) ?? [];
  if (segments.length === 0) return null;
  const last = segments.length - 1;
  for (const [index, segment] of segments.entries()) {
    const file = segmentFile(log, segment);
    if (segment !== index) return { ok: false, file: segmentFile(log, index), line: 1, reason: 'the segment is missing' };
    if (segment === 0) continue;
    const before = segmentFile(log, index - 1);
    if (index === last && !isBegun(file, key, segment)) return { ok: true, segment: index - 1, file: before, unfinished: file };
    const head = headOf(file, key, segment);
    if (typeof head === 'string') return { ok: false, file, line: 1, reason: 'no first line of this segment' };
    const { size } = statSync(before);
    if (size !== head.bytes) return { ok: false, file: before, line: 1, reason: `has ${size} bytes, and had ${head.bytes}` };
  }
  return { ok: true, segment: last, file: segmentFile(log, last), unfinished: null };
}

/** The first line of a later segment. */
type Head = SegmentEntry | 'unfinished' | 'damaged';

function headOf(file: string, key: Uint8Array, segment: number): Head {
  const line = firstLine(file);
  if (line === null) return 'unfinished';
  let head: AuditEntry | null = null;
  const fault = new ChainReader(key, (entry) => (head = entry)).push(line);
  const entry = head as AuditEntry | null;
  return fault === null && entry?.event === 'segment' && entry.segment === segment ? entry : 'damaged';
}

/** Whether the first lines of a segment are complete. Only then is it in use. */
export function isBegun(file: string, key: Uint8Array, segment: number): boolean {
  const head = headOf(file, key, segment);
  if (typeof head === 'string') return head === 'damaged';
  let lines = 0;
  for (const byte of readFileSync(file)) if (byte === newline && ++lines > head.sums) return true;
  return false;
}

/** Checks all lines of all segments of a log. Throws the file system's error. */
export function checkLog(
  log: LogName,
  key: Uint8Array,
  recordedEnd: RecordedEndOf,
  seen: (entry: AuditEntry) => void,
): (ChainState & { readonly ok: true }) | LogFault {
  const tail = findTail(log, key);
  const none: LogFault = { ok: false, file: segmentFile(log, 0), line: 1, reason: 'there is no log' };
  if (tail === null || !tail.ok) return tail ?? none;
  let state: Extract<ChainOutcome, { readonly ok: true }> | null = null;
  for (let segment = 0; segment <= tail.segment; segment++) {
    const file = segmentFile(log, segment);
    const outcome: ChainOutcome = checkChain(file, key, recordedEnd, seen, state?.head ?? null);
    if (!outcome.ok) return { file, ...outcome };
    state = outcome;
  }
  const cut = state === null ? null : cutFault(state.head, recordedEnd(state.logId ?? ''));
  return cut !== null ? { file: tail.file, ...cut } : (state ?? none);
}
