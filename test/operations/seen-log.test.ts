import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openSeenLog, type SeenLog } from '@sluice/gateway/stream/seen-log.ts';
import { createLog } from '@sluice/shared/log/log.ts';

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-seen-log-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const open = (folder: string): SeenLog => openSeenLog(folder, createLog({ level: 'silent', name: 'test' }));
const at = (offset: number | null): { epoch: string; term: string; offset: number | null } => ({ epoch: 'e', term: 't', offset });

describe('what gateways have seen of the log', () => {
  it('is told by those who come after, all of it, and once', () => {
    const folder = newFolder();
    const [first, second, third] = [open(folder), open(folder), open(folder)];
    expect([first.seen, second.seen, third.seen]).toEqual([[], [], []]);
    for (const log of [first, second, third]) log.enter(at(null));
    second.close(at(7));
    const next = open(folder);
    expect(next.seen).toEqual([at(7)]);
    next.enter(at(null));
    next.close(at(9));
    first.close(at(8));
    third.close(at(6));
    const last = open(folder);
    expect(last.seen).toEqual([at(8), at(9), at(6)]);
    last.settle('e');
    expect(readdirSync(join(folder, 'gateways')).filter((name) => name.endsWith('.seen'))).toEqual(['0.seen']);
    const beside = open(folder);
    expect(beside.seen).toEqual([]);
    for (const log of [last, beside]) log.close(at(10));
  });

  it('is not known any more where a gateway ended without a word', () => {
    const folder = newFolder();
    const log = open(folder);
    log.enter(at(null));
    // As the lock lets go of a process that died: nothing is written then.
    log.close({ epoch: '', term: '', offset: 0 });
    const next = open(folder);
    expect(next.seen).toEqual([at(null)]);
    next.close(at(3));
  });

  it('is refused with the setting’s name where the folder takes no files, or holds what is none of ours', () => {
    const folder = newFolder();
    writeFileSync(join(folder, 'gateways'), 'a file in its place');
    expect(() => open(folder)).toThrow(/gateways/);
    const other = newFolder();
    open(other).close(at(1));
    writeFileSync(join(other, 'gateways', '0.seen'), '{');
    expect(() => open(other)).toThrow(/gateways/);
  });
});
