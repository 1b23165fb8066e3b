import { Keypair, VersionedTransaction } from '@solana/web3.js';
import { decodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { jitoTipAccounts } from '@sluice/shared/solana/addresses/tip-accounts.ts';
import { usdcMint } from '@sluice/shared/solana/well-known.ts';
import { PumpPortalAnswer } from '@sluice/shared/wire/rest/trading/pumpportal.ts';
import { Value } from 'typebox/value';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { wallet } from '../simnet/runtime/wallets.ts';
import { tokenAmount } from '../simnet/layout/token-state.ts';
import { deriveTokenAccount } from '../simnet/layout/derive.ts';
import { until } from '../support/gateway.ts';
import { makeKey } from '../support/keys.ts';
import { launchCoin, moveToPool, tradeOnChain, wrapFor, type QuotedCoin } from '../support/chain/quoted-trades.ts';
import { keystoreName, startTradingWorld, type TradingGateway, type TradingWorld } from '../support/chain/trading-world.ts';
import { connectWeb3, type Web3 } from '../support/chain/web3.ts';

/** PumpPortal's clients as in its documentation, with another host, against a running chain. */
const signer = wallet('pumpportal', 'self-custody');
const keypair = Keypair.fromSeed(signer.seed);
const lamports = 10n ** 9n;
const timeoutMs = 60_000;

let world: TradingWorld;
let gateway: TradingGateway;
let web3: Web3;
let coin: QuotedCoin;
/** The operator's only custodial wallet. */
let custodial: string;

beforeAll(async () => {
  world = await startTradingWorld({ funded: [signer] });
  web3 = connectWeb3(world.simnet);
  coin = launchCoin(world.chain);
  custodial = await world.wallet();
  gateway = await (await world.gateway({ config: { pumpPortalKeyless: true } })).ready(custodial, coin.mint);
}, timeoutMs);
afterAll(async () => {
  web3.close();
  await world.close();
});

const url = (path: string, key = world.operatorKey): string => `http://${gateway.host}${path}${key === '' ? '' : `?api-key=${key}`}`;

interface Data {
  readonly signature?: string;
  readonly errors?: readonly string[];
  readonly warnings?: readonly string[];
  readonly error?: { readonly code: string; readonly details: Readonly<Record<string, unknown>> };
  readonly orderId?: string;
  readonly status?: string;
}

/** With `fetch`, as in JavaScript. */
function postJson(path: string, body: unknown, headers: Record<string, string> = {}, key?: string): Promise<Response> {
  return fetch(url(path, key), { method: 'POST', headers: { 'Content-Type': 'application/json', ...headers }, body: JSON.stringify(body) });
}

/** With `requests.post(url, data={…})`, as in Python: floats by `str`, which gives `5e-05`. */
function postForm(path: string, body: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url(path), { method: 'POST', headers: { 'Content-Type': 'application/x-www-form-urlencoded', ...headers }, body });
}

async function dataOf(response: Response): Promise<Data> {
  return (await response.json()) as Data;
}

function heldBy(owner: string, { mint, tokenProgram }: QuotedCoin): bigint {
  return tokenAmount(world.chain.account(deriveTokenAccount(owner, mint, tokenProgram).address));
}

function finalized(orderId: string | undefined): Promise<Record<string, unknown>> {
  return until(`the end of ${orderId}`, async () => {
    const { status, body } = await gateway.get(`/trade/orders/${orderId}`);
    if (status !== 200 || body['status'] === 'failed' || body['status'] === 'expired') throw new Error(JSON.stringify(body));
    return body['status'] === 'finalized' && body;
  });
}

async function traded(response: Response): Promise<Record<string, unknown>> {
  const data = await dataOf(response);
  expect(response.status, JSON.stringify(data)).toBe(200);
  expect([...Value.Errors(PumpPortalAnswer, data)]).toEqual([]);
  expect(data.errors).toEqual([]);
  const order = await finalized(data.orderId);
  expect(order['signature']).toBe(data.signature);
  return order;
}

/** Deserialized, signed and sent as in the documentation; resolves when the chain has confirmed it. */
async function signedAndSent(data: ArrayBuffer): Promise<string> {
  const tx = VersionedTransaction.deserialize(new Uint8Array(data));
  tx.sign([keypair]);
  return confirmed(await web3.connection.sendTransaction(tx));
}

function confirmed(signature: string): Promise<string> {
  return until(`the transaction ${signature}`, async () => {
    const { value } = await web3.connection.getSignatureStatuses([signature]);
    if (value[0]?.err) throw new Error(JSON.stringify(value[0].err));
    return value[0]?.confirmationStatus === 'confirmed' || value[0]?.confirmationStatus === 'finalized' ? signature : false;
  });
}

async function refusal(response: Response): Promise<{ status: number; code?: string; details?: unknown }> {
  const data = await dataOf(response);
  // Clients read the texts; the test reads the code.
  expect(data.errors?.[0], JSON.stringify(data)).toMatch(new RegExp(`^${data.error?.code}: .`));
  expect(data.signature).toBeUndefined();
  return { status: response.status, ...(data.error === undefined ? {} : { code: data.error.code, details: data.error.details }) };
}

const wrong = (...fields: readonly string[]): unknown => ({
  status: 400,
  code: 'INVALID_REQUEST',
  details: { fields: Object.fromEntries(fields.map((name) => [name, expect.any(String)])) },
});

describe('Lightning', { timeout: timeoutMs }, () => {
  it('buys for SOL and sells all of it, as in JavaScript', async () => {
    const before = heldBy(custodial, coin);
    const response = await postJson('/api/trade', {
      action: 'buy',
      mint: coin.mint,
      amount: 0.1,
      denominatedInSol: 'true',
      slippage: 10,
      priorityFee: 0.00005,
      pool: 'pump',
    });
    const bought = await traded(response);
    expect(bought).toMatchObject({ side: 'buy', pool: 'pump', publicKey: custodial, quote: { inAmount: '100000000', maxIn: '100000000' } });
    expect(heldBy(custodial, coin)).toBe(before + BigInt((bought['quote'] as { outAmount: string }).outAmount));
    const sold = await traded(
      await postJson('/api/trade', {
        action: 'sell',
        mint: coin.mint,
        amount: '100%',
        denominatedInSol: 'false',
        slippage: 10,
        priorityFee: 0.00005,
        pool: 'auto',
        skipPreflight: 'true',
        jitoOnly: 'false',
      }),
    );
    expect(sold).toMatchObject({ side: 'sell', pool: 'pump' });
    expect(heldBy(custodial, coin)).toBe(0n);
    // No request asked to close it.
    expect(world.chain.account(deriveTokenAccount(custodial, coin.mint, coin.tokenProgram).address)).not.toBeNull();
  });

  it('buys an exact number of tokens, and sells for an exact amount of SOL, as in Python', async () => {
    const head = `mint=${coin.mint}&slippage=15&priorityFee=5e-05&pool=pump`;
    const before = heldBy(custodial, coin);
    await traded(await postForm('/api/trade', `action=buy&amount=1234567.891&denominatedInSol=false&${head}`));
    expect(heldBy(custodial, coin) - before).toBe(1_234_567_891_000n);
    const sold = await traded(await postForm('/api/trade', `action=sell&amount=0.01&denominatedInSol=true&${head}`));
    const { outAmount } = sold['quote'] as { outAmount: string };
    expect(BigInt(outAmount)).toBeGreaterThanOrEqual(10_000_000n);
    expect(BigInt(outAmount)).toBeLessThan(10_000_100n);
    expect(sold['fill']).toMatchObject({ traderQuoteAmount: outAmount });
  });

  it('reads flags as Python writes them, a body after a byte order mark, and a query with more parameters', async () => {
    const head = `action=buy&mint=${coin.mint}&amount=0.01&denominatedInSol=True&slippage=15&priorityFee=5e-05&pool=pump`;
    const bom = '\ufeff';
    const sent = await fetch(`${url('/api/trade')}&cluster=mainnet&cluster=devnet`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      body: `${bom}${head}&skipPreflight=FALSE&jitoOnly=0`,
    });
    expect(await traded(sent)).toMatchObject({ quote: { inAmount: '10000000' } });
    const order = { publicKey: signer.publicKey, ...Object.fromEntries(new URLSearchParams(head)), denominatedInSol: 1 };
    // Without a key, as a bot that has none in its settings.
    const local = await fetch(`http://${gateway.host}/api/trade-local?api-key=&cluster=mainnet`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: bom + JSON.stringify(order),
    });
    expect(local.status).toBe(200);
  });

  it('sends an order that asks for a block engine as usual, if there is none, and says so', async () => {
    const body = { action: 'buy', mint: coin.mint, amount: 0.01, denominatedInSol: 'true', slippage: 10, pool: 'pump', jitoOnly: 'true' };
    const response = await postJson('/api/trade', body);
    const data = await dataOf(response.clone());
    await traded(response);
    expect(data.warnings).toEqual([expect.stringMatching(/^jitoOnly: .*JITO_URL/)]);
    expect(await dataOf(await postJson('/api/trade', { ...body, jitoOnly: 'False' }))).not.toHaveProperty('warnings');
  });

  it('accepts larger amounts, slippage and fees than its own bodies do', async () => {
    const body = { action: 'buy', mint: coin.mint, amount: 0.0003, denominatedInSol: true, slippage: 99, priorityFee: 0 };
    const order = await traded(await postJson('/api/trade', body));
    expect(order).toMatchObject({ pool: 'pump', quote: { inAmount: '300000' } });
    expect(order['fill']).toMatchObject({ networkFee: '5000' });
    // A float as programs compute it: digits beyond the lamport are cut off.
    const float = await traded(await postJson('/api/trade', { ...body, amount: 0.1 + 0.2, slippage: '0.5', priorityFee: '0.02' }));
    expect(float).toMatchObject({ quote: { inAmount: '300000000' } });
  });

  it('follows a coin to its pool, and stays on the curve on request', async () => {
    const moved = launchCoin(world.chain);
    tradeOnChain(world.chain, moved, 'pump', { exact: 'baseOut', amount: 793_100_000_000_000n }, 10n ** 14n);
    moveToPool(world.chain, moved, true);
    const body = { action: 'buy', mint: moved.mint, amount: 0.5, denominatedInSol: 'true', slippage: 10, priorityFee: 0.0001 };
    const pooled = await until('the pool', async () => {
      const response = await postJson('/api/trade', { ...body, pool: 'auto' });
      return response.status === 200 && response;
    });
    expect(await traded(pooled)).toMatchObject({ pool: 'pump-amm' });
    expect(await refusal(await postJson('/api/trade', body))).toMatchObject(wrong('pool') as object);
    const exact = heldBy(custodial, moved);
    await traded(await postJson('/api/trade', { ...body, amount: '50000.5', denominatedInSol: 'false', pool: 'pump-amm' }));
    expect(heldBy(custodial, moved) - exact).toBe(50_000_500_000n);
    const sold = await traded(await postJson('/api/trade', { ...body, action: 'sell', amount: '0.1', pool: 'pump-amm' }));
    expect(BigInt((sold['quote'] as { outAmount: string }).outAmount) - lamports / 10n).toBeLessThan(100n);
    expect(sold['fill']).toMatchObject({ traderQuoteAmount: (sold['quote'] as { outAmount: string }).outAmount });
  });

  it('places one order for an Idempotency-Key, and reports another body', async () => {
    const headers = { 'Idempotency-Key': 'pumpportal-1' };
    const body = { action: 'buy', mint: coin.mint, amount: 0.01, denominatedInSol: 'true', slippage: 10 };
    const all = await Promise.all(Array.from({ length: 8 }, () => postJson('/api/trade', body, headers)));
    const statuses = all.map(({ status }) => status);
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(0);
    expect(statuses.every((status) => status === 200 || status === 409)).toBe(true);
    const made = (await Promise.all(all.map(dataOf))).flatMap(({ signature }) => (signature === undefined ? [] : [signature]));
    expect(new Set(made).size).toBe(1);
    const again = await postJson('/api/trade', body, headers);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    const data = await dataOf(again);
    expect(data).toMatchObject({ signature: made[0], errors: [] });
    expect(await refusal(await postJson('/api/trade', { ...body, amount: 0.02 }, headers))).toMatchObject({ status: 422 });
    await finalized(data.orderId);
  });
});

describe('which wallet trades', { timeout: timeoutMs }, () => {
  const body = (): Record<string, unknown> => ({ action: 'buy', mint: coin.mint, amount: 0.01, denominatedInSol: 'true', slippage: 10 });

  it('is the oldest of the account until another is set for the key', async () => {
    const account = await world.account('pumpportal-client');
    const key = await world.key(['trade'], account);
    expect(await refusal(await postJson('/api/trade', body(), {}, key))).toMatchObject(wrong('publicKey') as object);
    const first = await world.wallet({ accountId: account });
    const headers = { 'Idempotency-Key': 'only-wallet' };
    const made = await dataOf(await postJson('/api/trade', body(), headers, key));
    expect(made).toMatchObject({ errors: [], orderId: expect.any(String) });
    const second = await world.wallet({ accountId: account });
    const traderOf = async (of: string) => {
      const { orderId } = await dataOf(await postJson('/api/trade', body(), {}, of));
      return (await gateway.get(`/trade/orders/${orderId}`, { key: of })).body['publicKey'];
    };
    expect(await traderOf(key)).toBe(first);
    const keyId = key.split('_')[1]!;
    await world.store.wallets.setDefault(keystoreName, keyId, second);
    expect(await traderOf(key)).toBe(second);
    // Another key of the account has its own.
    expect(await traderOf(await world.key(['trade'], account))).toBe(first);
    // An earlier order is still returned.
    expect(await dataOf(await postJson('/api/trade', body(), headers, key))).toMatchObject({ signature: made.signature });
    for (const publicKey of [first, second]) {
      expect((await postJson('/api/trade', { ...body(), publicKey }, {}, key)).status).toBe(200);
    }
  });

  it("is never another account's", async () => {
    const key = await world.key(['trade'], await world.account('pumpportal-stranger'));
    const answer = await refusal(await postJson('/api/trade', { ...body(), publicKey: custodial }, {}, key));
    expect(answer).toMatchObject({ status: 403, code: 'FORBIDDEN' });
  });
});

describe('self-custody', { timeout: timeoutMs }, () => {
  it('returns bytes that an ordinary wallet signs: JSON, without a key', async () => {
    const body = { publicKey: signer.publicKey, action: 'buy', mint: coin.mint, denominatedInSol: 'false', amount: 1000 };
    const more = { slippage: 10, priorityFee: 0.00001, pool: 'pump' };
    expect(await refusal(await postJson('/api/trade', { ...body, ...more }, {}, ''))).toMatchObject({ status: 401 });
    const response = await postJson('/api/trade-local', { ...body, ...more }, {}, '');
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/octet-stream');
    expect(response.headers.get('x-expires-in-seconds')).toMatch(/^\d{1,2}$/);
    await signedAndSent(await response.arrayBuffer());
    expect(heldBy(signer.publicKey, coin)).toBe(1_000_000_000n);
  });

  it('returns bytes that an ordinary wallet signs: a form', async () => {
    const before = heldBy(signer.publicKey, coin);
    const form = new URLSearchParams({
      publicKey: signer.publicKey,
      action: 'buy',
      mint: coin.mint,
      amount: '0.25',
      denominatedInSol: 'true',
      slippage: '10',
      priorityFee: '1e-05',
      pool: 'auto',
    });
    const response = await fetch(url('/api/trade-local', ''), {
      method: 'POST',
      headers: { Authorization: `Bearer ${world.operatorKey}` },
      body: form,
    });
    expect(response.status).toBe(200);
    await signedAndSent(await response.arrayBuffer());
    expect(heldBy(signer.publicKey, coin)).toBeGreaterThan(before);
    const sell = `publicKey=${signer.publicKey}&action=sell&mint=${coin.mint}&amount=100%25&slippage=10&priorityFee=1e-05`;
    await signedAndSent(await (await postForm('/api/trade-local', sell)).arrayBuffer());
    expect(heldBy(signer.publicKey, coin)).toBe(0n);
  });

  it('returns a bundle, whose tip is the first fee', async () => {
    const before = heldBy(signer.publicKey, coin);
    const common = { publicKey: signer.publicKey, mint: coin.mint, denominatedInSol: 'false', slippage: 10, pool: 'pump' };
    // The second order sells what the first has bought.
    const response = await postJson('/api/trade-local', [
      { ...common, action: 'buy', amount: 2000, priorityFee: 0.0005 },
      { ...common, action: 'sell', amount: 2000, priorityFee: 0.1 },
    ]);
    expect(response.headers.get('content-type')).toMatch(/^application\/json/);
    expect(response.headers.get('x-expires-in-seconds')).toMatch(/^\d{1,2}$/);
    const transactions = (await response.json()) as string[];
    expect(transactions).toHaveLength(2);
    const [buy, sell] = transactions.map((text) => VersionedTransaction.deserialize(decodeBase58(text)!));
    const tips = [buy, sell].map((tx) => tx!.message.compiledInstructions.filter(isTransfer).length);
    expect(tips).toEqual([1, 0]);
    const [transfer] = buy!.message.compiledInstructions.filter(isTransfer);
    expect(Buffer.from(transfer!.data).readBigUInt64LE(4)).toBe(500_000n);
    for (const tx of [buy!, sell!]) {
      tx.sign([keypair]);
      await confirmed(await web3.connection.sendTransaction(tx));
    }
    expect(heldBy(signer.publicKey, coin)).toBe(before);
  });

  it('adds the tip of a bundle to the first order that has room for it', async () => {
    const pooled = launchCoin(world.chain);
    tradeOnChain(world.chain, pooled, 'pump', { exact: 'quoteIn', amount: 10n ** 14n }, 1n);
    moveToPool(world.chain, pooled, false);
    const order = {
      publicKey: signer.publicKey,
      denominatedInSol: 'false',
      slippage: 10,
      priorityFee: 0.0005,
      action: 'buy',
      amount: 2000,
    };
    const onPool = { ...order, mint: pooled.mint, pool: 'pump-amm' };
    const tipsOf = async (orders: readonly unknown[]): Promise<readonly number[]> => {
      const transactions = (await (await postJson('/api/trade-local', orders)).json()) as string[];
      const messages = transactions.map((text) => VersionedTransaction.deserialize(decodeBase58(text)!).message);
      return messages.map(({ compiledInstructions, staticAccountKeys }) => {
        const tips = compiledInstructions.filter(({ accountKeyIndexes: [, to = -1], data }) => {
          const receiver = staticAccountKeys[to]?.toBase58();
          return isTransfer({ data }) && jitoTipAccounts.some((account) => account === receiver);
        });
        return tips.length;
      });
    };
    expect(await tipsOf([onPool, { ...order, mint: coin.mint, pool: 'pump' }])).toEqual([1, 0]);
    // A message that leaves the wallet's account of wrapped SOL as it is has less room.
    wrapFor(world.chain, signer.publicKey, 10n ** 9n);
    await until('the gateway to know it', async () => (await tipsOf([onPool, { ...order, mint: coin.mint, pool: 'pump' }]))[1] === 1);
    const refused = await refusal(await postJson('/api/trade-local', [onPool, onPool]));
    expect(refused).toMatchObject({ status: 400, code: 'INVALID_REQUEST', details: { fields: { '0.priorityFee': expect.any(String) } } });
    // Without a tip there is room.
    expect(await tipsOf([{ ...onPool, priorityFee: 0 }, onPool])).toEqual([0, 0]);
  });

  function isTransfer({ data }: { readonly data: Uint8Array }): boolean {
    return data.length === 12 && Buffer.from(data).readUInt32LE(0) === 2;
  }
});

describe('refusals', { timeout: timeoutMs }, () => {
  const body = (more: Record<string, unknown> = {}): Record<string, unknown> => ({
    publicKey: signer.publicKey,
    action: 'buy',
    mint: coin.mint,
    amount: 0.1,
    denominatedInSol: 'true',
    slippage: 10,
    priorityFee: 0.00005,
    pool: 'pump',
    ...more,
  });
  const create = { action: 'create', tokenMetadata: { name: 'a', symbol: 'b', uri: 'c' }, isMayhemMode: 'false' };

  it.each<[string, Record<string, unknown>, readonly string[]]>([
    ['another action', create, ['action']],
    ['fees of creators', { action: 'collectCreatorFee' }, ['action']],
    ['a pool that only PumpPortal has', { pool: 'meteora-damm-v1' }, ['pool']],
    ['a pool that sluice quotes, but does not trade on', { pool: 'orca-whirlpool' }, ['pool']],
    ['no amount', { amount: undefined }, ['amount']],
    ['nothing', { amount: 0 }, ['amount']],
    ['a negative amount', { amount: -1 }, ['amount']],
    ['a percentage to buy', { amount: '50%' }, ['amount']],
    ['more than all', { action: 'sell', amount: '101%' }, ['amount']],
    ['too much', { amount: 100.1 }, ['amount']],
    ['no coin for the amount', { denominatedInSol: undefined }, ['denominatedInSol']],
    ['no flag', { denominatedInSol: 'yes' }, ['denominatedInSol']],
    ['too much slippage', { slippage: 100.5 }, ['slippage']],
    ['too much of a fee', { priorityFee: 0.11 }, ['priorityFee']],
    ['no address', { publicKey: 'me' }, ['publicKey']],
    ['no mint', { mint: undefined }, ['mint']],
    ['several at once', { mint: undefined, amount: 'x', pool: 'moonshot' }, ['amount', 'mint', 'pool']],
    [
      'several at once, with a flag',
      { denominatedInSol: 'maybe', skipPreflight: 'no', slippage: 101, priorityFee: 5, pool: 'meteora-damm-v1' },
      ['denominatedInSol', 'skipPreflight', 'slippage', 'priorityFee', 'pool'],
    ],
    ['an unknown field', { slipage: 1 }, ['slipage']],
  ])('%s', async (_, more, fields) => {
    for (const path of ['/api/trade', '/api/trade-local']) {
      expect(await refusal(await postJson(path, body(more)))).toEqual(wrong(...fields));
    }
  });

  it.each([
    ['GET', '/api/trade', 405, /POST to \/api\/trade,/],
    ['PUT', '/api/trade-local', 405, /POST to \/api\/trade-local,/],
    ['POST', '/api/trade/', 404, /POST to \/api\/trade,/],
    ['POST', '/api/data', 405, /WebSocket/],
    ['GET', '/api/data', 400, /WebSocket/],
    ['GET', '/api/create-wallet', 404, /sluice wallets create/],
    ['POST', '/api/create-wallet', 404, /sluice wallets create/],
  ])('%s %s: what to do instead', async (method, path, status, advice) => {
    const response = await fetch(url(path), { method });
    expect((await dataOf(response.clone())).errors).toEqual([expect.stringMatching(advice)]);
    expect((await refusal(response)).status).toBe(status);
  });

  it('features that only one of the two has', async () => {
    expect(await refusal(await postJson('/api/trade-local', body({ publicKey: undefined })))).toEqual(wrong('publicKey'));
    expect(await refusal(await postJson('/api/trade', [body()]))).toEqual(wrong('(body)'));
    expect((await postJson('/api/trade-local', body({ jitoOnly: 'true' }))).status).toBe(200);
  });

  it('requests that the chain cannot fulfil', async () => {
    const usdcCoin = launchCoin(world.chain, { quoteMint: usdcMint });
    const inSol = await until('the coin', async () => {
      const response = await postJson('/api/trade-local', body({ mint: usdcCoin.mint }));
      return response.status !== 404 && refusal(response);
    });
    expect(inSol).toEqual(wrong('denominatedInSol'));
    const inTokens = await postJson('/api/trade-local', body({ mint: usdcCoin.mint, amount: 10_000, denominatedInSol: 'false' }));
    await signedAndSent(await inTokens.arrayBuffer());
    expect(heldBy(signer.publicKey, usdcCoin)).toBe(10_000_000_000n);
    expect(await refusal(await postJson('/api/trade-local', body({ mint: signer.publicKey })))).toMatchObject({ code: 'INVALID_MINT' });
    expect(await refusal(await postJson('/api/trade-local', body({ mint: 'pump' })))).toMatchObject({ code: 'INVALID_MINT' });
    const poor = wallet('pumpportal', 'poor').publicKey;
    const empty = await refusal(await postJson('/api/trade-local', body({ publicKey: poor })));
    expect(empty).toMatchObject({ status: 400, code: 'INSUFFICIENT_BALANCE' });
    const none = await refusal(await postJson('/api/trade-local', body({ publicKey: poor, action: 'sell', amount: '100%' })));
    expect(none).toMatchObject({ status: 400, code: 'INSUFFICIENT_BALANCE' });
    const much = await refusal(await postJson('/api/trade-local', body({ action: 'sell', amount: 50_000_000 })));
    expect(much).toEqual(wrong('amount'));
  });

  it('of a list, with the wrong order named', async () => {
    const six = Array.from({ length: 6 }, () => body());
    expect(await refusal(await postJson('/api/trade-local', six))).toEqual(wrong('(body)'));
    expect(await refusal(await postJson('/api/trade-local', []))).toEqual(wrong('(body)'));
    expect(await refusal(await postJson('/api/trade-local', [body(), body({ pool: 'moonshot' })]))).toEqual(wrong('1.pool'));
    expect(await refusal(await postJson('/api/trade-local', [body({ priorityFee: undefined })]))).toEqual(wrong('0.priorityFee'));
    const unknown = await refusal(await postJson('/api/trade-local', [body(), body({ mint: signer.publicKey })]));
    expect(unknown).toMatchObject({ code: 'INVALID_MINT', details: { order: 1 } });
  });

  it('of forms that contradict themselves', async () => {
    expect(await refusal(await postForm('/api/trade', 'action=buy&action=sell'))).toEqual(wrong('action'));
    expect(await refusal(await postForm('/api/trade', 'action=%ff'))).toEqual(wrong('action'));
    expect(await refusal(await postForm('/api/trade', ''))).toEqual(wrong('(body)'));
    expect((await fetch(url('/trade/buy'), { method: 'POST', body: new URLSearchParams({ mint: 'x' }) })).status).toBe(415);
  });

  it('of keys without the right', async () => {
    const reader = await world.key(['read']);
    expect(await refusal(await postJson('/api/trade', body(), {}, reader))).toMatchObject({ status: 403, details: { scope: 'trade' } });
    expect((await postJson('/api/trade-local', body(), {}, reader)).status).toBe(200);
    expect(await refusal(await postJson('/api/trade-local', body(), {}, 'nobody'))).toMatchObject({ status: 401 });
    const { key } = await makeKey(world.store, { plan: 'standard' });
    expect(await refusal(await postJson('/api/trade-local', [body()], {}, key))).toMatchObject({
      status: 403,
      details: { plan: 'standard', feature: 'batch', plans: ['premium', 'enterprise'] },
    });
  });
});
