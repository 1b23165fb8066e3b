import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readLogs } from '@sluice/shared/solana/transaction/logs.ts';
import { readLogsHead, readLogsLines, readLogsNotification } from '../../ingest/src/sources/pubsub/logs.ts';
import { signatureOf } from './pump-frames.ts';
import { buyFrames, logsFrame, routedTradeLogs } from './log-frames.ts';

const signature = signatureOf('a transaction');

/** The result of `readLogs` for lines. */
function reading(logs: readonly string[]): unknown {
  const events: string[] = [];
  const outcome = readLogs(logs, (program, path, data) => events.push(`${program} ${path} ${Buffer.from(data).toString('hex')}`));
  return { events, outcome };
}

/** The result of the fast reader for a frame. */
function quick(frame: Buffer): { signature: string; slot: number; lines: string[] | null } | 'failed' | null {
  const head = readLogsHead(frame);
  if (head === null) return null;
  return head.failed ? 'failed' : { signature: head.signature, slot: head.slot, lines: readLogsLines(frame, head) };
}

describe('reading a notification without parsing it', () => {
  it('reads the frame of a node, and passes the same lines to readLogs as the parser would', () => {
    for (const frame of buyFrames(50)) {
      const parsed = readLogsNotification((JSON.parse(frame.toString()) as { params: unknown }).params);
      const read = quick(frame);
      if (typeof parsed === 'string' || read === null || read === 'failed' || read.lines === null) throw new Error('not read');
      expect({ signature: read.signature, slot: read.slot }).toEqual({ signature: parsed.signature, slot: parsed.slot });
      expect(reading(read.lines)).toEqual(reading(parsed.logs));
      expect(read.lines.length).toBeLessThan(parsed.logs.length);
    }
  });

  it('agrees with the parser on any lines, or leaves the frame to the parser', () => {
    const base = routedTradeLogs(Buffer.from('0102030405060708090a', 'hex'));
    const line = fc.oneof(
      fc.constantFrom(...base),
      fc.string({ unit: 'binary' }),
      fc.string().map((text) => `Program log: ${text}`),
      fc.string().map((text) => `Program return: ${text}`),
      fc.string().map((text) => `Program data: ${text}`),
      fc.constantFrom(
        'Log truncated',
        'Program log: "quoted" \\ and ü',
        'x compute units',
        'Program a consumed 1 of 2 compute units',
        ']}}',
      ),
    );
    let quickly = 0;
    fc.assert(
      fc.property(fc.array(line, { maxLength: 12 }), fc.nat(45), (lines, from) => {
        const logs = [...base.slice(0, from), ...lines, ...base.slice(from)];
        const read = quick(Buffer.from(logsFrame(signature, 7, logs)));
        if (read === null || read === 'failed') throw new Error('the head was not read');
        if (read.lines === null) return;
        quickly++;
        expect(reading(read.lines)).toEqual(reading(logs));
      }),
      { numRuns: 2_000 },
    );
    expect(quickly).toBeGreaterThan(500);
  });

  it('recognizes a failed transaction by its head', () => {
    const err = { InstructionError: [2, { Custom: 6002 }] };
    expect(quick(Buffer.from(logsFrame(signature, 7, ['Program x invoke [1]'], 1, err)))).toBe('failed');
    expect(quick(Buffer.from(logsFrame(signature, 7, [], 1, 'AccountNotFound')))).toBe('failed');
  });

  it('accepts a context with more fields, and fields in another order', () => {
    const lines = routedTradeLogs(Buffer.from('0102030405060708090a', 'hex'));
    const frame = logsFrame(signature, 460_000_007, lines);
    const plain = quick(Buffer.from(frame));
    expect(plain).toMatchObject({ signature, slot: 460_000_007 });
    for (const other of [
      frame.replace('{"slot":460000007}', '{"apiVersion":"4.0.0","slot":460000007}'),
      frame.replace('{"slot":460000007}', '{"slot":460000007,"apiVersion":"4.0.0"}'),
      frame.replace(`"signature":"${signature}","err":null`, `"err":null,"signature":"${signature}"`),
    ]) {
      expect(other).not.toBe(frame);
      expect(quick(Buffer.from(other))).toEqual(plain);
    }
  });

  it('leaves frames of any other form to the parser', () => {
    const frame = logsFrame(signature, 7, ['Program x invoke [1]']);
    const others = [
      frame.replace('"jsonrpc":"2.0",', ''),
      frame.replace('{"slot":7}', '{"apiVersion":"9"}'),
      frame.replace('{"slot":7}', '{"apiVersion":"9\\"slot\\":7"}'),
      frame.replace('{"slot":7}', '{"slot":07e3}'),
      frame.replace('{"slot":7}', '{"slot":1234567890123456}'),
      frame.replace('{"slot":7}', '{"slot":}'),
      frame.replace(signature, '1111111111111111111111111111111111111111111111111111111111111111'),
      frame.replace(signature, 'not a signature'),
      frame.replace('"slot":7', '"slot":-7'),
      frame.replace('"slot":7', '"slot":7.5'),
      frame.replace('"err":null', '"err":false'),
      frame.replaceAll('":', '" : '),
    ];
    for (const other of others) expect(quick(Buffer.from(other))).toBeNull();
    expect(quick(Buffer.from(frame.replace(']}}', ']}')))).toMatchObject({ lines: null });
    expect(quick(Buffer.from(frame.slice(0, -30)))).toMatchObject({ lines: null });
  });

  it('never throws, on any mutation of a frame', () => {
    const [frame] = buyFrames(1);
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(frame!.length - 1), fc.nat(255)), { maxLength: 20 }), fc.nat(frame!.length), (edits, length) => {
        const mutated = Buffer.from(frame!.subarray(0, length));
        for (const [at, byte] of edits) if (at < length) mutated[at] = byte;
        quick(mutated);
      }),
      { numRuns: 5_000 },
    );
  });
});

describe('reading a parsed notification', () => {
  const good = { result: { context: { slot: 5 }, value: { signature, err: null, logs: ['a'] } }, subscription: 1 };

  it('reads the documented form', () => {
    expect(readLogsNotification(good)).toEqual({ signature, slot: 5, logs: ['a'] });
  });

  it('distinguishes failed transactions and placeholders', () => {
    const withValue = (value: object): unknown => ({ result: { context: { slot: 5 }, value: { ...good.result.value, ...value } } });
    expect(readLogsNotification(withValue({ err: {} }))).toBe('failed');
    expect(readLogsNotification(withValue({ signature: '1'.repeat(64) }))).toBe('placeholder');
    expect(readLogsNotification(withValue({ logs: ['a', 3] }))).toBe('malformed');
    expect(readLogsNotification(withValue({ logs: null }))).toBe('malformed');
  });

  it('reports a wrong type in any field as malformed, and never throws', () => {
    const places = [
      ['result'],
      ['result', 'context'],
      ['result', 'context', 'slot'],
      ['result', 'value'],
      ['result', 'value', 'signature'],
      ['result', 'value', 'logs'],
    ];
    fc.assert(
      fc.property(fc.constantFrom(...places), fc.jsonValue(), (path, value) => {
        const mutated = structuredClone(good) as Record<string, unknown>;
        let at = mutated;
        for (const key of path.slice(0, -1)) at = at[key] as Record<string, unknown>;
        at[path.at(-1)!] = value;
        const outcome = readLogsNotification(mutated);
        if (typeof outcome !== 'string') {
          expect(typeof outcome.signature).toBe('string');
          expect(Number.isSafeInteger(outcome.slot)).toBe(true);
          expect(outcome.logs.every((line) => typeof line === 'string')).toBe(true);
        }
      }),
      { numRuns: 2_000 },
    );
    fc.assert(fc.property(fc.jsonValue(), (value) => readLogsNotification(value) === 'malformed'));
  });
});
