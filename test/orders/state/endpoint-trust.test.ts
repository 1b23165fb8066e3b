import { ChainView } from '../../../trading/src/state/chain/chain-view.ts';
import { WatchedAccounts } from '../../../trading/src/state/accounts/watched-accounts.ts';
import type { ChainAccount } from '@sluice/gateway/reads/chain/account-reader.ts';
import { systemProgram } from '@sluice/shared/solana/well-known.ts';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { recordingLog, type LogLine } from '../../ingest/harness.ts';
import { startScriptedNode, type ScriptedNode } from '../../ingest/scripted-node.ts';
import { address } from '../../simnet/support/test-chain.ts';
import { until } from '../../support/gateway.ts';

/** Which endpoint is distrusted because of what a read of an account shows, in either order of arrival. The clock does not advance. */
const account = address('account');
const firstSlot = 1_000;
let nodes: ScriptedNode[];
let lines: LogLine[];
let watched: WatchedAccounts;
let life: AbortController;

async function start(endpoints: number): Promise<void> {
  [lines, life] = [[], new AbortController()];
  nodes = await Promise.all(Array.from({ length: endpoints }, () => startScriptedNode()));
  for (const node of nodes) node.reportsSlots = false;
  watched = new WatchedAccounts({
    urls: nodes.map(({ wsUrl }) => wsUrl),
    chain: new ChainView(nodes.length),
    clock: { steadyMs: () => 1_000 },
    log: recordingLog(lines),
    signal: life.signal,
  });
  watched.follow(account);
  watched.start();
  await until('all subscriptions', () => nodes.every(({ subscriptions }) => [...subscriptions.values()].some(({ size }) => size === 2)));
  for (const node of nodes) node.slot = firstSlot - 1;
  await reportSlots(firstSlot);
  read(firstSlot, 1);
}

async function stop(): Promise<void> {
  life.abort();
  for (const node of nodes) await node.close();
}

beforeEach(() => start(3));
afterEach(stop);

const stateOf = (lamports: number): ChainAccount => ({
  lamports: BigInt(lamports),
  owner: systemProgram,
  data: new Uint8Array(),
  executable: false,
});

/**
 * The first endpoints, this many, report the slots up to this one and what happens in each of them. Resolves when the reports were
 * received.
 */
async function reportSlots(to: number, inSlot: (node: ScriptedNode, slot: number) => void = () => undefined, count = 3): Promise<void> {
  for (const node of nodes.slice(0, count)) {
    for (node.slot++; node.slot <= to; node.slot++) {
      node.notify('slotNotification', 'slotSubscribe', { slot: node.slot, parent: node.slot - 1, root: node.slot - 32 });
      inSlot(node, node.slot);
    }
    node.slot = to;
  }
  await until('the slots', () => watched.links.slice(0, count).every(({ slot }) => slot === to));
}

function report(node: ScriptedNode, slot: number, lamports: number): void {
  const value = { lamports, owner: systemProgram, data: ['', 'base64'], executable: false };
  node.notify('accountNotification', 'accountSubscribe', { context: { slot }, value });
}

/** What two endpoints answer over HTTP: one as of `slot`, and the other as of `lastSlot`. */
function read(slot: number, lamports: number, lastSlot = slot): void {
  const accounts = [stateOf(lamports)];
  watched.addRead([account], { slot, lastSlot, askedAtMs: 1_000, accounts, aloneBy: null, othersAreLate: false, disputed: [] });
}

const trusted = (): boolean[] => nodes.map((_, index) => watched.isTrusted(index));

it('no endpoint is distrusted if its changes arrive after the answer that contains them', async () => {
  for (let round = 1; round <= 5; round++) {
    const slot = firstSlot + 3 * round;
    read(slot, slot);
    await reportSlots(slot + 2, (node, at) => void (at === slot && report(node, at, at)));
    watched.check();
  }
  expect(trusted()).toEqual([true, true, true]);
});

it('no endpoint is distrusted because of an answer that is many changes late', async () => {
  for (let round = 1; round <= 5; round++) {
    const slot = firstSlot + 20 * round;
    await reportSlots(slot + 14, (node, at) => report(node, at, at));
    read(slot, slot);
    watched.check();
  }
  expect(trusted()).toEqual([true, true, true]);
});

it('no endpoint is distrusted because of one answer from inside a slot, before another endpoint reports the end of that slot', async () => {
  const slot = firstSlot + 3;
  await reportSlots(slot + 2, (node, at) => void (at === slot && report(node, at, 2)), 2);
  read(slot, 3);
  for (let checks = 0; checks < 10; checks++) watched.check();
  expect(trusted()).toEqual([true, true, true]);
});

it('no endpoint is distrusted because of answers from before a slot changed the account', async () => {
  for (let round = 1; round <= 5; round++) {
    const slot = firstSlot + 3 * round;
    await reportSlots(slot + 2, (node, at) => void (at === slot && report(node, at, at)));
    read(slot, round === 1 ? 1 : slot - 3);
    watched.check();
  }
  expect(trusted()).toEqual([true, true, true]);
});

it('no endpoint is distrusted because of answers from inside a slot that it reported', async () => {
  for (let round = 1; round <= 3; round++) {
    const slot = firstSlot + 3 * round;
    await reportSlots(slot, (node, at) => void (at === slot && report(node, at, at)));
    await until('the moment', () => watched.links.every(({ appliedSlot }) => appliedSlot === slot));
    for (const node of nodes) report(node, slot, 7_000 + slot);
    await reportSlots(slot + 2);
    read(slot, slot);
    watched.check();
  }
  expect(trusted()).toEqual([true, true, true]);
});

it('no endpoint is distrusted because of an answer that one of its senders dates too early', async () => {
  for (let round = 1; round <= 5; round++) {
    const slot = firstSlot + 5 * round;
    await reportSlots(slot - 1);
    read(slot - 3, slot, slot);
    watched.check();
    await reportSlots(slot + 1, (node, at) => void (at === slot && report(node, at, at)));
    watched.check();
  }
  expect(trusted()).toEqual([true, true, true]);
});

it.each([0, 1])(
  'an endpoint that reports two different ends of a slot is distrusted, because of an answer of %i slots later',
  async (later) => {
    const slot = firstSlot + 3;
    await reportSlots(slot, (node, at) => void (at === slot && report(node, at, at)));
    await until('the truth', () => watched.links.every(({ appliedSlot }) => appliedSlot === slot));
    report(nodes[0]!, slot, 7_000);
    await reportSlots(slot + 4, (node, at) => void (at === slot + 3 && report(node, at, at)));
    read(slot + later, slot);
    watched.check();
    expect(trusted()).toEqual([false, true, true]);
  },
);

it('an endpoint that invents a change between two of the chain is distrusted', async () => {
  const slot = firstSlot + 3;
  await reportSlots(slot + 4, (node, at) => {
    if (at === slot || at === slot + 2) report(node, at, at);
    if (at === slot + 1 && node === nodes[0]) report(node, at, 7_000);
  });
  read(slot + 1, slot);
  watched.check();
  expect(trusted()).toEqual([false, true, true]);
});

it('an endpoint that reports so much that its earlier reports are forgotten is distrusted', async () => {
  const slot = firstSlot + 3;
  await reportSlots(slot + 4, (node, at) => {
    if (at === slot) report(node, at, at);
    if (at === slot + 4 && node === nodes[0]) for (let ahead = 0; ahead < 9; ahead++) report(node, at + ahead, 7_000 + ahead);
  });
  await until('all its reports', () => watched.links[0]!.appliedSlot === slot + 12);
  for (const later of [0, 1, 2]) {
    expect(trusted()).toEqual([true, true, true]);
    read(slot + later, slot);
    watched.check();
  }
  expect(trusted()).toEqual([false, true, true]);
});

it('an endpoint that reports another end of a slot than two others is distrusted once all have reported it', async () => {
  const slot = firstSlot + 3;
  const reportEnd = (node: ScriptedNode, at: number): void => void (at === slot && report(node, at, node === nodes[0] ? 7_000 : at));
  await reportSlots(slot + 2, reportEnd, 2);
  read(slot, slot);
  watched.check();
  expect(trusted()).toEqual([true, true, true]);
  await reportSlots(slot + 2, reportEnd);
  watched.check();
  expect(trusted()).toEqual([false, true, true]);
  expect(lines.map(({ name }) => name)).toContain('account_update_false');
});

it('one of two endpoints that reports another end of a slot three times is distrusted', async () => {
  await stop();
  await start(2);
  for (let round = 1; round <= 3; round++) {
    expect(trusted()).toEqual([true, true]);
    const slot = firstSlot + 3 * round;
    await reportSlots(slot + 2, (node, at) => void (at === slot && report(node, at, node === nodes[0] ? 7_000 + at : at)));
    read(slot, slot);
    watched.check();
  }
  expect(trusted()).toEqual([false, true]);
  expect(lines.map(({ name }) => name)).toContain('account_update_false');
});

it('the other of two is not distrusted because of answers from before a slot changed the account', async () => {
  await stop();
  await start(2);
  for (let round = 1; round <= 4; round++) {
    expect(trusted()).toEqual([true, true]);
    const slot = firstSlot + 3 * round;
    await reportSlots(slot + 2, (node, at) => void (at === slot && report(node, at, node === nodes[0] ? 7_000 + at : at)));
    read(slot, round === 1 ? 1 : slot - 3);
    watched.check();
  }
  expect(trusted()).toEqual([false, true]);
});

it('an endpoint that omits a change is distrusted', async () => {
  const slot = firstSlot + 3;
  await reportSlots(slot + 2, (node, at) => void (at === slot && node !== nodes[0] && report(node, at, 2)));
  read(slot, 2);
  watched.check();
  expect(trusted()).toEqual([false, true, true]);
  expect(lines.map(({ name }) => name)).toContain('account_update_lost');
});

it('an answer does not confirm the further reports of one endpoint once others reported a change', async () => {
  const slot = firstSlot + 3;
  read(slot, 2);
  await reportSlots(slot, (node, at) => void (at === slot && node === nodes[0] && report(node, at, 2)));
  await until('it was received', () => watched.current([account])?.states[0]?.account?.lamports === 2n);
  expect(watched.current([account])!.soleSources).toBe(0);
  await reportSlots(slot + 2, (node, at) => void (at === slot + 1 && report(node, at, node === nodes[0] ? 2 : 3)));
  const { states, soleSources } = watched.current([account])!;
  expect([states[0]!.account!.lamports, soleSources]).toEqual([3n, 0]);
});

it.each([2, 3])('if one of %i omits a change, the old state counts only for slots before the change', async (endpoints) => {
  if (endpoints !== 3) {
    await stop();
    await start(endpoints);
  }
  // All report the first state. After that the last of three endpoints reports nothing.
  await reportSlots(firstSlot + 2, (node, slot) => slot === firstSlot + 1 && report(node, slot, 5), endpoints);
  const changedIn = firstSlot + 4;
  const honest = nodes[1];
  await reportSlots(firstSlot + 6, (node, slot) => node === honest && slot === changedIn && report(node, slot, 7), 2);
  const current = watched.current([account])!;
  expect(current.soleSources).toBe(0);
  expect(current.states[0]!.account?.lamports).toBe(5n);
  expect(current.slot).toBeLessThan(changedIn);
  expect(current.slot).toBeGreaterThan(firstSlot);
});
