import { Type, type Static, type TObject } from 'typebox';
import { candleIntervalNames } from '../values/intervals.ts';
import { BatchBody } from '../rest/trading/batch.ts';
import { maxIdempotencyKeyChars } from '../rest/endpoint.ts';
import { paperBalanceEndpoint } from '../rest/wallets/portfolio.ts';
import { QuoteBody } from '../rest/trading/quote.ts';
import { candleLimits, tradeLimits } from '../rest/tokens/token-history.ts';
import { BuyBody, orderPageLimits, SellBody } from '../rest/trading/trade.ts';
import { TriggerBody, triggerPageEndpoint, triggerPageLimits } from '../rest/trading/triggers.ts';
import { Address, Closed, EventId, OrderId, RequestedMint, Signature, TriggerId, UnixSeconds } from '../values/values.ts';
import { validator } from '../validate.ts';

/** Rows that a tool returns by default: fewer than the HTTP interface, because a model reads them all. */
export const fewRows = 20;

const mint = RequestedMint();
const before = (id: typeof OrderId) => Type.Optional(id('`next` of the page before.'));
const limit = (max: number) => Type.Optional(Type.Integer({ minimum: 1, maximum: max, default: fewRows, description: 'Most rows.' }));
const second = (what: string) => Type.Optional(UnixSeconds(`${what} Unix seconds.`));
const ordering = {
  dryRun: Type.Optional(
    Type.Boolean({
      default: true,
      description: 'True, the default: quotes, builds and simulates, but signs and sends nothing. False: trades.',
    }),
  ),
  idempotencyKey: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: maxIdempotencyKeyChars,
      description: 'Repeat a call with the same key if its outcome is unknown: it places only one order.',
    }),
  ),
};

/** Arguments of the tools that `sluice mcp` serves to agents. */
export const toolInputs = {
  token_info: Closed({ mint }),
  token_candles: Closed({
    mint,
    interval: Type.Optional(Type.Enum([...candleIntervalNames], { default: '1m', description: 'Length of a candle.' })),
    from: second('Start of the first candle.'),
    to: second('End of the last candle.'),
    limit: limit(candleLimits.max),
    fill: Type.Optional(Type.Enum(['previous'], { description: 'Intervals without a trade get a flat candle at the previous close.' })),
  }),
  token_trades: Closed({ mint, before: before(EventId), limit: limit(tradeLimits.max) }),
  portfolio: Closed({ publicKey: Address('Address of the wallet.') }),
  positions: Closed({ publicKey: Address('Address of the wallet.') }),
  quote: Closed(QuoteBody.properties),
  explain: Closed({ signature: Signature('Signature of the transaction.') }),
  order: Closed({ id: OrderId('Id of the order, `ord_…`.') }),
  orders: Closed({ before: before(OrderId), limit: limit(orderPageLimits.max) }),
  trigger: Closed({ id: TriggerId('Id of the trigger, `trg_…`.') }),
  triggers: Closed({ ...triggerPageEndpoint.query.properties, limit: limit(triggerPageLimits.max) }),
  buy: Closed({ ...BuyBody.properties, ...ordering }),
  sell: Closed({ ...SellBody.properties, ...ordering }),
  batch: Closed({ ...BatchBody.properties, ...ordering }),
  arm_trigger: Closed({ ...TriggerBody.properties, ...ordering }),
  cancel_trigger: Closed({ id: TriggerId('Id of the trigger, `trg_…`.') }),
  cancel_triggers: Closed({
    mint: Type.Optional(Address('Only triggers of this token.')),
    publicKey: Type.Optional(Address('Only triggers of this wallet.')),
  }),
  paper_balance: paperBalanceEndpoint.body,
} as const satisfies Readonly<Record<string, TObject>>;

export type ToolName = keyof typeof toolInputs;
export type ToolArgs<N extends ToolName> = Static<(typeof toolInputs)[N]>;

const checks = new Map(Object.entries(toolInputs).map(([name, input]) => [name, validator(input as TObject)]));

/** What is wrong with the arguments of a tool, by field; null if nothing is. */
export function toolFaults(name: ToolName, args: unknown): Readonly<Record<string, string>> | null {
  const outcome = checks.get(name)!(args);
  return outcome.ok ? null : outcome.fields;
}
