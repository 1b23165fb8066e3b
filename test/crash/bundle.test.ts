import { expect, it, onTestFinished } from 'vitest';
import { decodeTransaction } from '@sluice/shared/solana/transaction/transaction.ts';
import { silent, startTamperedNode } from '../support/chain/tampered-node.ts';
import { until } from '../support/gateway.ts';
import { openCrashWorld } from './crash-world.ts';

const withinMs = 120_000;
interface Result {
  readonly orderId?: string;
  readonly signature?: string;
}

const signaturesIn = ([wires]: readonly unknown[]): readonly string[] =>
  (wires as readonly string[]).map((wire) => {
    const decoded = decodeTransaction(Buffer.from(wire, 'base64'));
    return decoded.kind === 'decoded' ? (decoded.signatures[0] ?? '') : '';
  });

it(
  'a bundle whose gateway is killed before the block engine has it: is sent once more, as a whole, and lands once',
  { timeout: 600_000 },
  async () => {
    let engineUrl = '';
    const world = await openCrashWorld('SQLite', { laneEnv: () => ({ JITO_URL: engineUrl }) });
    onTestFinished(() => world.close());
    const engine = await startTamperedNode(world.gate.urls[0]!);
    onTestFinished(() => engine.close());
    engineUrl = engine.url;
    const bundles = (): readonly (readonly string[])[] =>
      engine.calls.flatMap(({ method, params }) => (method === 'sendBundle' ? [signaturesIn(params)] : []));
    const [coin] = world.coins;
    const wallets = [(await world.newWallet()).publicKey, (await world.newWallet()).publicKey];
    const order = (publicKey: string, amount: number) => ({ side: 'buy', publicKey, mint: coin!.mint, amount, slippage: 45 });
    const body = { bundle: true, orders: [order(wallets[0]!, 0.01), order(wallets[1]!, 0.02), order(wallets[0]!, 0.03)] };
    const ask = async (url: string): Promise<readonly Result[]> => {
      const headers = { authorization: `Bearer ${world.apiKey}`, 'content-type': 'application/json', 'idempotency-key': 'the-bundle' };
      const answer = await fetch(`${url}/trade/batch`, { method: 'POST', headers, body: JSON.stringify(body) }).catch(() => null);
      const read = (await answer?.json().catch(() => null)) as { readonly results?: readonly Result[] } | null | undefined;
      return read?.results ?? [];
    };
    // The block engine loses what it gets.
    engine.tampering = async ({ method }, answer) => (method === 'sendBundle' ? silent : answer());
    const gateway = await world.gateway(0);
    await gateway.signerReady();
    const interrupted = until('a bundle', async () => (await ask(gateway.url)).length > 0 || !gateway.isAlive, withinMs);
    await until('the bundle to be sent', () => bundles().length > 0, withinMs);
    await gateway.kill('both');
    await interrupted;
    const [first] = bundles();
    engine.tampering = null;
    const results = await until(
      'the answer',
      async () => {
        const all = await ask((await world.gateway(0)).url);
        return all.length === body.orders.length && all;
      },
      withinMs,
    );
    expect(results.map(({ signature }) => signature)).toEqual(first);
    await until(
      'all to end',
      async () => Number((await world.db.get('SELECT count(*) AS open FROM orders WHERE ended = 0'))?.['open']) === 0,
      withinMs,
    );
    for (const bundle of bundles()) expect(bundle).toEqual(first);
    const records = first!.map((signature) => world.chain.transaction(signature));
    expect(new Set(records.map((record) => record?.slot)).size).toBe(1);
    expect(records.map((record) => record?.err)).toEqual([null, null, null]);
    const stored = await world.store.orders.page({ owner: `key:${world.keyId}`, before: null, state: null, limit: 10 });
    expect(stored.map(({ state }) => state)).toEqual(['finalized', 'finalized', 'finalized']);
    // No node got one of them from us.
    expect(world.gate.sent.filter(({ signature }) => first!.includes(signature))).toEqual([]);
  },
);
