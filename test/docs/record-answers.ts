import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exampleMint, exampleOrderId, exampleWallet } from '@sluice/shared/wire/values/values.ts';
import { Keypair, VersionedTransaction } from '@solana/web3.js';
import { WebSocket } from 'ws';
import { pumpIdl } from '../golden/anchor.ts';
import { connectWeb3 } from '../support/chain/web3.ts';
import { startProduct, type StartedProduct } from '../support/product/started-product.ts';
import { until } from '../support/until.ts';

/**
 * `pnpm record:answers`: records the answers and messages that the documentation shows, from a gateway on simnet. Mint, wallet and order are
 * replaced by those of the requests in the documentation, and lists are cut.
 */
const file = new URL('../../site/src/docs/recorded-answers.json', import.meta.url);
/** A coin seldom completes its curve, and a fork must hit one of its trades. */
const withinMs = 600_000;
const speed = 10;
const entriesOfList = 2;
const forkEveryMs = 3_000;
/** Their first event is recorded, of any coin. */
const programTypes = ['programEvent', 'programInstruction', 'programAccount'];
const ofAnyCoin: ReadonlySet<string> = new Set(['retract', 'migration', 'tokenMetadata', 'poolCreated', ...programTypes]);
/** The simulated chain has no such events. Those of the file stay, as the pipeline made them from test bytes. */
const notOnSimnet = ['liquidityAddedFrame', 'liquidityRemovedFrame', 'layout'] as const;

type Json = Readonly<Record<string, unknown>>;

/** A connection that remembers the first message of each name. */
class Recorder {
  readonly messages: Record<string, Json> = {};
  readonly #socket: WebSocket;
  readonly #nameOf: (message: Json) => string | null;

  constructor(url: string, nameOf: (message: Json) => string | null) {
    this.#socket = new WebSocket(url.replace('http', 'ws'));
    this.#nameOf = nameOf;
    this.#socket.on('message', (data: Buffer) => {
      const message = JSON.parse(data.toString('utf8')) as Json;
      const name = this.#nameOf(message);
      if (name !== null) this.messages[name] ??= message;
    });
  }

  async open(): Promise<void> {
    await once(this.#socket, 'open');
  }

  send(command: Json): void {
    this.#socket.send(JSON.stringify(command));
  }

  /** Sends a command, and waits for the message of this name. */
  ask(name: string, command: Json): Promise<Json> {
    this.send(command);
    return this.has(name);
  }

  has(name: string): Promise<Json> {
    return until(name, () => this.messages[name], withinMs);
  }

  close(): void {
    this.#socket.terminate();
  }
}

const replies = ['authenticated', 'subscribed', 'unsubscribed', 'subscriptions', 'pong', 'error'];

function nativeName(isMine: (data: Json) => boolean): (message: Json) => string | null {
  return ({ op, data, channel, positions }) => {
    if (typeof op === 'string') {
      // The reply to the subscription with a mint says more than the others.
      if (op === 'subscribed' && channel !== 'trades') return null;
      if (op === 'heartbeat' && Object.keys(positions as Json).length < entriesOfList) return null;
      return replies.includes(op) ? `${op}Reply` : op;
    }
    const event = data as Json;
    return isMine(event) ? `${String(event['type'])}Frame` : null;
  };
}

function dialectName({ message, txType }: Json): string | null {
  if (typeof message === 'string') return 'dialectMessage';
  const others: Readonly<Record<string, string>> = { create: 'dialectCreate', migrate: 'dialectMigrate', addLiquidity: 'dialectLiquidity' };
  return others[String(txType)] ?? 'dialectTrade';
}

async function ask({ url, apiKey }: StartedProduct, path: string, body?: Json | readonly Json[], method = 'POST'): Promise<Json> {
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
  const answer = await fetch(`${url}${path}`, {
    headers,
    method: body === undefined && method === 'POST' ? 'GET' : method,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const json = (await answer.json()) as Json;
  if (!answer.ok) throw new Error(`${path}: ${JSON.stringify(json)}`);
  return json;
}

/** Changes the simulated chain. */
async function control(url: string, command: Json): Promise<void> {
  const answer = await fetch(`${url}/control`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(command),
  });
  if (!answer.ok) throw new Error(await answer.text());
}

/** Everything about one coin: its trades, an order for it, and what the endpoints answer. */
async function recordAnswers(product: StartedProduct, mint: string): Promise<Readonly<Record<string, Json>>> {
  const { wallet: publicKey, rpcUrl, wsUrl } = product;
  const own = Keypair.generate();
  const owner = own.publicKey.toBase58();
  const { connection, close } = connectWeb3({ rpcUrl, wsUrl });
  await connection.requestAirdrop(own.publicKey, 10_000_000_000);
  close();
  const order = { publicKey, mint, amount: 0.1, slippage: 50 };
  const portal = {
    publicKey: owner,
    action: 'buy',
    mint,
    amount: 0.1,
    denominatedInSol: 'true',
    slippage: 50,
    priorityFee: 0.0001,
    pool: 'auto',
  };
  // The key follows the wallet, and gets the events of its positions.
  await ask(product, `/api/positions/${publicKey}`);
  const tradeBuy = await ask(product, '/api/trade/buy', order);
  const ordered = String(tradeBuy['orderId']);
  const tradeOrder = await until(
    'the order is finalized',
    async () => {
      const state = await ask(product, `/api/trade/orders/${ordered}`);
      return state['status'] === 'finalized' && state['fill'] !== null && state;
    },
    withinMs,
  );
  const exit = { publicKey, mint, side: 'sell', amount: '100%', when: { position: 'profitPct', op: '<=', value: -99 }, ocoGroup: 'exits' };
  const armTrigger = await ask(product, '/api/trade/triggers', exit);
  const trigger = `/api/trade/triggers/${String(armTrigger['triggerId'])}`;
  const triggers = {
    armTrigger,
    trigger: await ask(product, trigger),
    triggers: await ask(product, `/api/trade/triggers?limit=${entriesOfList}`),
    cancelTrigger: await ask(product, trigger, undefined, 'DELETE'),
    cancelTriggers: await ask(product, `/api/trade/triggers?mint=${mint}`, undefined, 'DELETE'),
  };
  const tradeSell = await ask(product, '/api/trade/sell', { ...order, amount: '50%' });
  const tradeBatch = await ask(product, '/api/trade/batch', {
    orders: [
      { side: 'buy', ...order, amount: 0.2 },
      { side: 'sell', ...order, amount: 10_000_000_000 },
    ],
  });
  const built = await until('the airdrop', () =>
    ask(product, '/api/transaction/buy', { ...order, publicKey: owner }).catch(() => false as const),
  );
  const transaction = VersionedTransaction.deserialize(Buffer.from(String(built['transaction']), 'base64'));
  transaction.sign([own]);
  const signed = Buffer.from(transaction.serialize()).toString('base64');
  const transactionSend = await ask(product, '/api/transaction/send', { transaction: signed });
  const transactionSell = await until('the tokens of the own wallet', () =>
    ask(product, '/api/transaction/sell', { ...order, publicKey: owner, amount: '50%' }).catch(() => false as const),
  );
  const answers = {
    status: await ask(product, '/status'),
    live: await ask(product, '/livez'),
    ready: await ask(product, '/readyz'),
    tokenInfo: await ask(product, `/api/token/info/${mint}`),
    tokenSearch: await ask(product, `/api/token/search?text=a&limit=${entriesOfList}`),
    tokenCandles: await ask(product, `/api/token/candles/${mint}?interval=5s&limit=${entriesOfList}`),
    tokenTrades: await ask(product, `/api/token/trades/${mint}?limit=${entriesOfList}`),
    tokenHolders: await ask(product, `/api/token/holders/${mint}`),
    portfolio: await ask(product, `/api/portfolio/${publicKey}`),
    positions: await ask(product, `/api/positions/${publicKey}`),
    explain: await ask(product, `/api/explain/${String(tradeBuy['signature'])}`),
    quote: await ask(product, '/api/quote', { side: 'buy', mint, amount: 0.1 }),
    tradeBuy,
    tradeSell,
    tradeBatch,
    transactionBuy: built,
    transactionSell,
    transactionSend,
    pumpPortalTrade: await ask(product, `/api/trade?api-key=${product.apiKey}`, { ...portal, publicKey }),
    pumpPortalTradeLocal: await ask(product, '/api/trade-local', [portal, { ...portal, amount: 0.2 }]),
    tradeOrder,
    tradeOrders: await ask(product, `/api/trade/orders?limit=${entriesOfList}`),
    ...triggers,
    usage: await ask(product, '/api/usage'),
    wsTicket: await ask(product, '/api/ws-ticket', {}),
  };
  return shown(answers, [[owner, exampleWallet]]);
}

/** As the documentation shows it: with other names, and with short lists. */
function shown<T>(value: T, names: readonly (readonly [string, string])[]): T {
  const text = names.reduce((all, [name, other]) => all.replaceAll(name, other), JSON.stringify(value));
  return JSON.parse(text, (_, part: unknown) => (isListOfEntries(part) ? part.slice(0, entriesOfList) : part)) as T;
}

/** Other lists, such as the requests of each minute, have a fixed length. */
function isListOfEntries(value: unknown): value is readonly unknown[] {
  return Array.isArray(value) && typeof value[0] === 'object';
}

/** The messages of the stream, and the answers for one coin. */
async function record(product: StartedProduct) {
  const { url, apiKey, wallet, rpcUrl, child } = product;
  let mint: string | null = null;
  const native = new Recorder(
    `${url}/api/data`,
    nativeName((event) => ofAnyCoin.has(String(event['type'])) || mint === null || event['mint'] === mint),
  );
  const late = new Recorder(
    `${url}/api/data`,
    nativeName(() => false),
  );
  const dialect = new Recorder(`${url}/api/data`, dialectName);
  await Promise.all([native.open(), late.open(), dialect.open()]);
  await native.ask('authenticatedReply', { id: 1, op: 'auth', key: apiKey });
  const filter = { pool: 'pump', quoteMint: 'SOL', minDevBuySol: 0.1, withoutTraits: ['mayhemMode'] };
  const created = await native.ask('newTokenFrame', { id: 2, op: 'subscribe', channel: 'newTokens', filter });
  mint = String((created['data'] as Json)['mint']);
  await native.ask('subscribedReply', { id: 3, op: 'subscribe', channel: 'trades', mints: [mint, 'PEPE'] });
  native.send({ id: 4, op: 'subscribe', channel: 'orders' });
  native.send({ id: 5, op: 'subscribe', channel: 'migrations' });
  native.send({ id: 13, op: 'subscribe', channel: 'pools' });
  native.send({ id: 14, op: 'subscribe', channel: 'programs', programs: [pumpIdl.address] });
  await native.ask('priceFrame', { id: 6, op: 'subscribe', channel: 'prices', mints: [mint] });
  await native.ask('candleFrame', { id: 7, op: 'subscribe', channel: 'candles', mints: [mint], interval: '5s' });
  await late.ask('authenticatedReply', { id: 1, op: 'auth', key: apiKey });
  await late.ask('gap', { id: 2, op: 'subscribe', channel: 'migrations', since: { epoch: '01jd2q6m7x4f', seq: 130 } });
  await dialect.ask('dialectMessage', { method: 'subscribeNewToken' });
  const { mint: dialectMint } = await dialect.has('dialectCreate');
  dialect.send({ method: 'subscribeMigration' });
  dialect.send({ method: 'subscribeRaydiumLiquidity' });
  await dialect.ask('dialectTrade', { method: 'subscribeTokenTrade', keys: [dialectMint] });

  const answers = await recordAnswers(product, mint);
  for (const name of ['tradeFrame', 'orderFrame', 'triggerFrame', 'positionFrame', 'tokenMetadataFrame', 'heartbeat'])
    await native.has(name);
  await native.ask('subscriptionsReply', { id: 8, op: 'list' });
  await native.ask('pongReply', { id: 9, op: 'ping' });
  await native.ask('errorReply', { id: 10, op: 'subscribe', channel: 'candles', mints: [mint] });
  await native.ask('unsubscribedReply', { id: 11, op: 'unsubscribe', channel: 'trades', mints: [mint] });
  for (const type of programTypes) await native.has(`${type}Frame`);
  await native.has('migrationFrame');
  await native.has('poolCreatedFrame');
  await dialect.has('dialectMigrate');
  await dialect.has('dialectLiquidity');
  native.send({ id: 12, op: 'subscribe', channel: 'trades' });
  const forks = setInterval(() => void control(rpcUrl, { op: 'fork', slots: 2 }), forkEveryMs);
  await native.has('retractFrame').finally(() => clearInterval(forks));
  child.kill('SIGTERM');
  await native.has('draining');
  const before = (JSON.parse(readFileSync(file, 'utf8')) as { readonly messages: Readonly<Record<string, Json>> }).messages;
  const retained = Object.fromEntries(notOnSimnet.map((name) => [name, before[name]]));
  const messages = { ...retained, ...native.messages, ...dialect.messages, gap: late.messages['gap'] };
  for (const each of [native, late, dialect]) each.close();
  const ordered = String(answers['tradeOrder']!['orderId']);
  return {
    answers: shown(answers, [
      [ordered, exampleOrderId],
      [mint, exampleMint],
      [wallet, exampleWallet],
    ]),
    messages: shown(messages, [
      [ordered, exampleOrderId],
      [mint, exampleMint],
      [wallet, exampleWallet],
    ]),
  };
}

/** The answers of a gateway that trades on paper. */
async function recordPaper(product: StartedProduct): Promise<Readonly<Record<string, Json>>> {
  const paperWallet = await ask(product, '/api/paper/wallets', { label: 'first strategy', amount: 5 });
  const publicKey = String(paperWallet['publicKey']);
  const paperBalance = await ask(product, '/api/paper/balance', { publicKey, amount: 10, reset: true });
  return shown({ paperWallet, paperBalance }, [[publicKey, exampleWallet]]);
}

/** Starts the product, and ends it after `use`. */
async function withProduct<T>(settings: Readonly<Record<string, string>>, use: (product: StartedProduct) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-answers-'));
  const product = await startProduct(folder, speed, settings);
  try {
    return await use(product);
  } finally {
    product.child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
}

const paper = await withProduct({ TRADING: 'paper' }, recordPaper);
const idls = mkdtempSync(join(tmpdir(), 'sluice-idl-'));
writeFileSync(join(idls, `${pumpIdl.address}.json`), JSON.stringify(pumpIdl));
const { answers, messages } = await withProduct({ IDL_DIR: idls }, record);
rmSync(idls, { recursive: true });
writeFileSync(file, `${JSON.stringify({ answers: { ...answers, ...paper }, messages }, null, 2)}\n`);
process.stdout.write(`recorded: ${file.pathname}\n`);
