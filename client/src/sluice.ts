import { is, isFields, isText, newKey } from './http/expected.ts';
import { Triggers } from './http/triggers.ts';
import { checkNames, checkNumber, isHeaderValue, unknownName } from './check-options.ts';
import { Requester, wrongRequest, type Expected, type Request, type RequestOptions } from './http/requests.ts';
import { Connection, type ConnectionOptions, type OpenSocket } from './stream/connection.ts';
import { Subscription, type SubscribeOptions } from './stream/subscription.ts';
import type {
  BatchAnswer,
  BatchBody,
  BuyBody,
  CandlePage,
  CandlesQuery,
  Channel,
  Explanation,
  OrderObject,
  OrderPage,
  OrdersQuery,
  PaperBalanceBody,
  PaperWallet,
  PaperWalletBody,
  Portfolio,
  Positions,
  QuoteAnswer,
  QuoteBody,
  SellBody,
  TokenInfo,
  TradeAnswer,
  TokenHolders,
  TokenSearch,
  TokenSearchQuery,
  TradePage,
  TradesQuery,
} from './wire.ts';

export interface SluiceOptions {
  /** Address of the gateway, `http://127.0.0.1:8080`, or the addresses of several gateways with the same data: after a failure the client uses another one. */
  readonly url: string | readonly string[];
  /** The API key, or a function that returns it. The function is called before each connection of the stream and each request. */
  readonly apiKey?: string | (() => Promise<string>);
  /** Returns a ticket for one connection of the stream, instead of a key: for a page whose session gets tickets from its own server. */
  readonly ticket?: () => Promise<string>;
  /** Replaces the global `fetch`. */
  readonly fetch?: typeof fetch;
  /** Replaces the global `WebSocket`. */
  readonly openSocket?: OpenSocket;
  /** Asks the gateway to compress the stream: about half of the bytes, for some processor time on both sides. False by default. */
  readonly compress?: boolean;
  /** Time for one HTTP request, milliseconds; 10,000 by default. */
  readonly timeoutMs?: number;
  /** How often one HTTP request is repeated after a temporary failure; 3 by default. */
  readonly retries?: number;
}

export interface TradeOptions extends RequestOptions {
  /**
   * The same key and body give the same order for 24 hours, even after a crash. By default each call creates a new key: if the client repeats the
   * request of this call, there is still only one order, but a second call places a second order. The error of the call has the key as
   * `idempotencyKey`. The reason of a `signal` does not have it: give a key with a signal.
   */
  readonly idempotencyKey?: string;
}

const defaultTimeoutMs = 10_000;
const defaultRetries = 3;
/** A timer cannot run longer. */
const maxTimeoutMs = 2 ** 31 - 1;
const optionNames: Readonly<Record<keyof SluiceOptions, true>> = {
  url: true,
  apiKey: true,
  ticket: true,
  fetch: true,
  openSocket: true,
  compress: true,
  timeoutMs: true,
  retries: true,
};
const requestNames: Readonly<Record<keyof RequestOptions, true>> = { signal: true };
const tradeNames: Readonly<Record<keyof TradeOptions, true>> = { ...requestNames, idempotencyKey: true };

/** A client of one sluice. HTTP calls reject with a `SluiceError`. The constructor and `subscribe` throw a `TypeError` for wrong options. */
export class Sluice {
  /** Orders that wait for a condition on the server. */
  readonly triggers = new Triggers({
    once: (request, options) => this.#send(request, options, tradeNames),
    any: (request, options) => this.#send(request, options, requestNames),
  });
  readonly #requests: Requester;
  readonly #stream: ConnectionOptions;
  /** Subscriptions share as few connections as possible. */
  #connections: readonly Connection[] = [];

  constructor(options: SluiceOptions) {
    checkNames('Sluice', options, optionNames);
    const { url, ticket = null, compress = false, timeoutMs = defaultTimeoutMs, retries = defaultRetries } = options;
    checkNumber('timeoutMs', timeoutMs, 1, maxTimeoutMs);
    checkNumber('retries', retries, 0, Infinity);
    const urls = readUrls(url);
    const openSocket = options.openSocket ?? ((address: string) => new WebSocket(address));
    const send = options.fetch ?? ((...args: Parameters<typeof fetch>) => fetch(...args));
    const { random } = Math;
    const { apiKey: key } = options;
    if (typeof key === 'string' ? !isHeaderValue(key) : key !== undefined && typeof key !== 'function') {
      throw new TypeError('apiKey must be a string of printable ASCII characters, or a function that returns one.');
    }
    const apiKey = key === undefined ? null : typeof key === 'string' ? async () => key : key;
    this.#requests = new Requester({ urls, apiKey, fetch: send, timeoutMs, retries, random });
    // `http` becomes `ws`, and `https` becomes `wss`.
    const streamUrls = urls.map((each) => `ws${each.slice('http'.length)}/api/data${compress ? '?compress=1' : ''}`);
    this.#stream = { urls: streamUrls, openSocket, apiKey, renewsKey: typeof key === 'function', ticket, random };
  }

  /**
   * Follows a channel. Iterate the result, or give `onEvent`. It reconnects and resumes by itself; `onGap` is called if events are lost.
   * It ends if you call `close` or leave the loop, or if an error occurs that another attempt cannot solve.
   */
  subscribe<C extends Channel>(channel: C, options: SubscribeOptions<C> = {}): Subscription<C> {
    const subscription = new Subscription(channel, options);
    if (subscription.isEnded) return subscription;
    const open = this.#connections.filter(({ isClosed }) => !isClosed);
    const shared = open.find((connection) => connection.hasRoomFor(subscription));
    const connection = shared ?? new Connection(this.#stream);
    this.#connections = shared === undefined ? [...open, connection] : open;
    subscription.begin(connection);
    return subscription;
  }

  /** What a trade would give now. */
  quote(body: QuoteBody, options: RequestOptions = {}): Promise<QuoteAnswer> {
    const { side, mint } = body;
    const expected = { side: is(side), mint: is(mint), quote: isFields };
    return this.#send({ method: 'POST', path: '/api/quote', body, expected }, options, requestNames);
  }

  /** Buys with a custodial wallet. `amount`: SOL; `slippage`: percent. It returns once the order is sent; `order` and the channel `orders` follow it. */
  buy(body: BuyBody, options: TradeOptions = {}): Promise<TradeAnswer> {
    return this.#trade('buy', body, options);
  }

  /** Sells with a custodial wallet. `amount`: tokens, or a part of the balance such as `50%`. Otherwise like `buy`. */
  sell(body: SellBody, options: TradeOptions = {}): Promise<TradeAnswer> {
    return this.#trade('sell', body, options);
  }

  /** Places 2 to 20 orders, each with its own outcome: an answer like that of `buy`, or `{ error }`. A repetition with the same key places what is missing. */
  batch(body: BatchBody, options: TradeOptions = {}): Promise<BatchAnswer> {
    const expected = { results: (results: unknown) => Array.isArray(results) && results.length === body.orders.length };
    return this.#send({ method: 'POST', path: '/api/trade/batch', body, idempotencyKey: newKey(), expected }, options, tradeNames);
  }

  /** The state of an order, and its fills. */
  order(id: string, options: RequestOptions = {}): Promise<OrderObject> {
    return this.#get(`/api/trade/orders/${encodeURIComponent(id)}`, {}, options, { orderId: is(id), status: isText });
  }

  /** The key's orders, newest first. `before`: `next` of the page before. */
  orders(query: OrdersQuery = {}, options: RequestOptions = {}): Promise<OrderPage> {
    return this.#get('/api/trade/orders', { ...query }, options, { orders: Array.isArray });
  }

  /** A token: its names, its pools, its price. */
  tokenInfo(mint: string, options: RequestOptions = {}): Promise<TokenInfo> {
    return this.#get(`/api/token/info/${encodeURIComponent(mint)}`, {}, options, { mint: is(mint) });
  }

  /** Tokens that the gateway knows, by a part of symbol, name or mint. Names are chosen freely: compare mints. */
  searchTokens(query: TokenSearchQuery, options: RequestOptions = {}): Promise<TokenSearch> {
    return this.#get('/api/token/search', { ...query }, options, { tokens: Array.isArray });
  }

  /** Candles of a token, oldest first. `interval`: `1m` by default; `from` and `to`: Unix seconds. `fill: 'previous'`: also intervals without trades. */
  candles(mint: string, query: CandlesQuery = {}, options: RequestOptions = {}): Promise<CandlePage> {
    return this.#get(`/api/token/candles/${encodeURIComponent(mint)}`, { ...query }, options, { mint: is(mint), candles: Array.isArray });
  }

  /** Trades of a token, newest first. `before`: `next` of the page before. */
  trades(mint: string, query: TradesQuery = {}, options: RequestOptions = {}): Promise<TradePage> {
    return this.#get(`/api/token/trades/${encodeURIComponent(mint)}`, { ...query }, options, { mint: is(mint), trades: Array.isArray });
  }

  /** The largest holders of a token; `holders` is null if no node lists them. */
  holders(mint: string, options: RequestOptions = {}): Promise<TokenHolders> {
    return this.#get(`/api/token/holders/${encodeURIComponent(mint)}`, {}, options, { mint: is(mint) });
  }

  /** All tokens of a wallet, valued in SOL. */
  portfolio(publicKey: string, options: RequestOptions = {}): Promise<Portfolio> {
    return this.#get(`/api/portfolio/${encodeURIComponent(publicKey)}`, {}, options, { publicKey: is(publicKey), sol: isFields });
  }

  /** One transaction as a person reads it: instructions, changes by wallet, fees and tips, events, and why it failed. */
  explain(signature: string, options: RequestOptions = {}): Promise<Explanation> {
    return this.#get(`/api/explain/${encodeURIComponent(signature)}`, {}, options, { signature: is(signature) });
  }

  /** What a wallet paid for its tokens, and what it gained or lost. The key follows the wallet from then on: `orders` has its events `position`. */
  positions(publicKey: string, options: RequestOptions = {}): Promise<Positions> {
    const expected = { publicKey: is(publicKey), positions: isFields };
    return this.#get(`/api/positions/${encodeURIComponent(publicKey)}`, {}, options, expected);
  }

  /** Makes a paper wallet. Only while the server trades on paper. */
  newPaperWallet(body: PaperWalletBody = {}, options: RequestOptions = {}): Promise<PaperWallet> {
    return this.#send({ method: 'POST', path: '/api/paper/wallets', body, expected: { publicKey: isText } }, options, requestNames);
  }

  /** Sets the SOL of a paper wallet. With `reset` it also loses its tokens, and its result counts from now on. */
  setPaperBalance(body: PaperBalanceBody, options: RequestOptions = {}): Promise<PaperWallet> {
    const expected = { publicKey: is(body.publicKey), amount: isText };
    return this.#send({ method: 'POST', path: '/api/paper/balance', body, expected }, options, requestNames);
  }

  /** Ends all subscriptions. */
  close(): void {
    for (const connection of this.#connections) connection.close();
  }

  #get<T>(
    path: string,
    query: Readonly<Record<string, string | number | undefined>>,
    options: RequestOptions,
    expected: Expected,
  ): Promise<T> {
    return this.#send({ method: 'GET', path, query, expected }, options, requestNames);
  }

  #trade(side: 'buy' | 'sell', body: BuyBody | SellBody, options: TradeOptions): Promise<TradeAnswer> {
    const { mint, publicKey, dryRun = false } = body;
    const expected = { orderId: dryRun ? is(null) : isText, status: isText, side: is(side), mint: is(mint), publicKey: is(publicKey) };
    const request = { method: 'POST', path: `/api/trade/${side}`, body, idempotencyKey: newKey(), expected } as const;
    return this.#send(request, options, tradeNames);
  }

  async #send<T>(request: Request, options: TradeOptions, known: Readonly<Record<string, true>>): Promise<T> {
    const unknown = unknownName(options, known);
    if (unknown !== undefined) throw wrongRequest(`There is no option ${unknown}. There is ${Object.keys(known).join(', ')}.`);
    const { idempotencyKey = request.idempotencyKey, signal } = options;
    return await this.#requests.send<T>({
      ...request,
      ...(idempotencyKey !== undefined && { idempotencyKey }),
      ...(signal !== undefined && { signal }),
    });
  }
}

/** Without a slash at their ends. */
function readUrls(url: unknown): readonly string[] {
  const given: readonly unknown[] = Array.isArray(url) ? url : [url];
  const urls = given.filter((each) => typeof each === 'string' && /^https?:\/\/[^/?#\s]/i.test(each)) as readonly string[];
  if (urls.length === 0 || urls.length < given.length) {
    const got = given.map(String).join(', ') || 'none';
    throw new TypeError(`Sluice needs the address of a gateway, like http://127.0.0.1:8080; it got ${got}.`);
  }
  return urls.map((each) => each.replace(/\/+$/, ''));
}
