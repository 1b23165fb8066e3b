import { Broadcaster } from '../../../trading/src/send/broadcaster.ts';
import { bundleIdOf, firstRound, type FirstRound, createLanes, type Lanes } from '../../../trading/src/send/lanes.ts';
import { Lane } from '../../../trading/src/send/lane.ts';
import { jitoTipAccounts, senderTipAccounts } from '@sluice/shared/solana/addresses/tip-accounts.ts';
import { createSendNodes } from '../../../trading/src/nodes/nodes.ts';
import { RpcError } from '@sluice/shared/solana/rpc/rpc.ts';
import { signMessage } from '@sluice/shared/solana/addresses/keypair.ts';
import { assembleTransaction, compileMessage } from '@sluice/shared/solana/transaction/transaction.ts';
import { transferLamports } from '@sluice/shared/solana/transaction/instructions.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startVirtualTime } from '../../support/virtual-time.ts';
import { buyer, signatureOf, startWorld, until, type World } from './sending-world.ts';
import { cut, silent, type Tampering } from '../../support/chain/tampered-node.ts';

let world: World;
let broadcaster: Broadcaster;
let lanes: Lanes;
let maySend = true;
/** In virtual time the answers of a busy machine come in time. */
let endTime: () => void;
beforeEach(() => {
  endTime = startVirtualTime();
});
afterEach(async () => {
  maySend = true;
  broadcaster.close();
  await world.close();
  endTime();
});

interface Message {
  readonly signature: string;
  readonly wire: Uint8Array;
  readonly lastValidBlockHeight: number;
}

async function begin(nodeCount = 2): Promise<void> {
  world = await startWorld({ nodeCount });
  const [node, sender, jito] = world.nodes.map(({ url }) => url);
  const { signal } = new AbortController();
  lanes = createLanes({
    nodes: createSendNodes([node!]),
    senderUrl: sender!,
    jitoUrl: jito ?? null,
    maySend: () => maySend,
    signal,
  });
  broadcaster = new Broadcaster({ lanes, blockHeight: () => world.chain.blockHeight, signal });
}

let amounts = 2_000_000n;
function message(): Message {
  const { blockhash, lastValidBlockHeight } = world.chain.latestBlockhash();
  const instructions = [
    transferLamports(buyer.publicKey, buyer.publicKey, amounts++),
    transferLamports(buyer.publicKey, senderTipAccounts[0], 1_000_000n),
    transferLamports(buyer.publicKey, jitoTipAccounts[0], 1_000n),
  ];
  const bytes = compileMessage({ version: 0, feePayer: buyer.publicKey, recentBlockhash: blockhash, instructions });
  const wire = assembleTransaction(bytes, [signMessage(buyer, bytes)]);
  return { signature: signatureOf(wire), wire, lastValidBlockHeight };
}

/** The first round, and all later ones. */
function send(one: Message): Promise<FirstRound> {
  broadcaster.keepSending(one);
  return firstRound(one.signature, one.wire, lanes);
}

test('a message is sent on every lane at once, repeatedly until it is stopped, and lands once', async () => {
  await begin(3);
  const one = message();
  expect((await send(one)).kind).toBe('accepted');
  broadcaster.keepSending(one);
  expect(lanes.all.map(({ counters }) => counters.first)).toEqual([1, 1, 1, 0]);
  const [node, sender, jito] = world.nodes;
  await until(() => Math.min(node!.count('sendTransaction'), sender!.count('sendTransaction')) >= 3, 'three rounds');
  expect(jito!.count('sendTransaction')).toBe(1);
  for (let i = 0; i < 3; i++) world.chain.advance();
  expect(world.landed()).toEqual([one.signature]);
  broadcaster.stop(one.signature);
  expect(broadcaster.held).toBe(0);
  const params = node!.calls.map((call) => call.params);
  expect(lanes.all.map(({ counters }) => counters.untipped)).toEqual([0, 0, 0, 0]);
  expect(new Set(params.map((list) => list[0]))).toEqual(new Set([Buffer.from(one.wire).toString('base64')]));
  expect(params[0]![1]).toEqual({ encoding: 'base64', skipPreflight: true, maxRetries: 0 });
});

test('a message for the block engine alone is sent on no other lane, first or again', async () => {
  await begin(3);
  const one = message();
  broadcaster.keepSending({ ...one, blockEngineOnly: true, atOnce: true });
  expect(await firstRound(one.signature, one.wire, lanes, true)).toEqual({ kind: 'accepted', by: 'jito' });
  const [node, sender, jito] = world.nodes;
  await until(() => jito!.count('sendTransaction') >= 2, 'another round');
  expect([node!.count('sendTransaction'), sender!.count('sendTransaction')]).toEqual([0, 0]);
});

test('a bundle is sent as a whole by the block engine alone, while all of its messages are to be sent', async () => {
  await begin(3);
  const [node, sender, jito] = world.nodes;
  const messages = [message(), message(), message()];
  const id = bundleIdOf(messages);
  const keepSending = (index: number): void =>
    broadcaster.keepSending({ ...messages[index]!, blockEngineOnly: true, bundle: { id, index, count: 3 }, atOnce: true });
  const sent = (): number => jito!.count('sendBundle');
  // They come in any order, and not all at once: a crash may have left a part of them.
  keepSending(2);
  keepSending(0);
  expect(broadcaster.held).toBe(0);
  keepSending(1);
  expect(broadcaster.held).toBe(1);
  await until(() => sent() >= 2, 'another round');
  const wires = messages.map(({ wire }) => Buffer.from(wire).toString('base64'));
  for (const { method, params } of jito!.calls) if (method === 'sendBundle') expect(params).toEqual([wires, { encoding: 'base64' }]);
  // One of them is in a block, and then it is not: its fork died.
  broadcaster.stop(messages[1]!.signature);
  expect(broadcaster.held).toBe(0);
  keepSending(1);
  expect(broadcaster.held).toBe(1);
  for (const { signature } of messages) broadcaster.stop(signature);
  expect(broadcaster.held).toBe(0);
  expect([node, sender, jito].map((one) => one!.count('sendTransaction'))).toEqual([0, 0, 0]);
});

test('a message without a tip is sent to the nodes only, and counted', async () => {
  await begin(3);
  const { blockhash, lastValidBlockHeight } = world.chain.latestBlockhash();
  const instructions = [
    transferLamports(buyer.publicKey, buyer.publicKey, 5_000_000n),
    transferLamports(buyer.publicKey, senderTipAccounts[1], 999_999n),
  ];
  const bytes = compileMessage({ version: 0, feePayer: buyer.publicKey, recentBlockhash: blockhash, instructions });
  const wire = assembleTransaction(bytes, [signMessage(buyer, bytes)]);
  expect((await send({ signature: signatureOf(wire), wire, lastValidBlockHeight })).by).toBe('rpc 1');
  const [node, ...paid] = world.nodes;
  await until(() => node!.count('sendTransaction') >= 3, 'three rounds');
  expect(paid.map((lane) => lane.count('sendTransaction'))).toEqual([0, 0]);
  expect(lanes.all.map(({ counters }) => counters.untipped)).toEqual([0, 1, 1, 0]);
});

test('nothing is sent after the last block in which it can land', async () => {
  await begin();
  const one = message();
  await send(one);
  while (world.chain.blockHeight <= one.lastValidBlockHeight) world.chain.advance();
  await until(() => broadcaster.held === 0, 'sending to end');
  expect(broadcaster.counters.outlived).toBe(1);
});

test('while sending is not allowed, nothing is sent, first or again; then it continues', async () => {
  await begin(3);
  const sent = (): readonly number[] => world.nodes.map((node) => node.count('sendTransaction'));
  const withheld = (): number => lanes.all.reduce((sum, { counters }) => sum + counters.withheld, 0);
  const before = message();
  await send(before);
  await until(() => sent()[0]! >= 2, 'a second round');
  maySend = false;
  const during = message();
  expect(await send(during)).toEqual({ kind: 'unanswered', by: null });
  expect(withheld()).toBe(3);
  // Two of the lanes accept repeated sends.
  const counts = sent();
  await until(() => withheld() >= 3 + 3 * 4, 'three rounds without both');
  expect(sent()).toEqual(counts);
  expect(broadcaster.held).toBe(2);
  maySend = true;
  await until(() => {
    world.chain.advance();
    return [before, during].every(({ signature }) => world.landed().includes(signature));
  }, 'both to land');
});

const all = (tampering: Tampering): void => {
  for (const node of world.nodes) node.tampering = tampering;
};

test('the answers of nodes to the first round', async () => {
  await begin();
  const [node, sender] = world.nodes;
  const kindOf = async (one = message()): Promise<string> => (await send(one)).kind;
  node!.tampering = () => Promise.resolve(silent);
  expect(await kindOf()).toBe('accepted');
  node!.tampering = () => Promise.resolve('another signature');
  sender!.tampering = () => Promise.resolve(cut);
  expect(await kindOf()).toBe('unanswered');
  all(() => Promise.resolve(null));
  expect(await kindOf()).toBe('unanswered');
  all((_, answer) => answer());
  const { signature, wire, lastValidBlockHeight } = message();
  expect(await kindOf({ signature, wire: wire.with(70, wire[70]! ^ 1), lastValidBlockHeight })).toBe('refused');
});

test.each([
  [-32_003, 'refused'],
  [-32_602, 'refused'],
  [-32_006, 'refused'],
  [-32_013, 'refused'],
  [-32_002, 'unanswered'],
  [-32_005, 'unanswered'],
] as const)('a lane that answers with the error %i is counted as %s', async (code, kind) => {
  await begin();
  const rpc = { call: () => Promise.reject(new RpcError('answer', code, 'The block engine says so.')) };
  const lane = new Lane({ name: 'jito', rpc, maySend: () => true, signal: new AbortController().signal });
  expect(await lane.send({ signature: 'signature', wireBase64: '' })).toBe(kind);
  expect(lane.counters).toMatchObject({ first: 1, refused: 0, unanswered: 0, [kind]: 1 });
});

test('a slow lane delays no other lane, and gets no more than it can handle', async () => {
  await begin();
  const [node, sender] = world.nodes;
  node!.tampering = () => Promise.resolve(silent);
  // More than a lane handles at once.
  const messages = 50;
  const kinds = await Promise.all(Array.from({ length: messages }, () => send(message()).then(({ kind }) => kind)));
  expect(new Set(kinds)).toEqual(new Set(['accepted']));
  expect(node!.count('sendTransaction')).toBeLessThanOrEqual(32);
  await until(() => sender!.count('sendTransaction') >= 2 * messages, 'a second round by the other lane');
  world.chain.advance();
  expect(world.landed().length).toBe(messages);
});
