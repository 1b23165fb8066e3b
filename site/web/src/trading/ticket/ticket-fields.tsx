import { useRef } from 'preact/hooks';
import { Button, Field } from '../../parts/parts.tsx';
import { useShortcut } from '../../app/shortcuts.tsx';
import { isPart } from './amounts.ts';
import { short } from '../../format/price.ts';
import { presetsOf, quoteSymbol } from '../../format/quote-coin.ts';

const parts: readonly string[] = ['25%', '50%', '100%'];

export interface TicketValues {
  readonly amount: string;
  readonly slippage: string;
  readonly priorityFee: string;
}

/** What the visitor sets before placing an order. */
export function TicketFields(props: {
  readonly symbol: string;
  /** The coin that a buy spends. */
  readonly quoteMint: string | null;
  /** Tokens in the wallet; null if that is unknown. */
  readonly held: number | null;
  readonly fields: TicketValues;
  readonly onChange: (fields: TicketValues) => void;
  /** The visitor pressed Enter in the amount. */
  readonly onEnter: () => void;
}) {
  const { symbol, quoteMint, held, fields, onChange, onEnter } = props;
  const quote = quoteSymbol(quoteMint);
  const amount = useRef<HTMLInputElement>(null);
  useShortcut('a', () => amount.current?.select());
  const set = (change: Partial<TicketValues>): void => onChange({ ...fields, ...change });
  return (
    <>
      <label>
        <span>Amount</span>
        <input
          ref={amount}
          inputMode="decimal"
          autoComplete="off"
          maxLength={24}
          value={fields.amount}
          aria-describedby="amount-help"
          title="Key A. Enter simulates the order"
          aria-keyshortcuts="a"
          onInput={(event) => set({ amount: event.currentTarget.value })}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && !event.repeat && !event.isComposing) onEnter();
          }}
        />
      </label>
      <p id="amount-help" class="hint">
        {isPart(fields.amount) ? (
          <PartInUnits part={fields.amount.trim()} held={held} symbol={symbol} />
        ) : (
          <>
            Buy: {quote} to spend. To sell, choose a part such as 50 %, or enter <bdi>{symbol}</bdi>.
          </>
        )}
      </p>
      <div class="presets">
        {[...presetsOf(quoteMint), ...parts].map((value) => (
          <Button key={value} class="small" onClick={() => set({ amount: value })}>
            {isPart(value) ? value.replace('%', ' %') : `${value} ${quote}`}
          </Button>
        ))}
      </div>
      <div class="pair">
        <Field
          label="Slippage (%)"
          inputMode="decimal"
          maxLength={6}
          value={fields.slippage}
          onInput={(event) => set({ slippage: event.currentTarget.value })}
        />
        <Field
          label="Priority fee (SOL)"
          inputMode="decimal"
          maxLength={12}
          placeholder="automatic"
          value={fields.priorityFee}
          onInput={(event) => set({ priorityFee: event.currentTarget.value })}
        />
      </div>
    </>
  );
}

/** `50 % of 3.49M SIM is 1.75M SIM.` */
function PartInUnits({ part, held, symbol }: { readonly part: string; readonly held: number | null; readonly symbol: string }) {
  const percent = Number(part.replace('%', ''));
  if (held === null) return <>{percent} % of what the wallet holds.</>;
  return (
    <>
      {percent} % of {short(held)} <bdi>{symbol}</bdi> is {short((held * percent) / 100)} <bdi>{symbol}</bdi>.
    </>
  );
}
