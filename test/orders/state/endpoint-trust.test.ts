import { ChainView } from '@sluice/gateway/orders/state/chain/chain-view.ts';
import { WatchedAccounts } from '@sluice/gateway/orders/state/accounts/watched-accounts.ts';
import type { ChainAccount } from '@sluice/gateway/chain/account-reader.ts';
import { systemProgram } from '@sluice/shared/solana/well-known.ts';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { recordingLog, type LogLine } from '../../ingest/harness.ts';
import { startScriptedNode, type ScriptedNode } from '../../ingest/scripted-node.ts';
import { address } from '../../simnet/support/test-chain.ts';
import { until } from '../../support/gateway.ts';

/** Which endpoint is distrusted for what a read of an account shows, whatever the order in which the two arrive. The clock stands still. */
const account = address('account');
const firstSlot = 1_000;
let nodes: ScriptedNode[];
let lines: LogLine[];
let watched: WatchedAccounts;
let life: AbortController;

async function start(endpoints: number): Promise<void> {
  vi.useFakeTimers({ toFake: ['Date'] });
  [lines, life] = [[], new AbortController()];
  nodes = await Promise.all(Array.from({ length: endpoints }, () => startScriptedNode()));
  for (const node of nodes) node.tellsSlots = false;
  watched = new WatchedAccounts({
    urls: nodes.map(({ wsUrl }) => wsUrl),
    chain: new ChainView(nodes.length),
    log: recordingLog(lines),
    signal: life.signal,
  });
  watched.follow(account);
  watched.start();
  await until('all subscriptions', () => nodes.every(({ subscriptions }) => [...subscriptions.values()].some(({ size }) => size === 2)));
  for (const node of nodes) node.slot = firstSlot - 1;
  await tellSlots(firstSlot);
  read(firstSlot, 1);
}

async function stop(): Promise<void> {
  life.abort();
  for (const node of nodes) await node.close();
  vi.useRealTimers();
}

beforeEach(() => start(3));
afterEach(stop);

const stateOf = (lamports: number): ChainAccount => ({
  lamports: BigInt(lamports),
  owner: systemProgram,
  data: new Uint8Array(),
  executable: false,
});

/** So many endpoints, the first ones, tell the slots up to this one, and what happens in each of them; it was heard. */
async function tellSlots(to: number, inSlot: (node: ScriptedNode, slot: number) => void = () => undefined, count = 3): Promise<void> {
  for (const node of nodes.slice(0, count)) {
    for (node.slot++; node.slot <= to; node.slot++) {
      node.notify('slotNotification', 'slotSubscribe', { slot: node.slot, parent: node.slot - 1, root: node.slot - 32 });
      inSlot(node, node.slot);
    }
    node.slot = to;
  }
  await until('the slots', () => watched.links.slice(0, count).every(({ slot }) => slot === to));
}

function tell(node: ScriptedNode, slot: number, lamports: number): void {
  const value = { lamports, owner: systemProgram, data: ['', 'base64'], executable: false };
  node.notify('accountNotification', 'accountSubscribe', { context: { slot }, value });
}

/** What two endpoints answer over HTTP, one as of `slot`, and the other as of `lastSlot`. */
function read(slot: number, lamports: number, lastSlot = slot): void {
  const accounts = [stateOf(lamports)];
  watched.addRead([account], { slot, lastSlot, askedAtMs: Date.now(), accounts, aloneBy: null, othersAreLate: false, disputed: [] });
}

const trusted = (): boolean[] => nodes.map((_, index) => watched.isTrusted(index));

it('no endpoint is, whose changes arrive behind the answer that has them', async () => {
  for (let round = 1; round <= 5; round++) {
    const slot = firstSlot + 3 * round;
    read(slot, slot);
    await tellSlots(slot + 2, (node, at) => void (at === slot && tell(node, at, at)));
    watched.check();
  }
  expect(trusted()).toEqual([true, true, true]);
});

it('no endpoint is, for an answer that comes many changes late', async () => {
  for (let round = 1; round <= 5; round++) {
    const slot = firstSlot + 20 * round;
    await tellSlots(slot + 14, (node, at) => tell(node, at, at));
    read(slot, slot);
    watched.check();
  }
  expect(trusted()).toEqual([true, true, true]);
});

it('no endpoint is, for one answer that is of a moment inside a slot, while it is awaited how another ends it', async () => {
  const slot = firstSlot + 3;
  await tellSlots(slot + 2, (node, at) => void (at === slot && tell(node, at, 2)), 2);
  read(slot, 3);
  for (let checks = 0; checks < 10; checks++) watched.check();
  expect(trusted()).toEqual([true, true, true]);
});

it('no endpoint is, for answers of the moment before a slot changed the account', async () => {
  for (let round = 1; round <= 5; round++) {
    const slot = firstSlot + 3 * round;
    await tellSlots(slot + 2, (node, at) => void (at === slot && tell(node, at, at)));
    read(slot, round === 1 ? 1 : slot - 3);
    watched.check();
  }
  expect(trusted()).toEqual([true, true, true]);
});

it('no endpoint is, for answers of a moment inside a slot that it told', async () => {
  for (let round = 1; round <= 3; round++) {
    const slot = firstSlot + 3 * round;
    await tellSlots(slot, (node, at) => void (at === slot && tell(node, at, at)));
    await until('the moment', () => watched.links.every(({ appliedSlot }) => appliedSlot === slot));
    for (const node of nodes) tell(node, slot, 7_000 + slot);
    await tellSlots(slot + 2);
    read(slot, slot);
    watched.check();
  }
  expect(trusted()).toEqual([true, true, true]);
});

it('no endpoint is, for an answer that one of those who gave it dates too early', async () => {
  for (let round = 1; round <= 5; round++) {
    const slot = firstSlot + 5 * round;
    await tellSlots(slot - 1);
    read(slot - 3, slot, slot);
    watched.check();
    await tellSlots(slot + 1, (node, at) => void (at === slot && tell(node, at, at)));
    watched.check();
  }
  expect(trusted()).toEqual([true, true, true]);
});

it.each([0, 1])('one is, that tells a slot`s end and then another one, by an answer of %i slots later', async (later) => {
  const slot = firstSlot + 3;
  await tellSlots(slot, (node, at) => void (at === slot && tell(node, at, at)));
  await until('the truth', () => watched.links.every(({ appliedSlot }) => appliedSlot === slot));
  tell(nodes[0]!, slot, 7_000);
  await tellSlots(slot + 4, (node, at) => void (at === slot + 3 && tell(node, at, at)));
  read(slot + later, slot);
  watched.check();
  expect(trusted()).toEqual([false, true, true]);
});

it('one is, that makes a change up between two of the chain', async () => {
  const slot = firstSlot + 3;
  await tellSlots(slot + 4, (node, at) => {
    if (at === slot || at === slot + 2) tell(node, at, at);
    if (at === slot + 1 && node === nodes[0]) tell(node, at, 7_000);
  });
  read(slot + 1, slot);
  watched.check();
  expect(trusted()).toEqual([false, true, true]);
});

it('one is, that tells so much that it is not remembered what it told before', async () => {
  const slot = firstSlot + 3;
  await tellSlots(slot + 4, (node, at) => {
    if (at === slot) tell(node, at, at);
    if (at === slot + 4 && node === nodes[0]) for (let ahead = 0; ahead < 9; ahead++) tell(node, at + ahead, 7_000 + ahead);
  });
  await until('all that it tells', () => watched.links[0]!.appliedSlot === slot + 12);
  for (const later of [0, 1, 2]) {
    expect(trusted()).toEqual([true, true, true]);
    read(slot + later, slot);
    watched.check();
  }
  expect(trusted()).toEqual([false, true, true]);
});

it('one is, that tells another end of a slot than two others, once all have told it', async () => {
  const slot = firstSlot + 3;
  const tellEnd = (node: ScriptedNode, at: number): void => void (at === slot && tell(node, at, node === nodes[0] ? 7_000 : at));
  await tellSlots(slot + 2, tellEnd, 2);
  read(slot, slot);
  watched.check();
  expect(trusted()).toEqual([true, true, true]);
  await tellSlots(slot + 2, tellEnd);
  watched.check();
  expect(trusted()).toEqual([false, true, true]);
  expect(lines.map(({ name }) => name)).toContain('account_update_false');
});

it('one of two is, that tells another end of a slot three times', async () => {
  await stop();
  await start(2);
  for (let round = 1; round <= 3; round++) {
    expect(trusted()).toEqual([true, true]);
    const slot = firstSlot + 3 * round;
    await tellSlots(slot + 2, (node, at) => void (at === slot && tell(node, at, node === nodes[0] ? 7_000 + at : at)));
    read(slot, slot);
    watched.check();
  }
  expect(trusted()).toEqual([false, true]);
  expect(lines.map(({ name }) => name)).toContain('account_update_false');
});

it('the other of two is not, for answers of the moment before a slot changed the account', async () => {
  await stop();
  await start(2);
  for (let round = 1; round <= 4; round++) {
    expect(trusted()).toEqual([true, true]);
    const slot = firstSlot + 3 * round;
    await tellSlots(slot + 2, (node, at) => void (at === slot && tell(node, at, node === nodes[0] ? 7_000 + at : at)));
    read(slot, round === 1 ? 1 : slot - 3);
    watched.check();
  }
  expect(trusted()).toEqual([false, true]);
});

it('one is, that leaves a change out', async () => {
  const slot = firstSlot + 3;
  await tellSlots(slot + 2, (node, at) => void (at === slot && node !== nodes[0] && tell(node, at, 2)));
  read(slot, 2);
  watched.check();
  expect(trusted()).toEqual([false, true, true]);
  expect(lines.map(({ name }) => name)).toContain('account_update_lost');
});

it('an answer does not vouch for what one endpoint goes on telling, once others told a change', async () => {
  const slot = firstSlot + 3;
  read(slot, 2);
  await tellSlots(slot, (node, at) => void (at === slot && node === nodes[0] && tell(node, at, 2)));
  await until('it was heard', () => watched.current([account])?.states[0]?.account?.lamports === 2n);
  expect(watched.current([account])!.soleSources).toBe(0);
  await tellSlots(slot + 2, (node, at) => void (at === slot + 1 && tell(node, at, node === nodes[0] ? 2 : 3)));
  const { states, soleSources } = watched.current([account])!;
  expect([states[0]!.account!.lamports, soleSources]).toEqual([3n, 0]);
});

it.each([2, 3])('one of %i leaves a change out: the old state counts only for slots before the change', async (endpoints) => {
  if (endpoints !== 3) {
    await stop();
    await start(endpoints);
  }
  // All report the first state; the last of three endpoints then comes no further.
  await tellSlots(firstSlot + 2, (node, slot) => slot === firstSlot + 1 && tell(node, slot, 5), endpoints);
  const changedIn = firstSlot + 4;
  const honest = nodes[1];
  await tellSlots(firstSlot + 6, (node, slot) => node === honest && slot === changedIn && tell(node, slot, 7), 2);
  const current = watched.current([account])!;
  expect(current.soleSources).toBe(0);
  expect(current.states[0]!.account?.lamports).toBe(5n);
  expect(current.slot).toBeLessThan(changedIn);
  expect(current.slot).toBeGreaterThan(firstSlot);
});
