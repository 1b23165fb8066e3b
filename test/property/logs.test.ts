import { readInnerEvents, readTransaction, type TransactionView } from '@sluice/shared/solana/transaction/inner-events.ts';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { readLogs, type LogReading } from '@sluice/shared/solana/transaction/logs.ts';
import { eventAuthority, eventCpiTag, programId as pumpId } from '@sluice/venues/pump/curve/program.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

const system = '11111111111111111111111111111111';
const evil = 'Evi1111111111111111111111111111111111111111';
const router = 'GMgnVFR8Jb39LoXsEVzb3DvBy3ywCmdmJquHUy1Lrkqb';
const precompile = 'Ed25519SigVerify111111111111111111111111111';
const event = Buffer.from('bddb7fd34ee661ee0102030405', 'hex');
const data = `Program data: ${event.toString('base64')}`;
const invoke = (id: string, depth: number): string => `Program ${id} invoke [${depth}]`;
const success = (id: string): string => `Program ${id} success`;

interface Seen {
  readonly programId: string;
  readonly path: string;
  readonly hex: string;
}

function read(lines: readonly string[], wants?: (programId: string) => boolean): { seen: Seen[]; reading: LogReading } {
  const seen: Seen[] = [];
  const reading = readLogs(
    lines,
    (programId, path, bytes) => seen.push({ programId, path, hex: Buffer.from(bytes).toString('hex') }),
    wants,
  );
  return { seen, reading };
}

const fine: LogReading = { truncated: false, malformed: null, empty: false };
const hex = event.toString('hex');

describe('readLogs', () => {
  it('attributes data to the innermost program and numbers inner instructions flat', () => {
    const lines = [
      invoke(system, 1),
      success(system),
      invoke(router, 1),
      invoke(pumpId, 2),
      invoke(system, 3),
      success(system),
      data,
      invoke(pumpId, 3),
      success(pumpId),
      success(pumpId),
      invoke(system, 2),
      success(system),
      invoke(pumpId, 2),
      data,
      success(pumpId),
      data,
      success(router),
      invoke(pumpId, 1),
      data,
      success(pumpId),
    ];
    expect(read(lines)).toEqual({
      reading: fine,
      seen: [
        { programId: pumpId, path: '1.0', hex },
        { programId: pumpId, path: '1.4', hex },
        { programId: router, path: '1', hex },
        { programId: pumpId, path: '2', hex },
      ],
    });
  });

  it('attributes a look-alike to the program that logged it, also within pump', () => {
    const alone = read([invoke(evil, 1), data, success(evil)]);
    expect(alone.seen).toEqual([{ programId: evil, path: '0', hex }]);
    const within = read([invoke(pumpId, 1), invoke(evil, 2), data, success(evil), data, success(pumpId)]);
    expect(within.seen.map(({ programId, path }) => [programId, path])).toEqual([
      [evil, '0.0'],
      [pumpId, '0'],
    ]);
  });

  it('is not deceived by what programs log', () => {
    const forged = [
      `Program log: ${invoke(pumpId, 2)}`,
      `Program log: ${data}`,
      `Program log: ${success(evil)}`,
      'Program log: Log truncated',
      `Program log: x\nProgram ${pumpId} invoke [2]\n${data}`,
      `Program return: ${evil} AAAA`,
      'Program consumption: 12345 units remaining',
      'Program failed to complete: success',
      'Transfer: insufficient lamports 1, need 2',
      '',
      'P',
      'Program',
      'Program ',
      'Program x success',
      `Program ${pumpId}`,
      `Program ${pumpId} `,
      `Program ${pumpId} is not deployed`,
    ];
    expect(read([invoke(evil, 1), ...forged, data, success(evil)])).toEqual({ reading: fine, seen: [{ programId: evil, path: '0', hex }] });
  });

  it('ignores several slices, and reports empty data as empty', () => {
    const text = event.toString('base64');
    const { seen, reading } = read([
      invoke(pumpId, 1),
      `Program data: ${text} ${text}`,
      `Program data: ${text} `,
      'Program data: ',
      success(pumpId),
    ]);
    expect(reading).toEqual(fine);
    expect(seen).toEqual([{ programId: pumpId, path: '0', hex: '' }]);
  });

  it('reports the program of a line of several slices if requested, without a path', () => {
    const text = event.toString('base64');
    const slices: string[] = [];
    const paths: string[] = [];
    const reading = readLogs(
      [invoke(evil, 1), `Program data: ${text} A`, invoke(pumpId, 2), `Program data: ${text} B`, data, success(pumpId), success(evil)],
      (_program, path) => paths.push(path),
      (programId) => programId === pumpId,
      { onSlices: (programId, line) => slices.push(`${programId} ${line}`) },
    );
    expect(reading).toEqual(fine);
    expect(slices).toEqual([`${pumpId} Program data: ${text} B`]);
    expect(paths).toEqual(['0.0']);
  });

  it('reports if no program ran', () => {
    for (const lines of [[], ['Program log: text'], ['', 'free text']]) expect(read(lines).reading.empty, lines.join()).toBe(true);
    expect(read([invoke(pumpId, 1), success(pumpId)]).reading.empty).toBe(false);
  });

  it('stops at `Log truncated`', () => {
    const { seen, reading } = read([invoke(pumpId, 1), data, 'Log truncated', data, success(pumpId)]);
    expect(reading).toEqual({ truncated: true, malformed: null, empty: false });
    expect(seen).toHaveLength(1);
  });

  it('follows failures', () => {
    const lines = [
      invoke(router, 1),
      invoke(pumpId, 2),
      data,
      `Program ${pumpId} consumed 1 of 2 compute units`,
      `Program ${pumpId} failed: custom program error: 0x1771`,
      `Program ${router} failed: custom program error: 0x1771`,
    ];
    expect(read(lines).reading).toEqual(fine);
  });

  it('reports why a stack is impossible', () => {
    const reasons = (lines: readonly string[]): string | null => read(lines).reading.malformed;
    expect(reasons([data])).toBe('data outside of any program');
    expect(reasons([invoke(pumpId, 2)])).toBe('an invoke of the wrong depth');
    expect(reasons([invoke(pumpId, 1), invoke(system, 1)])).toBe('an invoke of the wrong depth');
    expect(reasons([invoke(pumpId, 1), invoke(system, 3)])).toBe('an invoke of the wrong depth');
    expect(reasons([`Program ${pumpId} invoke`])).toBe('an invoke of the wrong depth');
    expect(reasons([`Program ${pumpId} invoke [1`])).toBe('an invoke of the wrong depth');
    expect(reasons([`Program ${pumpId} invoke [x]`])).toBe('an invoke of the wrong depth');
    expect(reasons([`Program ${pumpId} invoke [111]`])).toBe('an invoke of the wrong depth');
    expect(reasons([success(pumpId)])).toBe('the end of a program that is not running');
    expect(reasons([invoke(pumpId, 1), success(system)])).toBe('the end of a program that is not running');
    expect(reasons([invoke(pumpId, 1), success(`${pumpId.slice(0, -1)}1`)])).toBe('the end of a program that is not running');
    expect(reasons([invoke(pumpId, 1)])).toBe('a program without its end');
    for (const bad of ['Program data: AAA', 'Program data: A*AA', 'Program data: =AAA', 'Program data: AA=A', 'Program data: AAAA====']) {
      expect(reasons([invoke(pumpId, 1), bad, success(pumpId)]), bad).toBe('data is not base64');
    }
  });

  it('decodes only the requested programs', () => {
    const lines = [invoke(evil, 1), 'Program data: not base64!', invoke(pumpId, 2), data, success(pumpId), success(evil)];
    const { seen, reading } = read(lines, (programId) => programId === pumpId);
    expect(seen).toEqual([{ programId: pumpId, path: '0.0', hex }]);
    expect(reading).toEqual(fine);
  });
});

/** A call tree: what a program calls, and whether it emits an event (logged and by self-CPI) before its calls. */
interface Call {
  readonly program: string;
  /** One event, or several in a row. */
  readonly emits: readonly Uint8Array[];
  readonly calls: readonly Call[];
}

const callAt = (deeper: number): fc.Arbitrary<Call> =>
  fc.record({
    program: fc.constantFrom(pumpId, router, evil, system, precompile),
    emits: fc.array(fc.uint8Array({ minLength: 8, maxLength: 40 }), { maxLength: 2 }),
    calls: deeper === 0 ? fc.constant([]) : fc.array(callAt(deeper - 1), { maxLength: 3 }),
  });
const call = callAt(4);

interface Json {
  readonly programIdIndex: number;
  readonly accounts: readonly number[];
  readonly data: string;
  readonly stackHeight: number;
}

/** Runs a forest of calls as the runtime would: log lines, and inner instructions with their heights. */
function execute(forest: readonly Call[]): { logs: string[]; answer: unknown; expected: Seen[] } {
  const keys = ['7fg4UpZBcydz19bmu4hJqHn3Y43LSy45W7NqJEcmmMWd', pumpId, router, evil, system, precompile, eventAuthority];
  const logs: string[] = [];
  const expected: Seen[] = [];
  const innerInstructions: { index: number; instructions: Json[] }[] = [];
  const instructions: Omit<Json, 'stackHeight'>[] = [];
  let logged = -1;
  for (const [index, top] of forest.entries()) {
    instructions.push({ programIdIndex: keys.indexOf(top.program), accounts: [], data: '' });
    if (top.program === precompile) continue;
    logged++;
    const flat: Json[] = [];
    const run = (node: Call, depth: number, at: number): void => {
      logs.push(invoke(node.program, depth));
      for (const [before, bytes] of (node.program === pumpId ? node.emits : []).entries()) {
        logs.push(`Program data: ${Buffer.from(bytes).toString('base64')}`, invoke(pumpId, depth + 1), success(pumpId));
        flat.push({ programIdIndex: 1, accounts: [6], data: encodeBase58(Buffer.concat([eventCpiTag, bytes])), stackHeight: depth + 1 });
        const instruction = at < 0 ? `${logged}` : `${logged}.${at}`;
        expected.push({
          programId: pumpId,
          path: before === 0 ? instruction : `${instruction}+${before}`,
          hex: Buffer.from(bytes).toString('hex'),
        });
      }
      for (const inner of node.calls) {
        const program = inner.program === precompile ? system : inner.program;
        flat.push({ programIdIndex: keys.indexOf(program), accounts: [], data: '', stackHeight: depth + 1 });
        run({ ...inner, program }, depth + 1, flat.length - 1);
      }
      logs.push(success(node.program));
    };
    run(top, 1, -1);
    if (flat.length > 0) innerInstructions.push({ index, instructions: flat });
  }
  const answer = {
    slot: 1,
    blockTime: 2,
    version: 0,
    transaction: { signatures: ['s'], message: { accountKeys: keys, instructions } },
    meta: { err: null, logMessages: logs, innerInstructions, loadedAddresses: { writable: [], readonly: [] } },
  };
  return { logs, answer, expected };
}

function innerOf(answer: unknown): { seen: Seen[]; refused: number; unreadable: string | null } {
  const view = readTransaction(answer);
  if (view.kind === 'malformed') throw new Error(view.reason);
  const seen: Seen[] = [];
  const reading = readInnerEvents(view, new Map([[pumpId, eventAuthority]]), (programId, path, bytes) =>
    seen.push({ programId, path, hex: Buffer.from(bytes).toString('hex') }),
  );
  return { seen, ...reading };
}

describe('the two sources', () => {
  it('give the same events with the same paths, for any nesting of calls', () => {
    let events = 0;
    fc.assert(
      fc.property(fc.array(call, { maxLength: 5 }), (forest) => {
        const { logs, answer, expected } = execute(forest);
        const fromLogs = read(logs);
        expect(fromLogs.reading).toEqual({ ...fine, empty: logs.length === 0 });
        expect(fromLogs.seen).toEqual(expected);
        expect(innerOf(answer)).toEqual({ seen: expected, refused: 0, unreadable: null });
        events += expected.length;
      }),
      { seed: 7, numRuns: 1500 },
    );
    expect(events).toBeGreaterThan(300);
  });

  it('distinguish two events of one instruction', () => {
    const emit = [data, invoke(pumpId, 3), success(pumpId)];
    const logs = [
      invoke(router, 1),
      invoke(pumpId, 2),
      ...emit,
      ...emit,
      ...emit,
      success(pumpId),
      invoke(pumpId, 2),
      ...emit,
      success(pumpId),
      success(router),
    ];
    const tagged = { programIdIndex: 1, accounts: [6], data: encodeBase58(Buffer.concat([eventCpiTag, event])), stackHeight: 3 };
    const caller = { programIdIndex: 1, accounts: [], data: '', stackHeight: 2 };
    const keys = ['7fg4UpZBcydz19bmu4hJqHn3Y43LSy45W7NqJEcmmMWd', pumpId, router, evil, system, precompile, eventAuthority];
    const answer = {
      transaction: { signatures: ['s'], message: { accountKeys: keys, instructions: [{ programIdIndex: 2, accounts: [], data: '' }] } },
      meta: {
        err: null,
        logMessages: logs,
        innerInstructions: [{ index: 0, instructions: [caller, tagged, tagged, tagged, caller, tagged] }],
      },
    };
    const paths = ['0.0', '0.0+1', '0.0+2', '0.4'];
    expect(read(logs).seen.map(({ path }) => path)).toEqual(paths);
    expect(innerOf(answer).seen).toEqual(read(logs).seen);
  });
});

describe('self-CPI events', () => {
  const tagged = encodeBase58(Buffer.concat([eventCpiTag, event]));
  const keys = ['7fg4UpZBcydz19bmu4hJqHn3Y43LSy45W7NqJEcmmMWd', pumpId, evil, eventAuthority];
  const answer = (top: number, inner: Partial<Json>[]): unknown => ({
    transaction: { signatures: ['s'], message: { accountKeys: keys, instructions: [{ programIdIndex: top, accounts: [], data: '' }] } },
    meta: { err: null, innerInstructions: [{ index: 0, instructions: inner }] },
  });

  it('are refused from another caller, with another authority, and with a wrong height', () => {
    expect(innerOf(answer(1, [{ programIdIndex: 1, accounts: [3], data: tagged, stackHeight: 2 }]))).toEqual({
      seen: [{ programId: pumpId, path: '0', hex }],
      refused: 0,
      unreadable: null,
    });
    expect(innerOf(answer(2, [{ programIdIndex: 1, accounts: [3], data: tagged, stackHeight: 2 }])).refused).toBe(1);
    expect(innerOf(answer(1, [{ programIdIndex: 1, accounts: [2], data: tagged, stackHeight: 2 }])).refused).toBe(1);
    expect(innerOf(answer(1, [{ programIdIndex: 1, accounts: [], data: tagged, stackHeight: 2 }])).refused).toBe(1);
    expect(innerOf(answer(1, [{ programIdIndex: 1, accounts: [2], data: tagged, stackHeight: 4 }])).refused).toBe(1);
    expect(innerOf(answer(1, [{ programIdIndex: 2, accounts: [3], data: tagged, stackHeight: 2 }]))).toEqual({
      seen: [],
      refused: 0,
      unreadable: null,
    });
  });

  it('are unreadable, and no look-alikes, if the node omitted the inner instructions or their heights', () => {
    const missing = { seen: [], refused: 0, unreadable: 'inner instructions were not recorded' };
    const whole = answer(1, []) as { meta: Record<string, unknown> };
    expect(innerOf({ ...whole, meta: { ...whole.meta, innerInstructions: null } })).toEqual(missing);
    expect(innerOf({ ...whole, meta: { err: null } })).toEqual(missing);
    expect(innerOf(whole)).toEqual({ seen: [], refused: 0, unreadable: null });
    const heights = { seen: [], refused: 0, unreadable: 'the stack heights of inner instructions do not show their callers' };
    expect(innerOf(answer(1, [{ programIdIndex: 1, accounts: [3], data: tagged }]))).toEqual(heights);
    expect(innerOf(answer(1, [{ programIdIndex: 1, accounts: [3], data: tagged, stackHeight: 4 }]))).toEqual(heights);
    const behindNone = [
      { programIdIndex: 1, accounts: [], data: '' },
      { programIdIndex: 1, accounts: [3], data: tagged, stackHeight: 3 },
    ];
    expect(innerOf(answer(2, behindNone))).toEqual(heights);
  });

  it('are read from any shape without an exception', () => {
    const base = answer(1, [{ programIdIndex: 1, accounts: [3], data: tagged, stackHeight: 2 }]) as object;
    const json = fc.jsonValue({ maxDepth: 3 });
    const paths = [
      ['meta'],
      ['transaction'],
      ['transaction', 'message'],
      ['transaction', 'signatures'],
      ['transaction', 'message', 'accountKeys'],
      ['transaction', 'message', 'instructions'],
      ['meta', 'innerInstructions'],
      ['meta', 'logMessages'],
      ['meta', 'loadedAddresses'],
      ['meta', 'innerInstructions', '0', 'instructions'],
      ['meta', 'innerInstructions', '0', 'instructions', '0'],
      ['meta', 'innerInstructions', '0', 'instructions', '0', 'data'],
    ];
    fc.assert(
      fc.property(fc.constantFrom(...paths), json, (path, value) => {
        const copy = structuredClone(base) as Record<string, unknown>;
        let at: Record<string, unknown> = copy;
        for (const name of path.slice(0, -1)) at = at[name] as Record<string, unknown>;
        at[path.at(-1)!] = value;
        const view: TransactionView | { kind: 'malformed' } = readTransaction(copy);
        if (view.kind === 'transaction') readInnerEvents(view, new Map([[pumpId, eventAuthority]]), () => undefined);
        expect(['transaction', 'malformed']).toContain(view.kind);
      }),
      { seed: 8, numRuns: 2000 },
    );
    fc.assert(
      fc.property(json, (value) => {
        expect(readTransaction(value).kind).toBe('malformed');
      }),
      { seed: 9, numRuns: 1000 },
    );
  });
});
