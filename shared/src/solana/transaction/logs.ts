/** Result of reading a transaction's log lines. */
export interface LogReading {
  /** The runtime cut the log at its limit: events are missing, and the transaction itself must be read. */
  readonly truncated: boolean;
  /** Why the lines cannot be trusted, or null. Events before the fault were reported. */
  readonly malformed: string | null;
  /** The lines show no program. If the transaction did anything, its log was omitted. */
  readonly empty: boolean;
}

/** `order` grows in the order of the chain, over all records of a transaction that `readLogs`, `readInnerEvents` and `readInstructions` report. */
export type EventSink = (programId: string, path: string, data: Uint8Array, order: number) => void;

/** Callbacks for further content of the lines. A callback that is not set costs nothing. */
export interface LogListeners {
  /** A `Program data:` line of several slices. Anchor events have one slice, so this line gets no path. */
  readonly onSlices?: (programId: string, line: string) => void;
  /** A program starts to run. */
  readonly onInvoke?: (programId: string) => void;
  /** The text after `Program log: ` with its path, counted among the program's events, if it begins with `textPrefix(programId)`; null: none does. */
  readonly onText?: (programId: string, path: string, text: string, order: number) => void;
  readonly textPrefix?: (programId: string) => string | null;
}

/** Deepest invoke stack that is followed. The network's first limit is five, that of SIMD-0268 is nine; this leaves room. */
const maxDepth = 64;

const idAt = 8; // behind `Program `
const minIdLength = 32;
const maxIdLength = 44;
const dataAt = 14; // after `Program data: `
const textAt = 13; // after `Program log: `
const successLength = 8; // ` success`

const colon = 58;
const space = 32;
const openBracket = 91;
const closeBracket = 93;
const letterP = 80;
const letterC = 99;
const letterD = 100;
const letterF = 102;
const letterI = 105;
const letterS = 115;

const complete: LogReading = { truncated: false, malformed: null, empty: false };
const nothing: LogReading = { truncated: false, malformed: null, empty: true };
const cut: LogReading = { truncated: true, malformed: null, empty: false };

function fault(malformed: string): LogReading {
  return { truncated: false, malformed, empty: false };
}

/** The path of an event. `inner`: index of its inner instruction, -1 for the top-level one. `before`: earlier events of the same instruction. */
export function eventPath(top: number, inner: number, before: number): string {
  const instruction = inner < 0 ? `${top}` : `${top}.${inner}`;
  return before === 0 ? instruction : `${instruction}+${before}`;
}

/** More than a transaction can have inner instructions. */
const mostInner = 65_536;

/** The place of a record. `started`: inner instructions that began before it, itself counted. What is logged comes after the newest beginning. */
export const recordOrder = (top: number, started: number, logged: boolean): number => (top * mostInner + started) * 2 + (logged ? 1 : 0);

/** The number in `invoke [n]`, if the line ends with it; otherwise 0. */
function invokeDepth(line: string, verbAt: number): number {
  const end = line.length - 1;
  const digits = end - (verbAt + 8);
  if (digits < 1 || digits > 2 || line.charCodeAt(end) !== closeBracket || line.charCodeAt(verbAt + 7) !== openBracket) return 0;
  let depth = 0;
  for (let at = verbAt + 8; at < end; at++) {
    const digit = line.charCodeAt(at) - 48;
    if (digit < 0 || digit > 9) return 0;
    depth = depth * 10 + digit;
  }
  return depth;
}

/** Recently seen program ids, by a few of their characters. Finding one is cheaper than cutting it out of the line, and its hash is known. */
const idSlots = 512;
const knownIds: string[] = Array.from({ length: idSlots }, () => '');

function programIdOf(line: string, idEnd: number): string {
  const slot = (line.charCodeAt(idAt) * 31 + line.charCodeAt(idAt + 3) * 7 + line.charCodeAt(idAt + 5) + idEnd) % idSlots;
  const known = knownIds[slot]!;
  if (known.length === idEnd - idAt && line.startsWith(known, idAt)) return known;
  // Copies through bytes, because a slice of the line would keep the whole line in memory.
  const id = Buffer.from(line.slice(idAt, idEnd), 'latin1').toString('latin1');
  knownIds[slot] = id;
  return id;
}

/** Bytes of the one base64 slice from `dataAt`; null if it is not canonical base64. */
function decodeSlice(line: string): Uint8Array | null {
  const length = line.length - dataAt;
  if (length % 4 !== 0) return null;
  const padding = length === 0 || line.charCodeAt(line.length - 1) !== 61 ? 0 : line.charCodeAt(line.length - 2) === 61 ? 2 : 1;
  const bytes = Buffer.from(line.slice(dataAt), 'base64');
  return bytes.length === (length / 4) * 3 - padding ? bytes : null;
}

/**
 * Reads the log lines of one transaction. Reports each `Program data:` line of one slice with the innermost running program and the path of
 * the instruction that logged it. The path is the index of the top-level instruction (counting only those that log; precompiles do not).
 * For an inner instruction, `.` follows with its index in the flattened list of inner instructions, as in `meta.innerInstructions`. Further
 * events of the same instruction (a routed swap, a buy that completes its curve) add `+1`, `+2` and so on.
 *
 * Only the runtime writes lines that begin with `Program <id> `. Text that a program logs follows `Program log: `, so it cannot forge the
 * invoke stack. After `Log truncated` nothing is reported: shorter lines may follow while longer ones, such as an `invoke`, are missing.
 * Lines of any other form are free text of the runtime and are skipped. Never throws. With `wants`, lines of other programs are not
 * decoded.
 */
export function readLogs(
  logs: readonly string[],
  onEvent: EventSink,
  wants?: (programId: string) => boolean,
  { onSlices, onInvoke, onText, textPrefix }: LogListeners = {},
): LogReading {
  const programs: string[] = [];
  const inner: number[] = [];
  const emitted: number[] = [];
  let top = -1;
  let innerCount = 0;
  for (const line of logs) {
    if (line.charCodeAt(0) !== letterP) {
      if (line === 'Log truncated') return cut;
      continue;
    }
    // `Program log: ` is the most frequent form.
    if (line.charCodeAt(11) === colon) {
      if (onText === undefined || programs.length === 0) continue;
      const depth = programs.length;
      const programId = programs[depth - 1]!;
      const prefix = textPrefix?.(programId) ?? null;
      if (prefix === null || !line.startsWith(prefix, textAt)) continue;
      const path = eventPath(top, depth === 1 ? -1 : inner[depth - 1]!, emitted[depth - 1]!++);
      onText(programId, path, line.slice(textAt), recordOrder(top, innerCount, true));
      continue;
    }
    if (line.charCodeAt(12) === colon && line.charCodeAt(idAt) === letterD && line.startsWith('Program data: ')) {
      const depth = programs.length;
      if (depth === 0) return fault('data outside of any program');
      const programId = programs[depth - 1]!;
      if (wants !== undefined && !wants(programId)) continue;
      if (line.includes(' ', dataAt)) {
        onSlices?.(programId, line);
        continue;
      }
      const data = decodeSlice(line);
      if (data === null) return fault('data is not base64');
      const path = eventPath(top, depth === 1 ? -1 : inner[depth - 1]!, emitted[depth - 1]!++);
      onEvent(programId, path, data, recordOrder(top, innerCount, true));
      continue;
    }
    const open = programs.length === 0 ? '' : programs[programs.length - 1]!;
    const openEnd = idAt + open.length;
    if (line.charCodeAt(openEnd) === space) {
      const verb = line.charCodeAt(openEnd + 1);
      if (verb === letterC) continue; // `consumed … compute units`
      if (verb === letterS && line.length === openEnd + successLength && line.startsWith(open, idAt)) {
        programs.pop();
        inner.pop();
        emitted.pop();
        continue;
      }
    }
    const idEnd = line.indexOf(' ', idAt);
    const idLength = idEnd - idAt;
    if (idLength < minIdLength || idLength > maxIdLength || line.charCodeAt(idAt - 1) !== space) continue;
    const verb = line.charCodeAt(idEnd + 1);
    if (verb === letterI) {
      const depth = invokeDepth(line, idEnd + 1);
      if (depth === 0 && !line.startsWith('invoke', idEnd + 1)) continue;
      if (depth !== programs.length + 1 || depth > maxDepth) return fault('an invoke of the wrong depth');
      const programId = programIdOf(line, idEnd);
      onInvoke?.(programId);
      programs.push(programId);
      emitted.push(0);
      if (depth === 1) {
        top++;
        innerCount = 0;
        inner.push(-1);
      } else inner.push(innerCount++);
    } else if (verb === letterS ? line.endsWith(' success') : verb === letterF && line.startsWith('failed', idEnd + 1)) {
      if (open.length !== idLength || !line.startsWith(open, idAt)) return fault('the end of a program that is not running');
      programs.pop();
      inner.pop();
      emitted.pop();
    }
  }
  if (programs.length > 0) return fault('a program without its end');
  return top < 0 ? nothing : complete;
}
