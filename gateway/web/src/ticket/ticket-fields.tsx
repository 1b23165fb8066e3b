import { presetsOf, quoteSymbol } from '../format/quote-coin.ts';

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
  readonly fields: TicketValues;
  readonly onChange: (fields: TicketValues) => void;
}) {
  const { symbol, quoteMint, fields, onChange } = props;
  const quote = quoteSymbol(quoteMint);
  const set = (change: Partial<TicketValues>): void => onChange({ ...fields, ...change });
  return (
    <>
      <label>
        <span>Amount</span>
        <input
          inputMode="decimal"
          autoComplete="off"
          maxLength={24}
          value={fields.amount}
          aria-describedby="amount-help"
          onInput={(event) => set({ amount: event.currentTarget.value })}
        />
      </label>
      <p id="amount-help" class="hint">
        Buy: {quote} to spend. Sell: <bdi>{symbol}</bdi>, or a part such as 50%.
      </p>
      <div class="presets">
        {[...presetsOf(quoteMint), ...parts].map((value) => (
          <button key={value} type="button" class="small" onClick={() => set({ amount: value })}>
            {value.endsWith('%') ? value.replace('%', ' %') : `${value} ${quote}`}
          </button>
        ))}
      </div>
      <div class="pair">
        <label>
          <span>Slippage (%)</span>
          <input
            inputMode="decimal"
            maxLength={6}
            value={fields.slippage}
            onInput={(event) => set({ slippage: event.currentTarget.value })}
          />
        </label>
        <label>
          <span>Priority fee (SOL)</span>
          <input
            inputMode="decimal"
            maxLength={12}
            placeholder="automatic"
            value={fields.priorityFee}
            onInput={(event) => set({ priorityFee: event.currentTarget.value })}
          />
        </label>
      </div>
    </>
  );
}
