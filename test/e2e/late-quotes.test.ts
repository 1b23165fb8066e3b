import { setTimeout as pause } from 'node:timers/promises';
import { programId as pumpProgram } from '@sluice/venues/pump/curve/program.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startSimnet, type Simnet } from '../simnet/simnet.ts';
import { startTestGateway, until, type TestGateway } from '../support/gateway.ts';
import { launchCoin, tradedChain } from '../support/chain/quoted-trades.ts';
import { startVirtualTime } from '../support/virtual-time.ts';
import { cut, silent, startTamperedNode, type TamperedNode, type Tampering } from '../support/chain/tampered-node.ts';

/** `POST /quote` of a gateway with two endpoints. One answers at once, the other one late or never. */
const key = 'sluice_late_read';
const { mint, chain } = ((): { mint: string; chain: ReturnType<typeof tradedChain> } => {
  const traded = tradedChain();
  return { mint: launchCoin(traded).mint, chain: traded };
})();
let nodes: readonly Simnet[];
let [fast, late]: TamperedNode[] = [];
let gateway: TestGateway;
let endTime: () => void;
beforeAll(async () => {
  endTime = startVirtualTime();
  nodes = [await startSimnet({ chain, autoStart: false }), await startSimnet({ chain, autoStart: false })];
  [fast, late] = await Promise.all(nodes.map(({ rpcUrl }) => startTamperedNode(rpcUrl)));
  const rpc = { httpUrls: [fast!.url, late!.url], wsUrls: nodes.map(({ wsUrl }) => wsUrl) };
  gateway = await startTestGateway({ config: { rpc } });
  gateway.keys.add(key, { scopes: ['read'] });
}, 60_000);
afterAll(async () => {
  await gateway.close();
  for (const node of [fast!, late!, ...nodes]) await node.close();
  endTime();
});

async function ask(): Promise<{ readonly status: number; readonly code: unknown; readonly outAmount: unknown }> {
  const answer = await fetch(`http://${gateway.host}/quote`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({ side: 'buy', mint, amount: 0.1 }),
  });
  const { error, quote } = (await answer.json()) as { error?: { code: string }; quote?: { outAmount: string } };
  return { status: answer.status, code: error?.code, outAmount: quote?.outAmount };
}

/** Accounts to be changed or withheld; all others are unchanged. */
const about =
  (change: (answer: () => Promise<unknown>) => Promise<unknown>): Tampering =>
  ({ method }, answer) =>
    method === 'getMultipleAccounts' ? change(answer) : answer();

const after = (ms: number): Tampering =>
  about(async (answer) => {
    await pause(ms);
    return answer();
  });

/** The curve with a tenth of its tokens. */
const dear = about(async (answer) => {
  const answered = (await answer()) as { readonly value: readonly ({ owner: string; data: [string, string] } | null)[] };
  for (const account of answered.value) {
    if (account?.owner !== pumpProgram) continue;
    const data = Buffer.from(account.data[0], 'base64');
    if (data.length < 81 || data.length > 256) continue;
    data.writeBigUInt64LE(data.readBigUInt64LE(8) / 10n, 8);
    account.data[0] = data.toString('base64');
  }
  return { ...answered };
});

async function quoted(what: string): Promise<unknown> {
  const { outAmount } = await until(what, async () => {
    const answer = await ask();
    return answer.status === 200 && answer;
  });
  return outAmount;
}

it('returns no lie of one endpoint while the other has not answered; a late answer that agrees counts', async () => {
  const outAmount = await quoted('a quote');
  for (const lateMs of [700, 2_000]) {
    [fast!.tampering, late!.tampering] = [dear, after(lateMs)];
    // What was read before is valid for one slot.
    await pause(1_000);
    for (let asked = 0; asked < 2; asked++) expect(await ask()).toEqual({ status: 503, code: 'UPSTREAM_UNAVAILABLE' });
  }
  [fast!.tampering, late!.tampering] = [null, after(650)];
  await pause(1_000);
  expect(await quoted('the late answer')).toBe(outAmount);
});

it('quotes what one endpoint reports while the other cannot answer', async () => {
  [fast!.tampering, late!.tampering] = [null, null];
  const outAmount = await quoted('a quote');
  late!.tampering = about(async () => cut);
  await pause(1_000);
  expect(await ask()).toMatchObject({ status: 200, outAmount });
  late!.tampering = null;
  await pause(1_000);
  expect(await ask()).toMatchObject({ status: 200, outAmount });
  // At first it is not known that it will not answer.
  late!.tampering = about(async () => silent);
  await pause(1_000);
  expect(await ask()).toMatchObject({ status: 503 });
  expect(await quoted('the other one is dropped')).toBe(outAmount);
});
